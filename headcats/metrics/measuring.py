"""Several metrics of the same logits, a bounded number of logits at a time."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headcats.errors import ModelError, OptionError
from headcats.metrics.definition import Metric, Targets
from headcats.registry import lookup

LOGITS_AT_A_TIME = 2**22
"""Numbers whose metrics are computed together: temporaries of more would leave a processor's caches."""


def measure(
    names: tuple[str, ...],
    logits: Float[Tensor, "row vocab"],
    targets: Targets,
    *,
    of: Int[Tensor, " row"] | None = None,
) -> Float[Tensor, "metric row"]:
    """Several metrics of the same logits, computed a part of the rows at a time.

    Args:
        names: Metrics.
        logits: In any dtype.
        targets: What rows are compared with.
        of: The row of `targets` that belongs to each row of logits; None: as they stand.

    Returns:
        One row of numbers per metric, each in its own unit.

    Raises:
        UnknownNameError: A name that is no registered metric.
        OptionError: A metric that gives anything but one number per row.
        ModelError: NaN logits, which some metrics would read as a perfect answer.

    Example:
        >>> import headcats as hc
        >>> import torch
        >>> logits = torch.tensor([[2.0, 0.0, 1.0], [0.0, 3.0, 1.0]])
        >>> targets = hc.metrics.Targets(torch.tensor([0, 2]), torch.tensor([1, 1]), clean_logits=logits)
        >>> hc.metrics.measure(("logit_diff", "accuracy"), logits, targets)
        tensor([[ 2., -2.],
                [ 1.,  0.]])
    """
    metrics: list[Metric] = [lookup("metric", name) for name in names]
    # The logits of a model that is spread over devices need not be where its tokens are.
    targets = targets.to(logits.device)
    size = max(1, LOGITS_AT_A_TIME // logits.shape[1])
    parts = []
    for start in range(0, len(logits), size):
        rows = slice(start, start + size)
        part = logits[rows].float()
        if bool(part.amax(-1).isnan().any()):
            raise ModelError("The model gives NaN logits: numbers overflow in this dtype. Load it in float32.")
        theirs = targets.select(rows) if of is None else targets.at(of[rows])
        values = [metric(part, theirs) for metric in metrics]
        for name, value in zip(names, values, strict=True):
            if value.shape != part.shape[:1]:
                raise OptionError(
                    f"Metric {name!r} must give one number per row, shape ({len(part)},); got {tuple(value.shape)}."
                )
        parts.append(torch.stack(values))
    return torch.cat(parts, 1)
