"""One data set that gates are fitted to, seed after seed."""

import os
from collections.abc import Mapping
from dataclasses import asdict

import torch
import xarray as xr

from headcats.methods.head_gating.expected_time import logging_time
from headcats.methods.head_gating.fitting import Advance, GateFit, fit_gates, no_progress
from headcats.methods.head_gating.labelled import labelled
from headcats.methods.head_gating.log_probs import mean_log_prob, texts_at_once
from headcats.methods.head_gating.saved import METHOD, SavedSeeds, fingerprint
from headcats.methods.head_gating.settings import GatingSettings
from headcats.methods.head_gating.texts import GateTexts
from headcats.models.adapter import HookedModel
from headcats.models.graphs import leaving_no_graph
from headcats.statistics.random_streams import stream


class DataSet:
    """One data set, split into texts to fit and texts held out, the same for every seed."""

    def __init__(
        self, model: HookedModel, texts: GateTexts, *, settings: GatingSettings, preset: str, name: str, seed: int
    ) -> None:
        self.model, self.settings, self.preset, self.name, self.seed = model, settings, preset, name, seed
        self.left_out = texts.left_out
        self._every = texts
        self.texts, self.held_out = texts.split(settings.held_out, stream(seed, METHOD, name, "held out"))

    def fit(self, number: int, *, advance: Advance = no_progress) -> GateFit:
        """The gates of one seed."""
        return fit_gates(
            self.model,
            self.texts,
            self.held_out,
            settings=self.settings,
            names=(self.name, str(number)),
            seed=self.seed,
            advance=advance,
        )

    def alone(self, number: int, *, n_seeds: int, later: int) -> xr.Dataset:
        """A seed outside a study, which would tell how long it takes; `later`: fits of the data sets that follow."""
        description = f"{METHOD} ({self.preset}) on {self.name}, seed {number}"
        advance = logging_time(description, no_progress, fits=n_seeds - number + later)
        return self.block({number: self.fit(number, advance=advance)}, n_seeds=n_seeds)

    def saved(self, folder: str | os.PathLike[str]) -> SavedSeeds:
        """The seeds of this data set that lie in a folder."""
        of = fingerprint(self.model, self._every, settings=self.settings, seed=self.seed)
        return SavedSeeds(folder, name=self.name, fingerprint=of)

    def block(self, fits: Mapping[int, GateFit], *, n_seeds: int) -> xr.Dataset:
        """Fits by number of the seed, as `head_gating` returns them."""
        opened = torch.ones(len(self.model.layers), self.model.max_heads)
        with leaving_no_graph(self.model):
            at_once = texts_at_once(self.model, self.texts, self.held_out)
        described = {
            "method": METHOD,
            "preset": self.preset,
            "settings": ", ".join(f"{key}={value}" for key, value in asdict(self.settings).items()),
            "seed": str(self.seed),
            "n_seeds": str(n_seeds),
            "model": self.model.name,
            "model_class": self.model.model_class,
            "left_out": f"{self.name}: {self.left_out}" if self.left_out else "",
        }
        return labelled(
            self.model,
            fits,
            dataset=self.name,
            n=len(self.texts),
            n_held_out=len(self.held_out),
            open_loss=-mean_log_prob(self.model, self.held_out, opened, at_once=at_once),
            provenance=described,
        )
