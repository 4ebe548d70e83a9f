"""What a notebook stores of a figure: Colab, Jupyter, VS Code; and the static picture beside it."""

import sys
from collections.abc import Iterator
from types import ModuleType

import plotly.graph_objects as go
import plotly.io as pio
import pytest
from figures.registered import EXAMPLES

from headcats.figures import data, head_grid
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


@pytest.mark.parametrize(
    ("notebook", "default", "expected"),
    [(True, "colab", f"colab+{NAME}"), (True, "", ""), (False, "browser", "browser")],
)
def test_what_a_user_chose_stays_and_is_added_to_once(
    notebook: bool, default: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    if notebook:
        monkeypatch.setitem(sys.modules, "ipykernel", ModuleType("ipykernel"))
    pio.renderers.default = default
    show_pictures()
    show_pictures()
    assert (pio.renderers.default or "") == expected


def test_a_notebook_stores_both_but_of_changed_and_other_figures_plotlys_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ipykernel", ModuleType("ipykernel"))
    pio.renderers.default = "plotly_mimetype"
    show_pictures()
    fig = head_grid(EXAMPLES["head_grid"](2, 3))
    bundle = fig._repr_mimebundle_()
    assert set(bundle) == {PLOTLY, SVG}
    assert bundle[SVG] == svg(fig)
    for other in (fig.add_hline(1), go.Figure(go.Pie(values=[1, 2]))):
        assert set(other._repr_mimebundle_()) == {PLOTLY}


def test_a_notebook_without_plotlys_extension_gets_a_page() -> None:
    """The others hand over JSON alone, which the contract of every figure looks at."""
    pio.renderers.default = "colab"
    fig = head_grid(EXAMPLES["head_grid"](2, 3), title="A title")
    (kind, page), *others = fig._repr_mimebundle_().items()
    assert (kind, others) == ("text/html", [])
    assert "Plotly.newPlot(" in page
    assert '"A title' in page
    assert "NaN" not in page.partition("Plotly.newPlot(")[2]
    assert len(data(fig)), "numbers stay with a figure that was shown"
