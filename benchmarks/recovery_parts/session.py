"""A run of the benchmark: the works that were asked for, one after the other, each written when it is done."""

import argparse
import importlib.metadata
import json
import math
import platform
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from rich.console import Console
from sections import markdown, show, write_section

import headcats
from recovery_parts import claims, labels, null, planted, replicates, sharing
from recovery_parts.generator import Design
from recovery_parts.label_worlds import LabelStudy
from recovery_parts.repeat import repeat
from recovery_parts.tables import Part, curve_table, null_table, planted_table
from recovery_parts.worlds import World

REFERENCE = 0.1
EFFECTS = (0.05, 0.1, 0.15, 0.2, 0.3)
DEVIATIONS = (0.1, 0.15, 0.2, 0.3)
PROMPTS = (16, 32, 64, 128)

Note = Callable[[str], None]


def run(chosen: argparse.Namespace) -> None:
    """Everything that the command line asks for."""
    if unknown := [name for name in chosen.work if name not in WORKS]:
        raise SystemExit(f"There is no work {unknown[0]!r}; there are: {', '.join(WORKS)}.")
    if chosen.write and not chosen.write.is_file():
        raise SystemExit(f"--write replaces sections of a page, and there is no file {chosen.write}.")
    if chosen.json and not chosen.json.parent.is_dir():
        raise SystemExit(f"--json {chosen.json}: there is no folder {chosen.json.parent}.")
    if chosen.processes < 1 or (chosen.repetitions is not None and chosen.repetitions < 1):
        raise SystemExit("--processes and --repetitions take whole numbers from 1 on.")
    err, out = Console(stderr=True, highlight=False), Console(highlight=False)
    content = {}
    for name in chosen.work:
        with err.status(name) as status:
            part = WORKS[name](chosen, status.update)
        show(part.tables, out)
        facts = _facts(chosen, name)
        content[name] = {"facts": facts, "rows": [_without_nan(row) for row in part.rows]}
        if chosen.write:
            write_section(chosen.write, f"recovery {name}", markdown(part.tables, facts, heading=f"Recovery: {name}"))
        if chosen.json:
            chosen.json.write_text(json.dumps(content, indent=1), encoding="utf-8")


def _claims(chosen: argparse.Namespace, note: Note) -> Part:
    def repeated(measure: Callable, name: str) -> list:
        return _repeated(chosen, measure, name, note, default=200)

    return claims.measure(chosen, _design(chosen), _world(chosen), repeated)


def _null(chosen: argparse.Namespace, note: Note) -> Part:
    rows, design = [], _design(chosen)
    for setting in null.SETTINGS:
        found = _repeated(chosen, null.measure_of(setting, design), setting.name, note, default=setting.repetitions)
        rows += null.rows(setting, found)
    return Part([null_table(rows, "Nothing planted")], rows)


def _planted(chosen: argparse.Namespace, note: Note) -> Part:
    points = [planted.Point(design=_design(chosen), world=replace(_world(chosen), spread=s)) for s in ("all", "half")]
    rows = _rows(chosen, points, note, default=300)
    text = (
        "`fdr(alpha=0.05, min_effect=0)`. Members matter in all or in half of their category's tasks; memberships per "
        "study; false share ± 1.96 Monte-Carlo standard errors; wrong sign: memberships of all studies called helping "
        "that are truly suppressing, or the reverse; – where there is nothing to find."
    )
    title = f"Planted effects of {points[0].effect:g} of the gap, SD {points[0].design.sd:g} per prompt"
    return Part([planted_table(rows, by=("spread", "min_tasks"), title=title, note=text)], rows)


def _rules(chosen: argparse.Namespace, note: Note) -> Part:
    design, world = _design(chosen), _world(chosen)
    noisy = replace(design, sd=2 * design.sd)
    tables, rows = [], []
    for title, effect, sizes in (
        ("The reference point, judged by other rules", REFERENCE, design),
        ("The same with twice the noise", REFERENCE, noisy),
        ("Nothing planted: all that is called is false", 0.0, design),
    ):
        point = planted.Point(effect, sizes, world, rules=tuple(planted.RULES))
        found = _rows(chosen, [point], note, default=200)
        tables.append(planted_table(found, by=("rule", "min_tasks"), title=f"{title} (SD {sizes.sd:g})"))
        rows += found
    return Part(tables, rows)


def _curve(chosen: argparse.Namespace, note: Note) -> Part:
    design, world = _design(chosen), _world(chosen)
    points = [planted.Point(e, replace(design, sd=sd), world) for e in EFFECTS for sd in DEVIATIONS]
    rows = _rows(chosen, points, note, default=50)
    title = "By size of the effect and SD per prompt, both in shares of the gap"
    return Part([curve_table(rows, by=("effect", "sd"), title=title, note=_TRIPLES)], rows)


def _prompts(chosen: argparse.Namespace, note: Note) -> Part:
    design, world = _design(chosen), _world(chosen)
    points = [planted.Point(design=replace(design, prompts=n), world=world) for n in PROMPTS]
    rows = _rows(chosen, points, note, default=100)
    return Part([curve_table(rows, by=("prompts",), title="By number of prompts per task", note=_TRIPLES)], rows)


