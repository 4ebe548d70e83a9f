"""Answers of several tokens: against plain transformers, one continuation at a time, and on every architecture."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from architectures import (
    ARCHITECTURES,
    LATENT,
    N_HEADS,
    head_edits,
    hf_architecture,
    plain_logits,
    plain_z,
    tiny_bridge,
)
from batches import ROLES, numbers, random_batch, random_role_batch, role_batch
from covering import ALL, each_value, spread
from models.replay.hooked_layouts import HOOKED_LAYOUTS, hooked_layout
from prefixes import prefixed_batch
from toys import D_VOCAB, Toy, random_tokens, tiny_model

from headcats.models.adapter import adapt
from headcats.models.replay.record import record
from headcats.prompts.batch import PromptBatch
from headcats.sweeps.batch_sweep import sweep
from headcats.sweeps.donors import UncoveredRoles
from headcats.sweeps.reference import Reference

METRICS = ["logit_diff", "log_prob", "prob", "kl", "rank", "accuracy", "pair_accuracy"]
LENGTHS = [(3, 3), (1, 3), (2, 1), (1, 1)]
"""Tokens of answer and distractor, prompt by prompt."""
UNLIKE = ("gpt2", "gemma2", "gpt_oss", "neox", "mistral", "mixtral", "falcon")
REPLAYED = tuple(name for name in ARCHITECTURES if name not in ("bloom", "mpt", "bamba", "qwen3_next", *LATENT))


def answered(batch: PromptBatch, *, lengths: Any = LENGTHS, seed: int = 0) -> PromptBatch:
    """The batch with answers and distractors of these numbers of tokens, which begin with different ones."""
    draws = torch.Generator().manual_seed(seed)
    pairs = [torch.randperm(D_VOCAB, generator=draws)[:6] for _ in range(len(batch))]
    sizes = [lengths[row % len(lengths)] for row in range(len(batch))]
    answers = [pair[:n].tolist() for pair, (n, _) in zip(pairs, sizes, strict=True)]
    distractors = [pair[3 : 3 + n].tolist() for pair, (_, n) in zip(pairs, sizes, strict=True)]
    return PromptBatch.from_tokens(batch.clean, batch.corrupted, answers, distractors)


def continuation_score(log_probs: list[torch.Tensor], tokens: list[int]) -> float:
    return sum(float(row[token]) for row, token in zip(log_probs, tokens, strict=True))


class TestPlainTransformers:
    """log p(answer) and the difference to log p(distractor), one forward pass per prompt and continuation."""

    def scores(self, twin: Any, prompt: torch.Tensor, answer: list[int], edits: Any) -> float:
        tokens = torch.cat([prompt, torch.tensor(answer[:-1], dtype=torch.long)])[None]
        log_probs = []
        # One forward pass for every token: the logits of the last position of ever longer prompts.
        for stop in range(len(prompt), tokens.shape[1] + 1):
            cut = {layer: self.until(edit, stop) for layer, edit in edits.items()}
            log_probs.append(plain_logits(twin, tokens[:, :stop], edits=cut)[0].log_softmax(-1))
        return continuation_score(log_probs, answer)

    def until(self, edit: Any, stop: int) -> Any:
        return lambda z: edit(z, stop)

    @pytest.mark.parametrize(("name", "positions"), each_value(["llama", "gpt2"], ["last", "answer", "all"]))
    def test_a_denoising_patch(self, name: str, positions: str) -> None:
        twin, batch = hf_architecture(name), answered(random_batch(2, 6))
        expected, heads = np.zeros((2, 2, 3, 2)), [1, 3]
        for row in range(2):
            of_both = []
            for ids in (batch.answers[row], batch.distractors[row]):
                answer = [int(i) for i in ids if i >= 0]
                clean = plain_z(twin, torch.cat([batch.clean[row], ids[: len(answer) - 1]])[None])
                where = {"last": slice(5, 6), "answer": slice(5, None), "all": slice(None)}[positions]
                patched = np.zeros((3, 2))
                for layer in range(3):
                    for place, head in enumerate(heads):

                        def edit(
                            z: torch.Tensor, stop: int, new: Any = clean[layer], at: Any = (slice(None), where, head)
                        ) -> torch.Tensor:
                            z[at] = new[:, :stop][at]
                            return z

                        patched[layer, place] = self.scores(twin, batch.corrupted[row], answer, {layer: edit})
                of_both.append(patched)
            expected[0, row], expected[1, row] = of_both[0] - of_both[1], of_both[0]
        for path in ("auto", "hooked"):
            ds = sweep(tiny_bridge(name), batch, "denoising_patch", metrics=METRICS, positions=positions, path=path)
            ds = ds.sel(head=heads)
            assert ds.attrs["path"] != "hooked" or path == "hooked"
            difference = np.abs(ds.patched.sel(metric=["logit_diff", "log_prob"]).values - expected).max()
            assert difference < 2e-5
            assert np.abs(ds.patched.sel(metric="prob") - np.exp(expected[1])).max() < 1e-5

    def test_accuracy_is_that_of_the_greedy_continuation(self) -> None:
        twin, prompts = hf_architecture("llama"), random_tokens(3, 6)
        greedy = prompts
        for _ in range(3):
            greedy = torch.cat([greedy, plain_logits(twin, greedy).argmax(-1, keepdim=True)], 1)
        answers = greedy[:, 6:].clone()
        answers[1, 2] = (answers[1, 2] + 1) % D_VOCAB  # right but for its last token
        distractors = [[(int(answer[0]) + 1) % D_VOCAB, 5, 6] for answer in answers]
        batch = PromptBatch.from_tokens(prompts, prompts.flip(0), answers, distractors)
        for path in ("auto", "hooked"):
            ds = sweep(tiny_bridge("llama"), batch, "noising_patch", metrics=METRICS, path=path)
            assert ds.clean.sel(metric="accuracy").values.tolist() == [1, 0, 1]
            rank = ds.clean.sel(metric="rank").values
            assert rank[0] == rank[2] == 0
            assert rank[1] < 0
            assert (ds.clean.sel(metric="pair_accuracy") == (ds.clean.sel(metric="logit_diff") > 0)).all()


CASES = [
    ("denoising_patch", "last", 3),
    ("denoising_patch", "answer", N_HEADS),
    ("denoising_patch", "all", 2),
    ("noising_patch", "last", 1),
    ("noising_patch", "all", 3),
    ("zero_ablation", "answer", 2),
    ("zero_ablation", "all", 2),
]


def both(model: Any, method: str, positions: str, n_prompts: int) -> tuple[Any, Any]:
    batch = answered(prefixed_batch(n_prompts, 10, 4))
    return tuple(
        sweep(model, batch, method, metrics=METRICS, positions=positions, path=path) for path in ("auto", "hooked")
    )


@pytest.mark.both_versions
@pytest.mark.parametrize(("name", "method", "positions", "n_prompts"), spread(REPLAYED if ALL else UNLIKE, CASES))
def test_equals_plain_hooks(name: str, method: str, positions: str, n_prompts: int, record_property: Any) -> None:
    record_property("largest difference", check(tiny_bridge(name), method, positions, n_prompts))


@pytest.mark.needs_tl3("HookedTransformer")
@pytest.mark.filterwarnings("ignore:zero_ablation depends on weight processing")
@pytest.mark.parametrize(
    ("name", "method", "positions", "n_prompts"), spread(HOOKED_LAYOUTS if ALL else HOOKED_LAYOUTS[::4], CASES)
)
def test_hooked_transformers(name: str, method: str, positions: str, n_prompts: int, record_property: Any) -> None:
    record_property("largest difference", check(hooked_layout(name), method, positions, n_prompts))


def check(model: Any, method: str, positions: str, n_prompts: int) -> float:
    """A fast path that agrees with plain hooks, on heads that all matter."""
    fast, plain = both(model, method, positions, n_prompts)
    assert fast.attrs["path"] == ("last_position" if positions in ("last", "answer") else "suffix"), fast.attrs
    for name in ("clean", "corrupted"):
        assert np.abs(fast[name] - plain[name]).max() < 1e-5
    difference = float(np.abs(fast.patched - plain.patched).max())
    assert difference < 2e-5
    effect = np.abs(plain.patched - plain[plain.attrs["base"]]).sel(metric=["logit_diff", "log_prob"])
    assert (effect.max(["metric", "prompt"]) > 3e-5).all()
    return difference


def test_more_layers_than_a_self_check_looks_at() -> None:
    check(tiny_model("gpt2", n_layers=7).model, "denoising_patch", "answer", 4)


def test_log_probabilities_of_a_part_of_the_vocabulary_at_a_time(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    model, batch = adapt(toy.model), answered(random_batch(4, 6))
    recording = record(model, batch.continued("clean"), first=5)
    assert recording.reads_parts
    residual = recording.final.flatten(0, 1)
    tokens = torch.arange(len(residual)) % D_VOCAB
    expected = recording.read(residual).log_softmax(-1).gather(1, tokens[:, None])[:, 0]
    for at_a_time in (1, 7 * len(residual), 1 << 20):
        monkeypatch.setattr("headcats.models.replay.recording.LOGITS_AT_A_TIME", at_a_time)
        assert (recording.log_probs(residual, tokens) - expected).abs().max() < 1e-5


class TestOneToken:
    """A batch of answers of one token gives today's numbers to the bit, whatever else is in its shape."""

    def test_answers_written_as_lists(self, toy: Toy) -> None:
        batch, model = random_batch(3), toy.model
        listed = PromptBatch.from_tokens(
            batch.clean, batch.corrupted, batch.answer[:, None].tolist(), batch.distractor[:, None].tolist()
        )
        assert listed.answer_rest is None
        first, second = (sweep(model, one, "denoising_patch", metrics=METRICS) for one in (batch, listed))
        assert first.identical(second)
        assert batch.fingerprint() == listed.fingerprint()

    def test_beside_longer_ones_the_number_is_the_same(self, toy: Toy) -> None:
        batch, model = answered(random_batch(4, 6)), toy.model
        alone = PromptBatch.from_tokens(batch.clean, batch.corrupted, batch.answer, batch.distractor)
        long, short = (sweep(model, one, "denoising_patch", metrics=METRICS) for one in (batch, alone))
        assert np.abs(long.patched - short.patched)[:, 3].max() < 1e-5  # the prompt with one token each
        assert np.abs(long.patched - short.patched).sel(metric="kl").max() < 1e-5  # of the first token alone
        assert np.abs(long.patched - short.patched).sel(metric="log_prob")[0].max() > 1


