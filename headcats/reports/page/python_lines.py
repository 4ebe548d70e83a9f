"""Lines of Python and commands that make again what a page shows."""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from headcats.categories.map_spec import MapSpec
from headcats.results.block_files import slug
from headcats.results.place import Place


def map_lines(place: Place | None, reading: MapSpec | None, *, is_judged: bool = True) -> str:
    """From the folder to `overlap`; where no head can be judged, to `scores`; without a map (None), to `results`."""
    lines = ["import headcats as hc", "", f"results = hc.load({_text(shown_folder(place))})"]
    return "\n".join([*lines, *(() if reading is None else _of_map(reading, is_judged=is_judged))])


def block_lines(label: str, reading: MapSpec) -> Iterator[str]:
    """From `results` to `overlap` of the heads that a joint method sorts."""
    yield "blocks = hc.suite_blocks(results)"
    rule = f", rule=hc.rules.{reading.rule!r}" if reading.named_rule else ""
    least = "" if reading.named_min_tasks is None else f", min_tasks={_text(reading.named_min_tasks)}"
    yield f"members = hc.categorize(blocks[{_text(label)}]{rule}{least})"
    yield f"overlap = hc.overlap(members{_arguments({'sign': (reading.sign, MapSpec().sign)})})"


def figure_lines(place: Place | None, reading: MapSpec | None, call: str) -> str:
    """Lines of a map, then a figure of it."""
    return f"{map_lines(place, reading)}\nhc.figures.{call}"


def figure_lines_of_runs(places: Sequence[Place | None], reading: MapSpec, call: str) -> str:
    """Lines of the map of each run, then a figure of it, of which `folder` may be the title."""
    folders = [shown_folder(place) for place in places]
    body = ["results = hc.load(folder)", *_of_map(reading, is_judged=True), f"hc.figures.{call}.show()"]
    head = ["import headcats as hc", "", f"for folder in {_text(folders)}:"]
    return "\n".join([*head, *(f"    {line}" for line in body)])


def figure_command(place: Place | None, name: str, options: Mapping[str, str]) -> str:
    """The command that draws a registered figure of saved results."""
    given = "".join(f" --{option} {shlex.quote(value)}" for option, value in options.items())
    start = f"headcats figure {shlex.quote(name)} {shlex.quote(shown_folder(place))}"
    return f"{start}{given} --out {slug(name)}.html"


def shown_folder(place: Place | None) -> str:
    """The folder of results, as a page names it; "results" of those in memory."""
    return "results" if place is None else place.shown


def _of_map(reading: MapSpec, *, is_judged: bool) -> Iterator[str]:
    default = MapSpec()
    scoring = {
        "method": (reading.label.method, ""),
        "positions": (reading.label.positions, ""),
        "metric": (reading.metric, ""),
        "effect": (reading.effect, default.effect),
        "alpha": (reading.rule.options.get("alpha", 0.05), 0.05),
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
