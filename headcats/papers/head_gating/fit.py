"""Causal Head Gating: gates on all heads at once, fitted to predict the targets of a data set."""

import hashlib
import json
import logging
import math
import os
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from headcats.base.errors import DamagedFileError, DataError, StatisticsWarning, StorageError, about
from headcats.methods.method import SuiteInputs, attempt_each
from headcats.methods.spec import Option, WholeNumber, check_whole
from headcats.models.adapter import HookedModel, adapt
from headcats.models.checks import check_model
from headcats.papers.head_gating.log_probs import GateTexts, NextTokenData, gate_texts
from headcats.papers.head_gating.settings import N_SEEDS, PRESETS, STAGES, GatingSettings
from headcats.papers.head_gating.stages import Advance, fit_gates
from headcats.papers.settings import preset_of
from headcats.results.block_files import slug
from headcats.results.place import MANIFEST
from headcats.results.tables import read_table, table_bytes
from headcats.results.whole_file import write_whole
from headcats.statistics.random_streams import stream

METHOD = "head_gating"
_GRID = ("dataset", "seed", "layer", "head")
_MEASURED = 3  # updates behind an expected time, without the first, which also pays for what is done once
_N_SEEDS = WholeNumber(default=N_SEEDS, least=1)
_log = logging.getLogger("headcats")


class DatasetFits:
    """Fits of gates to one data set, split into texts to fit and texts held out, the same for every seed."""

    def __init__(
        self, model: HookedModel, texts: GateTexts, *, preset: str | GatingSettings, name: str, seed: int
    ) -> None:
        self.model, self.all_texts, self.name, self.seed = model, texts, name, seed
        self.settings = preset_of(METHOD, preset, PRESETS)
        self.preset = preset if isinstance(preset, str) else "own"
        self.texts, self.held_out = texts.split(self.settings.held_out, stream(seed, METHOD, name, "held out"))

    def block(self, number: int, n_seeds: int, advance: Advance) -> xr.Dataset:
        """One seed as `head_gating` returns it, of `n_seeds` planned."""
        fit = fit_gates(
            self.model,
            self.texts,
            self.held_out,
            settings=self.settings,
            names=(self.name, str(number)),
            seed=self.seed,
            advance=advance,
        )
        gates = {stage: fit.gates[stage][None, None].numpy() for stage in STAGES}
        plus, minus, left_out = gates["g_plus"], gates["g_minus"], self.all_texts.left_out
        gates |= {"facilitation": minus, "interference": 1 - plus, "irrelevance": plus * (1 - minus)}
        described = {
            "method": METHOD,
            "preset": self.preset,
            "settings": ", ".join(f"{key}={value}" for key, value in asdict(self.settings).items()),
            "seed": str(self.seed),
            "n_seeds": str(n_seeds),
            "model": self.model.name,
            "model_class": self.model.model_class,
            "left_out": f"{self.name}: {left_out}" if left_out else "",
        }
        return xr.Dataset(
            {
                **{name: (_GRID, grid) for name, grid in gates.items()},
                "loss": (("dataset", "seed", "stage"), np.array([[[fit.losses[stage] for stage in STAGES]]])),
                "start_loss": (("dataset", "seed"), np.array([[fit.losses["start"]]])),
                "open_loss": ("dataset", [fit.losses["open"]]),
                "n": ("dataset", [len(self.texts)]),
                "n_held_out": ("dataset", [len(self.held_out)]),
            },
            coords={"dataset": [self.name], "seed": [number], **self.model.axes, "stage": list(STAGES)},
            attrs=with_provenance(described),
        )

    def saved_block(self, number: int, *, n_seeds: int, out: str | os.PathLike[str] | None) -> xr.Dataset:
        """A seed outside a study, read from the folder `out` if it is there, else fitted and saved."""
        path = None if out is None else Path(out) / f"{slug(f'{self.name}={number}')}.nc"
        block = None
        try:
            block = read_table(path, again="This call") if path and path.exists() else None
        except DamagedFileError as error:
            _log.warning("%s", error)
        if block is None:
            title = f"{METHOD} ({self.preset}) on {self.name}, seed {number} of {n_seeds}"
            block = self.block(number, n_seeds, _logging_time(title))
            if path:
                write_whole(path, table_bytes(block.assign_attrs(fingerprint=self._fingerprint)))
        elif block.attrs.pop("fingerprint", "") != self._fingerprint:
            raise StorageError(
                f"{path} was fitted to other texts, with other settings or on another model: name another folder with "
                "out=, or remove it."
            )
        # The call that saved it may have planned another number of seeds.
        return block.assign_attrs(with_provenance(json.loads(block.attrs["provenance"]) | {"n_seeds": str(n_seeds)}))

    @cached_property
    def _fingerprint(self) -> str:
        """Hash of the model's weights, the tokens, targets and items of the texts, the settings and the seed."""
        texts = self.all_texts
        identity = [self.model.weights_hash(), str(self.model.dtype), asdict(self.settings), self.seed, texts.items]
        digest = hashlib.blake2b(json.dumps(identity).encode("utf-8"), digest_size=16)
        for tokens, targets in texts.rows:
            digest.update(tokens.numpy().tobytes() + targets.numpy().tobytes())
        return digest.hexdigest()


