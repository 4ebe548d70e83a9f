"""The schema page and the glossary: examples run, variables are those of the data, both pages are linked."""

import re
from pathlib import Path

import pytest
import xarray as xr
from examples_run import outcome_of

import headcats as hc

ROOT = Path(__file__).parents[2]
GUIDES = {name: (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8") for name in ("schema", "glossary")}


def section(title: str) -> str:
    """A section of the schema page."""
    return GUIDES["schema"].split(f"## {title}\n")[1].split("\n## ")[0]


@pytest.mark.ci
def test_the_examples_print_what_the_page_shows(current_directory: Path) -> None:
    outcome = outcome_of("schema", "\n".join(re.findall(r"```python\n(.*?)```", GUIDES["schema"], flags=re.DOTALL)))
    assert not outcome.complaints, outcome.complaints
    assert outcome.lines > 20


@pytest.mark.ci
def test_the_variables_of_each_step_are_those_of_the_data(current_directory: Path) -> None:
    results = hc.load("results/mini-icl")
    scores = hc.score(results, method="denoising_patch")
    members = hc.categorize(scores)
    steps = {
        "Raw block": results["plural/denoising_patch@last"].to_dataset(),
        "Scores": scores,
        "Members": members.drop_vars([name for name in members if "suppressing" in str(name)]),
        "Overlap": hc.overlap(members).drop_vars(list(members)),
    }
    for title, data in steps.items():
        assert not missing(data, section(title)), title


def missing(data: xr.Dataset, text: str) -> set[str]:
    """Variables, with their dimensions, that no row of a section's tables lists."""
    rows = re.findall(r"^\| (`.+?) \| ([\w, ]+) \|", text, flags=re.MULTILINE)
    listed_dims = {name: dims for names, dims in rows for name in re.findall(r"`(\w+)`", names)}
    return {str(name) for name in data if listed_dims.get(str(name)) != ", ".join(map(str, data[name].dims))}


@pytest.mark.parametrize("name", GUIDES)
def test_it_is_linked_from_the_readme_and_the_reference(name: str) -> None:
    assert f"(docs/{name}.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert f'"{name}"' in (ROOT / "docs" / "reference.py").read_text(encoding="utf-8")


def test_links_between_the_guides_lead_somewhere() -> None:
    targets = [target for text in GUIDES.values() for target in re.findall(r"\]\((\w+)\.md\)", text)]
    assert targets
    assert set(targets) <= set(GUIDES)


def test_entries_of_the_glossary_are_unique_and_sorted() -> None:
    for part in re.split(r"^## .+$", GUIDES["glossary"], flags=re.MULTILINE)[1:]:
        entries = re.findall(r"^\*\*(.+?)\*\*", part, flags=re.MULTILINE)
        assert entries
        assert len(entries) == len(set(entries))
