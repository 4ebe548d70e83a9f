"""Baselines: confidences against the authors' formulas written anew, p(True), and the held-out answers."""

from typing import Any

import numpy as np
import pytest
import torch
from scripted import scripted, spaced_tokenizer
from sklearn.metrics import roc_auc_score

import headcats as hc
from headcats.errors import DataError, OptionError, UnknownNameError
from headcats.papers.token_probe import detectors
from headcats.papers.token_probe import p_true as asking
from headcats.papers.token_probe.answers import answer_questions
from headcats.papers.token_probe.detectors import baselines
from headcats.papers.token_probe.log_probs import STATISTICS, confidences
from headcats.papers.token_probe.settings import PRESETS, TokenProbeSettings

FEW = TokenProbeSettings(roles=("last_q", "exact_answer_last"), min_class=5, resamples=50)
ENDS = ("", "_exact")
ROLE, HOOK = "exact_answer_last", "blocks.1.hook_resid_post"

pytestmark = pytest.mark.filterwarnings("ignore:.*questions left out")


def test_confidences_are_those_of_the_authors() -> None:
    model, questions = scripted(12)
    answers, _ = answer_questions(model, questions, PRESETS["orgad2025-code"])
    model.script = {}
    found = confidences(model, answers)
    for place, answer in enumerate(answers):
        # `get_logprob_scores`: scores of the generated tokens, at the place that predicts each.
        tokens = torch.tensor([answer.tokens])
        with torch.no_grad():
            logits = model.model(tokens, return_type="logits")[0, answer.shape.q_len - 1 : -1].float()
        own = tokens[0, answer.shape.q_len :]
        logit, prob = (values.gather(1, own[:, None])[:, 0].numpy() for values in (logits, logits.softmax(1)))
        inside = np.arange(answer.shape.first, answer.shape.last + 1) - answer.shape.q_len
        for of, chosen in (("", slice(None)), ("_exact", inside)):
            literal = {
                "logit_mean": logit[chosen].mean(), "logit_min": logit[chosen].min(), "logit_max": logit[chosen].max(),
                "log_prob_mean": np.log(prob[chosen]).mean(), "log_prob_min": np.log(prob[chosen].min()),
                "log_prob_max": np.log(prob[chosen].max()), "prob_mean": prob[chosen].mean(),
            }  # fmt: skip
            assert set(literal) == set(STATISTICS)
            for name, value in literal.items():
                assert abs(found[name + of][place] - value) < 1e-6, name


def test_p_true_is_the_mean_of_both_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "_PROMPT", "{question} {answer} {first} {second}")
    monkeypatch.setattr(asking, "_OPTIONS", ("now", "then"))
    monkeypatch.setattr(asking, "_LETTERS", (" 1", " 2"))
    model, _ = scripted(3)
    model.script = {}
    tokenizer = spaced_tokenizer()
    found = asking.p_true(model, ["the sum", "unheard"], ["8 5", "8 5"])

    def first(text: str) -> float:
        ids = torch.tensor([[0, *tokenizer(text, add_special_tokens=False)["input_ids"]]])
        pair = model.run(ids, hooks={})[0, tokenizer.convert_tokens_to_ids(["1", "2"])]
        return float(pair.double().softmax(0)[0])

    asked = "the sum 8 5"
    assert abs(found[0] - (first(f"{asked} now then") + 1 - first(f"{asked} then now")) / 2) < 1e-6
    assert np.isnan(found[1])


def test_the_probe_beside_its_baselines_on_the_same_held_out_answers() -> None:
    model, questions = scripted(60, share=(0.3, 0.7))
    model.planted, model.strength = (HOOK, ROLE), 2.0
    options: Any = {"preset": FEW, "representation": "resid_post", "seed": 3}
    beside = baselines(model, questions, **options)
    whole = hc.methods.token_probe(model, questions, **options)
    assert (int(beside.layer), beside.role.item(), beside.attrs["chosen_on"]) == (1, ROLE, "training answers")
    held_out = whole.isel(prompt=np.flatnonzero(whole.split == "test"))
    assert beside.item.values.tolist() == held_out.item.values.tolist()
    assert beside.wrong.values.tolist() == held_out.wrong.values.tolist()
    cell = whole.sel(layer=1, role=ROLE)
    for name, of_map in (("auc", "auc"), ("low", "low"), ("high", "high")):
        assert float(beside[name].sel(detector="probe")) == float(cell[of_map])
    assert float(beside.auc.sel(detector="task")) == float(whole.task_baseline)
    for detector in beside.detector.values[beside.auc.notnull()]:
        one = beside.sel(detector=detector)
        assert float(one.auc) == pytest.approx(roc_auc_score(beside.wrong, one.score))
        assert float(one.gain) == pytest.approx(float(cell.auc - one.auc))
        assert one.gain_low <= one.gain <= one.gain_high
    # A tokenizer without these words cannot be asked.
    assert beside.attrs["not_asked"] == f"p_true: {int(beside.n_test)}\np_true_exact: {int(beside.n_test)}"
    assert beside.auc.sel(detector="p_true").isnull()


@pytest.mark.usefixtures("unchecked_types")
def test_a_place_may_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    model, questions = scripted(40)

    def sure(model: Any, answers: Any) -> dict[str, np.ndarray]:
        return {name + of: np.array([-1.0 * answer.wrong for answer in answers]) for name in STATISTICS for of in ENDS}

    monkeypatch.setattr(detectors, "confidences", sure)
    named = baselines(model, questions, at=(0, "-1"), preset=FEW, representation="resid_post")
    assert (int(named.layer), named.role.item(), named.attrs["chosen_on"]) == (0, "-1", "named")
    assert named.auc.sel(detector="log_prob_min_exact") == 1
    for at, error, message in (
        ((7, "-1"), OptionError, "layer 7"),
        (3, OptionError, "token role"),
        ((True, "-1"), OptionError, "layer True"),
        ((0, "last"), UnknownNameError, "'last'"),
    ):
        with pytest.raises(error, match=message):
            baselines(model, questions, at=at, preset=FEW)  # type: ignore[arg-type]
    for data, message in ((None, "got None"), (["1 →"], "list of Question")):
        with pytest.raises(DataError, match=message):
            baselines(model, data, preset=FEW)  # type: ignore[arg-type]
