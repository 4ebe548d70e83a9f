"""What finished results were made of, made again: their model, their suite, and a check of their prompts."""

import json
import os
from collections.abc import Mapping
from typing import Any

import xarray as xr

from headcats.errors import DataError, PlanError, UnknownNameError
from headcats.models import HookedModel, load_model
from headcats.study.manifest import model_differences
from headcats.study.plan import Study, plan
from headcats.study.preparation import Preparation
from headcats.tasks import suite


def manifest_of(tree: xr.DataTree) -> dict[str, Any]:
    """The manifest of results.

    Raises:
        DataError: They have none.
    """
    if "manifest" not in tree.attrs:
        raise DataError("These results have no manifest, so their prompts cannot be made again: use those of hc.run.")
    manifest: dict[str, Any] = json.loads(tree.attrs["manifest"])
    return manifest


def model_of(manifest: Mapping[str, Any], source: Any) -> HookedModel:
    """The model of a manifest.

    Args:
        manifest: That of the results.
        source: What `hc.load_model` takes; a name or folder is loaded with the class and dtype of the results, and the
            revision too where it is the name in the manifest.

    Raises:
        ModelError: It cannot be loaded.
        PlanError: It is another model.
    """
    model = _loaded(source, manifest["model"])
    differences = model_differences(manifest, model)
    if differences:
        raise PlanError(
            f"The results are of model {manifest['model'].get('name')!r}, and {model.name!r} is another one "
            f"({'; '.join(differences)}). Heads are tested on the model they were found in."
        )
    return model


def _loaded(source: Any, described: Mapping[str, Any]) -> HookedModel:
    if not isinstance(source, str | os.PathLike):
        return load_model(source)
    return load_model(
        source,
        dtype=described.get("dtype", "float32"),
        backend="hooked" if described.get("model_class") == "HookedTransformer" else "bridge",
        revision=described.get("revision") if os.fspath(source) == described.get("name") else None,
    )


def study_of(manifest: Mapping[str, Any]) -> Study:
    """The study of a manifest, to make more of its prompts.

    Raises:
        PlanError: Its suite is not registered.
    """
    stored = dict(manifest["plan"])
    name = stored.pop("suite")
    try:
        known = suite(name)
    except UnknownNameError as error:
        raise PlanError(
            f"The results are of suite {name!r}, which is not registered in this process ({error}) Import what "
            "registers it, or register it under this name with headcats.registry.register('suite', name, function)."
        ) from None
    return plan(suite_source=known, **stored)


def check_prompts(preparation: Preparation, manifest: Mapping[str, Any]) -> None:
    """Held-out prompts are only new if the prompts of the run can be made again.

    Raises:
        PlanError: A task gives other prompts than in the run.
    """
    known = {task.name for task in preparation.study.suite.tasks}
    for task, entry in manifest["tasks"].items():
        if "prompt_hash" not in entry:
            continue
        prepared = preparation.of(task) if task in known else None
        if prepared is None or [batch.fingerprint() for batch in prepared.scored] != entry["prompt_hash"]:
            raise PlanError(
                f"Task {task!r} gives other prompts than it gave in this run: suite "
                f"{manifest['plan']['suite']!r} (its tasks or word pairs) or the tokenizer has changed. Run it again "
                "into another folder."
            )
