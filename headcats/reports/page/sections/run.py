"""What was run, on what, and how to do it again."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from headcats.categories.reading import Reading
from headcats.reports.page.material import Material
from headcats.reports.page.parts import Code, Facts, Heading, Part, section
from headcats.reports.text.comparison import value_text
from headcats.reports.text.suggestions import repeat_command
from headcats.results.finding import line, table
from headcats.results.place import Place


def _ends(numbers: Sequence[int]) -> list[int]:
    """The first and the last, or the only one."""
    return list(dict.fromkeys([*numbers[:1], *numbers[-1:]]))


@section("What was run, and how to repeat it")
def run(material: Material) -> Iterator[Part]:
    """Model, plan, methods with the path that computed them, versions; the command; the lines of Python."""
    manifest = material.run.manifest
    model = manifest.model
    yield Heading("Model")
    yield _facts(
        {
            "name": model.name,
            "revision": model.revision,
            "layers with heads": f"{len(model.layers)} ({' to '.join(map(str, _ends(model.layers)))})",
            "heads per layer": " to ".join(map(str, _ends(sorted(model.heads)))),
            "class": model.model_class,
            "weight processing": model.weight_processing,
            "number type": model.dtype,
            "device": model.device,
            "hash of the weights": model.weights_hash,
        }
    )
    yield Heading("Plan")
    plan = manifest.plan.complete()
    yield Facts(tuple((name.replace("_", " "), value_text(value)) for name, value in plan.items()))
    yield from _methods(material)
    yield Heading("Versions")
    yield _facts({**manifest.versions, "git commit": manifest.git_commit, "begun": manifest.created})
    yield Heading("Again")
    command = repeat_command(manifest)
    yield line("run.in_python" if command.startswith("hc.run(") else "run.command")
    yield Code(command)
    if material.place is not None:
        yield line("run.page")
        yield Code(material.command("report", "method", "metric", "effect", "rule", "min-tasks", "sign"))
        yield line("run.python")
        yield Code(_python(material, material.place))


def _methods(material: Material) -> Iterator[Part]:
    rows = []
    for label in map(str, material.run.scored):
        blocks = [(path, check) for _, method, path, check in material.paths if method == label]
        paths = Counter(path for path, _ in blocks)
        checks = Counter(check.split(":")[0] or "not needed" for _, check in blocks)
        rows.append((label, str(len(blocks)), _counts(paths), _counts(checks)))
    rows += [(label, "all at once", "-", "-") for label in material.run.joint_blocks]
    if rows:
        yield Heading("Methods")
        yield table("text.untitled", ("method@positions", "tasks", "computed by", "compared with hooks"), rows)


def _counts(counter: Counter[str]) -> str:
    return ", ".join(f"{name} ({count})" for name, count in counter.items()) if len(counter) > 1 else "".join(counter)


def _facts(values: Mapping[str, object]) -> Facts:
    return Facts(tuple((name, str(value)) for name, value in values.items() if value not in (None, "")))


def _python(material: Material, place: Place) -> str:
    lines = ["import headcats as hc", "", f"results = hc.load({json.dumps(place.shown, ensure_ascii=False)})"]
    if material.tables:
        reading, default = material.reading, Reading()
        scoring = {
            "method": (reading.label.method, ""),
            "positions": (reading.label.positions, ""),
            "metric": (reading.metric, ""),
            "effect": (reading.effect, default.effect),
            "alpha": (reading.rule.options.get("alpha", 0.05), 0.05),
        }
        lines.append(f"scores = hc.score(results{_arguments(scoring)})")
        if not material.not_judged:
            min_tasks = _arguments({"min_tasks": (reading.min_tasks, default.min_tasks)})
            sign = _arguments({"sign": (reading.sign, default.sign)})
            lines.append(f"members = hc.categorize(scores, rule=hc.rules.{reading.rule!r}{min_tasks})")
            lines += [f"overlap = hc.overlap(members{sign})", "hc.categories.head_table(overlap)"]
    if material.run.joint_blocks:
        lines.append("blocks = hc.suite_blocks(results)")
    return "\n".join(lines)


def _arguments(values: Mapping[str, tuple[Any, Any]]) -> str:
    """Arguments of a call whose value is not the default: name -> value, default."""
    return "".join(f", {name}={json.dumps(value)}" for name, (value, default) in values.items() if value != default)
