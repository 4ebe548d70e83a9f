"""`headcats figure`: every kind of figure, of scored tasks and of joint methods, with its options."""

from pathlib import Path

import pytest


def test_figures_of_scored_tasks(headcats, results):
    """Scores, memberships and both; `figure` of what is by categories alone."""
    rule = ["--rule", "top_fraction:p=0.5", "--min-tasks", 1]
    for name, shown, options in (("head_tasks", "L0H1", rule), ("overlap_map", "Knowledge", [])):
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
def drawn(headcats, joint_methods, two_methods):
    """Function: figure and options -> its page."""

    def draw(figure, *options):
        done = headcats("figure", figure, two_methods, "--out", "f.html", *options)
        assert done.code == 0, done.err
        return Path("f.html").read_text(encoding="utf-8")

    return draw


def test_figures_of_joint_methods(drawn):
    for figure, label in (("head_scores", "word_weights"), ("gate_scores", "made_gates:preset=small")):
        assert f"{label}, model mini" in drawn(figure)


def test_options_of_a_figure(headcats, drawn, two_methods):
    page = drawn("gate_scores", "--set", "variable=interference", "--set", "above=0.25")
    assert "interference above 0.25" in page
    assert "<title>5" in drawn("head_scores", "--set", "title=5"), "a number as title"
    for given in (
        "Knowledge",
        "Knowledge,Linguistic",
        '["Knowledge", "Linguistic"]',
    ):  # a list is an option of a figure
        assert ("Linguistic" in drawn("gate_scores", "--set", f"panels={given}")) == ("Linguistic" in given)
    for wrong, parts in {
        "above=much": ("above", "gate_scores", "'much'"),
        "above": ("NAME=VALUE", "'above'"),
        "panel=x": ("'panel'", "'panels'"),
    }.items():
        asked = ["figure", "gate_scores", two_methods, "--out", "f.html", "--set", wrong]
        headcats(*asked).check_one_message(*parts)
