"""Find the folder of a model: bundled, local, or downloaded from the Hugging Face hub; and check what is in it."""

import contextlib
import difflib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from headcats.base import registry
from headcats.base.errors import ModelError, OptionError, pluralize
from headcats.base.hub import fetch_snapshot
from headcats.base.hub_problem import HubProblem
from headcats.results.whole_file import check_path

TEXT_ONLY = (
    "To read images, TransformerLens would install packages by itself, with pip, so headcats boots text-only models "
    "alone: use one, or load the language model by its own class (Gemma3ForCausalLM, for example), save it with "
    "save_pretrained and name that folder."
)
"""Reason for refusing a model of more than text, and the way out."""
_TEXT = (".json", ".txt", ".model", ".jinja", ".tiktoken")
_WEIGHTS = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json")
_LARGEST_TEXT = 2**28  # bytes: ten times the largest tokenizer, and read whole
_TOKENIZER = ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt", "spiece.model", "tekken.json")


def find_folder(source: str | os.PathLike[str], revision: str | None) -> tuple[str, Path, str | None]:
    """Name, folder and commit of a source; hub names are fetched."""
    text, folder = os.fspath(source), local_folder(source)
    if folder is None:
        return text, *fetch(text, revision=revision)
    if not folder.exists():
        near = near_matches(text)
        raise ModelError(f"Folder {text!r} does not exist." + (f" Did you mean {near}?" if near else ""))
    if revision is not None:
        raise OptionError(f"A revision belongs to a hub name; {text!r} is a folder on this machine.")
    return text if _is_bundled(source) else folder.resolve().name, folder.resolve(), None


def local_folder(source: str | os.PathLike[str]) -> Path | None:
    """The folder that a source names, there or not: that of a bundled model, or a path; None for a hub name."""
    text = os.fspath(source)
    if _is_bundled(source):
        return Path(registry.lookup("model", text))
    check_path(Path(text))
    folder = Path(text).expanduser()
    is_path = not isinstance(source, str) or text.startswith((".", "~", os.sep)) or Path(text).is_absolute()
    return folder if is_path or folder.exists() else None


def _is_bundled(source: str | os.PathLike[str]) -> bool:
    return isinstance(source, str) and source in registry.names("model")


def has_tokenizer(folder: Path) -> bool:
    """True if a folder holds the files of a tokenizer."""
    return any((folder / name).is_file() for name in _TOKENIZER)


def check_texts(folder: Path) -> None:
    """Raise a ModelError for configuration or a tokenizer that is too large to be one."""
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.suffix in _TEXT and path.is_file() and (size := path.stat().st_size) > _LARGEST_TEXT:
            raise ModelError(
                f"{path.name} in {str(folder)!r} has {size:,} bytes, and no tokenizer or configuration has more than "
                f"{_LARGEST_TEXT:,}: it is damaged; copy or download it again."
            )


