"""Figures show any name as text: in titles, names of panels, labels, legends and at the pointer."""

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import pytest
import xarray as xr
from browser import watched
from covering import ALL
from figures.registered import EXAMPLES, FIGURES, REGISTERED
from hostile_names import GROUPS, NAMES, seen, unseen
from playwright.sync_api import Browser

from headcats.figures import write
from headcats.figures.panels.legend import category_letters
from headcats.figures.panels.text import escaped

# Labels that are no names.
_FIXED = ("metric", "verdict", "side", "context", "score", "when")
# What headcats itself writes as HTML, and as places of numbers.
_OURS = re.compile(r"</?b>|<br>|</?extra>|&nbsp;")
_PLACE = re.compile(r"%\{(x|y|z|text|hovertext|customdata\[\d+\])(:[^}]*)?\}")


def with_names(table: xr.Dataset, names: tuple[str, ...]) -> xr.Dataset:
    """A table whose labels are these names, also in texts of its other variables and in the list of colours."""
    labels = {
        str(label)
        for name, coordinate in table.coords.items()
        if coordinate.dtype.kind in "UO" and name not in _FIXED
        for label in np.ravel(coordinate.values)
    }
    new = dict(zip(sorted(labels), [*names, *(f"{name} again" for name in names * 3)], strict=False))
    old = re.compile("|".join(map(re.escape, sorted(new, key=len, reverse=True))))

    def renamed(values: np.ndarray) -> np.ndarray:
        texts = [old.sub(lambda match: new[match[0]], str(text)) for text in np.ravel(values)]
        return np.array(texts, dtype=object).reshape(np.shape(values))

    for name in table.variables:
        if table[name].dtype.kind in "UO" and name not in _FIXED:
            table = table.assign({name: (table[name].dims, renamed(table[name].values))})
    if "categories" in table.attrs:
        entries = [{**entry, "name": new.get(entry["name"], "x")} for entry in json.loads(table.attrs["categories"])]
        table = table.assign_attrs(categories=json.dumps(entries))
    return table.set_coords([name for name in table.data_vars if name in table.dims])


def drawn(name: str, names: tuple[str, ...]) -> go.Figure:
    return REGISTERED[name](with_names(EXAMPLES[name](3, 4), names), title=names[0])


def interpreted(fig: go.Figure) -> Iterator[str]:
    """Every text of a figure that plotly reads as HTML."""
    yield fig.layout.title.text
    yield from (note.text for note in fig.layout.annotations)
    for key in fig.layout:
        if key.startswith(("xaxis", "yaxis")):
            yield from fig.layout[key].ticktext or ()
    for trace in fig.data:
        yield from [trace.name] if getattr(trace, "showlegend", False) else []
        yield from [trace.hovertemplate] if trace.hovertemplate else []
        for texts in (trace.text if hasattr(trace, "text") else None, getattr(trace, "hovertext", None)):
            yield from map(str, np.ravel(texts)) if texts is not None else []


@pytest.mark.parametrize("group", range(len(GROUPS)))
def test_plotly_finds_nothing_to_obey_in_names(group: int) -> None:
    names = GROUPS[group]
    for name in figures_of(group, len(GROUPS)):
        texts = list(interpreted(drawn(name, names)))
        assert seen(html.unescape(texts[0])).startswith(seen(names[0])) or "approximation" in texts[0], name
        for text in texts:
            bare = _PLACE.sub("", _OURS.sub("", text))
            assert not re.search(r"[<>$]|%\{", bare), name
            assert not unseen(text, keep=""), name
            assert escaped(html.unescape(bare)) == bare, "each & begins one of our entities"


def figures_of(place: int, n: int) -> list[str]:
    """Every n-th figure from that place on; all of them at night."""
    return FIGURES if ALL else FIGURES[place::n]


def test_a_name_is_read_back_from_what_plotly_gets() -> None:
    assert [name for name in NAMES if seen(html.unescape(escaped(name))) != seen(name)] == []


def test_letters_of_categories_can_be_seen() -> None:
    for group in GROUPS:
        for letters in category_letters(group).values():
            assert letters.strip()
            assert not unseen(letters)


def test_the_title_of_a_page_is_text(tmp_path: Path) -> None:
    for title in ("[[title]] [[figure]]", "a</title><script>alert(1)</script>"):
        fig = REGISTERED["head_grid"](EXAMPLES["head_grid"](2, 2), title=title)
        text = write(fig, tmp_path / "figure.html").read_text(encoding="utf-8")
        assert text.count('<div id="headcats-figure"') == 1
        assert html.unescape(text.partition("<title>")[2].partition("</title>")[0]) == html.unescape(escaped(title))


HOVER = """async () => {
  const figure = document.querySelector(".js-plotly-plot"), said = [];
  for (const [curve, trace] of figure.data.entries()) {
    if (!trace.hovertemplate) continue;
    const place = figure._fullData[curve], z = place.z, at = z ? [z.length - 1, 0] : 0;
    try {
      Plotly.Fx.hover(figure, [{curveNumber: curve, pointNumber: at}]);
    } catch { continue; }
    await new Promise((done) => setTimeout(done, 60));
    said.push(...[...document.querySelectorAll(".hoverlayer text")].map((text) => text.textContent));
    Plotly.Fx.unhover(figure);
  }
  return said;
}"""


@pytest.mark.parametrize(("place", "group"), [(0, 0), (1, 1), (2, 3)])
def test_a_browser_shows_names_as_text(place: int, group: int, browser: Browser, tmp_path: Path) -> None:
    names = GROUPS[group]
    for name in figures_of(place, 3):
        page = write(drawn(name, names), tmp_path / f"{name}.html")
        with watched(browser, page) as tab:
            texts = tab.page.evaluate("[...document.querySelectorAll('svg text')].map((text) => text.textContent)")
            shown = seen(" ".join([*texts, *tab.page.evaluate(HOVER)]))
            assert seen(tab.page.title()).startswith(seen(names[0])) or "approximation" in tab.page.title()
            assert tab.injected() == [], name
        assert seen(names[0]) in shown, name
        # A long label is cut, but never obeyed.
        assert any(seen(each)[:12] in shown for each in names), name
