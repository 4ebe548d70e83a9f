import re

import numpy as np
import plotly.graph_objects as go
from figures.examples import ICL, overlap_of

from headcats.figures import overlap_map

# L1H0 Algorithmic + Translation, L2H1 undecided in Knowledge.
MEMBER = -np.ones((4, 3, 2))
MEMBER[[0, 3], 1, 0] = 1
MEMBER[1, 2, 1] = 0


def heatmaps(fig: go.Figure) -> list[go.Heatmap]:
    return [trace for trace in fig.data if trace.type == "heatmap"]


def words(text: str) -> list[str]:
    return [word for word in re.findall(r"\w+", text) if word not in ("br", "tasks", "of")]


def test_hover_names_the_head_its_set_and_its_tasks() -> None:
    everything, algorithmic, knowledge, *_ = heatmaps(overlap_map(overlap_of(MEMBER)))
    assert everything.text[0][1] == "L1H0: Algorithmic + Translation"
    assert re.findall(r"[A-Z]\w+", everything.text[1][2]) == ["L2H1", "Knowledge"]
    assert "undecided" in everything.text[1][2]
    # The panel of a category says what its heads are in the others.
    assert algorithmic.text[1][2] == "L2H1: no category (undecided: Knowledge)"
    tasks = ["Algorithmic", "copy", "reverse"]
    assert words(algorithmic.hovertext[0][1]) == tasks
    assert words(everything.hovertext[0][1]) == [*tasks, "Translation", "copy", "reverse"]
    np.testing.assert_allclose(everything.customdata[1][2][4:8], [0.121, 0.101, 0.141, 0.5], rtol=1e-6)
    np.testing.assert_allclose(knowledge.customdata[1][2], [0.121, 0.101, 0.141, 0.5], rtol=1e-6)
    for name in ICL:
        assert f"{name}: effect" in everything.hovertemplate


def test_hover_says_which_categories_are_not_judged() -> None:
    table = overlap_of(MEMBER)
    table["effect"] = table.effect.where(table.category != "Knowledge")
    everything, algorithmic, knowledge, *_ = heatmaps(overlap_map(table))
    for trace in (everything, knowledge):
        assert "Knowledge: not judged" in trace.hovertemplate
        assert "Knowledge: effect" not in trace.hovertemplate
    assert "not judged" not in algorithmic.hovertemplate
