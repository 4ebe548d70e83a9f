import numpy as np
import pytest
from figures.examples import ICL, mixed_overlap, overlap_of
from figures.reading import traces

from headcats.base.errors import DataError
from headcats.figures import data, layer_profile

# Layer 0: head 0 in Algorithmic, head 1 undecided in it; layer 1: nothing of it.
BY_HAND = np.array([[[1, 0, -1], [-1, -1, -1]], [[-1, -1, 1], [1, 1, 0]]])
TWO = {name: ICL[name] for name in ("Algorithmic", "Knowledge")}


def by_hand():
    table = overlap_of(BY_HAND, categories=TWO)
    effect = table.effect.copy(data=np.arange(12.0).reshape(2, 2, 3) / 10)
    effect[0, 1, 2] = np.nan
    return table.assign(effect=effect, suppressing=table.member.copy(data=(BY_HAND == -1).astype(np.int8)))


def test_numbers_of_every_layer() -> None:
    frame = data(layer_profile(by_hand())).set_index(["category", "layer"])
    first = frame.loc[("Algorithmic", 0)]
    assert first[["n_heads", "n_in", "n_undecided", "n_out", "n_suppressing"]].tolist() == [3, 1, 1, 1, 1]
    assert (first.share_in, first.share_undecided) == pytest.approx((1 / 3, 1 / 3))
    assert first.mean_effect == pytest.approx(0.1)
    assert (first.strongest, first.strongest_effect) == ("L0H2", pytest.approx(0.2))
    second = frame.loc[("Algorithmic", 1)]
    # The head without a number does not count.
    assert second[["n_heads", "n_in", "n_out"]].tolist() == [2, 0, 2]
    assert second.mean_effect == pytest.approx(0.35)
    assert frame.loc[("Knowledge", 1)][["n_in", "n_undecided"]].tolist() == [2, 1]


def test_bars_stand_on_each_other_and_the_line_is_the_mean() -> None:
    fig = layer_profile(by_hand())
    frame = data(fig)
    inside, still_open, means = (traces(fig, name) for name in ("in", "undecided", "mean effect"))
    assert [trace.marker.color for trace in inside] == list(TWO.values())
    assert {trace.marker.pattern.shape for trace in still_open} == {"/"}
    for i, name in enumerate(TWO):
        here = frame[frame.category == name]
        assert inside[i].y.tolist() == here.n_in.tolist()
        assert still_open[i].y.tolist() == here.n_undecided.tolist()
        assert still_open[i].base.tolist() == here.n_in.tolist()
        np.testing.assert_allclose(means[i].y, here.mean_effect)
        assert means[i].text.tolist() == here.strongest.tolist()
        np.testing.assert_allclose(means[i].customdata[:, 0], here.strongest_effect)
        assert (inside[i].xaxis, inside[i].yaxis) == (still_open[i].xaxis, still_open[i].yaxis)

    ranges = {
        name: {fig.layout[f"yaxis{trace.yaxis[1:]}"].range for trace in traces(fig, name)}
        for name in ("in", "mean effect")
    }
    assert {len(found) for found in ranges.values()} == {1}
    assert min(ranges["mean effect"])[0] <= 0 <= 1.0 <= min(ranges["mean effect"])[1]
    assert min(ranges["in"])[1] >= 3


def test_a_layer_without_heads_stays_blank() -> None:
    table = mixed_overlap(3, 4).assign_coords(layer=[0, 2, 3])
    table["effect"] = table.effect.where(table.layer != 2)
    fig = layer_profile(table)
    assert fig.layout.xaxis.range == (-0.5, 3.5)
    frame = data(fig)
    assert set(frame.layer) == {0, 2, 3}
    empty = frame[frame.layer == 2]
    assert (empty.n_heads == 0).all()
    assert (empty.strongest == "").all()
    assert empty[["mean_effect", "share_in", "strongest_effect"]].isna().all(axis=None)
    assert not empty[["n_in", "n_undecided", "n_out"]].any(axis=None)


def test_categories_are_in_order_and_those_without_numbers_say_so() -> None:
    table = mixed_overlap(3, 4)
    table = table.isel(category=[3, 1]).assign(effect=table.effect.where(table.category != "Knowledge"))
    fig = layer_profile(table)
    assert list(dict.fromkeys(data(fig).category)) == ["Knowledge", "Translation"]
    assert "not judged" in [text.text for text in fig.layout.annotations]
    with pytest.raises(DataError, match="also Translation"):
        layer_profile(table.assign_attrs(categories='[{"name": "Knowledge", "colour": "#ff7f0e"}]'))
    with pytest.raises(DataError, match="got none"):
        layer_profile(table.isel(category=[]))
