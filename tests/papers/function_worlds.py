"""Texts and head features whose functions are known: carried by one head, by nobody, or by tasks alone."""

from collections.abc import Mapping, Sequence

import torch

from headcats.models.head import Head
from headcats.papers.function_probe.features import HeadFeatures
from headcats.papers.function_probe.settings import FunctionProbeSettings
from headcats.prompts.answered import AnsweredText
from headcats.prompts.drop_report import DropReport
from headcats.prompts.pair import Span

QUICK = FunctionProbeSettings(projection=16, hidden=32, learning_rate=3e-3, epochs=25)
"""Small and fast; what is tested with it does not depend on the sizes."""
D_HEAD = 6


def texts_of(functions: Sequence[str], *, n: int = 40, tasks: int = 2) -> list[AnsweredText]:
    """`n` texts per function, each with an item of its own, dealt out to its tasks."""
    return [
        AnsweredText(
            f"{function} {number}",
            (Span(0, 1),),
            key=f"{function}/{number}",
            item=f"{function} {number}",
            task=f"{function} {number % tasks}",
            category=function,
        )
        for function in functions
        for number in range(n)
    ]


def features_of(
    texts: Sequence[AnsweredText],
    carried: Mapping[Head, Mapping[str, float]],
    *,
    by: str = "category",
    layers: int = 3,
    heads: int = 4,
    seed: int = 0,
) -> HeadFeatures:
    """Noise, and in some heads a direction of its own for each category (or task, by="task") that they carry.

    Args:
        texts: The texts.
        carried: Head -> category or task -> how strongly, in standard deviations of the noise.
        by: Attribute of a text that the keys are compared with.
        layers: Number of layers.
        heads: Heads per layer.
        seed: Of noise and directions.
    """
    draws = torch.Generator().manual_seed(seed)
    z = torch.randn(len(texts), layers, heads, D_HEAD, generator=draws)
    for head, strengths in carried.items():
        for name, strength in strengths.items():
            direction = torch.nn.functional.normalize(torch.randn(D_HEAD, generator=draws), dim=0)
            told = torch.tensor([float(getattr(text, by) == name) for text in texts])
            z[:, head.layer, head.head] += strength * told[:, None] * direction
    values = torch.cat([z, z.mean(2, keepdim=True).expand_as(z)], dim=3).flatten(1, 2)
    every = tuple(Head(layer, head) for layer in range(layers) for head in range(heads))
    words = torch.randn(len(texts), D_HEAD, generator=draws)  # of the answers, which say nothing
    return HeadFeatures(values, words, every, tuple(texts), DropReport(kept=len(texts)))
