"""What tells one run from another: the plan, the model, the versions, and what a block was made from."""

import datetime
import functools
import hashlib
import importlib.metadata
import json
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from headcats import __version__
from headcats.base.errors import PlanError
from headcats.base.guard import is_built_in, source_text
from headcats.base.registry import lookup
from headcats.models.adapter import HookedModel
from headcats.results.manifest import Manifest
from headcats.results.records import CategoryRecord, ModelRecord
from headcats.results.sources import stored_source
from headcats.study.plan import Study

_PACKAGES = ("transformer-lens", "transformers", "torch", "numpy", "scipy", "xarray")


def new_manifest(model: HookedModel, study: Study, *, folder: Path | None = None) -> Manifest:
    """A manifest without tasks and blocks; paths of folders are kept relative to that of the results."""
    return Manifest(
        plan=study.record(),
        model=model_record(model).with_sources(lambda source: stored_source(source, folder)),
        categories=category_records(study),
        versions=conditions(),
        created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    )


def category_records(study: Study) -> tuple[CategoryRecord, ...]:
    """The suite's categories, in the order of the figures."""
    return tuple(CategoryRecord(category.name, category.colour) for category in study.suite.categories)


def model_record(model: HookedModel) -> ModelRecord:
    """Identity of a model."""
    return ModelRecord(
        name=model.name,
        revision=model.origin.revision,
        weights_hash=model.weights_hash(),
        model_class=model.model_class,
        weight_processing=model.weight_processing,
        dtype=str(model.dtype).removeprefix("torch."),
        device=model.placement,
        layers=tuple(model.layers),
        heads=tuple(model.n_heads[layer] for layer in model.layers),
        n_layers=model.n_layers,
        d_model=model.d_model,
        parallel_attn_mlp=bool(getattr(model.model.cfg, "parallel_attn_mlp", False)),
        source=model.origin.source,
        loader=model.origin.recorded_loader(),
        tokenizer=model.origin.tokenizer,
    )


def check_same_plan(manifest: Manifest, model: HookedModel, study: Study, *, folder: Path) -> None:
    """A PlanError with every difference if the folder holds another plan; more tasks and methods may be added."""
    differences = describe_differences(manifest.plan.differences(study.record()))
    differences += [f"model {difference}" for difference in model_differences(manifest, model)]
    if differences:
        raise PlanError(
            f"{folder} holds results of another plan ({'; '.join(differences)}). More tasks or methods can be added to "
            "a folder; for another plan name another folder with --out (out=...)."
        )


def model_differences(manifest: Manifest, model: HookedModel) -> list[str]:
    """Differences that make a model another one than that of a manifest."""
    return describe_differences(manifest.model.identity_differences(model_record(model)))


def describe_differences(differences: Mapping[str, tuple[Any, Any]]) -> list[str]:
    """`name: before there, after now`."""
    return [f"{name}: {before!r} there, {after!r} now" for name, (before, after) in differences.items()]


def own_code(study: Study) -> dict[str, str]:
    """Methods and metrics that are not of headcats -> hash of their source."""
    code = {spec.method.name: getattr(spec.method, "code", spec.method) for spec in study.methods}
    code |= {name: lookup("metric", name) for name in study.metrics}
    return {name: fingerprint(source_text(of)) for name, of in code.items() if not is_built_in(of)}


def fingerprint(*parts: Any) -> str:
    """Hash of all that a block's numbers depend on besides the model."""
    return hashlib.blake2b(json.dumps(parts).encode("utf-8"), digest_size=16).hexdigest()


@functools.cache
def versions() -> Mapping[str, str]:
    """Versions of Python and of the packages whose numbers matter."""
    installed = {package: importlib.metadata.version(package) for package in _PACKAGES}
    return {"python": platform.python_version(), "headcats": __version__, **installed}


def conditions() -> dict[str, str]:
    """Versions, and what else moves the last digits: threads, and the precision of products of fp32 (TF32)."""
    try:
        precision = torch.get_float32_matmul_precision()
    except RuntimeError:  # set by the newer setting, of one backend
        precision = str(getattr(torch.backends.cuda.matmul, "fp32_precision", "unknown"))
    return {**versions(), "threads": str(torch.get_num_threads()), "fp32 products": precision}


def conditions_since(manifest: Manifest) -> dict[str, str]:
    """The conditions of now if they are not those of the manifest, else {}."""
    return {} if conditions() == manifest.versions else conditions()


def changed_conditions(manifest: Manifest) -> list[str]:
    """Conditions of now that differ from those of finished blocks; nothing of what their folder did not note."""
    records = [record for method in manifest.blocks.values() for record in method.parts.values()]
    before = [record.versions or manifest.versions for record in records if not record.refusal]
    noted = {name: sorted({of[name] for of in before if name in of}) for name in conditions()}
    return [
        f"{name}: {' and '.join(noted[name])} there, {now} now"
        for name, now in conditions().items()
        if noted[name] not in ([], [now])
    ]
