"""On a dark page every neutral colour of a figure is swapped for the one that `DARK` names."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from figures.examples import EXAMPLES, FIGURES

import headcats.figures
from headcats.figures.colours import BACKGROUND, DARK, ON_DARK, ON_LIGHT, QUIET_TEXT, TEXT

NAMES = {"white": (255, 255, 255), "black": (0, 0, 0), "grey": (128, 128, 128), "gray": (128, 128, 128)}


def rgb(text: str) -> tuple[int, ...] | None:
    """Red, green and blue of a colour as plotly takes it; None for any other text."""
    if re.fullmatch(r"#[0-9a-fA-F]{6}", text):
        return tuple(int(text[i : i + 2], 16) for i in (1, 3, 5))
    if found := re.fullmatch(r"rgba?\((\d+), ?(\d+), ?(\d+)(?:, ?[\d.]+)?\)", text):
        return tuple(map(int, found.groups()))
    return NAMES.get(text)


def texts(item: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Every text of a figure's JSON with the keys that lead to it."""
    if isinstance(item, str):
        yield path, item
    elif isinstance(item, dict):
        for key, value in item.items():
            yield from texts(value, (*path, key))
    elif isinstance(item, list):
        for value in item:
            yield from texts(value, path)


def neutral(text: str) -> bool:
    colour = rgb(text)
    return colour is not None and len(set(colour)) == 1


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("grid", [(3, 4), pytest.param((40, 40), marks=pytest.mark.ci)], ids="{0[0]}x{0[1]}".format)
def test_every_neutral_colour_is_swapped_on_a_dark_page(name: str, grid: tuple[int, int]) -> None:
    drawn = json.loads(getattr(headcats.figures, name)(EXAMPLES[name](*grid), title="A title").to_json())
    found = [(path, text) for path, text in texts(drawn) if neutral(text) and "colorscale" not in path]
    on_cells = {ON_LIGHT, ON_DARK}
    strangers = {(path, text) for path, text in found if text not in {*DARK, *on_cells}}
    # The legend of a composite holds its corners, which are colours of cells.
    assert not {text for path, text in strangers if path[:2] != ("data", "marker")}
    assert not [path for path, text in found if text in on_cells and path[0] != "data"]
    assert {text for _, text in found} >= {BACKGROUND, TEXT}


def luminance(colour: str) -> float:
    """Relative luminance, as WCAG defines it."""
    shares = [value / 255 for value in rgb(colour) or ()]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return sum(weight * one for weight, one in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("text", [TEXT, QUIET_TEXT])
def test_texts_are_read_on_either_page(text: str) -> None:
    assert contrast(text, BACKGROUND) >= 4.5
    assert contrast(DARK[text], DARK[BACKGROUND]) >= 4.5


def test_swapped_colours_stay_apart() -> None:
    assert len(set(DARK.values())) == len(DARK)
    assert not set(DARK) & set(DARK.values())
