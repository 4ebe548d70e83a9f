"""HTML of what headcats made: a few sentences, a small map, and a table of categories."""

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import xarray as xr

from headcats.base.errors import HeadcatsError
from headcats.categories.map_result import MapResult
from headcats.categories.map_spec import MapSpec
from headcats.categories.membership import SETTLED
from headcats.categories.shared import overlap
from headcats.figures.colours import category_colours
from headcats.figures.overlap_map import overlap_map
from headcats.figures.panels.colour_scale import signed_scale
from headcats.figures.panels.grid import PanelGrid
from headcats.figures.panels.heads import layer_head_cells
from headcats.figures.panels.layout import Panel
from headcats.figures.static.svg import svg
from headcats.figures.tables import head_rows
from headcats.reports.text.answer import certainty, headline, names_of
from headcats.results.finding import NO_LINK, OWN_BACKTICK, Finding, line
from headcats.results.head_axes import unit_attrs
from headcats.results.label import Label
from headcats.results.run_results import RunResults
from headcats.results.visible import visible
from headcats.scores.blocks import prompt_effects, same_grid

_NAMED = 8
"""Heads that a row of the table names before it counts them."""
_LARGEST = 4
_GRID = {"layer", "head"}
_CODE = re.compile("`([^`]*)`")


def summary(data: Any) -> str | None:
    """Return HTML of results, scores, memberships or an overlap of headcats; None for anything else."""
    try:
        parts = list(_parts(data))
    except HeadcatsError:  # a table that was changed so that no figure can read it
        return None
    return f'<div class="headcats">{"".join(parts)}</div>' if parts else None


def _parts(data: Any) -> Iterator[str]:
    if "categories" not in data.attrs:
        return
    if isinstance(data, xr.DataTree):
        if "manifest" in data.attrs:
            yield from _of_results(RunResults(data))
    elif _has(data, "member", {"category", *_GRID}) and "probability" in data:
        yield from _of_members(data if "n_categories" in data else overlap(data), data)
    elif _has(data, "effect", {"task", *_GRID}) and "category" in data.coords:
        yield from _of_scores(data)


def _has(data: xr.Dataset, name: str, dims: set[str]) -> bool:
    return name in data and set(data[name].dims) == dims


def _of_members(shared: xr.Dataset, members: xr.Dataset) -> Iterator[str]:
    result = MapResult(MapSpec(sign=shared.attrs.get("sign", "helping")), {"overlap": shared, "members": members})
    yield from _sentences([*headline(result), *certainty(result), line("notebook.untested")])
    yield _picture(overlap_map(shared, layout="hero"))
    columns = ("category", "heads", f"held in {SETTLED:.0%} of resamples", "undecided")
    yield _table(columns, [(of.name, names_of(of, _NAMED), of.n_settled, of.n_undecided) for of in result.categories])


def _of_scores(scores: xr.Dataset) -> Iterator[str]:
    method, metric = (str(scores.attrs.get(name, "a method")) for name in ("method", "metric"))
    yield from _sentences([line("notebook.scores", method=method, metric=metric, tasks=scores.sizes["task"])])
    yield from _mean_effects(scores)
    yield from _sentences([line("notebook.scores_unjudged")])


def _of_results(run: RunResults) -> Iterator[str]:
    model, label = run.manifest_or_empty.model.name, run.default_label
    if label is None:
        yield from _sentences([line("notebook.nothing_scored", model=model)])
        return
    counts = {"scored": len(run.scored_tasks), "tasks": len(run.tasks)}
    methods = [str(scored) for scored in run.scored]
    yield from _sentences([line("notebook.results", model=model, method=str(label), methods=methods, **counts)])
    yield from _mean_effects(_point_effects(run, label))
    yield from _sentences([line("notebook.results_unjudged", method=label.method)])


def _point_effects(run: RunResults, label: Label) -> xr.Dataset:
    """Effects of a method without intervals, which take seconds: `effect (task, layer, head)`."""
    blocks = run.blocks_of(str(label))
    measured = {
        task: prompt_effects(block, task=task, metric=str(block["metric"].values[0])) for task, block in blocks.items()
    }
    grid = same_grid({task: heads for task, (_, heads) in measured.items()})
    shape = [len(grid[axis]) for axis in ("layer", "head")]
    effects = [(prompts.effect.mean(0) / prompts.gap.mean()).reshape(shape) for prompts, _ in measured.values()]
    return xr.Dataset(
        {"effect": (("task", "layer", "head"), np.stack(effects))},
        coords={"task": list(blocks), "category": ("task", [run.category(task) for task in blocks]), **grid},
        attrs={"categories": run.attrs["categories"]} | unit_attrs(label.unit),
    )


def _mean_effects(scores: xr.Dataset) -> Iterator[str]:
    """A panel per category, and the heads with the largest means."""
    effect, named = scores["effect"], category_colours(scores)
    tasks = {name: (scores["category"] == name).values for name in named}
    means = {name: effect[{"task": of_category}].mean("task") for name, of_category in tasks.items()}
    cells = layer_head_cells(scores, within=(150, 150), least=(90, 60))
    scale = signed_scale(np.stack([mean.to_numpy() for mean in means.values()]), name="mean effect")
    panels, rows = [], list[pd.DataFrame]()
    for name, mean in means.items():
        rows.append(head_rows(scores, {"effect": mean}).assign(panel=name))
        panels.append(Panel(name, [cells.plot([cells.heatmap(rows[-1], "effect", name=name, template="%{effect}")])]))
    yield _picture(PanelGrid(panels, pd.concat(rows), least=0, beside=scale, grey=True).draw())
    largest = [frame.nlargest(_LARGEST, "effect") for frame in rows]
    shown = [[f"{name} {value:.2f}" for name, value in zip(of["name"], of["effect"], strict=True)] for of in largest]
    counts = [int(of_category.sum()) for of_category in tasks.values()]
    yield _table(("category", "tasks", "largest mean effects"), zip(named, counts, map(", ".join, shown), strict=True))


def _sentences(findings: Iterable[Finding]) -> Iterator[str]:
    marked = " ".join(finding.marked() for finding in findings)
    safe = _CODE.sub(r"<code>\1</code>", html.escape(visible(marked, keep=OWN_BACKTICK + NO_LINK)))
    yield f"<p>{safe.replace(OWN_BACKTICK, '`').replace(NO_LINK, '')}</p>"


def _picture(fig: go.Figure) -> str:
    picture = svg(fig) or ""
    return picture.replace("<svg ", '<svg style="max-width:100%;max-height:26em;width:auto;height:auto" ', 1)


def _table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
