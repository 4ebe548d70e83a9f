"""What the tokens of an answer after its first add to a metric."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headcats.base.errors import ModelError
from headcats.models.replay.recording import LOGITS_AT_A_TIME


@dataclass(frozen=True, eq=False)
class Rest:
    """Sums over the tokens of each row's answers after the first, given those before them; 0 for one token.

    Attributes:
        answer: Log-probability of the later tokens of the answer, in nats, `[row]`.
        distractor: The same of the distractor.
        rank: Of the answer, -ln(1 + number of tokens with a larger logit): 0 if each later token is on top.

    Example:
        >>> import headcats as hc
        >>> import torch
        >>> rest = hc.metrics.Rest(torch.tensor([-0.1, 0.0]), torch.tensor([-0.7, 0.0]), torch.zeros(2))
        >>> rest.select(slice(0, 1)).answer
        tensor([-0.1000])
    """

    answer: Float[Tensor, "*row"]
    distractor: Float[Tensor, "*row"]
    rank: Float[Tensor, "*row"]

    def select(self, rows: slice | Int[Tensor, " place"]) -> "Rest":
        """Some of the rows.

        Args:
            rows: A slice of them, or their numbers.
        """
        return Rest(self.answer[rows], self.distractor[rows], self.rank[rows]) if self.answer.ndim else self

    def to(self, device: torch.device) -> "Rest":
        """Copy on another device.

        Args:
            device: The device.
        """
        if self is NO_REST:
            return self
        return Rest(self.answer.to(device), self.distractor.to(device), self.rank.to(device))


NO_REST = Rest(*torch.zeros(3))
"""Rest of answers of one token. Adding it changes no number, not even its last bit."""


Scores = tuple[Float[Tensor, " place"], Float[Tensor, " place"]]
"""Log-probability of tokens, and -ln(1 + number of tokens with a larger logit)."""


def rest_of_scores(
    score: Callable[[Int[Tensor, " place"], Int[Tensor, " place"]], Scores],
    predicted: Int[Tensor, "part branch *prompt step"],
) -> Rest:
    """Rest `[part * prompt]`: the scores of `predicted` (-1: the answer has ended), summed over steps.

    Branches are the answer and the distractor; there are none where all are one token. NaN is a ModelError.
    """
    if not predicted.shape[1]:
        return NO_REST
    flat = predicted.flatten()
    places = (flat >= 0).nonzero().flatten()
    scores = score(places, flat[places])
    if bool(scores[0].isnan().any()):
        raise ModelError("The model gives NaN logits: numbers overflow in this dtype. Load it in float32.")
    index = places.to(scores[0].device)
    log_prob, rank = (
        values.new_zeros(len(flat)).index_put((index,), values).view(predicted.shape).sum(-1) for values in scores
    )
    return Rest(log_prob[:, 0].flatten(), log_prob[:, 1].flatten(), rank[:, 0].flatten())


def logit_scores(
    read: Callable[[Int[Tensor, " place"]], Float[Tensor, "place vocab"]],
    places: Int[Tensor, " place"],
    tokens: Int[Tensor, " place"],
    *,
    at_a_time: int,
    ranked: bool,
) -> Scores:
    """Scores from the logits, in fp32, that `read` gives of some places, `at_a_time`; without `ranked`, ranks are 0."""
    parts = zip(places.split(at_a_time), tokens.split(at_a_time), strict=True)
    scores = [
        _of_tokens(logits, of_logits, ranked=ranked)
        for part, of_part in parts
        for logits, of_logits in _in_caches(read(part), of_part)
    ]
    log_probs, ranks = (torch.cat(values) for values in zip(*scores, strict=True))
    return log_probs, ranks


def _in_caches(logits: Tensor, tokens: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    size = max(1, LOGITS_AT_A_TIME // logits.shape[1])
    return zip(logits.split(size), tokens.split(size), strict=True)


def _of_tokens(logits: Float[Tensor, "place vocab"], tokens: Int[Tensor, " place"], *, ranked: bool) -> Scores:
    own = logits.gather(-1, tokens.to(logits.device)[:, None])
    log_prob = own[:, 0] - logits.logsumexp(-1)
    return log_prob, -torch.log1p((logits > own).sum(-1).float()) if ranked else torch.zeros_like(log_prob)


def joined_rest(parts: Sequence[Rest]) -> Rest:
    """The rest of all rows, part after part."""
    if all(part is NO_REST for part in parts):
        return NO_REST
    return Rest(*(torch.cat([getattr(part, name) for part in parts]) for name in ("answer", "distractor", "rank")))
