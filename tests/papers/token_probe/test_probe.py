"""A probe against scikit-learn and the authors' code, its area against pairs, and the coverage of the intervals."""

import dataclasses
import itertools
import math
import warnings

import numpy as np
import pytest
from scripted import scripted
from sklearn import metrics
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

import headcats as hc
from headcats.base.errors import StatisticsWarning
from headcats.papers.token_probe.probe import JudgedPrompts, probe_scores
from headcats.papers.token_probe.settings import PRESETS

PAPER = PRESETS["orgad2025"]
CODE = PRESETS["orgad2025-code"]


def judged(wrong: list[bool] | np.ndarray, tasks: list[str] | None = None, **options: object) -> JudgedPrompts:
    n = len(wrong)
    items = options.get("items", [str(i) for i in range(n)])
    draws = np.random.default_rng(options.get("seed", 0))
    resamples = int(options.get("resamples", 500))  # type: ignore[call-overload]
    return JudgedPrompts(np.array(wrong), tasks or ["t"] * n, items, resamples=resamples, draws=draws)  # type: ignore[arg-type]


def test_the_area_is_that_of_scikit_learn_ties_included() -> None:
    draws = np.random.default_rng(1)
    wrong, scores = draws.random(60) < 0.4, draws.integers(0, 8, 60) / 4
    area = judged(wrong).area(scores)
    assert math.isclose(area.value, roc_auc_score(wrong, scores), abs_tol=1e-12)
    assert area.low < area.value < area.high


def test_the_interval_is_that_of_95_percent_over_draws_of_query_items() -> None:
    draws = np.random.default_rng(3)
    wrong, scores = draws.random(40) < 0.4, draws.normal(size=40)
    prompts = judged(wrong, resamples=2000)
    by_hand = []
    for chosen in draws.integers(0, 40, (2000, 40)):
        drawn, of_wrong = scores[chosen], wrong[chosen]
        won = drawn[of_wrong][:, None] - drawn[~of_wrong]
        by_hand.append(((won > 0) + (won == 0) / 2).mean())
    area = prompts.area(scores)
    assert np.allclose((area.low, area.high), np.percentile(by_hand, (2.5, 97.5)), atol=0.015)
    assert not np.allclose((area.low, area.high), np.percentile(by_hand, (5, 95)), atol=0.015)


def test_the_area_within_tasks_counts_pairs_of_one_task() -> None:
    draws = np.random.default_rng(2)
    tasks = [str(t) for t in draws.integers(0, 3, 40)]
    wrong, scores = draws.random(40) < 0.5, draws.integers(0, 5, 40) / 2
    won, pairs = 0.0, 0
    for one, other in itertools.product(range(40), range(40)):
        if wrong[one] and not wrong[other] and tasks[one] == tasks[other]:
            pairs += 1
            won += (scores[one] > scores[other]) + 0.5 * (scores[one] == scores[other])
    assert math.isclose(judged(wrong, tasks).area_within(scores).value, won / pairs, abs_tol=1e-12)


def test_a_score_that_knows_the_task_alone_is_at_chance_within_tasks() -> None:
    wrong = np.array([True, True, True, False, False, False, False, True])
    tasks = ["hard"] * 4 + ["easy"] * 4
    scores = np.array([1.0] * 4 + [0.0] * 4)
    test = judged(wrong, tasks)
    assert test.area(scores).value == 0.75  # (3 * 3 + .5 * (3 * 1 + 1 * 3)) of 16 pairs
    assert tuple(test.area_within(scores)) == (0.5, 0.5, 0.5)


def test_tasks_of_one_class_have_no_pairs_and_are_named() -> None:
    test = judged([True, False, True, True], ["mixed", "mixed", "wrong", "wrong"])
    assert test.one_class == ("wrong",)
    assert test.area_within(np.array([2.0, 1.0, 0.0, 0.0])).value == 1
    alone = test.relabelled(np.array([True, True, False, False]))
    assert alone.one_class == ("mixed", "wrong")
    assert all(math.isnan(value) for value in alone.area_within(np.zeros(4)))
    assert test.one_class == ("wrong",)


def test_prompts_of_one_item_are_one_draw() -> None:
    # Ten times the same prompts say no more than once.
    draws = np.random.default_rng(3)
    wrong, scores = draws.random(30) < 0.5, draws.normal(size=30)
    once = judged(wrong).area(scores)
    order = draws.permutation(300) % 30
    again = judged(wrong[order], items=[str(i) for i in order]).area(scores[order])
    assert math.isclose(once.value, again.value, abs_tol=1e-12)
    assert abs((again.high - again.low) - (once.high - once.low)) < 0.05


