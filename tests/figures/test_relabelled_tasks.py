import numpy as np
import pytest
from figures.examples import ICL, relabelling_of, scattered_relabelling
from figures.reading import caption, traces

from headcats.base.errors import DataError
from headcats.figures import data, relabelled_tasks
from headcats.figures.colours import TEXT


def by_hand():
    """Three categories, five relabellings."""
    return relabelling_of(
        np.array([3.0, 1.0, np.nan]),
        np.array([0.0, 1.0, 2.0, 0.5, np.nan]),
        supported=[True, False, False],
        turns=np.array([False, False, True, False, False]),
    )


def test_numbers_of_every_relabelling_and_category():
    frame = data(relabelled_tasks(by_hand())).set_index("label")
    assert frame.loc["relabelled", "statistic"].tolist()[:4] == [0.0, 1.0, 2.0, 0.5]
    assert frame.loc["relabelled", "supported"].tolist() == [False, False, True, False, False]
    assert frame.loc["relabelled", "p"].isna().all()
    assert frame.loc["Algorithmic", ["statistic", "p", "supported"]].tolist() == [3.0, 1 / 6, True]
    assert frame.loc["Knowledge", "p"] == 0.5
    assert len(frame) == 5 + 3


def test_dots_line_and_diamonds_are_where_the_numbers_are():
    fig = relabelled_tasks(by_hand())
    (labels,) = traces(fig, "true labels")
    assert (list(labels.x), list(labels.y)) == ([1, 2], [3.0, 1.0])  # without a statistic there is no mark
    assert list(labels.marker.symbol) == ["diamond", "diamond-open"]
    # An open diamond has no area for a colour that may be faint on the page; the axis names its category.
    assert list(labels.marker.color) == [ICL["Algorithmic"], TEXT]
    (dots,), (level,) = traces(fig, "relabelled tasks"), traces(fig, "5 % above")
    assert list(dots.y) == [0.0, 1.0, 2.0, 0.5]
    assert len(set(dots.marker.color)) == 2
    assert level.y[0] == pytest.approx(np.quantile([0, 1, 2, 0.5], 0.95))


def test_the_caption_counts_relabellings_that_would_have_been_called_and_names_what_has_no_statistic():
    said = caption(relabelled_tasks(by_hand()))
    assert "1 of 5 relabellings" in said
    assert f"1 relabelling, {list(ICL)[2]}" in said


def test_without_relabellings_or_statistics_there_is_still_a_figure():
    table = by_hand()
    assert not traces(relabelled_tasks(table.isel(relabelling=[])), "relabelled tasks")
    nothing = table.assign({name: table[name] * np.nan for name in ("combined", "maximum")})
    assert data(relabelled_tasks(nothing))["statistic"].isna().all()


def test_no_category_is_refused():
    with pytest.raises(DataError, match="one category"):
        relabelled_tasks(scattered_relabelling(2, 2).isel(category=[]))
