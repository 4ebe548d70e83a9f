"""One probe: logistic regression from a representation to "the answer is wrong"."""

import warnings

import numpy as np
from jaxtyping import Bool, Float, Float32
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from headcats.methods.token_probe.settings import TokenProbeSettings


def probe_scores(
    features: Float32[np.ndarray, "prompt width"],
    wrong: Bool[np.ndarray, " prompt"],
    test: Bool[np.ndarray, " prompt"],
    settings: TokenProbeSettings,
) -> Float[np.ndarray, " held_out"] | None:
    """Log-odds of a wrong answer on the held-out prompts, by a probe fitted on the others; None if it did not converge.

    Features are standardised by mean and spread of the training prompts. The solver is lbfgs, of scikit-learn's the
    fastest where features are hundreds or more (1600 prompts of 344 features on one core: lbfgs 22 ms, newton-cg 23,
    newton-cholesky 56, liblinear 102; of 3072 features: lbfgs 0.5 s, newton-cholesky 8.5, liblinear 2.7). It stops at
    scikit-learn's tolerance: on activations of a small model that adds numbers, AUCs are within .0002 of those of
    Newton's method at a hundredth of it.
    """
    probe = make_pipeline(
        StandardScaler(), LogisticRegression(C=settings.penalty_strength, solver="lbfgs", max_iter=settings.max_iter)
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        probe.fit(features[~test].astype(np.float64), wrong[~test])
    stopped = False
    for warning in caught:
        if issubclass(warning.category, ConvergenceWarning):
            stopped = True
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    return None if stopped else np.asarray(probe.decision_function(features[test].astype(np.float64)))
