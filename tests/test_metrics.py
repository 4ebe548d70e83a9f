"""Logits to one number per prompt, by hand; and what every registered metric must keep to."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from headcats.base import registry
from headcats.base.errors import ExtensionError
from headcats.metrics import Targets, metric, rest
from headcats.metrics.definition import measure

NAMES = registry.names("metric")
LN = math.log

# Logits that are logarithms of probabilities. Row 0: p = (.5, .25, .25); row 1: p = (.1, .3, .6).
PROBABILITIES = torch.tensor([[0.5, 0.25, 0.25], [0.1, 0.3, 0.6]])
# The clean run gave the answer (token 0, token 1) probability .8 and .5.
CLEAN = torch.tensor([[0.8, 0.1, 0.1], [0.25, 0.5, 0.25]])
TARGETS = Targets(answer=torch.tensor([0, 1]), distractor=torch.tensor([1, 2]), clean_logits=CLEAN.log())


def targets(n_rows: int, n_vocab: int, *, seed: int = 0) -> Targets:
    generator = torch.Generator().manual_seed(seed)
    order = torch.stack([torch.randperm(n_vocab, generator=generator) for _ in range(n_rows)])
    return Targets(order[:, 0], order[:, 1], 3 * torch.randn(n_rows, n_vocab, generator=generator))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("logit_diff", [LN(0.5 / 0.25), LN(0.3 / 0.6)]),
        ("log_prob", [LN(0.5), LN(0.3)]),
        ("prob", [0.5, 0.3]),
        # -sum of p_clean * ln(p_clean / p_run)
        (
            "kl",
            [
                -(0.8 * LN(0.8 / 0.5) + 2 * 0.1 * LN(0.1 / 0.25)),
                -(0.25 * LN(0.25 / 0.1) + 0.5 * LN(0.5 / 0.3) + 0.25 * LN(0.25 / 0.6)),
            ],
        ),
        ("rank", [0.0, -LN(2)]),  # nobody above the answer; one token above it
        ("accuracy", [1.0, 0.0]),
        ("pair_accuracy", [1.0, 0.0]),
    ],
)
def test_by_hand(name: str, expected: list[float]) -> None:
    for shift, atol in ((0.0, 2e-6), (-40.0, 2e-5)):
        values = measure((name,), PROBABILITIES.log() + shift, TARGETS)
        torch.testing.assert_close(values, torch.tensor([expected]), atol=atol, rtol=0)


def test_rank_counts_every_larger_logit_and_no_tie() -> None:
    logits = torch.tensor([[1.0, 4.0, 3.0, 1.0, 2.0], [1.0, 0.0, 1.0, 1.0, 0.0]])
    found = measure(("rank",), logits, Targets(torch.tensor([0, 0]), torch.tensor([1, 1]), logits))
    torch.testing.assert_close(found, torch.tensor([[-LN(4), 0.0]]))


def test_accuracy_is_over_the_whole_vocabulary() -> None:
    # The answer beats the distractor, but a third token beats both.
    names = ("accuracy", "pair_accuracy", "logit_diff")
    assert measure(names, torch.tensor([[2.0, 1.0, 3.0]]), targets_of_answer_0()).tolist() == [[0.0], [1.0], [1.0]]


def targets_of_answer_0() -> Targets:
    return Targets(torch.tensor([0]), torch.tensor([1]), torch.zeros(1, 3))


def test_kl_of_the_clean_run_is_0_and_of_others_below() -> None:
    logits = targets(4, 9)
    assert measure(("kl",), logits.clean_logits, logits).abs().max() < 1e-6
    assert (measure(("kl",), logits.clean_logits.flip(-1), logits) < -0.01).all()


@pytest.mark.parametrize("name", NAMES)
class TestContract:
    def test_one_finite_fp32_number_per_row(self, name: str) -> None:
        for n_rows, n_vocab, dtype in ((1, 2, torch.float32), (5, 17, torch.bfloat16), (5, 17, torch.float16)):
            found = measure((name,), targets(n_rows, n_vocab, seed=1).clean_logits.to(dtype), targets(n_rows, n_vocab))
            assert found.shape == (1, n_rows)
            assert found.dtype == torch.float32
            assert torch.isfinite(found).all()

    @given(shift=st.floats(-50, 50), seed=st.integers(0, 10**6))
    def test_a_constant_added_to_all_logits_changes_nothing(self, name: str, shift: float, seed: int) -> None:
        # A shift that rounds no logit: fp32 has 24 bits, logits and shifts here need fewer than 16 of them.
        shift = round(shift * 4) / 4
        logits, against = (targets(4, 7, seed=seed).clean_logits * 64).round() / 64, targets(4, 7, seed=seed + 1)
        moved = measure((name,), logits + shift, against)
        torch.testing.assert_close(moved, measure((name,), logits, against), atol=1e-5, rtol=0)

    @given(seed=st.integers(0, 10**6))
    def test_the_clean_run_beats_one_whose_answer_is_lost(self, name: str, seed: int) -> None:
        clean = targets(5, 8, seed=seed)
        rows = torch.arange(5)
        clean.clean_logits[rows, clean.answer] = clean.clean_logits.amax(-1) + 1
        lost = clean.clean_logits.clone()
        lost[rows, clean.answer] = lost.amin(-1) - 1
        assert (measure((name,), clean.clean_logits, clean) > measure((name,), lost, clean)).all()

    @given(seed=st.integers(0, 10**6))
    def test_rows_do_not_see_each_other(self, name: str, seed: int) -> None:
        logits, against = targets(5, 6, seed=seed).clean_logits, targets(5, 6, seed=seed + 1)
        alone = [
            measure(
                (name,),
                logits[[row]],
                Targets(against.answer[[row]], against.distractor[[row]], against.clean_logits[[row]]),
            )
            for row in range(5)
        ]
        torch.testing.assert_close(measure((name,), logits, against), torch.cat(alone, dim=1))


def test_several_metrics_come_in_the_order_asked_for() -> None:
    together = measure(("prob", "logit_diff"), PROBABILITIES.log(), TARGETS)
    torch.testing.assert_close(together[0], measure(("prob",), PROBABILITIES.log(), TARGETS)[0])
    torch.testing.assert_close(together[1], measure(("logit_diff",), PROBABILITIES.log(), TARGETS)[0])


@pytest.mark.parametrize("at_a_time", [1, 4, 1000])
def test_rows_are_compared_with_the_targets_they_name(at_a_time: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headcats.metrics.definition.LOGITS_AT_A_TIME", at_a_time)
    of, names = torch.tensor([1, 0, 0, 1, 1]), tuple(NAMES)
    logits = PROBABILITIES.log()[[0, 1, 0, 0, 1]]
    expected = [measure(names, logits[[row]], TARGETS.select(of[[row]])) for row in range(5)]
    torch.testing.assert_close(measure(names, logits, TARGETS, of=of), torch.cat(expected, 1))


@pytest.mark.parametrize(("at_a_time", "rows"), [(1, [1, 1]), (3, [1, 1]), (6, [2])])
def test_later_tokens_are_scored_a_few_rows_at_a_time(
    at_a_time: int, rows: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, of_tokens = [], rest._of_tokens

    def counted(logits: torch.Tensor, tokens: torch.Tensor, *, ranked: bool) -> rest.Scores:
        seen.append(len(logits))
        return of_tokens(logits, tokens, ranked=ranked)

    monkeypatch.setattr(rest, "_of_tokens", counted)
    monkeypatch.setattr(rest, "LOGITS_AT_A_TIME", at_a_time)
    log_probs, ranks = rest.logit_scores(
        lambda places: PROBABILITIES.log()[places], torch.arange(2), torch.tensor([2, 1]), at_a_time=2, ranked=True
    )
    assert seen == rows
    torch.testing.assert_close(log_probs.exp(), torch.tensor([0.25, 0.3]))
    torch.testing.assert_close(ranks, -torch.tensor([2.0, 2.0]).log())


def test_a_metric_gives_one_number_per_row() -> None:
    @metric
    def loudness(logits: torch.Tensor, targets: Targets) -> torch.Tensor:
        return logits

    with pytest.raises(ExtensionError, match=r"'loudness' .*\(2,\); got shape \(2, 3\)"):
        measure(("loudness",), PROBABILITIES.log(), TARGETS)
