"""What was run, on what, and how to do it again."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from headcats.categories.map_spec import MapSpec
from headcats.reports.page.material import Material
from headcats.reports.page.parts import Code, Facts, Folded, Heading, Part, section
from headcats.reports.text.comparison import value_text
from headcats.reports.text.suggestions import repeat_command
from headcats.reports.text.tasks import count_columns, dropped_rows, source_findings, task_rows
from headcats.results.finding import line, number_text, table
from headcats.results.place import Place


def _ends(numbers: Sequence[int]) -> list[int]:
    """The first and the last, or the only one."""
    return list(dict.fromkeys([*numbers[:1], *numbers[-1:]]))


@section("What was run, and how to repeat it")
def run(material: Material) -> Iterator[Part]:
    """The command, the lines of Python; folded model, plan, methods with the path that computed them, and versions."""
    manifest = material.run.manifest
    command = repeat_command(manifest)
    yield line("run.in_python" if command.startswith("hc.run(") else "run.command")
    yield Code(command)
    if (place := material.run.place) is not None:
        yield line("run.page")
        yield Code(material.command("report", "method", "metric", "effect", "rule", "min-tasks", "sign"))
        yield line("run.python")
        yield Code(_python(material, place))
    yield Folded(line("run.details"), tuple(_details(material)))


def _details(material: Material) -> Iterator[Part]:
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
    yield _facts({**manifest.versions, "begun": manifest.created})


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
    """Lines from the folder to `overlap`; where no head can be judged, to `scores`; without a map, to `results`."""
    lines = ["import headcats as hc", "", f"results = hc.load({_text(place.shown)})"]
    if material.tables:
        lines += _lines_of_scores(material.spec, is_judged=not material.not_judged)
    if material.joint is not None:
        lines += _lines_of_block(material.joint.name, material.spec)
    if material.joint or (material.tables and not material.not_judged):
        lines.append("hc.categories.head_table(overlap)")
    if material.run.joint_blocks and not material.joint:
        lines.append("blocks = hc.suite_blocks(results)")
    return "\n".join(lines)


def _lines_of_block(label: str, reading: MapSpec) -> Iterator[str]:
    yield "blocks = hc.suite_blocks(results)"
    rule = f", rule=hc.rules.{reading.rule!r}" if reading.named_rule else ""
    least = "" if reading.named_min_tasks is None else f", min_tasks={_text(reading.named_min_tasks)}"
    yield f"members = hc.categorize(blocks[{_text(label)}]{rule}{least})"
    yield f"overlap = hc.overlap(members{_arguments({'sign': (reading.sign, MapSpec().sign)})})"


def _lines_of_scores(reading: MapSpec, *, is_judged: bool) -> Iterator[str]:
    default = MapSpec()
    scoring = {
        "method": (reading.label.method, ""),
        "positions": (reading.label.positions, ""),
        "metric": (reading.metric, ""),
        "effect": (reading.effect, default.effect),
    }
    yield f"scores = hc.score(results{_arguments(scoring)})"
    if is_judged:
        min_tasks = _arguments({"min_tasks": (reading.min_tasks, default.min_tasks)})
        sign = _arguments({"sign": (reading.sign, default.sign)})
        yield f"members = hc.categorize(scores, rule=hc.rules.{reading.rule!r}{min_tasks})"
        yield f"overlap = hc.overlap(members{sign})"


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _arguments(values: Mapping[str, tuple[Any, Any]]) -> str:
    """Arguments of a call whose value is not the default: name -> value, default."""
    return "".join(f", {name}={_text(value)}" for name, (value, default) in values.items() if value != default)


@section("Tasks")
def tasks(material: Material) -> Iterator[Part]:
    """One row per task; below it what was dropped or skipped."""
    records = material.run.manifest.tasks
    if records:
        columns = [*count_columns(records), "accuracy", "corrupted", "gap", "95 % interval"]
        reliability = material.tables["scores"]["reliability"].to_series().to_dict() if material.tables else {}
        # A column that repeats the first one says nothing.
        has_sources = any(record.joined_by for record in records.values())
        rows = [
            [
                f"{task} (skipped)" if records[task].refusal else task,
                category,
                *[records[task].independent_source] * has_sources,
                *cells,
                number_text(reliability.get(task)),
            ]
            for task, category, *cells in task_rows(records, columns)
        ]
        plan = material.run.manifest.plan
        columns[columns.index("gap")] = f"gap ({plan.metrics[0]})"
        numeric = [*columns, "reliability"]
        names = ["task", "category", *["independent source"] * has_sources]
        yield table("text.untitled", [*names, *numeric], rows, numeric=numeric)
        yield line("tasks.columns")
        yield from source_findings(material.run.scored_records)
        yield line(f"tasks.answers_{plan.answers}")
        dropped = [row for task, record in records.items() for row in dropped_rows(task, record)]
        if dropped:
            yield Folded(line("validation.dropped"), (table("text.untitled", ["task", "why"], dropped),))
        sources = [(task, record.source) for task, record in records.items() if record.source]
        if sources:
            yield Folded(line("tasks.sources"), (table("text.untitled", ["task", "source"], sources),))
    cells = material.run.manifest.cells()
    whys = [(task, label, record.refusal or _left_out(record.dropped)) for task, label, record in cells]
    skipped = [each for each in whys if each[2]] + [
        (part, label, reason)
        for label, record in material.run.manifest.joint.items()
        for part, reason in record.skipped().items()
    ]
    if skipped:
        parts = table("text.untitled", ["task or part", "method", "why"], skipped)
        yield Folded(line("tasks.skipped_parts", n=len(skipped)), (parts,))


def _left_out(n: int) -> str:
    return str(line("tasks.left_out", n=n)) if n else ""
