"""One probe: what it learns, what it standardises by, and what happens if it does not converge."""

import dataclasses
import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from headcats.methods.token_probe.logistic import probe_scores
from headcats.methods.token_probe.settings import PRESETS

PAPER = PRESETS["orgad2025"]


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
    scores = probe_scores(features, wrong, test, PAPER)
    assert scores is not None
    assert np.abs(scores - own.decision_function(scaled[test])).max() < 0.01
    assert scores[wrong[test]].mean() > scores[~wrong[test]].mean() + 1


def test_held_out_prompts_change_nothing_that_is_learned() -> None:
    features, wrong, test = data()
    before = probe_scores(features, wrong, test, PAPER)
    other, flipped = features.copy(), wrong.copy()
    places = np.flatnonzero(test)
    other[places[1:]] += 1000
    flipped[places] = ~flipped[places]
    after = probe_scores(other, flipped, test, PAPER)
    assert before is not None
    assert after is not None
    assert before[0] == after[0]


def test_a_probe_that_does_not_converge_has_no_scores() -> None:
    features, wrong, test = data()
    assert probe_scores(features, wrong, test, dataclasses.replace(PAPER, max_iter=2)) is None


def test_another_warning_of_the_fit_is_not_swallowed(monkeypatch: pytest.MonkeyPatch) -> None:
    features, wrong, test = data()
    fit = LogisticRegression.fit

    def warning(self: LogisticRegression, *args: object) -> LogisticRegression:
        warnings.warn("something else", UserWarning, stacklevel=1)
        return fit(self, *args)

    monkeypatch.setattr(LogisticRegression, "fit", warning)
    with pytest.warns(UserWarning, match="something else"):
        probe_scores(features, wrong, test, PAPER)
