"""The metrics that come with headcats. Higher is always better."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headcats.metrics.definition import Targets, metric


@metric(reads="pair")
def logit_diff(logits: Float[Tensor, "row vocab"], targets: Targets) -> Float[Tensor, " row"]:
    """Log-probability of the answer minus that of the distractor, in nats. The primary metric.

    For one token, the answer's logit minus the distractor's: the normaliser is the same for both and cancels. Later
    tokens add `sum_j ln p(answer_j | prompt, answer_<j) - sum_j ln p(distractor_j | prompt, distractor_<j)`, j >= 2.

    Args:
        logits: At the last position of the prompt, in fp32.
        targets: Of these rows; `answer`, `distractor` and `rest` are read.

    Returns:
        A number per row, in nats; larger is better for the answer.

    Example:
        >>> import headcats as hc
        >>> import torch
        >>> logits = torch.tensor([[2.0, 0.0, 1.0], [0.0, 3.0, 1.0]])
        >>> targets = hc.metrics.Targets(torch.tensor([0, 2]), torch.tensor([1, 1]), clean_logits=logits)
        >>> hc.metrics.logit_diff(logits, targets)
        tensor([ 2., -2.])

        By hand, for answer " New York" (probabilities .2, then .9) and distractor " Rio de Janeiro" (.1, .5, then 1):
        ln(.2 * .9) - ln(.1 * .5 * 1) = ln 3.6.

        >>> first = torch.tensor([[0.2, 0.1, 0.7]]).log()
        >>> rest = hc.metrics.Rest(*torch.tensor([0.9, 0.5, 1.0]).log()[:, None])
        >>> whole = hc.metrics.Targets(torch.tensor([0]), torch.tensor([1]), clean_logits=first, rest=rest)
        >>> hc.metrics.logit_diff(first, whole).exp()
        tensor([3.6000])

    References:
        Wang et al. (2022), arXiv 2211.00593, and Zhang & Nanda (2024), arXiv 2309.16042.
    """
    first = _at(logits, targets.answer) - _at(logits, targets.distractor)
    return first + targets.rest.answer - targets.rest.distractor


@metric
def log_prob(logits: Float[Tensor, "row vocab"], targets: Targets) -> Float[Tensor, " row"]:
    """Log-probability of the answer, in nats; at most 0: the sum over its tokens, each given those before it.

    Args:
        logits: At the last position of the prompt, in fp32.
        targets: Of these rows; `answer` and `rest` are read.

    Returns:
        A number per row, in nats; larger is better for the answer.

    Example:
        >>> import headcats as hc
        >>> import torch
        >>> logits = torch.tensor([[2.0, 0.0, 1.0], [0.0, 3.0, 1.0]])
        >>> targets = hc.metrics.Targets(torch.tensor([0, 2]), torch.tensor([1, 1]), clean_logits=logits)
        >>> hc.metrics.log_prob(logits, targets)
        tensor([-0.4076, -2.1698])

    References:
        Heimersheim & Nanda (2024), arXiv 2404.15255, on how metrics differ.
    """
    return _at(logits.log_softmax(-1), targets.answer) + targets.rest.answer


@metric
def prob(logits: Float[Tensor, "row vocab"], targets: Targets) -> Float[Tensor, " row"]:
    """Probability of the answer, in [0, 1]: the product over its tokens, each given those before it.

    Args:
        logits: At the last position of the prompt, in fp32.
        targets: Of these rows; `answer` and `rest` are read.

    Returns:
        A number per row, in [0, 1]; larger is better for the answer.

    Example:
        >>> import headcats as hc
        >>> import torch
        >>> logits = torch.tensor([[2.0, 0.0, 1.0], [0.0, 3.0, 1.0]])
        >>> targets = hc.metrics.Targets(torch.tensor([0, 2]), torch.tensor([1, 1]), clean_logits=logits)
        >>> hc.metrics.prob(logits, targets)
        tensor([0.6652, 0.1142])

    References:
        Todd et al. (2024), arXiv 2310.15213, and Zhang & Nanda (2024), arXiv 2309.16042, on the heads it
        misses.
    """
    return _at(logits.softmax(-1), targets.answer) * torch.exp(targets.rest.answer)


@metric
def kl(logits: Float[Tensor, "row vocab"], targets: Targets) -> Float[Tensor, " row"]:
    """Minus the divergence KL(p_clean || p_run), in nats: 0 for the clean run itself, else below 0.

    Of the first token of an answer alone.

    Args:
        logits: At the last position of the prompt, in fp32.
        targets: Of these rows; `clean_logits` are read.

    Returns:
        A number per row, in nats; larger is nearer to the clean run.

    Example:
        >>> import headcats as hc
        >>> import torch
        >>> logits = torch.tensor([[2.0, 0.0, 1.0], [0.0, 3.0, 1.0]])
        >>> targets = hc.metrics.Targets(torch.tensor([0, 2]), torch.tensor([1, 1]), clean_logits=logits)
        >>> bool((hc.metrics.kl(logits.flip(0), targets) < 0).all())  # logits of another run
        True

    References:
        Conmy et al. (2023), Automated circuit discovery, arXiv 2304.14997.
    """
    clean = targets.clean_logits.float().log_softmax(-1)
    return -(clean.exp() * (clean - logits.log_softmax(-1))).sum(-1)


@metric(smooth=False)
def rank(logits: Float[Tensor, "row vocab"], targets: Targets) -> Float[Tensor, " row"]:
    """-ln(1 + number of tokens with a larger logit than the answer): 0 when the answer is on top.

    Of an answer of several tokens, the sum over them, each given those before it.

    Args:
        logits: At the last position of the prompt, in fp32.
        targets: Of these rows; `answer` and `rest` are read.

    Returns:
        A number per row, without unit, at most 0; larger is better for the answer.

    Example:
        >>> import headcats as hc
        >>> import torch
        >>> logits = torch.tensor([[2.0, 0.0, 1.0], [0.0, 3.0, 1.0]])
        >>> targets = hc.metrics.Targets(torch.tensor([0, 2]), torch.tensor([1, 1]), clean_logits=logits)
        >>> hc.metrics.rank(logits, targets).exp()  # 1 / (1 + tokens above the answer)
        tensor([1.0000, 0.5000])

    References:
        Heimersheim & Nanda (2024), arXiv 2404.15255, on how metrics differ.
    """
    larger = logits > _at(logits, targets.answer)[:, None]
    return -torch.log1p(larger.sum(-1).float()) + targets.rest.rank


@metric(smooth=False)
def accuracy(logits: Float[Tensor, "row vocab"], targets: Targets) -> Float[Tensor, " row"]:
    """1 where the greedy continuation of the prompt is the answer, else 0.

    Each token of the answer has the largest logit of the whole vocabulary, given those before it. Tokens with which
    answer and distractor both begin are part of the prompt: they are given, too.

    Args:
        logits: At the last position of the prompt, in fp32.
        targets: Of these rows; `answer` and `rest` are read.

    Returns:
        0 or 1 per row.

    Example:
        >>> import headcats as hc
        >>> import torch
        >>> logits = torch.tensor([[2.0, 0.0, 1.0], [0.0, 3.0, 1.0]])
        >>> targets = hc.metrics.Targets(torch.tensor([0, 2]), torch.tensor([1, 1]), clean_logits=logits)
        >>> hc.metrics.accuracy(logits, targets)
        tensor([1., 0.])

    References:
        Heimersheim & Nanda (2024), arXiv 2404.15255, on why a count hides what a head does.
    """
    return ((logits.argmax(-1) == targets.answer) & (targets.rest.rank == 0)).float()


@metric(smooth=False, reads="pair")
def pair_accuracy(logits: Float[Tensor, "row vocab"], targets: Targets) -> Float[Tensor, " row"]:
    """1 where the answer is likelier than the distractor (a positive `logit_diff`), else 0.

    Args:
        logits: At the last position of the prompt, in fp32.
        targets: Of these rows; `answer`, `distractor` and `rest` are read.

    Returns:
        0 or 1 per row.

    Example:
        >>> import headcats as hc
        >>> import torch
        >>> logits = torch.tensor([[2.0, 0.0, 1.0], [0.0, 3.0, 1.0]])
        >>> targets = hc.metrics.Targets(torch.tensor([0, 2]), torch.tensor([1, 1]), clean_logits=logits)
        >>> hc.metrics.pair_accuracy(logits, targets)
        tensor([1., 0.])

    References:
        Wang et al. (2022), arXiv 2211.00593, where it is the share of prompts with a positive logit difference.
    """
    return (logit_diff(logits, targets) > 0).float()


def _at(values: Float[Tensor, "row vocab"], ids: Int[Tensor, " row"]) -> Float[Tensor, " row"]:
    return values.gather(-1, ids[:, None]).squeeze(-1)
