from typing import Any

import pytest
import torch
from decoded import double, last_z_of_each_step
from toys import LAYOUTS, tiny_model

from headcats.base.errors import DataError, ModelError
from headcats.models.adapter import HookedModel
from headcats.models.head import Head
from headcats.models.hooks import hook_z
from headcats.papers.function_probe.features import chosen_tokens, head_features
from headcats.papers.function_probe.settings import POSITIONS, FunctionProbeSettings
from headcats.prompts.answered import AnsweredText, encode_answered
from headcats.prompts.pair import Span

# One character per token, each its own word; the answer is what stands behind the arrow.
TEXTS = ("w1→w2,w3,w4,w5", "w9→w8", "w2,w7→w3,w9,w1", "w5→w5,w3,w4,w2", "w30→w31")


def texts() -> list[AnsweredText]:
    return [AnsweredText(text, (Span(text.index("→") + 1, len(text)),), category="f") for text in TEXTS]


@pytest.fixture(scope="module", params=LAYOUTS)
def model(request: pytest.FixtureRequest) -> tuple[HookedModel, Any]:
    toy = tiny_model(request.param, n_layers=2)
    return HookedModel(toy.model, tokenizer=toy.tokenizer), toy.oracle


def all_z(model: HookedModel, ids: list[int]) -> dict[int, torch.Tensor]:
    captured: dict[int, torch.Tensor] = {}
    hooks = [
        (hook_z(layer), lambda z, hook, layer=layer: captured.__setitem__(layer, z.detach())) for layer in model.layers
    ]
    model.model.run_with_hooks(torch.tensor([ids]), fwd_hooks=hooks)
    return captured


@pytest.mark.parametrize(("top", "at"), [(0, POSITIONS[0]), (2, POSITIONS[1])])
def test_features_equal_a_literal_replica(model: tuple[HookedModel, Any], top: int, at: str) -> None:
    adapted, oracle = model
    found = head_features(adapted, texts(), settings=FunctionProbeSettings(top_tokens=top, at=at))
    n_heads = adapted.n_heads[0]
    embedding = oracle.get_input_embeddings().weight
    assert found.heads == tuple(Head(layer, head) for layer in adapted.layers for head in range(n_heads))
    for row, text in enumerate(texts()):
        ids = [0, *adapted.tokenizer(text.text, add_special_tokens=False)["input_ids"]]
        answer = list(range(ids.index(3) + 1, len(ids)))
        with torch.no_grad():
            log_probs = oracle(torch.tensor([ids])).logits[0].log_softmax(-1)
        if top:
            answer = sorted(answer, key=lambda pos: float(log_probs[pos - 1, ids[pos]]))[:top]
        words = sum(embedding[ids[pos]] for pos in answer) / len(answer)
        torch.testing.assert_close(found.words[row], words, rtol=1e-5, atol=1e-6)
        read = [pos - 1 for pos in answer] if at == "predicting" else answer
        captured = all_z(adapted, ids)
        for place, head in enumerate(found.heads):
            own = sum(captured[head.layer][0, pos, head.head] for pos in read) / len(read)
            mean = sum(
                captured[head.layer][0, pos, other] for pos in read for other in range(n_heads)
            ) / (n_heads * len(read))  # fmt: skip
            torch.testing.assert_close(found.values[row, place], torch.cat([own, mean]), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("at", POSITIONS)
def test_positions_are_the_last_ones_of_decoding_steps(model: tuple[HookedModel, Any], at: str) -> None:
    """A collector that sees every step predicts with what it collects; one that misses the prompt's, as the hook of
    pyvene 0.1.7 does, collects token k of the answer where its index says k.
    """
    adapted, oracle = model
    with double(adapted.model, oracle):
        _compare_with_steps(adapted, oracle, at=at)


def _compare_with_steps(adapted: HookedModel, oracle: Any, *, at: str) -> None:
    found = head_features(adapted, texts(), settings=FunctionProbeSettings(top_tokens=0, at=at))
    for row, text in enumerate(texts()):
        ids = [0, *adapted.tokenizer(text.text, add_special_tokens=False)["input_ids"]]
        n_prompt = ids.index(3) + 1
        steps = last_z_of_each_step(oracle, ids, n_prompt=n_prompt)
        collected = steps if at == "predicting" else steps[1:]
        of_answer = collected[: len(ids) - n_prompt]
        for place, head in enumerate(found.heads):
            heads = [step[head.layer].reshape(adapted.n_heads[head.layer], -1) for step in of_answer]
            own = torch.stack([z[head.head] for z in heads]).mean(0)
            mean = torch.stack([z.mean(0) for z in heads]).mean(0)
            expected = torch.cat([own, mean])
            torch.testing.assert_close(found.values[row, place].double(), expected, rtol=0, atol=1e-6)


def test_answers_no_longer_than_the_choice_are_used_whole(model: tuple[HookedModel, Any]) -> None:
    adapted, _ = model
    for batch in encode_answered(texts(), adapted.tokenizer)[0]:
        assert torch.equal(chosen_tokens(adapted, batch, top_tokens=7), batch.targets)
        counts = chosen_tokens(adapted, batch, top_tokens=2).sum(1)
        assert counts.tolist() == [min(2, int(count)) for count in batch.targets.sum(1)]


def test_texts_that_cannot_be_read_are_dropped_and_counted(model: tuple[HookedModel, Any]) -> None:
    adapted, _ = model
    unknown = AnsweredText("nobody→w1", (Span(7, 9),), category="f")
    same = texts()[0]
    shares: list[float] = []
    found = head_features(
        adapted, [same, unknown, same, *texts()], settings=FunctionProbeSettings(), advance=shares.append
    )
    assert found.texts == (same, same, *texts())
    assert (found.report.kept, list(found.report.dropped.values())) == (7, [1])
    assert "nobody→w1" in found.report.summary()
    assert torch.equal(found.values[0], found.values[1])
    assert len(found.values) == 7
    assert shares == sorted(shares)
    with pytest.raises(DataError, match="None of the 1"):
        head_features(adapted, [unknown], settings=FunctionProbeSettings())


def test_models_without_a_tokenizer_or_with_heads_of_two_sizes_are_refused(
    model: tuple[HookedModel, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    adapted, _ = model
    monkeypatch.setattr(HookedModel, "d_head", property(lambda self: {0: 8, 1: 16}))
    with pytest.raises(ModelError, match=r"8 .* 16"):
        head_features(adapted, texts(), settings=FunctionProbeSettings())
    monkeypatch.undo()
    bare = HookedModel(adapted.model, tokenizer=adapted.tokenizer)
    bare.tokenizer = None
    with pytest.raises(ModelError, match="has no tokenizer"):
        head_features(bare, texts(), settings=FunctionProbeSettings())
