"""Contrasts on shared words: only prompts whose corrupted version shows the other category count."""

import numpy as np
import pytest
from damages import damage, heads

from headcats.evidence.contrasts import contrasts
from headcats.evidence.findings import contrast_findings

CATEGORY_OF = {"capital": "Knowledge", "french": "Translation", "reverse": "Algorithmic", "never_scored": "Translation"}
CATEGORIES = ("Algorithmic", "Knowledge", "Translation")
SETS = [heads("L0H0")]


def measured():
    """Capitals lose 0.6 by L0H0 where French is shown and 0.2 elsewhere; French loses 0.1 where capitals are shown."""
    capital = damage(
        "capital", "Knowledge", lambda members: 0.6, SETS, distractors=("french", "language", "never_scored")
    )
    capital.drop[np.array(capital.distractor_tasks) == "language"] = 0.4
    french = damage("french", "Translation", lambda _: 0.1, SETS, distractors=("capital", "german"))
    return {
        "capital": capital,
        "french": french,
        "reverse": damage("reverse", "Algorithmic", lambda _: 0.0, SETS),
    }


@pytest.fixture(scope="module")
def table():
    own = heads("L0H0")
    designed = {task: {"Knowledge": own, "Translation": own, "Algorithmic": ()} for task in measured()}
    return contrasts(designed, measured(), categories=CATEGORIES, category_of=CATEGORY_OF)


def test_by_hand(table):
    cell = table.sel(category="Knowledge", other="Translation")
    assert (cell["own_prompts"].item(), cell["other_prompts"].item()) == (8, 6)
    assert (cell["own_tasks"].item(), cell["other_tasks"].item()) == ("capital", "french")
    assert cell["own"].item() == pytest.approx(0.6)
    assert cell["elsewhere"].item() == pytest.approx(0.1)
    assert cell["difference"].item() == pytest.approx(0.5)
    assert cell["note"].item() == ""


def test_the_other_way_round_is_the_same_heads_here_and_the_opposite_difference(table):
    there = table.sel(category="Knowledge", other="Translation")
    back = table.sel(category="Translation", other="Knowledge")
    assert back["difference"].item() == pytest.approx(-there["difference"].item())
    # The same heads under two names: what looks like a difference cancels.
    assert back["interaction"].item() == pytest.approx(0.0)
    assert there["interaction"].item() == pytest.approx(0.0)


def test_both_differences_of_a_pair_are_told_with_their_sum(table):
    changed = table.copy(deep=True)
    changed["interaction"].loc[{"category": "Knowledge", "other": "Translation"}] = 0.3
    (pair,) = (finding.fields for finding in contrast_findings(changed) if finding.id == "evidence.interaction")
    assert (pair["first"], pair["second"], pair["both"]) == ("Knowledge", "Translation", 0.3)
    assert (pair["n_first"], pair["n_second"]) == (8, 6)
    assert [pair["by_first"], pair["by_second"]] == pytest.approx([0.5, -0.2])
    changed["interaction"][:] = np.nan
    findings = {finding.id: finding.fields for finding in contrast_findings(changed)}
    back = findings["evidence.difference"]
    assert (back["category"], back["other"]) == ("Translation", "Knowledge")
    assert [back["damage"], back["elsewhere"]] == pytest.approx([0.1, 0.6])
    assert (back["n_first"], back["n_second"]) == (6, 8)
    assert "evidence.descriptive" in findings


def test_pairs_without_shared_words_are_said(table):
    cell = table.sel(category="Algorithmic", other="Knowledge")
    assert np.isnan(cell["difference"].item())
    assert cell["note"].item().count("held-out prompt") == 2


def test_a_category_against_itself_is_nothing(table):
    cell = table.sel(category="Knowledge", other="Knowledge")
    assert np.isnan(cell["difference"].item())
    assert cell["own_prompts"].item() == 0
    assert cell["note"].item() == ""


def test_heads_that_do_not_exist_are_a_reason():
    designed = {task: dict.fromkeys(CATEGORIES, ()) for task in measured()}
    found = contrasts(designed, measured(), categories=CATEGORIES, category_of=CATEGORY_OF)
    cell = found.sel(category="Knowledge", other="Translation")
    assert cell["note"].item().startswith("Knowledge has no")
    assert np.isnan(cell["difference"].item())
