"""Pictures of the tutorials' figures, for those who read a tutorial where it was stored without outputs.

A Markdown cell directly after a cell that draws shows `pictures/NOTEBOOK-CELL.svg`. `python tests/run_tutorials.py
--pictures` makes them; without that option a run compares them with what it draws.
"""

import itertools
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import nbformat

MOST = 200_000
"""Bytes of a picture."""
SVG = "image/svg+xml"
_REFERENCE = re.compile(r"!\[([^\]]*)\]\((pictures/[^)]+)\)")
_NUMBER = re.compile(r"[-−]?\d+(?:\.\d+)?")
_APART = 0.1  # of numbers in texts: a share of the larger one, or the number itself
_MARKS = 0.2  # of the marks of a kind, which come and go with heads near a limit


def references(path: Path) -> dict[str, tuple[Path, str]]:
    """Id of the cell that draws -> the picture shown directly after it, and its alt text."""
    cells = nbformat.read(path, as_version=4).cells
    shown: dict[str, tuple[Path, str]] = {}
    for before, cell in itertools.pairwise(cells):
        if cell.cell_type == "markdown":
            for alt, target in _REFERENCE.findall(cell.source):
                shown[before.id] = (path.parent / target, alt)
    return shown


def drawn(notebook: nbformat.NotebookNode) -> dict[str, str]:
    """Id of a cell of an executed notebook -> the first picture among its outputs."""
    pictures: dict[str, str] = {}
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            if picture := output.get("data", {}).get(SVG):
                pictures.setdefault(cell.id, picture)
    return pictures


def problems(path: Path, notebook: nbformat.NotebookNode) -> Iterator[str]:
    """How the stored pictures of a tutorial differ from what its executed notebook drew."""
    made = drawn(notebook)
    for cell, (picture, _) in references(path).items():
        if cell not in made:
            yield f"{picture.name}: the cell {cell!r} drew no picture"
        elif not picture.is_file():
            yield f"{picture.name} is missing: make it with --pictures"
        else:
            stored = picture.read_text(encoding="utf-8")
            yield from (f"{picture.name}: {what}" for what in differences(stored, made[cell]))


def write(path: Path, notebook: nbformat.NotebookNode) -> None:
    """Write the pictures of a tutorial; `problems` names cells that drew none."""
    made = drawn(notebook)
    for cell, (picture, _) in references(path).items():
        if cell in made:
            picture.parent.mkdir(exist_ok=True)
            picture.write_text(made[cell] + "\n", encoding="utf-8", newline="\n")


def differences(stored: str, made: str) -> Iterator[str]:
    """What tells two pictures apart beyond rounding: size, words, numbers in texts, and how many marks there are."""
    first, second = (ElementTree.fromstring(picture) for picture in (stored, made))
    if first.get("viewBox") != second.get("viewBox"):
        yield f"stored as {first.get('viewBox')}, drawn as {second.get('viewBox')}"
    kinds, drawn_kinds = (
        Counter(element.tag.rpartition("}")[2] for element in root.iter()) for root in (first, second)
    )
    for kind in sorted(kinds | drawn_kinds):
        n, m = kinds[kind], drawn_kinds[kind]
        if abs(n - m) > max(2, _MARKS * max(n, m)):
            yield f"{n} elements {kind} stored, {m} drawn"
    texts, drawn_texts = (_texts(root) for root in (first, second))
    if words := sorted(texts.keys() ^ drawn_texts.keys()):
        yield f"only one of them has the texts {'; '.join(map(repr, words[:5]))}"
    for text in sorted(texts.keys() & drawn_texts.keys()):
        for n, m in zip(sorted(texts[text]), sorted(drawn_texts[text]), strict=False):
            if abs(n - m) > max(_APART, _APART * max(abs(n), abs(m))):
                yield f"{text!r} with {n:g} stored, {m:g} drawn"


def _texts(root: ElementTree.Element) -> dict[str, list[float]]:
    """Texts with # for numbers -> the numbers of all texts that read so."""
    found: dict[str, list[float]] = {}
    for element in root.iter():
        if element.tag.endswith("}text"):
            text = "".join(element.itertext())
            numbers = [float(number.replace("−", "-")) for number in _NUMBER.findall(text)]
            found.setdefault(_NUMBER.sub("#", text), []).extend(numbers)
    return found
