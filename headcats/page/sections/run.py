"""What was run, on what, and how to do it again."""

from collections import Counter
from collections.abc import Iterator

from headcats.findings.repeating import command_of
from headcats.findings.table import Table
from headcats.page.material import Material
from headcats.page.parts import Code, Facts, Heading, Part, section


@section("What was run, and how to repeat it")
def run(material: Material) -> Iterator[Part]:
    """Model, plan, methods with the path that computed them, versions; the command; the lines of Python."""
    manifest = material.manifest
    model, plan = manifest["model"], manifest["plan"]
    yield Heading("Model")
    heads = sorted(set(model["heads"]))
    facts = {
        "name": model["name"],
        "revision": model.get("revision"),
        "layers with heads": f"{len(model['layers'])} ({model['layers'][0]} to {model['layers'][-1]})",
        "heads per layer": " to ".join(map(str, dict.fromkeys((heads[0], heads[-1])))),
        "class": model.get("model_class"),
        "weight processing": model.get("weight_processing"),
        "number type": model.get("dtype"),
        "device": model.get("device"),
        "hash of the weights": model.get("weights_hash"),
    }
    yield Facts(tuple((name, str(value)) for name, value in facts.items() if value not in (None, "")))
    yield Heading("Plan")
    told = {name.replace("_", " "): value for name, value in plan.items()}
    yield Facts(
        tuple((name, ", ".join(value) if isinstance(value, list) else str(value)) for name, value in told.items())
    )
    yield from _methods(material)
    yield Heading("Versions")
    versions = {**manifest["versions"], "git commit": manifest.get("git_commit"), "begun": manifest.get("created")}
    yield Facts(tuple((name, str(value)) for name, value in versions.items() if value))
    yield Heading("Again")
    yield Code(command_of(manifest))
    if material.folder is not None:
        yield "In Python, without the model:"
        yield Code(_python(material))


def _methods(material: Material) -> Iterator[Part]:
    rows = []
    for label in material.labels:
        own = [(path, check) for _, one, path, check in material.paths if one == label]
        paths = Counter(path for path, _ in own)
        checks = Counter(check.partition(":")[0] or "not needed" for _, check in own)
        rows.append((label, str(len(own)), _counted(paths), _counted(checks)))
    rows += [(label, "all at once", "-", "-") for label in material.blocks]
    if rows:
        yield Heading("Methods")
        yield Table("", ("method@positions", "tasks", "computed by", "compared with hooks"), tuple(rows))


def _told(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _counted(found: Counter[str]) -> str:
    if len(found) == 1:
        return next(iter(found))
    return ", ".join(f"{name} ({count})" for name, count in found.items())


def _python(material: Material) -> str:
    lines = ["import headcats as hc", "", f'results = hc.load("{material.named_folder}")']
    if material.found:
        attrs = material.found["scores"].attrs
        chosen = ", ".join(f'{name}="{attrs[name]}"' for name in ("method", "positions", "metric"))
        lines += [
            f"scores = hc.score(results, {chosen})",
            f"members = hc.categorize(scores, rule=hc.rules.{material.found['members'].attrs['rule']})",
            "overlap = hc.overlap(members)",
        ]
    return "\n".join(lines)
