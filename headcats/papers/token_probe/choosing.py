"""Which layer and token role a probe reads: chosen on the training answers alone, or named."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Bool

from headcats.errors import DataError, OptionError
from headcats.models.adapter import HookedModel
from headcats.papers.token_probe.passes import hook_name, representations
from headcats.papers.token_probe.probe import probe_scores
from headcats.papers.token_probe.settings import TokenProbeSettings
from headcats.papers.token_probe.split import SplitAnswers, held_out

Place = tuple[int, str]
"""Layer and token role."""


def check_place(model: HookedModel, at: Place, settings: TokenProbeSettings, representation: str) -> TokenProbeSettings:
    """The settings with the role of `at` alone; an error for another layer or role."""
    if not isinstance(at, tuple | list) or len(at) != 2:
        raise OptionError(f"at must be a layer and a token role, such as (15, 'exact_answer_last'); got {at!r:.60}.")
    layer, role = at
    if isinstance(layer, bool) or not isinstance(layer, int | np.integer) or layer not in model.layers:
        raise OptionError(f"at names layer {layer!r}; expected one of {', '.join(map(str, model.layers))}.")
    if not isinstance(role, str):
        raise OptionError(f"at names the token role {role!r:.40}; expected a text such as 'exact_answer_last' or '-1'.")
    hook_name(model, layer, representation)
    return replace(settings, roles=(role,))


def chosen_place(
    model: HookedModel, split: SplitAnswers, settings: TokenProbeSettings, *, representation: str
) -> Place:
    """The cell whose probe, fitted to four fifths of the training answers, is best on the other fifth.

    The held-out answers have no say, so that the cell's AUC on them is not the best of many.
    """
    training = np.flatnonzero(~split.test)
    items, tasks = (
        [split.items[place] for place in training.tolist()],
        [split.tasks[place] for place in training.tolist()],
    )
    wrong = split.wrong[training]
    validation = held_out(items, tasks, wrong, share=settings.test_share, seed=split.seed)
    _check_both(wrong, validation)
    everywhere = np.zeros(len(split.test), dtype=bool)
    everywhere[training[validation]] = True
    judged = split.judged(everywhere)
    best: tuple[float, Place] | None = None
    positions = split.positions(settings.roles)
    for layer, features in representations(model, split.tokens, positions, representation=representation):
        for column, role in enumerate(settings.roles):
            scores, _ = probe_scores(features[training, column], wrong, validation, settings)
            area = -np.inf if scores is None else judged.area(scores).value
            if scores is not None and (best is None or area > best[0]):
                best = area, (layer, role)
    if best is None:
        raise DataError(f"No probe converged within max_iter={settings.max_iter}: raise it in the settings.")
    return best[1]


def _check_both(wrong: Bool[np.ndarray, " prompt"], validation: Bool[np.ndarray, " prompt"]) -> None:
    sides: Sequence[np.ndarray] = (wrong[validation], wrong[~validation])
    if any(len(set(side.tolist())) < 2 for side in sides):
        raise DataError(
            "The training answers cannot be split again so that right and wrong ones are on both sides, to choose a "
            "layer and role: ask about more items, or name them (`at=`)."
        )
