"""Gates fitted to one data set from several random starts (seeds), each saved as soon as it is fitted."""

import hashlib
import json
import logging
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import numpy as np
import xarray as xr

from headcats.base.bounds import check_count
from headcats.base.errors import DamagedFileError, StatisticsWarning, StorageError, about, format_duration
from headcats.base.registry import preset_of
from headcats.methods.method import attempt_each
from headcats.models.adapter import HookedModel
from headcats.papers.head_gating.settings import PRESETS, STAGES, GatingSettings
from headcats.papers.head_gating.stages import Advance, fit_gates
from headcats.papers.head_gating.texts import GateTexts
from headcats.results.folder import slug
from headcats.results.tables import read_table, table_bytes
from headcats.results.whole_file import write_whole
from headcats.statistics.random_streams import stream

METHOD = "head_gating"
_GRID = ("dataset", "seed", "layer", "head")
# Of the updates that time is measured on; the first also pays for what is done once.
_SKIPPED, _MEASURED = 1, 3

T = TypeVar("T")
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
        gates["facilitation"] = gates["g_minus"]
        gates["interference"] = 1 - gates["g_plus"]
        gates["irrelevance"] = gates["g_plus"] * (1 - gates["g_minus"])
        left_out = self.all_texts.left_out
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

    def saved_block(self, number: int, *, n_seeds: int, later: int, out: str | os.PathLike[str] | None) -> xr.Dataset:
        """A seed outside a study, read from the folder `out` if it is there, else fitted and saved.

        `later`: fits of the data sets that follow, for the expected time. A StorageError if the saved fit has other
        data, settings or another model, or the folder cannot be written.
        """
        path = None if out is None else Path(out) / f"{slug(f'{self.name}={number}')}.nc"
        block = _saved(path) if path else None
        if block is None:
            title = f"{METHOD} ({self.preset}) on {self.name}, seed {number}"
            block = self.block(number, n_seeds, _logging_time(title, fits=n_seeds - number + later))
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


def _saved(path: Path) -> xr.Dataset | None:
    """A fit that an earlier call has saved; None, and a warning, for a damaged file."""
    try:
        return read_table(path, again="This call") if path.exists() else None
    except DamagedFileError as error:
        _log.warning("%s", error)
        return None


def with_provenance(attrs: dict[str, str]) -> dict[str, str]:
    """Attributes of a block, and once more as JSON in `provenance`."""
    return attrs | {"provenance": json.dumps(attrs, ensure_ascii=False)}


def fit_each(fit: Callable[[int], T], n_seeds: int) -> dict[int, T]:
    """Number of a seed -> its fit, without seeds that diverge, which are named in a warning.

    One after another: gates act from the first layer on, so no two seeds share an activation. If every fit diverges,
    the DataError of the first is raised. `n_seeds` below 1 is an OptionError.
    """
    check_count("n_seeds", n_seeds)
    fits, problems = attempt_each(fit, range(n_seeds))
    if not fits:
        raise problems[0]
    for problem in problems.values():
        warnings.warn(f"Left out: {problem}", StatisticsWarning, stacklevel=3)
    return fits


def _logging_time(title: str, *, fits: int) -> Advance:
    """Logs after the first updates how long this fit, and all `fits` to come, will take."""
    started = 0.0

    def log_time(done: int, of: int, stage: str) -> None:
        nonlocal started
        if done == _SKIPPED:
            started = time.monotonic()
        elif done == _SKIPPED + _MEASURED:
            seconds = (time.monotonic() - started) / _MEASURED * of
            later = f", {format_duration(fits * seconds)} for the {fits} fits to come" if fits > 1 else ""
            _log.info("%s: %s%s (%d updates, measured on the first).", title, about(seconds), later, of)

    return log_time
