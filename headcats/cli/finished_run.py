"""What `run` prints and draws when it is finished."""

import json
from collections.abc import Sequence
from pathlib import Path

import xarray as xr
from rich.markup import escape

from headcats.cli.console import out, warn
from headcats.cli.instead import drawn_by
from headcats.cli.map_tables import print_map
from headcats.cli.mapping import default_method, file_of, of_run, shown_label, tables, title
from headcats.cli.settings import DEFAULT_RULE
from headcats.cli.suite_tables import METHOD_OF, figure_file, suite_title
from headcats.errors import DataError
from headcats.figures.figure import write
from headcats.figures.overlap_map import overlap_map
from headcats.methods.spec import MethodSpec
from headcats.registry import lookup
from headcats.results import SUITE, suite_blocks
from headcats.scores import CONTROLS
from headcats.wording import counted

# The method over the whole suite that `headcats map` shows.
MAPPED = METHOD_OF["relations"]


def tell(results: xr.DataTree, specs: Sequence[MethodSpec], folder: Path) -> None:
    """The heads of every category by the first method, a picture of every method over the suite, and what to open."""
    manifest = json.loads(results.attrs["manifest"])
    results = of_run(results)
    if not all(spec.of_suite for spec in specs):
        _tell_map(results, manifest, specs, folder)
    blocks = suite_blocks(results)
    for spec in specs:
        if spec.of_suite and spec.label in blocks:
            _tell_suite(blocks[spec.label], manifest, spec, folder)


def _tell_map(results: xr.DataTree, manifest: dict, specs: Sequence[MethodSpec], folder: Path) -> None:
    first = next(spec for spec in specs if not spec.of_suite)
    scored = [name for name, entry in manifest["tasks"].items() if not entry["refusal"]]
    out.print(
        f"Scored {len(scored)} of {counted(len(manifest['tasks']), 'task')} of suite {manifest['plan']['suite']} "
        f"on {manifest['model']['name']}."
    )
    if not scored:
        return
    found = tables(results, method=first.name, positions=first.positions, rule=DEFAULT_RULE, undecided=True)
    print_map(found, rule=DEFAULT_RULE)
    page = write(
        overlap_map(found["overlap"], title=title(found)), folder / file_of("overlap_map", "html", found, results)
    )
    suite_labels = manifest["blocks"].get(SUITE, {})
    exact = [
        label for label in manifest["methods"] if label.partition("@")[0] not in CONTROLS and label not in suite_labels
    ]
    others = [shown_label(results, label) for label in exact if label != first.label]
    whole = list(suite_blocks(results))
    others += [label for label in whole if label.partition(":")[0] == MAPPED]
    if others:
        out.print(
            f"\nAlso scored: {', '.join(others)}. Another method can tell another story: "
            f"[bold]headcats map {folder} --method NAME[/]"
        )
    told = {spec.label for spec in specs}
    for label in whole:
        if label.partition(":")[0] != MAPPED and label not in told and (drawn := drawn_by(results, folder, label)):
            out.print(f"\nAlso there: {escape(label)}, over the whole suite: {escape(drawn)} draws it.")
    named = "" if default_method(results) == (first.name, first.positions) else f" --method {first.label}"
    listing = (
        "" if "not_judged" in found["members"].attrs else f" Head list: [bold]headcats map {folder}{named} --csv[/]"
    )
    out.print(f"\nOpen [bold]{page}[/] in a browser.{listing}")


def _tell_suite(block: xr.Dataset, manifest: dict, spec: MethodSpec, folder: Path) -> None:
    out.print(f"\n[bold]{escape(spec.label)}[/] on {escape(manifest['model']['name'])}")
    for line in spec.method.summary(block):
        out.print(line, markup=False)
    figure = spec.method.figure
    try:
        drawn = lookup("figure", figure)(block, title=suite_title(block))
    except DataError as error:
        warn(f"Not drawn: {error}")  # a probe at chance, for example: saved, but nothing to look at
        return
    out.print(f"Open [bold]{write(drawn, folder / figure_file(block, figure))}[/] in a browser.")
