"""What a figure hands to the notebooks that show it: Colab, Jupyter, VS Code."""

import plotly.io
import pytest
from covering import spread
from figures.examples import EXAMPLES, FIGURES, REGISTERED

from headcats.figures import data

# As plotly chooses them by itself; the others hand over JSON alone, which the contract of every figure looks at.
RENDERERS = ["colab", "notebook", "notebook_connected", "kaggle"]


@pytest.mark.parametrize(
    ("renderer", "name"),
    [("colab", "head_grid")]
    + [pytest.param(*case, marks=pytest.mark.slow) for case in spread(RENDERERS, [(name,) for name in FIGURES])],
)
def test_a_notebook_without_plotlys_extension_gets_a_page(
    renderer: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plotly.io.renderers, "default", renderer)
    fig = REGISTERED[name](EXAMPLES[name](2, 3), title="A title")
    (kind, page), *others = fig._repr_mimebundle_().items()
    assert (kind, others) == ("text/html", [])
    assert "Plotly.newPlot(" in page
    assert '"A title' in page
    assert "NaN" not in page.partition("Plotly.newPlot(")[2]
    assert len(data(fig)), "numbers stay with a figure that was shown"
