"""Download a model from the Hugging Face hub, or find it in the local cache."""

import contextlib
import difflib
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from huggingface_hub import HfApi, constants, snapshot_download, try_to_load_from_cache
from huggingface_hub.errors import GatedRepoError, HFValidationError, RepositoryNotFoundError, RevisionNotFoundError

from headcats import registry
from headcats.errors import ModelError

# Seconds until the hub counts as unreachable. One request: the download functions would retry for half a minute.
_TIMEOUT = 10.0
_TEXT = (".json", ".txt", ".model", ".jinja", ".tiktoken")
_COMMIT = re.compile(r"[0-9a-f]{40}")


def fetch(name: str, *, revision: str | None = None) -> tuple[Path, str | None]:
    """Download the model `name` if it is not in the cache; without network, or with HF_HUB_OFFLINE=1, use the cache.

    Only configuration, tokenizer and weights (safetensors if possible) of the top folder are downloaded. Returns the
    snapshot's folder in the cache of huggingface_hub, and its commit.
    """
    if constants.HF_HUB_OFFLINE:
        return _cached(name, revision, "HF_HUB_OFFLINE=1 is set and it is not in the cache")
    try:
        info = HfApi().model_info(name, revision=revision, timeout=_TIMEOUT)
    except (GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError, HFValidationError) as error:
        raise ModelError(hub_sentence(name, _reason(error, revision))) from None
    except Exception as error:  # noqa: BLE001 - requests, httpx or httpx2 by version of huggingface_hub; all mean: no answer
        return _cached(name, revision, f"the hub did not answer ({type(error).__name__}) and it is not in the cache")
    files = _wanted(sibling.rfilename for sibling in info.siblings or [])
    cached = [try_to_load_from_cache(name, file, revision=info.sha) for file in files]
    if cached and all(isinstance(path, str) for path in cached):
        return Path(str(cached[0])).parent, info.sha
    try:
        folder = snapshot_download(name, revision=info.sha, allow_patterns=files)
    except Exception as error:  # noqa: BLE001 - as above; a broken download must not end in a traceback
        raise ModelError(hub_sentence(name, _reason(error, revision))) from None
    return Path(folder), info.sha


def hub_sentence(name: str, reason: str) -> str:
    """Message for a failed download: the reason, near matches, and what to try."""
    near = near_matches(name)
    hint = f" (did you mean {' or '.join(repr(n) for n in near)}?)" if near else ""
    return (
        f"Could not load {name!r} from the Hugging Face hub: {reason}{hint}; check the name, set HF_TOKEN to a token "
        f"with access if it is gated or private, set HF_HOME to the folder of a cache that holds it and "
        f"HF_HUB_OFFLINE=1 to use that cache without network, or pass a local folder such as './my-model'."
    )


def near_matches(name: str) -> list[str]:
    """Bundled models, and model folders next to `name` in the file system, with a similar name; best first."""
    sources = {bundled: bundled for bundled in registry.names("model")}
    with contextlib.suppress(OSError):
        for folder in sorted(Path(name).expanduser().parent.iterdir()):
            if (folder / "config.json").is_file():
                sources.setdefault(folder.name, str(folder) if folder.parent != Path() else f"./{folder}")
    close = difflib.get_close_matches(Path(name).name, sources, n=3, cutoff=0.6)
    return [sources[match] for match in close]


def _wanted(files: Iterable[str]) -> list[str]:
    top = [file for file in files if "/" not in file]
    # "consolidated" is a second copy of the weights in another format.
    weights = [file for file in top if file.endswith(".safetensors") and not file.startswith("consolidated")]
    pickles = [file for file in top if file.startswith("pytorch_model") and file.endswith(".bin")]
    return [*(file for file in top if file.endswith(_TEXT)), *(weights or pickles)]


def _cached(name: str, revision: str | None, reason: str) -> tuple[Path, str | None]:
    try:
        config = try_to_load_from_cache(name, "config.json", revision=revision)
    except HFValidationError as error:
        raise ModelError(hub_sentence(name, _reason(error, revision))) from None
    if not isinstance(config, str | os.PathLike):
        raise ModelError(hub_sentence(name, f"{reason} ({constants.HF_HUB_CACHE})")) from None
    folder = Path(config).parent
    return folder, folder.name if _COMMIT.fullmatch(folder.name) else None


def _reason(error: Any, revision: str | None) -> str:
    reasons: dict[type[Exception], str] = {  # a gated model is one that was not found, too
        GatedRepoError: "it is gated and no token with access was found",
        RevisionNotFoundError: f"it has no revision {revision!r}",
        HFValidationError: "that is not a hub name, which reads 'name' or 'owner/name'",
        RepositoryNotFoundError: "the hub has no public model of that name",
    }
    broken = f"the download broke off ({type(error).__name__})"
    return next((reason for cls, reason in reasons.items() if isinstance(error, cls)), broken)
