"""A metric: log odds of the answer against all other tokens."""

from jaxtyping import Float
from torch import Tensor

from headcats.metrics import Targets, metric


@metric
def answer_odds(logits: Float[Tensor, "row vocab"], targets: Targets) -> Float[Tensor, " row"]:
    """Log odds of the answer, `log p - log(1 - p)`, in nats; larger is better for the answer.

    Args:
        logits: At the last position, in fp32.
        targets: Of these rows; `answer` is read.
    """
    log_probs = logits.log_softmax(-1).gather(-1, targets.answer[:, None])[:, 0]
    return log_probs - (-log_probs.expm1()).log()