class TestUnequalLengths:
    """At the last token nothing needs to align."""

    def batch(self, *, several: bool) -> PromptBatch:
        draws = (random_tokens(3, n, seed=n) for n in (7, 5))
        first = PromptBatch.from_tokens(*draws, [3, 4, 5], [6, 7, 8])
        return answered(first) if several else first

    @pytest.mark.parametrize(
        ("name", "method", "several"),
        each_value(["gpt2", "llama", "mistral"], ["denoising_patch", "noising_patch"], [False, True]),
    )
    def test_the_last_token_goes_to_the_last_token(self, name: str, method: str, several: bool) -> None:
        batch, twin = self.batch(several=several), hf_architecture(name)
        fast, plain = (sweep(tiny_bridge(name), batch, method, path=path) for path in ("auto", "hooked"))
        assert fast.attrs["path"] == "last_position"
        assert np.abs(fast.patched - plain.patched).max() < 1e-5
        base, new = (batch.corrupted, batch.clean) if method == "denoising_patch" else (batch.clean, batch.corrupted)
        if several:
            return
        logits = plain_logits(twin, base, edits=head_edits([(1, 2)], plain_z(twin, new), -1))
        expected = numbers(logits, batch)[0]
        assert np.abs(fast.patched.sel(layer=1, head=2, metric="logit_diff") - expected).max() < 2e-5

    def test_a_role_is_matched_by_its_name(self) -> None:
        clean, corrupted = (random_tokens(3, n, seed=n).tolist() for n in (5, 6))
        batch = role_batch(
            clean,
            [("bos", "x1", "y1", "x_query", "end")] * 3,
            corrupted=corrupted,
            corrupted_labels=[("bos", "x1[0/2]", "x1[1/2]", "y1", "x_query", "end")] * 3,
        )
        twin = hf_architecture("llama")
        new = plain_z(twin, batch.clean)[1]

        def edit(value: torch.Tensor) -> torch.Tensor:
            value[:, 3, 2] = new[:, 2, 2]
            return value

        expected = numbers(plain_logits(twin, batch.corrupted, edits={1: edit}), batch)[0]
        for path in ("auto", "hooked"):
            ds = sweep(tiny_bridge("llama"), batch, "denoising_patch", positions="y1", path=path)
            assert np.abs(ds.patched.sel(layer=1, head=2, metric="logit_diff") - expected).max() < 2e-5


