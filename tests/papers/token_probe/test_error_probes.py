"""Probes of kinds of error, each against all others."""

from typing import Any

import pytest
from scripted import scripted

import headcats as hc
from headcats.errors import DataError
from headcats.papers.token_probe.error_probes import error_type_probes
from headcats.papers.token_probe.items import AnsweredItem, Question
from headcats.papers.token_probe.settings import TokenProbeSettings

FEW = TokenProbeSettings(min_class=5, resamples=50)
ROLE, HOOK = "exact_answer_last", "blocks.1.hook_resid_post"
HERE: Any = {"at": (1, ROLE), "preset": FEW, "representation": "resid_post"}


def with_resamples(model: Any, questions: list[Question]) -> list[AnsweredItem]:
    """Wrong answers are wrong in every draw, right ones right in every draw."""
    items = []
    for question in questions:
        ids = (0, *model.tokenizer(question.prompt, add_special_tokens=False)["input_ids"])
        text = model.tokenizer.decode(list(model.script[ids]), clean_up_tokenization_spaces=False)
        judged = question.judge(text)
        assert judged is not None
        exact = text[judged.start : judged.stop]
        drawn = ((text, exact, judged.wrong),) * 6
        items.append(
            AnsweredItem(question.prompt, text, exact, judged.wrong, (question.exact_answer,), resamples=drawn)  # type: ignore[arg-type]
        )
    return items


def test_a_planted_type_is_told() -> None:
    model, questions = scripted(120)
    model.planted, model.strength = (HOOK, ROLE), 2.0
    items = with_resamples(model, questions)
    found = error_type_probes(model, {"sums": items}, **HERE)
    wrong = found.sel(dataset="sums")
    for kind in ("consistently_correct", "consistently_incorrect"):
        one = wrong.sel(error_type=kind)
        assert one.auc > 0.8
        assert one.low <= one.auc <= one.high
    assert int(wrong.n_of_type.sum()) == int(wrong.n)
    assert wrong.auc.sel(error_type="refuses").isnull()
    assert "sums, refuses" in found.attrs["too_few"].splitlines()
    assert wrong.subtype_auc.sel(subtype="consistently_incorrect_right_never") == wrong.auc.sel(
        error_type="consistently_incorrect"
    )
    assert len(hc.figures.data(hc.figures.generalisation_matrix(found))) == 5


@pytest.mark.usefixtures("unchecked_types")
def test_sets_without_resamples_are_named() -> None:
    model, questions = scripted(10)
    with pytest.raises(DataError, match=r"'sums': .* AnsweredItem"):
        error_type_probes(model, {"sums": questions}, **HERE)
    with pytest.raises(DataError, match=r"'sums': .* list of Question"):
        error_type_probes(model, {"sums": None}, **HERE)  # type: ignore[dict-item]
    with pytest.raises(DataError, match="data sets"):
        error_type_probes(model, {}, **HERE)
