"""Position x head: which heads, which numbers, and how positions are named."""

import numpy as np
import pytest
import xarray as xr
from figures.examples import positions_of, scattered_positions
from figures.reading import caption, heatmaps, traces

from headcats.base.errors import DataError, OptionError, UnknownNameError
from headcats.figures import data, position_head

TOKENS = [["<bos>", " John", " gave", "\n"], ["<bos>", " Mary", " gave", "\n"]]


def effects(**large: float) -> np.ndarray:
    """Zeros over (4 positions, 3 layers, 2 heads), but for the cells `p_l_h`."""
    effect = np.zeros((4, 3, 2))
    for cell, value in large.items():
        effect[tuple(map(int, cell.strip("_").split("_")))] = value
    return effect


@pytest.mark.parametrize("base", ["clean", "corrupted"])
def test_effects_are_shares_of_the_gap_and_positive_where_a_head_helps(base: str) -> None:
    frame = data(position_head(positions_of(effects(_1_2_0=0.5, _3_0_1=-0.25), tokens=TOKENS, base=base)))
    assert len(frame) == 4 * 6
    cells = frame[frame.effect.abs() > 1e-9].set_index(["name", "position"]).effect
    assert cells.to_dict() == pytest.approx({("L2H0", 1): 0.5, ("L0H1", 3): -0.25})


def test_the_columns_are_the_heads_with_the_largest_effects_by_layer() -> None:
    effect = effects(_0_2_1=0.1, _1_0_0=-0.4, _2_1_1=0.2, _3_1_0=0.05)
    fig = position_head(positions_of(effect, tokens=TOKENS), heads=2)
    assert data(fig).name.unique().tolist() == ["L0H0", "L1H1"]
    assert list(fig.layout.xaxis.ticktext) == ["L0H0", "L1H1"]
    assert fig.layout.yaxis.range[0] > fig.layout.yaxis.range[1]  # the first position on top
    np.testing.assert_allclose(np.transpose(heatmaps(fig)[0].z), [[0, -0.4, 0, 0], [0, 0, 0.2, 0]])
    assert "the 2 of 6 heads" in caption(fig)
    assert " of 6 heads" not in caption(position_head(positions_of(effect, tokens=TOKENS)))


@pytest.mark.parametrize(
    ("tokens", "roles", "expected"),
    [
        (TOKENS, [], ["0 &lt;bos&gt;", "1 ␣John …", "2 ␣gave", "3 ↵"]),
        (TOKENS, ["bos", "s1", "", "end"], ["0 &lt;bos&gt;", "1 s1", "2 ␣gave", "3 ↵"]),
        ([["a", "x" * 40, "a", "b"]] * 2, [], ["0 a", f"1 {'x' * 15}…", "2 a", "3 b"]),
        (None, [], ["0", "1", "2", "3"]),
    ],
    ids=["a token that all prompts share, else the first one", "a role where tokens differ", "cut", "numbers alone"],
)
def test_positions_are_named_by(tokens: list | None, roles: list[str], expected: list[str]) -> None:
    table = positions_of(effects(), tokens=tokens or TOKENS, roles=roles)
    fig = position_head(table if tokens else table.drop_vars("token"))
    assert list(fig.layout.yaxis.ticktext) == expected
    if roles:
        first = data(fig)[:4]
        assert (first.role.tolist(), first.token.tolist()) == (roles, ["<bos>", "", " gave", "\n"])
        (heat,) = heatmaps(fig)
        assert "position 1, s1" in heat.hovertext[1]
        assert "position 2 ' gave'" in heat.hovertext[2]


def test_many_positions_are_numbered() -> None:
    effect = np.random.default_rng(0).normal(size=(300, 3, 2))
    table = positions_of(effect, tokens=[["a"] * 300] * 2)
    fig, later = position_head(table), table.isel(position=slice(100, 300))
    assert fig.layout.height <= 1200
    assert len(fig.layout.yaxis.tickvals) < 80
    assert position_head(later).layout.yaxis.ticktext[0] == "100"


def test_a_layer_of_one_head_is_called_by_its_number() -> None:
    ds = positions_of(effects(_1_2_0=0.5)[:, :, :1], tokens=TOKENS)
    assert data(position_head(ds)).name.unique().tolist() == ["L0", "L1", "L2"]


def test_heads_without_numbers_and_noise() -> None:
    effect = effects(_1_2_0=0.5, _1_1_0=0.01)
    effect[:, 0, 1] = np.nan
    ds = positions_of(effect, tokens=TOKENS)
    dims = ("metric", "position", "layer", "head")
    ds["below_noise"] = (dims, np.nan_to_num(abs(effect), nan=0.0)[None] < 0.1)
    fig = position_head(ds)
    frame = data(fig)
    assert "L0H1" not in set(frame.name)
    row = frame.name.unique().tolist().index("L1H0")
    assert [(trace.x.tolist(), trace.y.tolist()) for trace in traces(fig, "below noise")] == [([row], [1])]
    assert frame.below_noise.sum() == len(frame) - 1


def test_metrics_are_chosen() -> None:
    one = positions_of(effects(_1_2_0=0.5), tokens=TOKENS)
    two = one.assign_coords(metric=["kl"])
    both = xr.concat([one.assign_coords(metric=["prob"]), two], "metric")
    with pytest.raises(OptionError, match="prob, kl"):
        position_head(both)
    assert data(position_head(both, metric="kl")).effect.max() == pytest.approx(0.5)
    with pytest.raises(UnknownNameError, match="rank"):
        position_head(both, metric="rank")
    assert data(position_head(two)).effect.max() == pytest.approx(0.5)


@pytest.mark.usefixtures("unchecked_types")
def test_what_cannot_be_drawn() -> None:
    ds = scattered_positions(2, 2)
    for heads in (0, ["L0H1"]):
        with pytest.raises(OptionError, match="at least 1; got"):
            position_head(ds, heads=heads)
    with pytest.raises(DataError, match=r"gap is -2"):
        position_head(ds.assign(clean=ds.corrupted, corrupted=ds.clean))
