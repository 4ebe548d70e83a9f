import html
import inspect
import os
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from figures.examples import mixed_overlap
from figures.reading import caption

import headcats.figures
from headcats.base.errors import DataError, OptionError, StorageError
from headcats.base.registry import lookup, names
from headcats.figures import data, figure, overlap_map, write
from headcats.figures.figure import reads


@pytest.fixture(scope="module")
def small() -> go.Figure:
    """Read-only."""
    return overlap_map(mixed_overlap(2, 2), title="a <b> & c")


def test_a_figure_from_a_notebook_is_reached_by_name_and_may_have_numbers() -> None:
    @figure
    def dot(scores, *, size: int = 3):
        return go.Figure(go.Scatter(x=[0], y=[0], marker={"size": size})), pd.DataFrame({"x": [0]})

    assert headcats.figures.dot is dot is lookup("figure", "dot")
    assert "dot" in names("figure")
    assert reads(dot) == "scores"
    assert inspect.signature(dot).return_annotation is go.Figure
    assert dot(None, size=5).data[0].marker.size == 5
    assert data(dot(None)).x.tolist() == [0]

    @figure
    def bare(scores):
        return go.Figure(go.Scatter(x=[0], y=[0]))

    for fig in (bare(None), go.Figure()):
        with pytest.raises(DataError, match=r"hc\.figures.*numbers"):
            data(fig)


def test_a_misspelt_figure_gets_near_matches() -> None:
    with pytest.raises(AttributeError, match=r"mean .*overlap_map"):
        _ = headcats.figures.overlapmap
    assert not hasattr(headcats.figures, "_repr_html_")


def test_dir_names_figures_and_what_is_done_with_them_and_no_files() -> None:
    listed = set(dir(headcats.figures))
    assert listed == {"data", "figure", "write", *names("figure")}


def test_an_approximation_is_named_in_title_pointer_and_numbers() -> None:
    table = mixed_overlap(2, 3).assign_attrs(approximation="first order")
    fig = overlap_map(table, title="Mine")
    assert fig.layout.title.text.startswith("First-order approximation")
    assert set(data(fig).approximation) == {"first order"}
    pointed = [trace.hovertemplate for trace in fig.data if trace.hovertemplate]
    assert pointed
    assert all("first-order approximation" in template for template in pointed)


def test_infinite_numbers_are_left_out_by_name() -> None:
    table = mixed_overlap(3, 4)
    holed = table.copy(deep=True)
    holed["effect"].values.flat[0], holed["low"].values.flat[1] = np.inf, -np.inf
    missing = holed.assign({name: holed[name].where(abs(holed[name]) != np.inf) for name in ("effect", "low")})
    fig = overlap_map(holed)
    pd.testing.assert_frame_equal(data(fig), data(overlap_map(missing)))
    assert "effect (1), low (1)" in caption(fig)


def test_numbers_are_a_copy(small: go.Figure) -> None:
    mine = data(small)
    mine["colour"] = "changed"
    assert (data(small).colour != "changed").all()


class Loads(HTMLParser):
    """Addresses that a browser would fetch when opening a page."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [value or "" for key, value in attrs if key in ("src", "href", "srcset", "data", "action")]


def test_page_is_self_contained_and_the_same_every_time(small: go.Figure, tmp_path: Path) -> None:
    first, second = (write(small, tmp_path / name) for name in ("a.html", "B.HTML"))
    text = first.read_text(encoding="utf-8")
    page = Loads()
    page.feed(text)
    assert page.addresses == []
    assert len(text) > 1_000_000  # plotly.js is inside
    assert html.escape("a <b> & c") in text.partition("</title>")[0]
    assert re.search(r'"showSendToCloud": ?false', text)
    assert first.read_bytes() == second.read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["B.HTML", "a.html"]


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [("nowhere/a.html", StorageError, r"no folder .*nowhere"), ("a.gif", OptionError, r"\.html, .*\.pdf"),
     ("a", OptionError, ".html"), ("a.html.gz", OptionError, ".html")],
)  # fmt: skip
def test_missing_folders_and_other_suffixes_are_refused(
    small: go.Figure, tmp_path: Path, name: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        write(small, tmp_path / name)
    assert os.listdir(tmp_path) == []


def test_images_are_what_kaleido_returns_and_without_it_it_is_said_what_to_install(
    small: go.Figure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(go.Figure, "to_image", lambda self, format, scale: f"{format} {scale}".encode())
    assert write(small, tmp_path / "a.PDF").read_bytes() == b"pdf 2"

    def missing(*_: object, **__: object) -> bytes:
        raise RuntimeError("\nImages require Google Chrome to be installed.\n" + 30 * " and more")

    monkeypatch.setattr(go.Figure, "to_image", missing)
    with pytest.raises(OptionError, match=r"\.svg.*\(Images require Google Chrome.* …\)\..*kaleido") as said:
        write(small, tmp_path / "a.svg")
    assert len(str(said.value)) < 400
    assert os.listdir(tmp_path) == ["a.PDF"]
