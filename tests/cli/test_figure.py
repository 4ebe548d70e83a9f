"""`headcats figure`: every kind of figure, of scored tasks and of joint methods, with its options."""

import json
import re
from pathlib import Path

import pytest
from figures.examples import EXAMPLES

from headcats.results.folder import ResultsFolder


def test_figures_of_scored_tasks(headcats, results):
    """Scores, memberships and both; `figure` of what is by categories alone."""
    rule = ["--rule", "top_fraction:p=0.5", "--min-tasks", 1]
    for name, shown, options in (("head_tasks", "L0H1", rule), ("set_counts", "Knowledge", [])):
        done = headcats("figure", name, results, "--out", "drawn.html", *options)
        assert done.code == 0, done.err
        assert "Wrote drawn.html" in done.text
        assert shown in Path("drawn.html").read_text(encoding="utf-8")


def test_what_cannot_be_drawn_is_refused_before_anything_is_read(headcats, results):
    headcats("figure", "head_grid", results, "--out", "x.bmp").check_one_message(".html, .png", "'x.bmp'")
    headcats("figure", "head_grid", results, "--out", "no/x.html").check_one_message("folder no", "x.html")
    wrong_order = headcats("figure", results, "overlap_map", "--out", "x.html")
    wrong_order.check_one_message("headcats figure overlap_map")


# ------------------------------------------------------------------------------------------------------ joint methods
@pytest.fixture
def drawn(headcats, two_methods):
    """Function: figure and options -> its page."""

    def draw(figure, *options):
        done = headcats("figure", figure, two_methods, "--out", "f.html", *options)
        assert done.code == 0, done.err
        return Path("f.html").read_text(encoding="utf-8")

    return draw


def test_figures_of_joint_methods(drawn):
    for figure in ("relation_table", "gate_seeds", "method_agreement"):
        assert len(drawn(figure)) > 1_000_000
    for method, label in (("ov_relation", ""), ("head_gating", ":preset=chg-mini")):
        assert f"{method}{label}, model mini" in drawn("importance_grid", "--method", method)


def test_options_of_a_figure(headcats, drawn, two_methods):
    page = drawn("always_any", "--set", "score=facilitation", "--set", "threshold=0.25")
    assert re.search(r"facilitation (≥|\\u2265) 0\.25", page), "the first by plotly where it finds orjson"
    assert "<title>5: " in drawn("ov_map", "--set", "title=5"), "a number as title"
    for wrong, parts in {
        "threshold=much": ("threshold", "always_any", "'much'"),
        "score": ("NAME=VALUE", "'score'"),
        "scores=x": ("'scores'", "'score'"),
    }.items():
        asked = ["figure", "always_any", two_methods, "--out", "f.html", "--set", wrong]
        headcats(*asked).check_one_message(*parts)


def test_figures_of_made_up_blocks(drawn, two_methods):
    for figure, method in {"importance_grid": "function_probe", "layer_token": "token_probe"}.items():
        block = EXAMPLES[figure](6, 8).assign_attrs(label=method, model="toy")
        ResultsFolder(two_methods).write_block("_suite", method, block)
        assert f"{method}, model toy" in drawn(figure)
    roles = block["role"].values.tolist()[:2]  # a list is an option of a figure
    for given in (",".join(roles), json.dumps(roles)):
        assert f"rectangle: {', '.join(roles)}" in drawn("layer_token", "--set", f"highlight={given}")