def _toys(chosen: argparse.Namespace, note: Note) -> Part:
    # torch and transformer-lens, which no other work needs.
    from recovery_parts import toy_report

    run_toys = partial(toy_report.report, processes=chosen.processes, seed=chosen.seed, note=note)
    if chosen.quick:
        return run_toys(effects=(0.2,), noises=(0.1,), prompts=(16,), repetitions=chosen.repetitions or 1)
    return run_toys(repetitions=chosen.repetitions)


def _circuits(chosen: argparse.Namespace, note: Note) -> Part:
    # torch and transformer-lens, too. Nothing is drawn: prompts and truth are files.
    from tracr_circuits.report import report

    return report(note=note)


def _labels(chosen: argparse.Namespace, note: Note, report: Callable = labels.report, default: int = 200) -> Part:
    study = LabelStudy(tasks=4, relabellings=39) if chosen.quick else LabelStudy()

    def repeated(measure: Callable, name: str) -> list:
        return _repeated(chosen, measure, name, note, default=default)

    return report(study, repeated)


def _replicates(chosen: argparse.Namespace, note: Note) -> Part:
    def repeated(measure: Callable, name: str) -> list:
        return _repeated(chosen, measure, name, note, default=200)

    return replicates.report(repeated)


def _sharing(chosen: argparse.Namespace, note: Note) -> Part:
    def repeated(measure: Callable, name: str) -> list:
        return _repeated(chosen, measure, name, note, default=200)

    return sharing.report(_SHARING, repeated, relabellings=19 if chosen.quick else 99)


def _partitions(chosen: argparse.Namespace, note: Note) -> Part:
    if chosen.results is None:
        raise SystemExit("--work partitions deals the tasks of a finished run: name its folder with --results.")
    n, relabellings = chosen.repetitions or (2 if chosen.quick else 200), 19 if chosen.quick else 200
    return labels.partitions(chosen.results, n=n, relabellings=relabellings, seed=chosen.seed, note=note)


WORKS: dict[str, Callable[[argparse.Namespace, Note], Part]] = {
    "claims": _claims,
    "null": _null,
    "planted": _planted,
    "rules": _rules,
    "curve": _curve,
    "prompts": _prompts,
    "toys": _toys,
    "circuits": _circuits,
    "labels": _labels,
    "power": partial(_labels, report=labels.power, default=50),
    "replicates": _replicates,
    "sharing": _sharing,
    "partitions": _partitions,
}
_TRIPLES = "`fdr(alpha=0.05, min_effect=0)`; in each cell min_tasks 1 / half / n; – where there is nothing to find."
_OWN_DESIGN = ("toys", "circuits", "partitions", "replicates")
_SMALL_DESIGN = Design(categories=3, tasks=3, layers=4, heads=6, prompts=24, items=(17, 20))
_SHARING = Design(tasks=5, prompts=24, items=(16, 20))
_SMALL_WORLD = World(own=2, two=1, three=1, mixed=1)


def _design(chosen: argparse.Namespace) -> Design:
    """The reference point, or the tiny one of `--quick`."""
    return _SMALL_DESIGN if chosen.quick else Design()


def _world(chosen: argparse.Namespace) -> World:
    return _SMALL_WORLD if chosen.quick else World()


def _rows(chosen: argparse.Namespace, points: list[planted.Point], note: Note, *, default: int) -> list[dict]:
    rows = []
    for point in points:
        rows += planted.rows(point, _repeated(chosen, planted.measure_of(point), point.name, note, default=default))
    return rows


def _repeated(chosen: argparse.Namespace, measure: Callable, name: str, note: Note, *, default: int) -> list:
    default = 4 if chosen.quick else default
    return repeat(
        measure,
        repetitions=chosen.repetitions or default,
        processes=chosen.processes,
        seed=chosen.seed,
        name=name,
        note=note,
    )


def _facts(chosen: argparse.Namespace, work: str) -> list[str]:
    versions = [f"{name} {importlib.metadata.version(name)}" for name in ("numpy", "scipy", "xarray")]
    words = [f"python benchmarks/recovery.py --work {work} --seed {chosen.seed}"]
    words += [f"--repetitions {chosen.repetitions}"] * bool(chosen.repetitions) + ["--quick"] * chosen.quick
    words += ["--results DIR"] * bool(chosen.results and work in ("claims", "partitions"))
    facts = [
        ", ".join([f"Python {platform.python_version()}", *versions, f"headcats {headcats.__version__}"]),
        f"`{' '.join(words)}`",
    ]
    if work in ("labels", "power"):
        facts.append(f"Unless a row says otherwise: four categories, 64 heads, {_listed(LabelStudy())}")
    elif work == "sharing":
        facts.append(f"Unless a row says otherwise: {_listed(_SHARING)}")
    elif work not in _OWN_DESIGN:
        facts.append(f"Unless a row says otherwise: {_listed(_design(chosen))}")
    if work not in (*_OWN_DESIGN, "null", "labels", "power", "sharing"):
        facts.append(f"Planted heads (see `recovery_parts/worlds.py`): {_listed(_world(chosen))}")
    return facts


def _without_nan(row: dict[str, Any]) -> dict[str, Any]:
    # JSON has no NaN.
    return {key: None if isinstance(value, float) and math.isnan(value) else value for key, value in row.items()}


def _listed(settings: Design | World | LabelStudy) -> str:
    return ", ".join(f"{name} {value}" for name, value in asdict(settings).items())
