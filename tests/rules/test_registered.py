"""Only rules of ours, unchanged, are known by their names and options."""

from dataclasses import replace

import pytest

import headcats as hc
from headcats.rules.registered import is_registered
from headcats.rules.rule import Rule

OURS = [
    hc.rules.fdr(),
    hc.rules.fdr(alpha=0.01, min_effect=0.1),
    hc.rules.threshold(value=0.1),
    hc.rules.top_fraction(p=0.1),
    hc.rules.sd_above_mean(),
    hc.rules.elbow(),
    hc.rules.null_calibrated(),
]


@pytest.mark.parametrize("rule", OURS, ids=repr)
def test_ours(rule: Rule) -> None:
    assert is_registered(rule)


def test_one_of_ones_own_is_not() -> None:
    @hc.rules.rule
    def mine() -> Rule:
        return hc.rules.threshold(value=0.1)

    assert not is_registered(mine())
    assert not is_registered(Rule(lambda scores: scores["effect"], name="not registered"))


@pytest.mark.parametrize(
    "changed",
    [
        replace(hc.rules.fdr(), least_effect=0.2),
        replace(hc.rules.fdr(), judge=hc.rules.fdr(alpha=0.2).judge),
        replace(hc.rules.fdr(), cutoffs_of=hc.rules.fdr(alpha=0.2).cutoffs_of),
        replace(hc.rules.fdr(), judge=lambda scores: scores["effect"]),
        replace(hc.rules.threshold(value=0.1), options={"value": 0.2}),
    ],
    ids=["least effect", "options around judge", "options around cut-offs", "judge", "options"],
)
def test_a_changed_one_is_not(changed: Rule) -> None:
    assert not is_registered(changed)
