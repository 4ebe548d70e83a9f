"""Lines of Python and commands that make again what a page shows."""

import json
import shlex
from collections.abc import Mapping
from typing import Any

from headcats.categories.reading import Reading
from headcats.reports.page.material import Material
from headcats.results.folder import slug
from headcats.results.place import Place


def map_lines(material: Material, reading: Reading, *, is_judged: bool = True) -> str:
    """From the folder to `overlap`; where no head can be judged, to `scores`; of a run without tasks, to `results`."""
    lines = [
        "import headcats as hc",
        "",
        f"results = hc.load({json.dumps(_folder(material.place), ensure_ascii=False)})",
    ]
    if not material.tables:
        return "\n".join(lines)
    default = Reading()
    scoring = {
        "method": (reading.label.method, ""),
        "positions": (reading.label.positions, ""),
        "metric": (reading.metric, ""),
        "effect": (reading.effect, default.effect),
        "alpha": (reading.rule.options.get("alpha", 0.05), 0.05),
    }
    lines.append(f"scores = hc.score(results{_arguments(scoring)})")
    if is_judged:
        min_tasks = _arguments({"min_tasks": (reading.min_tasks, default.min_tasks)})
        sign = _arguments({"sign": (reading.sign, default.sign)})
        lines.append(f"members = hc.categorize(scores, rule=hc.rules.{reading.rule!r}{min_tasks})")
        lines.append(f"overlap = hc.overlap(members{sign})")
    return "\n".join(lines)


def figure_lines(material: Material, reading: Reading, call: str) -> str:
    """Those of a map, then a figure of it."""
    return f"{map_lines(material, reading)}\nhc.figures.{call}"


def figure_command(material: Material, name: str, *options: str) -> str:
    """The command that draws a registered figure of saved results."""
    start = f"headcats figure {shlex.quote(name)} "
    return material.command("figure", *options).replace("headcats figure ", start, 1) + f" --out {slug(name)}.html"


def _folder(place: Place | None) -> str:
    return "results" if place is None else place.shown


def _arguments(values: Mapping[str, tuple[Any, Any]]) -> str:
    """Arguments of a call whose value is not the default: name -> value, default."""
    return "".join(f", {name}={json.dumps(value)}" for name, (value, default) in values.items() if value != default)
