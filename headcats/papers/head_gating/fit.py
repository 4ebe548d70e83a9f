"""Causal Head Gating: gates on all heads at once, fitted to predict the targets of a data set."""

import json
import math
import os
import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import xarray as xr

from headcats.base.errors import DataError, StatisticsWarning, StorageError
from headcats.base.registry import preset_of
from headcats.methods.method import SuiteInputs
from headcats.methods.spec import Option, WholeNumber, check_whole
from headcats.models.adapter import adapt
from headcats.models.checks import check_model
from headcats.papers.head_gating.random_starts import DatasetFits, fit_each, with_provenance
from headcats.papers.head_gating.settings import N_SEEDS, PRESETS, GatingSettings
from headcats.papers.head_gating.texts import NextTokenData, gate_texts
from headcats.results.manifest import MANIFEST

_N_SEEDS = WholeNumber(default=N_SEEDS, least=1)


class HeadGating:
    """Which heads a data set needs, which disturb it and which it can do without, from gates fitted to all at once.

    Gates `G = sigmoid(theta)` in [0, 1] multiply z of every head at all positions; the weights stay as they are. Adam
    lowers `NLL - lambda * mean_heads clamp(theta, -4, 4)`, where NLL is the mean over the target tokens of a text, then
    over 64 texts drawn from the data set; the gradient norm is clipped at 1. From G ~ U(0, 1), 500 updates with lambda
    = 0 and a learning rate falling from .1 to .01 give G0; from there, 500 updates each at rates .5 to .1, lambda = +.1
    gives G+ and lambda = -.1 gives G-. Then

        facilitation = G-            (stays on although pushed off: the data set needs it)
        interference = 1 - G+        (stays off although pushed on: it disturbs)
        irrelevance  = G+ (1 - G-)   (goes wherever it is pushed)

    all in [0, 1]; a gate is causal for the data set as a whole, not for a position or a single text. Heads that can
    replace each other are facilitating from some random starts only: hence 10 seeds, and
    `hc.papers.head_gating.always_any`. Its `any` overcounts: the push ends at |theta| = 4, so a head whose G0 is above
    .982 keeps its gate although nothing needs it (3 of the 14 heads in `any` on "mini", Translation).

    `headcats list presets` says where constants differ from the paper's. Preset "chg-mini": 32 texts per update, 150
    updates per stage, otherwise the same; its facilitation ranks the heads of "mini" on Translation like the paper's
    preset from the same start (Spearman .91; two starts: .79 on average). `hc.papers.head_gating.question_texts` reads
    the paper's data sets.

    In a study, a data set is a category of the suite (few-shot texts of all its tasks), and each seed is saved when it
    is done.

    Example:
        >>> import headcats as hc
        >>> few = hc.papers.head_gating.GatingSettings(updates=5, batch=8)  # the paper: 500 updates of 64 texts
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
        n_seeds: int = N_SEEDS,
        seed: int = 0,
        out: str | os.PathLike[str] | None = None,
    ) -> xr.Dataset:
        """Gates fitted to any texts with marked target tokens.

        Seeds are fitted one after another and share no computation, so a seed gives the same bits alone. The expected
        time is logged after the first updates. With `out`, an interrupted call resumes.

        Args:
            model: A HookedTransformer, a TransformerBridge, or what `hc.load_model` returns.
            data: `AnsweredText`s (text and its target spans) or `AnsweredBatch`es of tokens, of any lengths; or several
                data sets by name. An unnamed data set is called "data".
            preset: "chg2025", "chg-mini", or constants of your own (`GatingSettings`).
            n_seeds: Random starts, numbered from 0.
            seed: Seed of every random choice.
            out: Folder in which every seed is saved when it is fitted, and from which saved seeds are read. None saves
                nothing.

        Returns:
            `g0, g_plus, g_minus, facilitation, interference, irrelevance (dataset, seed, layer, head)` in [0, 1], NaN
            for heads that a layer lacks; in nats, mean over held-out texts: `loss (dataset, seed, stage)` of the fitted
            gates, `start_loss (dataset, seed)` of the random ones, `open_loss (dataset)` with every gate at 1; `n,
            n_held_out (dataset)`, numbers of texts. Attribute `left_out`: unusable texts and tasks, and why.

        Raises:
            DataError: No data, data that the model cannot take, fewer than two items, or every fit diverges.
            ModelError: A model without gradients or that fails the checks, or texts without a tokenizer.
            UnknownNameError, OptionError: Unknown preset, or fewer than one seed.
            StorageError: `out` holds a run, or fits to other data or with other settings; or cannot be written.

        Warns:
            StatisticsWarning: Seeds that diverge, data sets without any seed left, and unusable texts.
        """
        adapted = adapt(model)
        n_seeds = check_whole(_N_SEEDS, n_seeds, name="n_seeds", method=self.name)
        check_model(adapted)
        sets = data if isinstance(data, Mapping) else {"data": data}
        if not sets:
            raise DataError("No data set was given: pass texts, or a mapping of names to texts.")
        if out is not None and (Path(out) / MANIFEST).exists():
            raise StorageError(
                f"{out} holds the results of a run, which saves its own fits there; name another folder with out=."
            )
        # All data sets before the first fit: unreadable data should not surface after hours of fitting others.
        fits = [
            DatasetFits(adapted, gate_texts(adapted, data_set, name=name), preset=preset, name=name, seed=seed)
            for name, data_set in sets.items()
        ]
        blocks: list[xr.Dataset] = []
        problems = []
        for place, dataset in enumerate(fits):
            later = n_seeds * (len(fits) - 1 - place)
            fit = partial(dataset.saved_block, n_seeds=n_seeds, later=later, out=out)
            try:
                blocks += fit_each(fit, n_seeds).values()
            except DataError as problem:
                problems.append(problem)
        if not blocks:
            raise problems[0]
        for left_out in problems:
            warnings.warn(f"Data set left out, no seed is left: {left_out}", StatisticsWarning, stacklevel=2)
        joined = _join(blocks)
        if joined.attrs["left_out"]:
            warnings.warn(f"Texts left out: {joined.attrs['left_out']}.", StatisticsWarning, stacklevel=2)
        return joined

    def parts(
        self, inputs: SuiteInputs, *, preset: str = "chg2025", n_seeds: int = N_SEEDS
    ) -> dict[str, tuple[str, ...]]:
        """`<category>/<seed>` -> tasks of the category, all seeds of a category before the next.

        Tasks of finished prompts are not read; a category of nothing else has one part, which is skipped.
        """
        tasks: dict[str, list[str]] = {inputs.categories[task.name]: [] for task in inputs.tasks}
        for name in inputs.readable:
            tasks[inputs.categories[name]].append(name)
        return {
            f"{category}/{number}": tuple(names)
            for category, names in tasks.items()
            for number in range(n_seeds if names else 1)
        }

    def on_part(self, inputs: SuiteInputs, part: str, *, preset: str = "chg2025", n_seeds: int = N_SEEDS) -> xr.Dataset:
        """One seed on one category; a DataError if no text of it can be used, or the fit diverges."""
        category, _, number = part.rpartition("/")
        tasks = [task.name for task in inputs.tasks if inputs.categories[task.name] == category]
        n_texts = preset_of(self.name, preset, PRESETS).n_texts
        each = math.ceil(n_texts / max(1, len(set(tasks).intersection(inputs.readable))))
        answered, left_out = inputs.texts_of(tasks, n=max(inputs.n_prompts, each), purpose=self.name)
        if not answered:
            raise DataError(" ".join(left_out.values()))
        texts = gate_texts(inputs.model, answered, name=category)
        texts.left_out = "; ".join(filter(None, [texts.left_out, " ".join(left_out.values())]))
        dataset = DatasetFits(inputs.model, texts, preset=preset, name=category, seed=inputs.seed)
        return dataset.block(int(number), n_seeds, lambda done, of, stage: inputs.advance(done / of, stage))

    def join(self, parts: Mapping[str, xr.Dataset]) -> xr.Dataset:
        """The finished seeds of all categories; NaN for those that are not."""
        return _join(list(parts.values()))


def _join(blocks: Sequence[xr.Dataset]) -> xr.Dataset:
    """Blocks of one data set and seed each, as one; NaN for missing seeds.

    Data sets come in the order of the blocks, seeds in their own. Attributes are those of the first block, but for
    `left_out`, which names what any left out.
    """
    seeds = sorted({int(block.seed.item()) for block in blocks})
    by_dataset: dict[str, list[xr.Dataset]] = {}
    for block in blocks:
        by_dataset.setdefault(str(block.dataset.item()), []).append(block)
    concat = partial(
        xr.concat, data_vars="minimal", coords="minimal", compat="override", join="exact", combine_attrs="override"
    )
    joined = concat([concat(same, dim="seed").reindex(seed=seeds) for same in by_dataset.values()], dim="dataset")
    left_out = " ".join(filter(None, dict.fromkeys(block.attrs["left_out"] for block in blocks)))
    provenance = json.loads(blocks[0].attrs["provenance"]) | {"left_out": left_out}
    return joined.assign_attrs(with_provenance(provenance))
