"""The constants of the function probe, in one place, under the name of the paper."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from headcats.errors import OptionError
from headcats.registry import preset_of


@dataclass(frozen=True)
class FunctionProbeSettings:
    """Every constant of the function probe.

    Attributes:
        top_tokens: Tokens of an answer whose z is averaged, the least expected ones; 0 for all of them. See
            `headcats.methods.function_probe.features`.
        projection: Size of the projection that all heads share.
        hidden: Size of the hidden layer.
        dropout: Share of hidden units that are off at each step of the training.
        learning_rate: Of AdamW, constant.
        weight_decay: Of AdamW; PyTorch's default, as upstream.
        epochs: Passes over the training texts.
        batch_size: Texts per step. Upstream takes 1, in the order of the file and without standardising; here texts are
            shuffled and features standardised.
        folds: One of so many parts of the query items is held out.
        least_items: Distinct query items that a function needs; one with fewer is skipped.
        left_out_seeds: Probes that are also trained without tasks, from the first on. Each of them takes as many
            trainings more as the function with the most tasks has; its interval is over tasks, not over seeds.

    Raises:
        OptionError: A number that no probe can be trained with.

    Example:
        >>> import headcats as hc
        >>> hc.methods.function_probe.FunctionProbeSettings(epochs=20, left_out_seeds=0).hidden
        512

    References:
        Ma et al. (2025), Cognitive Mirrors, arXiv 2512.10978; `hc.methods.function_probe` says what differs.
    """

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
        for name in ("projection", "hidden", "epochs", "batch_size"):
            if getattr(self, name) < 1:
                raise OptionError(f"{name} of the function probe must be at least 1; got {getattr(self, name)}.")
        if self.top_tokens < 0 or not 0 <= self.dropout < 1:
            raise OptionError(
                "top_tokens of the function probe must be at least 0 and dropout in [0, 1); got "
                f"{self.top_tokens} and {self.dropout}."
            )
        rate, decay = self.learning_rate, self.weight_decay
        if not (math.isfinite(rate) and rate > 0 and math.isfinite(decay) and decay >= 0):
            raise OptionError(
                "learning_rate of the function probe must be a finite number above 0, and weight_decay one of at least "
                f"0; got {rate} and {decay}."
            )
        if self.folds < 2 or self.least_items < self.folds:
            raise OptionError(
                "The function probe needs at least 2 folds, and least_items no smaller than folds, so that every "
                f"function is in every fold; got folds={self.folds}, least_items={self.least_items}."
            )


PRESETS: Mapping[str, FunctionProbeSettings] = MappingProxyType({"cogmirrors2025": FunctionProbeSettings()})
"""Named after the paper: Ma et al. (2025), Cognitive Mirrors, arXiv 2512.10978."""


def settings_of(preset: str | FunctionProbeSettings) -> FunctionProbeSettings:
    """The settings of a preset; settings themselves come back unchanged.

    Raises:
        UnknownNameError: No such preset.
    """
    return preset_of("function_probe", preset, PRESETS)
