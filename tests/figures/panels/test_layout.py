import math

from hypothesis import given
from hypothesis import strategies as st

from headcats.figures.panels.axes import Axis
from headcats.figures.panels.layout import WIDEST, Panel, Plot, arranged


def panels(n: int, *, width: int = 100, sections: int = 1) -> list[Panel]:
    x = Axis("layer", 2, "layer", range(2))
    plot = Plot(x, Axis("head", 2, "head", range(2), reverse=True), (width, 50), [])
    return [Panel(f"p{i}", [plot], section=f"s{i * sections // n}" if sections > 1 else "") for i in range(n)]


@given(st.integers(1, 60), st.integers(1, 6))
def test_panels_need_as_few_rows_as_fit(n: int, most: int) -> None:
    places = arranged(panels(n), columns=most)
    lefts, tops = ({corner[side] for corner in places.corners} for side in (0, 1))
    assert len(lefts) <= most
    assert len(tops) == math.ceil(n / most)
    assert len(set(places.corners)) == n


@given(st.integers(2, 20), st.integers(20, 300))
def test_rows_stay_within_their_room(n: int, width: int) -> None:
    places = arranged(panels(n, width=width), columns=n)
    assert max(left for left, _ in places.corners) + width <= WIDEST


def test_axes_are_named_at_the_edges_and_a_section_begins_a_row() -> None:
    places = arranged(panels(5), columns=3)
    assert places.outer == [(False, True), (False, False), (True, False), (True, True), (True, False)]
    two = arranged(panels(6, sections=2), columns=3)
    assert two.corners[3][0] == two.corners[0][0]
    assert two.corners[3][1] > two.corners[0][1] + 50


def test_a_legend_has_room_after_the_first_panel() -> None:
    bare, beside = (arranged(panels(3), columns=3, one_row=True, beside=n) for n in (0, 150))
    assert [b[0] - a[0] for a, b in zip(bare.corners, beside.corners, strict=True)] == [0, 150, 150]
    assert beside.corners[0][0] + 100 < beside.beside_left < beside.corners[1][0]
