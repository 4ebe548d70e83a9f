"""Pictures of tutorials, compared with what the tutorials draw."""

from pathlib import Path

import nbformat
import pytest
from tutorial_pictures import SVG, differences, problems, references, write

PICTURE = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} 20"><text><tspan>{text}</tspan></text>{marks}</svg>'
)


def picture(*, width: int = 100, text: str = "effect −0.50 of 8 heads", marks: int = 20) -> str:
    return PICTURE.format(width=width, text=text, marks="<path/>" * marks)


@pytest.fixture
def tutorial(tmp_path: Path) -> Path:
    cells = [
        nbformat.v4.new_code_cell("draw()", id="map"),
        nbformat.v4.new_markdown_cell("![A map](pictures/1-map.svg)"),
    ]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "1.ipynb")
    return tmp_path / "1.ipynb"


def executed(path: Path, drawn: str) -> nbformat.NotebookNode:
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[0].outputs = [nbformat.v4.new_output("display_data", {SVG: drawn})]
    return notebook


def test_a_picture_belongs_to_the_cell_before_it(tutorial: Path) -> None:
    assert references(tutorial) == {"map": (tutorial.parent / "pictures" / "1-map.svg", "A map")}


def test_what_was_written_has_no_problem(tutorial: Path) -> None:
    notebook = executed(tutorial, picture())
    assert list(problems(tutorial, notebook)) == ["1-map.svg is missing: make it with --pictures"]
    write(tutorial, notebook)
    assert list(problems(tutorial, notebook)) == []
    (changed,) = problems(tutorial, executed(tutorial, picture(width=200)))
    assert changed.startswith("1-map.svg: ")


def test_a_cell_that_draws_nothing_is_a_problem(tutorial: Path) -> None:
    (problem,) = problems(tutorial, nbformat.read(tutorial, as_version=4))
    assert "'map'" in problem


@pytest.mark.parametrize(
    "other",
    [
        {"width": 101},
        {"text": "effect −0.50 of 8 layers"},
        {"text": "effect 0.50 of 8 heads"},
        {"text": "effect −0.50 of 9 heads"},
        {"marks": 30},
    ],
    ids=str,
)
def test_another_size_word_number_or_mark_is_a_difference(other: dict) -> None:
    assert len(list(differences(picture(), picture(**other)))) == 1


@pytest.mark.parametrize("other", [{}, {"text": "effect −0.52 of 8 heads"}, {"marks": 22}], ids=str)
def test_rounding_is_none(other: dict) -> None:
    assert list(differences(picture(), picture(**other))) == []
