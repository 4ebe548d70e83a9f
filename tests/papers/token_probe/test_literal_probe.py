"""The probe of the authors' code, written anew, beside the preset that follows it."""

import warnings

import numpy as np
import pytest
from scripted import scripted
from sklearn import metrics
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

import headcats as hc
from headcats.base.errors import StatisticsWarning
from headcats.papers.token_probe.probe import JudgedPrompts, probe_scores
from headcats.papers.token_probe.settings import PRESETS

CODE = PRESETS["orgad2025-code"]


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
