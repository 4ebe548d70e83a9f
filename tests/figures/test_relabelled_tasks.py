import numpy as np
import pytest
from figures.examples import ICL, relabelling_of, scattered_relabelling
from figures.reading import caption, traces

from headcats.base.errors import DataError
from headcats.figures import data, relabelled_tasks
from headcats.figures.colours import TEXT


def by_hand():
    """Two categories, four relabellings."""
    return relabelling_of(
        {"signature": np.array([3.0, 1.0]), "causal": np.array([2.5, np.nan])},
        {"signature": np.array([0.0, 1.0, 2.0, 0.5]), "causal": np.array([0.0, 1.0, np.nan, 4.0])},
        supported=[True, False],
        turns=np.array([False, False, True, False]),
    )


def test_numbers_of_every_relabelling_and_category():
    frame = data(relabelled_tasks(by_hand()))
    assert len(frame) == 2 * (4 + 2)
    signature = frame[frame.test == "signature"].set_index("label")
    assert signature.loc["relabelled", "statistic"].tolist() == [0.0, 1.0, 2.0, 0.5]
    assert signature.loc["relabelled", "supported"].tolist() == [False, False, True, False]
    assert signature.loc["relabelled", "p"].isna().all()
    assert signature.loc["Algorithmic", ["statistic", "p", "supported"]].tolist() == [3.0, 0.2, True]
    assert signature.loc["Knowledge", "p"] == 0.6


def test_dots_lines_and_diamonds_are_where_the_numbers_are():
    fig = relabelled_tasks(by_hand())
    signature, causal = traces(fig, "true labels")
    assert (list(signature.x), list(signature.y)) == ([1, 2], [3.0, 1.0])
    assert list(signature.marker.symbol) == ["diamond", "diamond-open"]
    # An open diamond has no area for a colour that may be faint on the page; the axis names its category.
    assert list(signature.marker.color) == [ICL["Algorithmic"], TEXT]
    assert (list(causal.x), list(causal.y)) == ([1], [2.5])  # without a statistic there is no mark
    dots = traces(fig, "relabelled tasks")
    assert [len(trace.y) for trace in dots] == [4, 3]
    assert len(set(dots[0].marker.color)) == 2
    levels = [trace.y[0] for trace in traces(fig, "5 % above")]
    assert levels == pytest.approx([np.quantile([0, 1, 2, 0.5], 0.95), np.quantile([0, 1, 4], 0.95)])


def test_the_caption_counts_relabellings_that_would_have_been_called_and_names_what_has_no_statistic():
    said = caption(relabelled_tasks(by_hand()))
    assert "1 of 4 relabellings" in said
    assert "causal statistic: 1 relabelling, Knowledge" in said
    assert "signature statistic" not in said


def test_without_relabellings_or_statistics_there_is_still_a_figure():
    table = by_hand().isel(relabelling=[])
    assert not traces(relabelled_tasks(table), "relabelled tasks")
    nothing = table.assign({test: table[test] * np.nan for test in ("signature", "causal")})
    assert data(relabelled_tasks(nothing))["statistic"].isna().all()


def test_no_category_is_refused():
    with pytest.raises(DataError, match="one category"):
        relabelled_tasks(scattered_relabelling(2, 2).isel(category=[]))
