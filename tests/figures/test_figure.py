import html
import inspect
import os
import re
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import plotly.graph_objects as go
import pytest
from figures.examples import mixed_overlap

import headcats.figures
from headcats.base.errors import DataError, OptionError, StorageError
from headcats.base.registry import lookup, names
from headcats.figures import data, figure, overlap_map, reads, write


@pytest.fixture(scope="module")
def small() -> go.Figure:
    """Read-only."""
    return overlap_map(mixed_overlap(2, 2), title="a <b> & c")


def test_a_figure_from_a_notebook_is_reached_by_name() -> None:
    @figure
    def dot(scores, *, size: int = 3):
        return go.Figure(go.Scatter(x=[0], y=[0], marker={"size": size})), pd.DataFrame({"x": [0]})

    assert headcats.figures.dot is dot is lookup("figure", "dot")
    assert "dot" in names("figure")
    assert reads(dot) == "scores"
    assert inspect.signature(dot).return_annotation is go.Figure
    assert dot(None, size=5).data[0].marker.size == 5
    assert data(dot(None)).x.tolist() == [0]


def test_a_misspelt_figure_gets_near_matches() -> None:
    with pytest.raises(AttributeError, match=r"mean .*overlap_map"):
        _ = headcats.figures.overlapmap
    assert not hasattr(headcats.figures, "_repr_html_")


def test_dir_names_figures_and_what_is_done_with_them_and_no_files() -> None:
    listed = set(dir(headcats.figures))
    assert listed == {"data", "figure", "reads", "write", *names("figure")}


def test_data_is_a_copy(small: go.Figure) -> None:
    mine = data(small)
    mine["colour"] = "changed"
    assert (data(small).colour != "changed").all()


def test_data_of_a_foreign_figure_is_refused() -> None:
    with pytest.raises(DataError, match=r"hc\.figures"):
        data(go.Figure())


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


@pytest.mark.skipif(os.name == "nt", reason="permissions are POSIX")
def test_page_can_be_read_by_others(small: go.Figure, tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    page = write(small, tmp_path / "a.html")
    assert page.stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_missing_folder_is_named(small: go.Figure, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"no folder .*nowhere"):
        write(small, tmp_path / "nowhere" / "a.html")


def test_other_suffixes_are_refused(small: go.Figure, tmp_path: Path) -> None:
    for name in ("a.gif", "a", "a.html.gz"):
        with pytest.raises(OptionError, match=r"\.html, .*\.pdf"):
            write(small, tmp_path / name)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("part", ["the kaleido package", "Google Chrome"])
def test_images_without_kaleido_or_a_browser_say_what_to_install(
    small: go.Figure, tmp_path: Path, monkeypatch, part: str
) -> None:
    def missing(*_: object, **__: object) -> bytes:
        raise RuntimeError(f"\nImages require {part} to be installed.\n" + 30 * " and more")

    monkeypatch.setattr(go.Figure, "to_image", missing)
    with pytest.raises(OptionError, match=rf"\.svg.*\(Images require {part}.* …\)\..*pip install kaleido") as said:
        write(small, tmp_path / "a.svg")
    assert len(str(said.value)) < 400
    assert os.listdir(tmp_path) == []


def test_images_are_written_with_what_kaleido_returns(small: go.Figure, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(go.Figure, "to_image", lambda self, format, scale: f"{format} {scale}".encode())
    assert write(small, tmp_path / "a.PDF").read_bytes() == b"pdf 2"
