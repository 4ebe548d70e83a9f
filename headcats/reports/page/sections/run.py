"""What was run, on what, and how to do it again."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from headcats.reports.page.material import Material
from headcats.reports.page.parts import Code, Facts, Heading, Part, section
from headcats.reports.text.suggestions import repeat_command
from headcats.reports.text.table import Table


@section("What was run, and how to repeat it")
def run(material: Material) -> Iterator[Part]:
    """Model, plan, methods with the path that computed them, versions; the command; the lines of Python."""
    manifest = material.manifest
    model = manifest.model
    yield Heading("Model")
    heads = sorted(set(model.heads))
    facts = {
        "name": model.name,
        "revision": model.revision,
        "layers with heads": f"{len(model.layers)} ({model.layers[0]} to {model.layers[-1]})",
        "heads per layer": " to ".join(map(str, dict.fromkeys((heads[0], heads[-1])))),
        "class": model.model_class,
        "weight processing": model.weight_processing,
        "number type": model.dtype,
        "device": model.device,
        "hash of the weights": model.weights_hash,
    }
    yield Facts(tuple((name, str(value)) for name, value in facts.items() if value not in (None, "")))
    yield Heading("Plan")
    told = {name.replace("_", " "): value for name, value in manifest.plan.complete().items()}
    yield Facts(tuple((name, _told(value)) for name, value in told.items()))
    yield from _methods(material)
    yield Heading("Versions")
    versions = {**manifest.versions, "git commit": manifest.git_commit, "begun": manifest.created}
    yield Facts(tuple((name, str(value)) for name, value in versions.items() if value))
    yield Heading("Again")
    again = repeat_command(manifest)
    if again.startswith("hc.run("):
        yield (
            "The run, in Python. `model` is yours to load, such as with `hc.load_model`; a suite or a task that does "
            "not come with headcats has to be registered first:"
        )
    else:
        yield "The run:"
    yield Code(again)
    if material.folder is not None:
        yield "This page, from the saved results:"
        of_map = material.options("method", "metric", "effect", "rule", "min-tasks", "sign") if material.tables else ""
        yield Code(f"headcats report {material.named_folder}{of_map}")
        yield "What it shows, in Python and without the model:"
        yield Code(_python(material))


def _methods(material: Material) -> Iterator[Part]:
    rows = []
    for label in material.labels:
        own = [(path, check) for _, one, path, check in material.paths if one == label]
        paths = Counter(path for path, _ in own)
        checks = Counter(check.split(":")[0] or "not needed" for _, check in own)
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
    folder = json.dumps("" if material.folder is None else material.folder.as_posix(), ensure_ascii=False)
    lines = ["import headcats as hc", "", f"results = hc.load({folder})"]
    if material.tables:
        reading = material.reading
        arguments = {"method": reading.label.method, "positions": reading.label.positions}
        arguments |= {"metric": reading.metric, "effect": reading.effect}
        lines.append(f"scores = hc.score(results{_options(arguments, usual={'effect': 'total'})}{_alpha(material)})")
        if not material.not_judged:
            min_tasks = _options({"min_tasks": reading.min_tasks}, usual={"min_tasks": "half"})
            sign = _options({"sign": reading.sign}, usual={"sign": "helping"})
            lines.append(f"members = hc.categorize(scores, rule=hc.rules.{reading.rule!r}{min_tasks})")
            lines.append(f"overlap = hc.overlap(members{sign})")
            lines.append("hc.categories.head_table(overlap)")
    if material.blocks:
        lines.append("blocks = hc.suite_blocks(results)")
    return "\n".join(lines)


def _options(options: dict[str, Any], *, usual: dict[str, str]) -> str:
    """Arguments of a call that are not the default."""
    return "".join(f", {name}={json.dumps(value)}" for name, value in options.items() if str(value) != usual.get(name))


def _alpha(material: Material) -> str:
    """As many sign draws as the level of the rule needs."""
    alpha = material.reading.rule.options.get("alpha", 0.05)
    return "" if alpha == 0.05 else f", alpha={alpha}"
