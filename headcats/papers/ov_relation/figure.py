"""The overlap map of relations that heads implement by their weights alone."""

import dataclasses
import warnings

import numpy as np
import xarray as xr

from headcats.base.errors import OptionError, StatisticsWarning
from headcats.categories.by_block import checked_selection, members_of
from headcats.categories.shared import overlap as overlap_of
from headcats.figures.figure import figure
from headcats.figures.overlap_map import overlap_grid
from headcats.figures.panels.grid import PanelGrid
from headcats.figures.panels.heads import PAPER, check_layout
from headcats.figures.panels.layout import MARKED, UNMARKED
from headcats.figures.panels.text import escaped
from headcats.figures.tables import require
from headcats.rules.by_effect import threshold as at_least

CALIBRATED = "calibrated"
_NOTES = (
    "score = share of word pairs whose target is among the head's top k",
    "in: score ≥ threshold in at least one relation of the category",
    "null = 99.9th percentile of the scores with permuted targets",
)
_NAMED = 2  # relations with an unusual k that the title names; more are counted


@figure
def ov_map(
    relations: xr.Dataset,
    *,
    threshold: str | float = CALIBRATED,
    layout: str = PAPER,
    palette: str = "headcats",
    marks: str = MARKED,
    title: str | None = None,
) -> PanelGrid:
    """Overlap map of the categories whose relations heads implement by their weights.

    A head implements a relation if its score reaches the threshold, and is in a category if it implements at least one
    of its relations (`hc.categorize`; its warnings stand below the title). Panels, axes, colours and
    legend are those of `overlap_map`: x = layer, y = head, head 0 on top, triangles on heads that suppress a relation
    of the panel's category. The title names k, the threshold and the null of permuted targets, as ranges where they
    differ between relations. Hover over a head for its largest score in each category and its relations.

    Args:
        relations: What `hc.methods.ov_relation` returns: `score (task, layer, head)` in [0, 1], `k, null, threshold
            (task)`, coordinate `category (task)`, attribute `categories`.
        threshold: `"calibrated"`, or a number in (0, 1] for all relations; 0.15 is the paper's.
        layout: `"paper"`, the row of panels; there is no other.
        palette: As in `overlap_map`.
        marks: `"all"`, or `"none"` for a copy for publication, as in `overlap_map`.
        title: Written before k, threshold and null; "OV relations" if None. In a copy for publication it stands alone.

    Returns:
        The figure. `hc.figures.data(fig)` has one row per panel and head: `panel, layer, head, name, set, n_categories,
        label, colour, outcome, suppresses` as in `overlap_map`, `score` (largest over the relations of the panel's
        category; empty in the first panel) and `tasks` (relations implemented).

    Raises:
        DataError: a variable or dimension, a category or the attribute `categories` is missing.
        OptionError: another `threshold`.
        UnknownNameError: unknown palette, or another word for `layout` or `marks`.

    References:
        Elhelo & Geva (2025), MAPS, arXiv 2412.11965.

    Example:
        >>> import headcats as hc
        >>> kinds = {"country_capital": "Knowledge", "plural": "Linguistic"}
        >>> pairs = {task.name: task.pairs(60, seed=0) for task in hc.suite("icl").named(list(kinds))}
        >>> relations = hc.methods.ov_relation(hc.load_model("mini"), pairs, categories=kinds)
        >>> fig = hc.figures.ov_map(relations, threshold=0.15)
        >>> list(hc.figures.data(fig).panel.unique())
        ['All Categories', 'Knowledge', 'Linguistic']
    """
    variables = {"score": ("task", "layer", "head"), "k": ("task",), "null": ("task",), "threshold": ("task",)}
    check_layout(layout, (PAPER,))
    if threshold != CALIBRATED and (isinstance(threshold, str | bool) or not 0 < threshold <= 1):
        raise OptionError(f"threshold must be {CALIBRATED!r} or a number in (0, 1]; got {threshold!r}.")
    rule = None if isinstance(threshold, str) else at_least(value=float(threshold))
    require(relations, variables, figure="ov_map", table='hc.suite_blocks(results)["ov_relation"]')
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        members = members_of(relations, checked_selection(relations), rule=rule, min_tasks=1)
    caption = list(_NOTES)
    for warning in caught:
        if issubclass(warning.category, StatisticsWarning):
            caption.append(escaped(warning.message))
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    heading = title if marks == UNMARKED else f"{title or 'OV relations'}: {_settings(relations, threshold)}"
    overlap = overlap_of(members).assign_attrs(measure="score")
    grid = overlap_grid(overlap, palette=palette, title=heading, marks=marks, caption=caption)
    frame = grid.frame.rename(columns={"effect": "score"}).drop(columns=["hatched", "low", "high", "q_value"])
    return dataclasses.replace(grid, frame=frame)


def _settings(relations: xr.Dataset, threshold: str | float) -> str:
    """For example `k 10 (copying: 1), threshold 0.15 to 0.21, null 0.02 to 0.21`."""
    ks, counts = np.unique(relations["k"].values, return_counts=True)
    usual = int(ks[np.argmax(counts)])
    exceptions = []
    for k in ks[ks != usual]:
        names = [str(name) for name in relations["task"].values[relations["k"].values == k]]
        exceptions.append(f"{escaped(', '.join(names)) if len(names) <= _NAMED else f'{len(names)} relations'}: {k}")
    in_brackets = f" ({'; '.join(exceptions)})" if exceptions else ""
    least = _range(relations["threshold"]) if threshold == CALIBRATED else f"{threshold:g}"
    return f"k {usual}{in_brackets}, threshold {least}, null {_range(relations['null'])}"


def _range(values: xr.DataArray) -> str:
    low, high = f"{float(values.min()):.2f}", f"{float(values.max()):.2f}"
    return low if low == high else f"{low} to {high}"
