"""What a results folder says of itself, and whether a run may go on in it."""

import datetime
import hashlib
import importlib.metadata
import json
import platform
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headcats import __version__
from headcats.errors import PlanError
from headcats.models import HookedModel
from headcats.study.plan import Study

_PACKAGES = ("transformer-lens", "transformers", "torch", "numpy", "scipy", "xarray")


def new_manifest(model: HookedModel, study: Study) -> dict[str, Any]:
    """A manifest without tasks and blocks."""
    return {
        "plan": study.as_passed(),
        "model": describe_model(model),
        "categories": categories(study),
        "methods": [],
        "tasks": {},
        "blocks": {},
        "checks": {},
        "versions": versions(),
        "git_commit": _git_commit(),
        "created": _now(),
    }


def categories(study: Study) -> list[dict[str, str]]:
    """Names and colours of the suite's categories, in the order of the figures."""
    return [{"name": category.name, "colour": category.colour} for category in study.suite.categories]


def describe_model(model: HookedModel) -> dict[str, Any]:
    """Identity of a model: name, weights, class, weight processing, dtype and device."""
    return {
        "name": model.name,
        "revision": model.revision,
        "weights_hash": model.weights_hash(),
        "model_class": model.model_class,
        "weight_processing": model.weight_processing,
        "dtype": str(model.dtype).removeprefix("torch."),
        "device": str(model.device),
        "layers": list(model.layers),
        "heads": [model.n_heads[layer] for layer in model.layers],
    }


def check_same_plan(stored: Mapping[str, Any], model: HookedModel, study: Study, *, folder: Path) -> None:
    """Refuse to mix results of different plans in one folder.

    More tasks and more methods extend a folder; everything else must be what it was.

    Raises:
        PlanError: The message names every difference.
    """
    differences = [
        f"{name}: {stored['plan'].get(name)!r} there, {value!r} now"
        for name, value in study.as_passed().items()
        if stored["plan"].get(name) != value
    ]
    differences += [f"model {difference}" for difference in model_differences(stored, model)]
    if differences:
        raise PlanError(
            f"{folder} holds results of another plan ({'; '.join(differences)}). More tasks or "
            "methods can be added to a "
            "folder; for another plan name another folder with --out (out=...)."
        )


def model_differences(stored: Mapping[str, Any], model: HookedModel) -> list[str]:
    """What makes a model another one than that of a manifest: its weights, class, weight processing or type."""
    described = describe_model(model)
    return [
        f"{name}: {stored['model'].get(name)!r} there, {described[name]!r} now"
        for name in ("weights_hash", "model_class", "weight_processing", "dtype")
        if stored["model"].get(name) != described[name]
    ]


def block_fingerprint(*, prompts: list[str], reference: list[str], label: str, metrics: tuple[str, ...]) -> str:
    """Hash of all that a block's numbers depend on besides the model."""
    text = json.dumps([prompts, reference, label, list(metrics)])
    return hashlib.blake2b(text.encode("utf-8"), digest_size=16).hexdigest()


def suite_fingerprint(study: Study, label: str, part: str, pairs: Mapping[str, Sequence[Any]]) -> str:
    """Hash of all that one part of a suite method depends on besides the model: its tasks' pairs and the plan."""
    plan = [study.seed, study.n_prompts, study.n_demos, study.template.name]
    text = json.dumps([label, part, plan, {task: list(found) for task, found in pairs.items()}])
    return hashlib.blake2b(text.encode("utf-8"), digest_size=16).hexdigest()


def versions() -> dict[str, str]:
    """Versions of Python and of the packages whose numbers matter."""
    found = {"python": platform.python_version(), "headcats": __version__}
    for package in _PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _git_commit() -> str | None:
    """Commit of a checkout of headcats; None for an installed package."""
    here = Path(__file__).resolve().parents[2]
    if not (here / ".git").exists():
        return None
    try:
        done = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=here, capture_output=True, text=True, timeout=5, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
