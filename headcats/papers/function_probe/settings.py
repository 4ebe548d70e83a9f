"""Every constant of the function probe, under the name of the paper."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from headcats.base.errors import OptionError
from headcats.methods.spec import read_value
from headcats.papers.settings import check_at_least

POSITIONS = ("predicting", "answer")
"""Places where z of an answer token is taken; the default first."""


@dataclass(frozen=True)
class FunctionProbeSettings:
    """Every constant of the function probe.

    Attributes:
        at: Where z of a chosen token is taken: "predicting", at the position before it, where the model predicts it; or
            "answer", at the token itself.
        top_tokens: Tokens of an answer whose z is averaged, the least expected ones; 0 for all.
        projection: Size of the projection that all heads share.
        hidden: Size of the hidden layer.
        dropout: Share of hidden units that are off at each step of the training.
        learning_rate: Of AdamW, constant.
        weight_decay: Of AdamW; PyTorch's default, as upstream.
        epochs: Passes over the training texts.
        batch_size: Texts per step, shuffled. Upstream takes one at a time, in the order of the file.
        folds: One of so many parts of the query items is held out.
        least_items: Distinct query items that a function needs; one with fewer is skipped.
        left_out_seeds: How many of the first probes are also trained without tasks, as many times more as the function
            with the most tasks has. Their interval is over tasks, not over seeds.

    Raises:
        OptionError: A number out of range, or another word for `at`.

    Example:
        >>> import headcats as hc
        >>> hc.papers.function_probe.FunctionProbeSettings(epochs=20, left_out_seeds=0).hidden
        512

    References:
        Ma et al. (2025), Cognitive Mirrors, arXiv 2512.10978; `hc.methods.function_probe` says what differs.
    """

    at: str = POSITIONS[0]
    top_tokens: int = 5
    projection: int = 64
    hidden: int = 512
    dropout: float = 0.3
    learning_rate: float = 1e-4
    weight_decay: float = 0.01
    epochs: int = 100
    batch_size: int = 32
    folds: int = 5
    least_items: int = 10
    left_out_seeds: int = 1

    def __post_init__(self) -> None:
        read_value(POSITIONS, self.at, name="at", method="function_probe")
        positive = ("projection", "hidden", "epochs", "batch_size")
        check_at_least(1, self, *positive, of="the function probe")
        check_at_least(0, self, "top_tokens", of="the function probe")
        if not 0 <= self.dropout < 1:
            raise OptionError(f"dropout of the function probe must be in [0, 1); got {self.dropout}.")
        if not (0 < self.learning_rate < math.inf and 0 <= self.weight_decay < math.inf):
            raise OptionError(
                "learning_rate of the function probe must be a finite number above 0, and weight_decay one of at least "
                f"0; got {self.learning_rate} and {self.weight_decay}."
            )
        if self.folds < 2 or self.least_items < self.folds:
            raise OptionError(
                "The function probe needs at least 2 folds, and least_items no smaller than folds, so that every "
                f"function is in every fold; got folds={self.folds}, least_items={self.least_items}."
            )


PRESETS: Mapping[str, FunctionProbeSettings] = MappingProxyType({"cogmirrors2025": FunctionProbeSettings()})
"""Named after the paper: Ma et al. (2025), Cognitive Mirrors, arXiv 2512.10978."""
