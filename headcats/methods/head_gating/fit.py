"""Causal Head Gating: gates on all heads at once, fitted to predict the targets of a data set."""

import functools
import math
import os
import warnings
from collections.abc import Mapping
from typing import Any

import xarray as xr

from headcats.errors import DataError, StatisticsWarning
from headcats.methods.head_gating.data_set import DataSet
from headcats.methods.head_gating.labelled import joined
from headcats.methods.head_gating.saved import with_n_seeds
from headcats.methods.head_gating.seeds import fit_each
from headcats.methods.head_gating.settings import PRESETS, GatingSettings, find_settings
from headcats.methods.head_gating.texts import NextTokenData, gate_texts
from headcats.methods.joint.inputs import SuiteInputs
from headcats.methods.options import Option, WholeNumber, check_whole
from headcats.models.adapter import adapt
from headcats.models.checks import check_model
from headcats.prompts.answered import AnsweredText

_N_SEEDS = WholeNumber(default=10, least=1)


class HeadGating:
    """Which heads a data set needs, which disturb it and which it can do without, from gates fitted to all at once.

    Gates `G = sigmoid(theta)` in [0, 1] multiply z of every head at all positions; the weights stay as they are. Adam
    lowers `NLL - lambda * mean_heads clamp(theta, -4, 4)`, NLL being the mean over the target tokens of a text, then
    over 64 texts drawn from the data set; the norm of the gradient is clipped at 1. From G ~ U(0, 1), 500 updates with
    lambda = 0 and a learning rate falling from .1 to .01 give G0; from there, 500 updates each, rate .5 to .1, lambda
    = +.1 gives G+ and lambda = -.1 gives G-. Then

        facilitation = G-            (stays on although pushed off: the data set needs it)
        interference = 1 - G+        (stays off although pushed on: it disturbs)
        irrelevance  = G+ (1 - G-)   (goes wherever it is pushed)

    all in [0, 1]; a gate is causal for the data set as a whole, and says nothing of one position or one text. Heads
    that can stand in for each other are facilitating from some random starts and not from others: hence 10 seeds, and
    `hc.methods.head_gating.always_any`. Its `any` counts too many: the push ends where |theta| reaches 4, so a head
    whose G0 lies above .982 keeps its gate although nothing needs it (3 of the 14 heads that `any` found on "mini",
    Translation).

    Differences from the paper, and what it leaves open: each stage has an Adam of its own; the rate is linear from
    first to last update; an eighth of the items is held out, and the losses that are stored are theirs. Preset
    "chg-mini": 32 texts per update, 150 updates per stage, otherwise the same. Its facilitation ranks the heads of
    "mini" on Translation as the paper's preset does from the same start (Spearman .91; two starts: .79 on average).

    In a study, a data set is a category of the suite (few-shot texts of all its tasks), and every seed is saved when
    it is done.

    Example:
        >>> import headcats as hc
        >>> few = hc.methods.head_gating.GatingSettings(updates=5, batch=8)  # the paper: 500 updates of 64 texts
        >>> texts = hc.methods.task_texts("plural", n_prompts=16, n_demos=2)
        >>> gates = hc.methods.head_gating(hc.load_model("mini"), texts, preset=few, n_seeds=1)
        >>> gates.facilitation.dims
        ('dataset', 'seed', 'layer', 'head')
        >>> bool((abs(gates.facilitation - gates.g_minus) < 1e-6).all())
        True

    References:
        Nam et al. (2025), Causal Head Gating, arXiv 2505.13737.
    """

    name = "head_gating"

    def __init__(self) -> None:
        self.options: dict[str, Option] = {"preset": tuple(PRESETS), "n_seeds": _N_SEEDS}

    def __call__(
        self,
        model: Any,
        data: NextTokenData | Mapping[str, NextTokenData],
        *,
        preset: str | GatingSettings = "chg2025",
        n_seeds: int = 10,
        seed: int = 0,
        out: str | os.PathLike[str] | None = None,
    ) -> xr.Dataset:
        """Gates fitted to any data of next tokens.

        Seeds are fitted one after another: they share no computation, so a seed gives the same bits alone. How long
        it takes is logged after the first updates. With `out`, a call that was stopped goes on where it stopped.

        Args:
            model: A HookedTransformer, a TransformerBridge, or what `hc.load_model` returns.
            data: `AnsweredText`s (text and where its targets stand), or `AnsweredBatch`es of tokens, of any lengths;
                or several data sets by name. Without a name, the data set is called "data".
            preset: "chg2025", "chg-mini", or constants of your own (`GatingSettings`).
            n_seeds: Random starts, numbered from 0.
            seed: Seed of every random choice.
            out: Folder in which every seed is saved when it is fitted; seeds that are there are read. None saves
                nothing.

        Returns:
            `g0, g_plus, g_minus, facilitation, interference, irrelevance (dataset, seed, layer, head)` in [0, 1], NaN
            for heads that a layer lacks; in nats, mean over held-out texts: `loss (dataset, seed, stage)` of the fitted
            gates, `start_loss (dataset, seed)` of the random ones, `open_loss (dataset)` with every gate at 1; `n,
            n_held_out (dataset)`, numbers of texts. Attribute `left_out`: texts and tasks that could not be used, and
            why, "" for none.

        Raises:
            DataError: No data, data that the model cannot take, fewer than two items, or every fit diverges.
            ModelError: A model that gives no gradient or cannot be trusted, or texts without a tokenizer.
            UnknownNameError, OptionError: Unknown preset, or fewer than one seed.
            StorageError: `out` holds fits to other data or with other settings, or cannot be written.

        Warns:
            StatisticsWarning: Seeds that diverge and are left out of a data set, data sets of which none is left, and
                texts that could not be used.
        """
        settings, adapted = find_settings(preset), adapt(model)
        n_seeds = check_whole(_N_SEEDS, n_seeds, name="n_seeds", method=self.name)
        check_model(adapted)
        sets = data if isinstance(data, Mapping) else {"data": data}
        if not sets:
            raise DataError("No data set was given: pass texts, or a mapping of names to texts.")
        label = preset if isinstance(preset, str) else "own"
        # All of them before the first fit: what cannot be read should not wait until hours of others are over.
        texts = {name: gate_texts(adapted, one, name=name) for name, one in sets.items()}
        works = [
            DataSet(adapted, one, settings=settings, preset=label, name=name, seed=seed) for name, one in texts.items()
        ]
        parts: list[xr.Dataset] = []
        problems = []
        for place, work in enumerate(works):
            later = n_seeds * (len(works) - 1 - place)
            fit = functools.partial(work.alone, n_seeds=n_seeds, later=later)
            if out is not None:
                fit = functools.partial(work.saved(out).get, fit=fit)
            try:
                found = fit_each(fit, n_seeds)
            except DataError as problem:
                problems.append(problem)
            else:
                parts += [with_n_seeds(one, n_seeds=n_seeds) for one in found.values()]
        if not parts:
            raise problems[0]
        for left_out in problems:
            warnings.warn(f"Data set left out, no seed is left: {left_out}", StatisticsWarning, stacklevel=2)
        fits = joined(parts)
        if fits.attrs["left_out"]:
            warnings.warn(f"Texts left out: {fits.attrs['left_out']}.", StatisticsWarning, stacklevel=2)
        return fits

    def parts(self, inputs: SuiteInputs, *, preset: str = "chg2025", n_seeds: int = 10) -> dict[str, tuple[str, ...]]:
        """`<category>/<seed>` -> tasks of the category, all seeds of a category before the next.

        Tasks of finished prompts are not read; a category of nothing else has one part, which is refused.
        """
        tasks: dict[str, list[str]] = {}
        for task in inputs.tasks:
            some = tasks.setdefault(inputs.categories[task.name], [])
            if task.name in inputs.pairs:
                some.append(task.name)
        return {
            f"{name}/{number}": tuple(some) for name, some in tasks.items() for number in range(n_seeds if some else 1)
        }

    def on_part(self, inputs: SuiteInputs, part: str, *, preset: str = "chg2025", n_seeds: int = 10) -> xr.Dataset:
        """One seed on one category.

        Raises:
            DataError: No text of the category can be used, or the fit diverges.
            ModelError: As in a call.
        """
        category, _, number = part.rpartition("/")
        settings = find_settings(preset)
        made, left_out = _texts(inputs, category, settings)
        texts = gate_texts(inputs.model, made, name=category)
        texts.left_out = "; ".join(filter(None, [texts.left_out, left_out]))
        work = DataSet(inputs.model, texts, settings=settings, preset=preset, name=category, seed=inputs.seed)
        fit = work.fit(int(number), advance=lambda done, of, stage: inputs.advance(done / of, stage))
        return work.block({int(number): fit}, n_seeds=n_seeds)

    def join(self, parts: Mapping[str, xr.Dataset]) -> xr.Dataset:
        """The finished seeds of all categories; NaN for those that are not."""
        return joined(list(parts.values()))


def _texts(inputs: SuiteInputs, category: str, settings: GatingSettings) -> tuple[list[AnsweredText], str]:
    """Few-shot texts of a category, as many of every task, and the tasks that could give none."""
    tasks = [task.name for task in inputs.tasks if inputs.categories[task.name] == category]
    usable = [name for name in tasks if name in inputs.pairs]
    made: list[AnsweredText] = []
    problems = [
        f"Task {name!r} is made of finished prompts, and texts are made of word pairs."
        for name in tasks
        if name not in usable
    ]
    for name in usable:
        each = max(inputs.n_prompts, math.ceil(settings.n_texts / len(usable)))
        try:
            made += inputs.texts(name, n=each, purpose="head_gating")
        except DataError as problem:
            problems.append(str(problem))
    if not made:
        raise DataError(" ".join(problems))
    return made, " ".join(problems)
