"""Effects of groups of heads, and heads that share keys and values."""

import numpy as np
import pytest
from figures.registered import EXAMPLES, HEAD_GRIDS

import headcats.figures


@pytest.mark.parametrize("name", ["overlap_map", *HEAD_GRIDS])
def test_the_numbers_name_what_heads_share(name: str) -> None:
    draw, plain = getattr(headcats.figures, name), EXAMPLES[name](3, 4)
    number = np.tile(np.arange(4) // 2, (3, 1))
    numbers = headcats.figures.data(draw(plain.assign_coords(kv_head=(("layer", "head"), number))))
    assert numbers["kv_head"].tolist() == (numbers["head"] // 2).tolist()
    assert "kv_head" not in headcats.figures.data(draw(plain))


@pytest.mark.parametrize("name", HEAD_GRIDS[:2])
def test_effects_of_groups_are_called_groups(name: str) -> None:
    table = EXAMPLES[name](3, 4)
    fig = getattr(headcats.figures, name)(table.assign_attrs(table.attrs | {"unit": "kv_group"}))
    titles = {axis.title.text for axis in fig.select_xaxes()} | {axis.title.text for axis in fig.select_yaxes()}
    assert titles & {"group", "Group", "groups"}
    assert not titles & {"head", "Head", "heads"}
    numbers = headcats.figures.data(fig)
    assert set(numbers["name"].str.replace(r"\d+", "", regex=True)) == {"LG"}