def with_provenance(attrs: dict[str, str]) -> dict[str, str]:
    """Attributes of a block, and once more as JSON in `provenance`."""
    return attrs | {"provenance": json.dumps(attrs, ensure_ascii=False)}


def _logging_time(title: str) -> Advance:
    """Logs after the first updates how long this fit will take."""
    started = 0.0

    def log_time(done: int, of: int, stage: str) -> None:
        nonlocal started
        if done == 1:
            started = time.monotonic()
        elif done == 1 + _MEASURED:
            seconds = (time.monotonic() - started) / _MEASURED * of
            _log.info("%s: %s (%d updates, measured on the first).", title, about(seconds), of)

    return log_time


class HeadGating:
    """Which heads a data set needs, which disturb it and which it can do without, from gates fitted to all at once.

    Gates `G = sigmoid(theta)` in [0, 1] multiply z of every head at all positions; the weights stay as they are. Adam
    lowers `NLL - lambda * mean_heads clamp(theta, -4, 4)`, where NLL is the mean over the target tokens of a text, then
    over 64 texts drawn from the data set; the gradient norm is clipped at 1. From G ~ U(0, 1), 500 updates with lambda
    = 0 and rates .1 to .01 give G0; from there, 500 updates each at rates .5 to .1, lambda = +.1 gives G+ and lambda =
    -.1 gives G-. Then

        facilitation = G-            (stays on although pushed off: the data set needs it)
        interference = 1 - G+        (stays off although pushed on: it disturbs)
        irrelevance  = G+ (1 - G-)   (goes wherever it is pushed)

    A gate is causal for the data set as a whole, not for a position or a single text. Heads that can replace each other
    facilitate from some random starts only: hence 10 seeds, and `hc.papers.head_gating.always_any`. Its `any`
    overcounts: the push ends at |theta| = 4, so a head whose G0 is above .982 keeps its gate although nothing needs it
    (3 of the 14 heads in `any` on "mini", Translation).

    Preset "chg-mini": 32 texts per update, 150 updates per stage; on "mini", Translation, its facilitation ranks heads
    like the paper's preset from the same start (Spearman .91; two starts: .79 on average). In a study, a data set is a
    category of the suite (few-shot texts of all its tasks), and each seed is saved when it is done;
    `hc.papers.head_gating.question_texts` reads the paper's data sets.

    Example:
        >>> import headcats as hc
        >>> few = hc.papers.head_gating.GatingSettings(updates=5, batch=8)  # the paper: 500 updates of 64 texts
        >>> texts = hc.papers.head_gating.task_texts("plural", n_prompts=16, n_demos=2)
        >>> gates = hc.methods.head_gating(hc.load_model("mini"), texts, preset=few, n_seeds=1)
        >>> gates.facilitation.dims
        ('dataset', 'seed', 'layer', 'head')

    References:
        Nam et al. (2025), Causal Head Gating, arXiv 2505.13737.
    """

    name = METHOD

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

        Seeds share no computation, so a seed gives the same bits alone. The expected time is logged after the first
        updates.

        Args:
            model: A HookedTransformer, a TransformerBridge, or what `hc.load_model` returns.
            data: `AnsweredText`s (text and its target spans), of any lengths; or several data sets by name. An unnamed
                one is called "data".
            preset: "chg2025", "chg-mini", or constants of your own (`GatingSettings`).
            n_seeds: Random starts, numbered from 0.
            seed: Seed of every random choice.
            out: Folder in which every seed is saved when it is fitted, and from which saved seeds are read, so that an
                interrupted call resumes. None saves nothing.

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
        messages: list[str] = []
        diverged: list[DataError] = []
        for dataset in fits:
            fitted, problems = attempt_each(partial(dataset.saved_block, n_seeds=n_seeds, out=out), range(n_seeds))
            blocks += fitted.values()
            diverged += problems.values()
            if fitted:
                messages += [f"Left out: {problem}" for problem in problems.values()]
            else:
                messages.append(f"Data set left out, no seed is left: {problems[0]}")
        if not blocks:
            raise diverged[0]
        joined = _join(blocks)
        if joined.attrs["left_out"]:
            messages.append(f"Texts left out: {joined.attrs['left_out']}.")
        for message in messages:
            warnings.warn(message, StatisticsWarning, stacklevel=2)
        return joined

    def parts(
        self, inputs: SuiteInputs, *, preset: str = "chg2025", n_seeds: int = N_SEEDS
    ) -> dict[str, tuple[str, ...]]:
        """`<category>/<seed>` -> readable tasks of the category; without any, one part, which is skipped."""
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
    """Blocks of one data set and seed each, as one, NaN for missing seeds; `left_out` of all together."""
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