class TestReference:
    """Behind a prompt, tokens of its answer are replaced by those of reference prompts, whichever token they are."""

    def batch(self, n_prompts: int, *, seed: int, task: str) -> PromptBatch:
        return replace(
            answered(random_role_batch(n_prompts, seed=seed, task=task), seed=seed),
            labels=(ROLES,) * n_prompts,
            corrupted_labels=(ROLES,) * n_prompts,
            task=task,
        )

    def by_answer(self, model: Any, reference: PromptBatch) -> list[torch.Tensor]:
        """z of layer 1 at the tokens of every reference answer that predict another one."""
        rows = []
        for prompt, answer in zip(reference.clean, reference.answers, strict=True):
            ids = answer[answer >= 0][:-1]
            rows.append(adapt(model).capture(torch.cat([prompt, ids])[None])[1][1][0, len(prompt) :])
        return rows

    def later_tokens(self, model: Any, reference: PromptBatch) -> torch.Tensor:
        """Those of all answers together."""
        return torch.cat(self.by_answer(model, reference))

    @pytest.mark.parametrize("positions", ["answer", "all"])
    def test_means(self, toy: Toy, positions: str) -> None:
        model, reference = toy.model, self.batch(40, seed=5, task="other")
        batch = self.batch(4, seed=1, task="own")
        mask = batch.positions(positions)
        mean = Reference(reference).mean(adapt(model), batch, 1, mask)
        expected = self.later_tokens(model, reference).mean(0)
        later = mask[:, batch.length :]
        assert later.sum(1).tolist() == [4, 2, 1, 0]
        assert (mean[:, batch.length :][later] - expected).abs().max() < 1e-5
        assert (mean[:, batch.length :][~later] == 0).all()
        fast, plain = (
            sweep(model, batch, "mean_ablation", positions=positions, reference=reference, path=path)
            for path in ("auto", "hooked")
        )
        assert np.abs(fast.patched - plain.patched).max() < 1e-5

    def test_donors(self, toy: Toy) -> None:
        model, reference = toy.model, self.batch(24, seed=5, task="other")
        batch = self.batch(4, seed=1, task="own")
        donated = Reference(reference).donors(adapt(model), batch, batch.positions("all"))[1][:, batch.length :]
        answers = [answer for answer in self.by_answer(model, reference) if len(answer)]
        assert batch.steps > 1
        for prompt, place in batch.positions("all")[:, batch.length :].nonzero().tolist():
            step = place % batch.steps  # the same token of the donor's answer, or its last
            candidates = torch.stack([answer[min(step, len(answer) - 1)] for answer in answers])
            assert (candidates - donated[prompt, place]).abs().amax((1, 2)).min() < 1e-5

    def test_other_queries_in_corrupted_prompts_of_another_length(self, toy: Toy) -> None:
        model, reference = toy.model, self.batch(24, seed=5, task="own")
        batch = self.batch(4, seed=1, task="own")
        longer = replace(
            batch,
            corrupted=torch.cat([batch.corrupted[:, :1]] * 2 + [batch.corrupted], 1),
            corrupted_labels=(("other[0/2]", "other[1/2]", *ROLES),) * 4,
        )
        fast, plain = (
            sweep(model, longer, "other_item_patch", positions="answer", reference=reference, path=path)
            for path in ("auto", "hooked")
        )
        assert np.abs(fast.patched - plain.patched).max() < 1e-5
        mask = longer.positions("answer", of="corrupted")
        assert mask.shape == (4, len(ROLES) + 2 + 4)
        donated = Reference(reference).donors(
            adapt(model), longer, mask, of="another item", side="corrupted", first=len(ROLES) + 1
        )[1]
        candidates = self.later_tokens(model, reference)
        for row in donated[:, 1:][mask[:, len(ROLES) + 2 :]]:
            assert (candidates - row).abs().amax((1, 2)).min() < 1e-5

    def test_at_the_last_token_answers_do_not_count(self, toy: Toy) -> None:
        model, reference = toy.model, self.batch(24, seed=5, task="other")
        batch = self.batch(4, seed=1, task="own")
        mean = Reference(reference).mean(adapt(model), batch, 1, batch.positions("last"), first=batch.length - 1)
        expected = adapt(model).capture(reference.clean)[1][1][:, -1].mean(0)
        assert (mean[:, 0] - expected).abs().max() < 1e-5

    def test_few_tokens_of_answers_are_too_few(self, toy: Toy) -> None:
        model, reference = toy.model, self.batch(20, seed=5, task="other")
        few = replace(reference, answer_rest=torch.full_like(reference.answer_rest, -1))
        batch = self.batch(4, seed=1, task="own")
        with pytest.raises(UncoveredRoles) as caught:
            Reference(few).mean(adapt(model), batch, 1, batch.positions("answer"))
        assert caught.value.prompts == (0, 1, 2)
