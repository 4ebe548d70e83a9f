"""The static picture that a notebook stores beside a figure."""

import sys
from collections.abc import Iterator
from types import ModuleType

import plotly.graph_objects as go
import plotly.io as pio
import pytest
from figures.registered import EXAMPLES

import headcats.figures
from headcats.figures.static.renderer import NAME, show_pictures
from headcats.figures.static.svg import svg

PLOTLY, SVG = "application/vnd.plotly.v1+json", "image/svg+xml"


@pytest.fixture(autouse=True)
def renderers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Renderers as before, after each test."""
    before = pio.renderers.default
    monkeypatch.setattr(pio.renderers, "_renderers", dict(pio.renderers._renderers))
    yield
    pio.renderers.default = before


def in_a_notebook(monkeypatch: pytest.MonkeyPatch, *, default: str) -> None:
    monkeypatch.setitem(sys.modules, "ipykernel", ModuleType("ipykernel"))
    pio.renderers.default = default


def test_a_notebook_stores_both(monkeypatch: pytest.MonkeyPatch) -> None:
    in_a_notebook(monkeypatch, default="plotly_mimetype")
    show_pictures()
    fig = headcats.figures.head_grid(EXAMPLES["head_grid"](2, 3))
    bundle = fig._repr_mimebundle_()
    assert set(bundle) == {PLOTLY, SVG}
    assert bundle[SVG] == svg(fig)


def test_what_a_user_chose_stays_and_is_added_to_once(monkeypatch: pytest.MonkeyPatch) -> None:
    in_a_notebook(monkeypatch, default="colab")
    show_pictures()
    show_pictures()
    assert pio.renderers.default == f"colab+{NAME}"


def test_where_figures_are_not_shown_none_is_added(monkeypatch: pytest.MonkeyPatch) -> None:
    in_a_notebook(monkeypatch, default="")
    show_pictures()
    assert not pio.renderers.default


def test_outside_a_notebook_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    pio.renderers.default = "browser"
    show_pictures()
    assert pio.renderers.default == "browser"


def test_a_figure_that_was_changed_and_one_of_another_kind_are_shown_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    in_a_notebook(monkeypatch, default="plotly_mimetype")
    show_pictures()
    changed = headcats.figures.head_grid(EXAMPLES["head_grid"](2, 3)).add_hline(1)
    for fig in (changed, go.Figure(go.Pie(values=[1, 2]))):
        assert set(fig._repr_mimebundle_()) == {PLOTLY}