def check_folder(folder: Path, *, needs_tokenizer: bool = True, fetched: str = "") -> None:
    """Raise a ModelError for a folder that cannot be loaded as a causal language model.

    `fetched` is the hub name of which it is a copy in the cache.
    """
    if not folder.is_dir() and not fetched:
        problem = "is a file" if folder.is_file() else "does not exist"
        raise ModelError(f"Expected a folder with a model in Hugging Face layout; {str(folder)!r} {problem}.")
    needed = {"config.json": ("config.json",), "weights (model.safetensors)": _WEIGHTS}
    if needs_tokenizer:
        needed["a tokenizer (tokenizer.json; or pass tokenizer=)"] = _TOKENIZER
    missing = [part for part, names in needed.items() if not any((folder / name).is_file() for name in names)]
    if missing and fetched:
        raise ModelError(
            f"The copy of {fetched!r} in the cache lacks {' and '.join(missing)}: load it again with network, or name "
            f"another model if the hub has no more of it."
        )
    if missing:
        inside = sorted(config.parent.name for config in folder.glob("*/config.json"))
        if inside:
            raise ModelError(
                f"Folder {str(folder)!r} holds no model, but folders with one: {', '.join(inside)}. Name one of these, "
                "or several as --revisions (revisions of hc.run_series)."
            )
        raise ModelError(
            f"Folder {str(folder)!r} lacks {' and '.join(missing)}: save the model and its tokenizer there with "
            f"save_pretrained."
        )
    check_texts(folder)
    _check_shards(folder)
    config, name = _read_json(folder / "config.json"), fetched or folder.name
    architecture = ", ".join(config.get("architectures") or []) or config.get("model_type", "an unnamed architecture")
    if config.get("is_encoder_decoder"):
        raise ModelError(
            f"Model {name!r} is an encoder-decoder ({architecture}); headcats needs a decoder-only (causal) model."
        )
    if "vision_config" in config or "audio_config" in config:
        raise ModelError(f"Model {name!r} has a vision or audio part ({architecture}). {TEXT_ONLY}")
    if config.get("auto_map"):
        from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

        if config.get("model_type") not in CONFIG_MAPPING_NAMES:
            raise ModelError(
                f"Model {name!r} ({architecture}) needs code from its repository, which headcats does not run; "
                f"boot it as a TransformerBridge yourself and pass that."
            )


def _check_shards(folder: Path) -> None:
    """Raise a ModelError for weights in several files of which one is missing."""
    index = next((folder / name for name in _WEIGHTS if (folder / name).is_file()), folder)
    if index.suffix != ".json":
        return
    files = _read_json(index).get("weight_map")
    if not isinstance(files, dict):
        raise ModelError(f"Expected 'weight_map' in {str(index)!r}, which names the files of the weights.")
    shards = sorted(set(files.values()))
    if missing := [name for name in shards if not (folder / name).is_file()]:
        raise ModelError(
            f"Folder {str(folder)!r} lacks {missing[0]!r} ({len(missing)} of {pluralize(len(shards), 'file')} of its "
            f"weights missing): copy or download them again."
        )


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"Cannot read {str(path)!r}: {error}.") from None
    if not isinstance(content, dict):
        raise ModelError(f"Expected a JSON object in {str(path)!r}; got {type(content).__name__}.")
    return content


def fetch(name: str, *, revision: str | None = None) -> tuple[Path, str | None]:
    """Download the model `name` if it is not in the cache; without network, or with HF_HUB_OFFLINE=1, use the cache.

    Only configuration, tokenizer and weights (safetensors if possible) of the top folder are downloaded. Returns the
    snapshot's folder in the cache of huggingface_hub, and its commit.
    """
    try:
        return fetch_snapshot(name, kind="model", revision=revision, choose=_wanted, first="config.json")
    except HubProblem as problem:
        near = "" if problem.is_found else near_matches(name)
        hint = f" (did you mean {near}?)" if near else ""
        raise ModelError(
            f"Could not load {name!r} from the Hugging Face hub: {problem.what}{hint}; {problem.advice}, or pass a "
            f"local folder such as './my-model'."
        ) from None


def near_matches(name: str) -> str:
    """Bundled models, and model folders next to `name` in the file system, with a similar name: `'mini' or './m'`."""
    sources = {bundled: bundled for bundled in registry.names("model")}
    with contextlib.suppress(OSError):
        for folder in sorted(Path(name).expanduser().parent.iterdir()):
            if (folder / "config.json").is_file():
                sources.setdefault(folder.name, str(folder) if folder.parent != Path() else f"./{folder}")
    close = difflib.get_close_matches(Path(name).name, sources, n=3, cutoff=0.6)
    return " or ".join(repr(sources[match]) for match in close)


def _wanted(files: Iterable[str]) -> list[str]:
    top = [file for file in files if "/" not in file]
    # "consolidated" is a second copy of the weights in another format.
    weights = [file for file in top if file.endswith(".safetensors") and not file.startswith("consolidated")]
    pickles = [file for file in top if file.startswith("pytorch_model") and file.endswith(".bin")]
    return [*(file for file in top if file.endswith(_TEXT)), *(weights or pickles)]
