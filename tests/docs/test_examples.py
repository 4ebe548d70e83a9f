"""Every example in the docstring of a public name runs and prints what it says.

An example starts with `>>> import headcats as hc` and may read `results/mini-icl`, a small finished run with evidence
(tests/docs/conftest.py). One name: `pytest -m ci tests/docs/test_examples.py -k hc.score`.
"""

import doctest
from pathlib import Path

import pytest
from examples_run import SmallRun, outcome_of, parsed
from public_names import PublicName, public_names

import headcats

pytestmark = pytest.mark.ci

WITH_EXAMPLES = [public for public in public_names() if ">>>" in public.docstring]


@pytest.mark.parametrize("public", WITH_EXAMPLES, ids=lambda public: f"hc.{public.name}")
def test_its_example_prints_what_it_says(public: PublicName, small_run: SmallRun, current_directory: Path) -> None:
    made = public.name == "run_evidence"
    outcome = small_run.evidence if made else outcome_of(public.name, public.docstring)
    assert not outcome.complaints, outcome.complaints
    assert outcome.lines > 0


def test_the_first_page_s_example_too(current_directory: Path) -> None:
    outcome = outcome_of("headcats", headcats.__doc__ or "")
    assert not outcome.complaints, outcome.complaints
    assert outcome.lines > 0


def test_no_line_of_an_example_is_skipped() -> None:
    examples = {public.name: parsed(public.name, public.docstring).examples for public in WITH_EXAMPLES}
    assert [name for name, lines in examples.items() if any(doctest.SKIP in line.options for line in lines)] == []
