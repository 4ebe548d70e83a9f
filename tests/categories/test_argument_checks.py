"""Natural mistakes, as users make them: what was expected, what came, and the call that leads from one to the other."""

import numpy as np
import pytest
from simulated import null_results

import headcats as hc
from headcats.base.errors import HeadcatsError

MEMBERS, SCORES = "the memberships that hc.categorize returns", "the scores that hc.score returns"
RESULTS = "the results that hc.run or hc.load returns"
MISTAKES = {
    "hc.categorize(results)": f"hc.categorize takes {SCORES}; got {RESULTS}. Pass hc.score(results, method=...).",
    "hc.categorize('r')": f"hc.categorize takes {SCORES}; got the text 'r'. Pass hc.score(hc.load(folder), ",
    "hc.categorize(block)": (
        f"hc.categorize takes {SCORES}; got a Dataset of patched, clean, corrupted. It is made by "
        "hc.score(results, method=...)."
    ),
    "hc.categories.effect_differences(members)": f"hc.categories.effect_differences takes {SCORES}; got {MEMBERS}.",
    "hc.overlap(scores)": f"hc.overlap takes {MEMBERS}; got {SCORES}. Pass hc.categorize(scores).",
    "hc.score(results, method='made_gates')": "is a joint method, so there are no scores of single tasks. It was",
    "hc.categories.head_table(scores)": f"takes {MEMBERS}; got {SCORES}.",
    "hc.evidence.agreement({'a': scores})": f"takes {MEMBERS}; protocol 'a' is {SCORES}.",
    "hc.categorize(scores, rule='fdr')": (
        "hc.categorize takes a rule with its options; got the name 'fdr'. Write "
        "rule=hc.rules.fdr(alpha=0.05, min_effect=0.05)."
    ),
    "hc.categorize(scores, rule=hc.rules.fdr)": "got the function fdr. Write rule=hc.rules.fdr(alpha=0.05, ",
    "hc.categorize(scores, rule=3)": "hc.categorize takes a rule with its options; got an int.",
    "hc.run_evidence(results, 'mini')": "takes the model first and the results second; got them the other way round",
    "hc.run_evidence('mini', scores)": f"hc.run_evidence takes {RESULTS}; got {SCORES}.",
}


@pytest.mark.usefixtures("unchecked_types", "joint_methods")
@pytest.mark.filterwarnings("ignore::headcats.base.errors.StatisticsWarning")
def test_natural_mistakes_are_one_sentence() -> None:
    results = null_results(np.random.default_rng(0), tasks=4, shape=(2, 4), prompts=48, n_items=24)
    scores = hc.score(results, method="denoising_patch")
    given = {
        "hc": hc,
        "results": results,
        "block": next(iter(results.children.values()))["denoising_patch@last"].to_dataset(),
        "scores": scores,
        "members": hc.categorize(scores),
    }
    offenders = {}
    for mistake, sentence in MISTAKES.items():
        try:
            eval(mistake, given)
            offenders[mistake] = "no error"
        except HeadcatsError as error:
            if sentence not in str(error):
                offenders[mistake] = str(error)
    assert offenders == {}
