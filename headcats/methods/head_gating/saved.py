"""Fits saved one by one, so that an interrupted call resumes."""

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import asdict

import xarray as xr

from headcats.errors import StorageError
from headcats.methods.head_gating.settings import GatingSettings
from headcats.methods.head_gating.texts import GateTexts
from headcats.models.adapter import HookedModel
from headcats.results.folder import ResultsFolder

METHOD = "head_gating"


class SavedSeeds:
    """Seeds of one data set in a folder, each written when it is fitted.

    Args:
        folder: Where they lie; made at the first write.
        name: Name of the data set.
        fingerprint: Of all that a fit depends on besides its number.

    Raises:
        StorageError: The folder is that of a run.
    """

    def __init__(self, folder: str | os.PathLike[str], *, name: str, fingerprint: str) -> None:
        self._folder, self._name, self._fingerprint = ResultsFolder(folder), name, fingerprint
        if self._folder.manifest_path.exists():
            raise StorageError(
                f"{self._folder.path} holds the results of a run, which saves its own fits there; name another folder "
                "with out=."
            )
        self._found = self._folder.read_parts(METHOD)

    def get(self, number: int, fit: Callable[[int], xr.Dataset]) -> xr.Dataset:
        """The seed of this number: read where it was fitted before, else fitted and saved.

        Raises:
            StorageError: What lies there is of other data, settings or another model; or it cannot be written.
        """
        part = f"{self._name}/{number}"
        stored = self._found.get(part)
        if stored is None:
            fitted = fit(number)
            self._folder.write_part(METHOD, part, fitted.assign_attrs(fingerprint=self._fingerprint))
            return fitted
        if stored.attrs["fingerprint"] != self._fingerprint:
            raise StorageError(
                f"{self._folder.part_path(METHOD, part)} was fitted to other texts, with other settings or on another "
                "model: name another folder with out=, or remove it."
            )
        return stored


def fingerprint(model: HookedModel, texts: GateTexts, *, settings: GatingSettings, seed: int) -> str:
    """Hash of the model's weights, the tokens, targets and items of the texts, the settings and the seed."""
    identity = [model.weights_hash(), str(model.dtype), asdict(settings), seed, texts.items]
    digest = hashlib.blake2b(json.dumps(identity).encode("utf-8"), digest_size=16)
    for tokens, targets in texts.rows:
        digest.update(tokens.numpy().tobytes() + targets.numpy().tobytes())
    return digest.hexdigest()


def with_n_seeds(block: xr.Dataset, *, n_seeds: int) -> xr.Dataset:
    """A saved fit with the number of seeds of this call, which may differ from the call that saved it."""
    provenance = json.loads(block.attrs["provenance"]) | {"n_seeds": str(n_seeds)}
    attrs = {name: value for name, value in block.attrs.items() if name not in ("fingerprint", "label", "part", "task")}
    attrs |= {"n_seeds": str(n_seeds), "provenance": json.dumps(provenance, ensure_ascii=False)}
    return xr.Dataset(block.data_vars, block.coords, attrs)
