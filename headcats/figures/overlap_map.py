"""The category overlap map: which heads serve which categories of tasks, and which serve several."""

import xarray as xr

from headcats.figures.figure import figure
from headcats.figures.overlap_panels import checked_overlap, overlap_frame, overlap_grid
from headcats.figures.panels.grid import PanelGrid
from headcats.figures.panels.letters import AUTO, check_letters


@figure
def overlap_map(
    overlap: xr.Dataset, *, palette: str = "headcats", letters: str = AUTO, title: str | None = None
) -> PanelGrid:
    """All categories in one panel, then one panel per category; x = layer, y = head, head 0 on top.

    The first panel colours a head by its category, or by how many it is in when it is in several, and writes that on
    the cell: the category's first letters, which the legend shows in bold, or the number (the narrow cells of more
    than 16 or so layers hold no letters; there the other panels tell the categories without colour). Each further
    panel shows every head of one category, shared ones included. Heads for which the data decide neither way are
    hatched: in the first panel by the variable `undecided`, in a category's panel where `member` is 0. Layers
    without attention heads (hybrid models) stay blank, and so do heads that a layer lacks: those whose effect is
    NaN. In a category's panel a triangle marks heads that suppress it, which are never counted with those that help;
    their own map is that of `hc.overlap(members, sign="suppressing")`. Hover over a head for its name, set, effects,
    intervals, q and tasks.

    Args:
        overlap: As `hc.overlap` returns it: `n_categories, set, undecided (layer, head)` and
            `member, effect, low, high, q_value, tasks (category, layer, head)`; effects in shares of the
            clean-corrupted gap, positive = the head helps. 1 to 8 categories; their order and colours come from the
            attribute `categories`. `suppressing (category, layer, head)`, where present: 1 = marked by a triangle.
        palette: Name of the colours; `"headcats"` takes the suite's own, `"colour_blind"` some that are told apart
            under every common colour blindness.
        letters: `"auto"`, or `"none"` for cells without letters.
        title: Written above the panels; an approximation is named there and in the hover.

    Returns:
        The figure, as wide as its panels need. `hc.figures.data(fig)` has one row per panel and head: `panel, layer,
        head, name, set, n_categories, label` (the legend entry of its colour), `colour, outcome` ("in", "undecided",
        "out" of the panel's category; in the first panel "in" = of any; "no value" where the effect is NaN, in the
        first panel in every category, with `label` and `colour` ""), `hatched, suppresses, effect, low, high, q_value,
        tasks` (the last six empty in the first panel); for an approximation also `approximation`.

    Raises:
        DataError: a variable, dimension or the attribute `categories` is missing, or `member` and `n_categories`
            contradict each other.
        UnknownNameError: unknown palette, or another word for `letters`.

    References:
        Layout after Elhelo & Geva (2025), MAPS, arXiv 2412.11965.

    Example:
        >>> import headcats as hc
        >>> results = hc.load("results/mini-icl")
        >>> overlap = hc.overlap(hc.categorize(hc.score(results, method="denoising_patch")))
        >>> fig = hc.figures.overlap_map(overlap, palette="colour_blind", title="Denoising patch")
        >>> numbers = hc.figures.data(fig)
        >>> list(numbers.panel.unique())
        ['All Categories', 'Algorithmic', 'Knowledge', 'Linguistic', 'Translation']
    """
    check_letters(letters, figure="overlap_map")
    overlap, colours = checked_overlap(overlap, palette)
    return overlap_grid(overlap, overlap_frame(overlap, colours), colours, title=title, letters=letters)
