"""Probes of one data set judged on another."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scripted import scripted

import headcats as hc
from headcats.errors import DataError, OptionError
from headcats.papers.token_probe import across_sets
from headcats.papers.token_probe.across_sets import BASELINES, generalisation
from headcats.papers.token_probe.settings import TokenProbeSettings

FEW = TokenProbeSettings(min_class=5, resamples=50)
ROLE, HOOK = "exact_answer_last", "blocks.1.hook_resid_post"
HERE: Any = {"at": (1, ROLE), "preset": FEW, "representation": "resid_post"}


def two_sets() -> tuple[Any, dict[str, list[Any]]]:
    model, questions = scripted(50, share=(0.4, 0.6))
    model.planted, model.strength = (HOOK, ROLE), 2.0
    sets = {name: [question for question in questions if question.task == name] for name in ("task 0", "task 1")}
    return model, sets


def test_what_transfers_and_what_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    model, sets = two_sets()
    found = generalisation(model, sets, **HERE)
    assert found.auc.dims == ("train", "test")
    assert (found.auc > 0.8).all()
    assert ((found.low <= found.auc) & (found.auc <= found.high)).all()
    gain = found.auc - found.baseline
    np.testing.assert_allclose(found.gain.transpose(*gain.dims), gain, atol=1e-12)
    assert (found.n.values > 40).all()
    assert (found.n_test.values <= 0.25 * found.n.values).all()
    # With the labels of one set turned round, its probe is the other's mirror image.
    split_sets = across_sets.split_sets

    def turned(*arguments: Any, **options: Any) -> Any:
        split = split_sets(*arguments, **options)
        return replace(split, wrong=split.wrong ^ (np.array(split.tasks) == "task 1"))

    # A model that is sure of right answers alone is never behind a probe.
    sure = {name: lambda answers: np.array([not answer.wrong for answer in answers], float) for name in BASELINES}
    monkeypatch.setattr(across_sets, "confidences", lambda _, answers: {name: of(answers) for name, of in sure.items()})
    assert (generalisation(model, sets, **HERE).baseline == 1).all()
    monkeypatch.undo()
    monkeypatch.setattr(across_sets, "split_sets", turned)
    found = generalisation(model, sets, **HERE)
    assert found.auc.sel(train="task 0", test="task 0") > 0.8
    assert found.auc.sel(train="task 0", test="task 1") < 0.2
    assert hc.figures.data(hc.figures.generalisation_matrix(found, variable="gain")).shape[0] == 4


def test_an_item_of_two_sets_stays_on_one_side() -> None:
    model, sets = two_sets()
    both = {"one": sets["task 0"], "other": sets["task 0"]}
    found = generalisation(model, both, **HERE)
    np.testing.assert_array_equal(found.auc, np.full((2, 2), found.auc[0, 0]))


@pytest.mark.usefixtures("unchecked_types")
def test_sets_that_cannot_be_compared_are_named() -> None:
    model, sets = two_sets()
    right = sets["task 0"][:3]
    with pytest.raises(DataError, match="Data set 'few'"):
        generalisation(model, sets | {"few": right}, **HERE)
    with pytest.raises(DataError, match=r"two data sets .* got 1"):
        generalisation(model, {"task 0": right}, **HERE)
    with pytest.raises(DataError, match=r"Data set 'a' .* list of Question"):
        generalisation(model, {"a": None, "b": None}, **HERE)  # type: ignore[dict-item]
    with pytest.raises(OptionError, match="layer 2"):
        generalisation(model, sets, at=(2, ROLE), preset=FEW)
