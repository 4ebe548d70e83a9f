"""Contrasts on shared words: only prompts whose corrupted version shows the other category count."""

import numpy as np
import pytest
from damages import damage, heads, trial

from headcats.evidence.contrasts import contrasts
from headcats.evidence.sentences import contrast_sentences

CATEGORY_OF = {"capital": "Knowledge", "french": "Translation", "reverse": "Algorithmic", "never_scored": "Translation"}
CATEGORIES = ("Algorithmic", "Knowledge", "Translation")
SETS = [heads("L0H0"), heads("L0H1"), heads("L0H2")]


def measured():
    """Capitals lose 0.6 by L0H0 where French is shown and 0.2 elsewhere; French loses 0.1 where capitals are shown."""
    capital = damage(
        "capital", "Knowledge", lambda members: 0.6, SETS, distractors=("french", "language", "never_scored")
    )
    capital.drop[np.array(capital.distractor_tasks) == "language"] = 0.4
    capital.drop[:, capital.columns[SETS[1]]] = 0.3
    capital.drop[:, capital.columns[SETS[2]]] = 2.0
    french = damage("french", "Translation", lambda _: 0.1, SETS, distractors=("capital", "german"))
    return {
        "capital": capital,
        "french": french,
        "reverse": damage("reverse", "Algorithmic", lambda _: 0.0, SETS),
    }


@pytest.fixture(scope="module")
def table():
    own = trial(["L0H0"], [["L0H1"], ["L0H2"]])
    none = trial((), reason="none")
    designed = {task: {"Knowledge": own, "Translation": own, "Algorithmic": none} for task in measured()}
    return contrasts(designed, measured(), categories=CATEGORIES, category_of=CATEGORY_OF)


def test_by_hand(table):
    cell = table.sel(category="Knowledge", other="Translation")
    assert (cell["own_prompts"].item(), cell["other_prompts"].item()) == (8, 6)
    assert (cell["own_tasks"].item(), cell["other_tasks"].item()) == ("capital", "french")
    assert cell["own"].item() == pytest.approx(0.6)
    assert cell["elsewhere"].item() == pytest.approx(0.1)
    assert cell["difference"].item() == pytest.approx(0.5)
    assert cell["control_mean"].item() == pytest.approx(((0.15 - 0.1) + (1.0 - 0.1)) / 2)
    assert cell["p"].item() == 2 / 3
    assert cell["n_controls"].item() == 2
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
    text = " ".join(contrast_sentences(changed))
    for part in ("do 0.50 more damage", "0.20 less to Translation", "0.30 of the gap", "8 and 6 prompts"):
        assert part in text
    assert "Knowledge damage" not in text
    changed["interaction"][:] = np.nan
    text = " ".join(contrast_sentences(changed))
    for part in (
        "damage Knowledge by 0.60",
        "Translation by 0.10",
        "8 and 6 prompts",
        "random sets (2)",
        "no verdict.",
    ):
        assert part in text
    changed["n_controls"][:] = 19
    assert "no verdict: random" in " ".join(contrast_sentences(changed))


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
    none = trial((), reason="none")
    designed = {task: dict.fromkeys(CATEGORIES, none) for task in measured()}
    found = contrasts(designed, measured(), categories=CATEGORIES, category_of=CATEGORY_OF)
    cell = found.sel(category="Knowledge", other="Translation")
    assert cell["note"].item().startswith("Knowledge has no")
    assert np.isnan(cell["p"].item())
