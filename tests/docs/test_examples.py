"""Every example in the docstring of a public name runs and prints what it says.

An example starts with `>>> import headcats as hc` and may read `results/mini-icl`, a small finished run with evidence
(tests/docs/conftest.py). One name: `pytest -m "" tests/docs/test_examples.py -k hc.score`.
"""

import doctest
import re
from pathlib import Path

import pytest
import xarray as xr
from examples_run import SmallRun, outcome_of, parsed
from for_each import for_each
from public_names import PublicName, public_names

import headcats
import headcats as hc

SCHEMA = (Path(__file__).parents[2] / "docs" / "schema.md").read_text(encoding="utf-8")
WITH_EXAMPLES = [public for public in public_names() if ">>>" in public.docstring]


# Those without a model or results take next to no time; of the others, what a first script calls.
QUICK = ["load_model", "plan", "sweep", "PromptBatch", "metrics.metric", "task_prompts"]
QUICK += [public.name for public in WITH_EXAMPLES if not re.search("results/|checkpoints|mini|run", public.docstring)]


@for_each("public", [public for public in WITH_EXAMPLES if public.name in QUICK])
def test_quick_examples_print_what_they_say(
    public: PublicName, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = outcome_of(public.name, public.docstring)
    assert not outcome.complaints, outcome.complaints
    assert outcome.lines > 0


@pytest.mark.slow
@pytest.mark.parametrize("public", WITH_EXAMPLES, ids=lambda public: f"hc.{public.name}")
def test_its_example_prints_what_it_says(public: PublicName, small_run: SmallRun, current_directory: Path) -> None:
    made = public.name == "run_evidence"
    outcome = small_run.evidence if made else outcome_of(public.name, public.docstring)
    assert not outcome.complaints, outcome.complaints
    assert outcome.lines > 0


@pytest.mark.slow
def test_the_first_page_s_example_too(current_directory: Path) -> None:
    outcome = outcome_of("headcats", headcats.__doc__ or "")
    assert not outcome.complaints, outcome.complaints
    assert outcome.lines > 0


def test_no_line_of_an_example_is_skipped() -> None:
    examples = {public.name: parsed(public.name, public.docstring).examples for public in WITH_EXAMPLES}
    assert [name for name, lines in examples.items() if any(doctest.SKIP in line.options for line in lines)] == []


# ------------------------------------------------------------------------------------------------------ schema page
def section(title: str) -> str:
    """A section of the schema page."""
    return SCHEMA.split(f"## {title}\n")[1].split("\n## ")[0]


@pytest.mark.slow
def test_the_examples_print_what_the_page_shows(current_directory: Path) -> None:
    outcome = outcome_of("schema", "\n".join(re.findall(r"```python\n(.*?)```", SCHEMA, flags=re.DOTALL)))
    assert not outcome.complaints, outcome.complaints
    assert outcome.lines > 20


@pytest.mark.slow
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
