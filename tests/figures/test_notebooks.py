"""What a figure hands to the notebooks that show it: Colab, Jupyter, VS Code."""

import plotly.io
import pytest
from figures.registered import EXAMPLES, REGISTERED

from headcats.figures import data


def test_a_notebook_without_plotlys_extension_gets_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others hand over JSON alone, which the contract of every figure looks at."""
    monkeypatch.setattr(plotly.io.renderers, "default", "colab")
    fig = REGISTERED["head_grid"](EXAMPLES["head_grid"](2, 3), title="A title")
    (kind, page), *others = fig._repr_mimebundle_().items()
    assert (kind, others) == ("text/html", [])
    assert "Plotly.newPlot(" in page
    assert '"A title' in page
    assert "NaN" not in page.partition("Plotly.newPlot(")[2]
    assert len(data(fig)), "numbers stay with a figure that was shown"