@pytest.mark.parametrize(
    ("shift", "n"), [(0.0, 50), (1.0, 50), *(pytest.param(shift, 300, marks=pytest.mark.slow) for shift in (0.0, 1.0))]
)
def test_the_interval_holds_the_true_area(shift: float, n: int) -> None:
    # P(N(shift, 1) > N(0, 1)) = Phi(shift / sqrt 2).
    truth = 0.5 * (1 + math.erf(shift / 2))
    draws = np.random.default_rng(4)
    inside = 0
    for seed in range(n):
        wrong = draws.random(80) < 0.5
        area = judged(wrong, seed=seed, resamples=300).area(draws.normal(size=80) + shift * wrong)
        inside += area.low <= truth <= area.high
    assert 0.88 * n <= inside < n


def data(n: int = 200, width: int = 6) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    draws = np.random.default_rng(0)
    features = (draws.normal(size=(n, width)) * [1, 10, 100, 1, 1, 0] + 5).astype(np.float32)
    wrong = features[:, 1] + 5 * draws.normal(size=n) > 5
    return features, wrong, np.arange(n) % 5 == 0


def test_scores_are_log_odds_of_a_regression_on_standardised_training_features() -> None:
    features, wrong, test = data()
    mean, spread = features[~test].mean(0, dtype=np.float64), features[~test].std(0, dtype=np.float64)
    scaled = (features - mean) / np.where(spread > 0, spread, 1)
    own = LogisticRegression(C=1.0, max_iter=5000, tol=1e-8).fit(scaled[~test], wrong[~test])
    scores, _ = probe_scores(features, wrong, test, PAPER)
    assert scores is not None
    assert np.abs(scores - own.decision_function(scaled[test])).max() < 0.01
    assert scores[wrong[test]].mean() > scores[~wrong[test]].mean() + 1


def test_held_out_prompts_change_nothing_that_is_learned() -> None:
    features, wrong, test = data()
    before, _ = probe_scores(features, wrong, test, PAPER)
    other, flipped = features.copy(), wrong.copy()
    places = np.flatnonzero(test)
    other[places[1:]] += 1000
    flipped[places] = ~flipped[places]
    after, _ = probe_scores(other, flipped, test, PAPER)
    assert before is not None
    assert after is not None
    assert before[0] == after[0]


def test_a_probe_that_does_not_converge_has_no_scores() -> None:
    features, wrong, test = data()
    assert probe_scores(features, wrong, test, dataclasses.replace(PAPER, max_iter=2)) == (None, False)


def literal_auc(features: np.ndarray, right: np.ndarray, test: np.ndarray) -> float:
    """`probe_specific_layer_token` and `compute_metrics_probing`: the positive label is 0, a wrong answer."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = LogisticRegression(random_state=0).fit(features[~test], right[~test])
    probability = fitted.predict_proba(features[test])[:, 0]
    false, true, _ = metrics.roc_curve(right[test], probability, pos_label=0)
    return float(metrics.auc(false, true))


@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_the_preset_of_the_code_is_the_authors_probe(scale: float) -> None:
    draws = np.random.default_rng(0)
    features = (draws.normal(size=(240, 60)) * np.geomspace(1, scale, 60) + 3).astype(np.float32)
    wrong = features[:, 0] + features[:, -1] / scale + 2 * draws.normal(size=240) > 6
    test = np.arange(240) % 5 == 0
    scores, converged = probe_scores(features, wrong, test, CODE)
    assert scores is not None
    assert converged == (scale == 1)
    judged = JudgedPrompts(wrong[test], ["t"] * 48, [str(i) for i in range(48)], resamples=10, draws=draws)
    assert abs(judged.area(scores).value - literal_auc(features, (~wrong).astype(int), test)) < 1e-6
    standard, _ = probe_scores(features, wrong, test, PRESETS["orgad2025"])
    assert standard is not None
    assert not np.allclose(standard, scores, atol=1e-3)


@pytest.mark.filterwarnings("ignore:.*questions left out")
def test_unfinished_probes_are_kept_and_named() -> None:
    model, questions = scripted(40)
    kept = hc.papers.token_probe.TokenProbeSettings(
        roles=("last_q", "exact_answer_last"), min_class=5, resamples=20, max_iter=1, unconverged="keep"
    )
    with pytest.warns(StatisticsWarning, match="after 1 steps"):
        found = hc.methods.token_probe(model, questions, representation="resid_post", preset=kept)
    assert np.isfinite(found.auc).all()
    assert int(found.n_not_converged) == 8
