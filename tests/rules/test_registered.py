"""Only rules of ours, unchanged, are known by their names and options."""

from dataclasses import replace

import headcats as hc
from headcats.rules.rule import Rule, is_registered

OURS = [
    hc.rules.fdr(),
    hc.rules.fdr(alpha=0.01, min_effect=0.1),
    hc.rules.threshold(value=0.1),
    hc.rules.top_fraction(p=0.1),
    hc.rules.sd_above_mean(),
    hc.rules.elbow(),
    hc.rules.null_calibrated(),
]


def test_ours() -> None:
    assert [rule for rule in OURS if not is_registered(rule)] == []


def test_one_of_ones_own_is_not() -> None:
    @hc.rules.rule
    def mine() -> Rule:
        return hc.rules.threshold(value=0.1)

    assert not is_registered(mine())
    assert not is_registered(Rule(lambda scores: scores["effect"], name="not registered"))


def test_a_changed_one_is_not() -> None:
    fdr, other = hc.rules.fdr(), hc.rules.fdr(alpha=0.2)
    changed = {
        "least effect": replace(fdr, least_effect=0.2),
        "options around judge": replace(fdr, judge=other.judge),
        "options around cut-offs": replace(fdr, cutoffs_of=other.cutoffs_of),
        "judge": replace(fdr, judge=lambda scores: scores["effect"]),
        "options": replace(hc.rules.threshold(value=0.1), options={"value": 0.2}),
    }
    assert [name for name, rule in changed.items() if is_registered(rule)] == []
