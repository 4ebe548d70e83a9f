"""What is said of heads that have the same effect in every task of every category."""

import json
import re

import numpy as np
import pytest
from simulated import block, tree

from headcats.categories.map_result import MapResult
from headcats.categories.map_spec import MapSpec
from headcats.categories.outcome import IN, UNDECIDED, outcomes
from headcats.categories.run_maps import scored_map
from headcats.reports.notebook.summary import summary
from headcats.reports.page.first_screen import cards
from headcats.reports.text.answer import certainty, headline
from headcats.reports.text.short import map_details, short_map
from headcats.results.run_results import RunResults

NAMES = ("A", "B", "C", "D")
AS_EXCLUSIVE = re.compile(r"\b(alone|only)\b|no head .*more than one", re.IGNORECASE)


@pytest.fixture(scope="module")
def equal() -> MapResult:
    """Eight heads of .2 in all of twenty tasks, beside eight without any: in one category, undecided in the others."""
    rng = np.random.default_rng(1)
    blocks, categories = {}, {}
    for number in range(20):
        # Each is measured well in one category and badly in the three others.
        noise = np.where(np.arange(16) % 4 == number // 5, 0.1, 0.8)
        differences = noise * rng.normal(size=(24, 1, 16))
        differences[:, 0, :8] += 0.2
        task = f"task {number}"
        blocks[task], categories[task] = block(differences), NAMES[number // 5]
    made = tree(blocks, categories=categories)
    made.attrs["categories"] = json.dumps([{"name": name, "colour": f"#{n}0{n}0{n}0"} for n, name in enumerate(NAMES)])
    made.attrs["manifest"] = json.dumps({"plan": {"metrics": ["logit_diff"]}, "methods": ["denoising_patch@last"]})
    return scored_map(RunResults(made), MapSpec.parse(method="denoising_patch@last", metric="logit_diff"))


def test_no_head_is_said_to_be_of_one_category_only(equal: MapResult):
    words = outcomes(equal.overlap).sel(layer=0, head=range(8)).transpose("head", "category").to_numpy()
    assert ((words == IN).sum(1) == 1).all()
    assert ((words == UNDECIDED).sum(1) == 3).all()
    short = short_map(equal)
    assert short.table is not None
    (one,) = headline(equal)
    heads = [named for each in one.fields["categories"] for named in each.fields["heads"]]
    assert [each.fields["doubt"].fields["n"] for each in heads] == [3] * 4
    assert all(cell.endswith(" (2 undecided elsewhere)") for _, cell, *_ in short.table(4).rows)
    on_cards = [row for card in cards(equal, equal) for row in card.rows]
    assert [row.undecided.fields["n"] if row.undecided else 0 for row in on_cards] == [3] * 8
    told = [*headline(equal), *certainty(equal), *short.verdict, *short.below, short.table(4), *map_details(equal)]
    texts = [*map(str, told), str(summary(equal.overlap))]
    assert "undecided in 3" in texts[-1]
    assert [text for text in texts if AS_EXCLUSIVE.search(text)] == []
