"""Find the folder of a model, or of its revisions: bundled, local, or downloaded from the hub; check what is in it."""

import contextlib
import difflib
import importlib.util
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headcats.base import registry
from headcats.base.errors import ModelError, OptionError, pluralize, unknown_name_message
from headcats.base.hub import HubProblem, fetch_snapshot
from headcats.results.whole_file import check_path

TEXT_ONLY = (
    "To read images, TransformerLens would install packages by itself, with pip, so headcats takes the language model "
    "alone, and transformers has no class for this one: save it by a class of its own with save_pretrained, if there "
    "is one, and name that folder."
)
"""Reason for refusing a model of more than text, and the way out."""
_OTHER_FORMATS = {
    "*.onnx": "in ONNX",
    "openvino_model.xml": "of OpenVINO",
    "tf_model.h5": "of TensorFlow",
    "flax_model.msgpack": "of Flax",
    "model_index.json": "of diffusers",
    "modules.json": "of sentence-transformers",
    "consolidated*": "in the format of its authors",
    "params.json": "in the format of its authors",
    "*.gguf": "as a GGUF file, which is named itself",
    "*.pt*": "as a checkpoint of PyTorch",
}
_TEXT = (".json", ".txt", ".model", ".jinja", ".tiktoken")
_WEIGHTS = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json")
GGUF = ".gguf"
"""End of the name of a file that holds a whole model, as llama.cpp reads it."""
_TOKENIZER = ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt", "spiece.model", "tekken.json")
_STEP = re.compile(r"step[-_]?(\d+)", re.IGNORECASE)
_NUMBER = re.compile(r"\d+")


def find_folder(source: str | os.PathLike[str], revision: str | None) -> tuple[str, Path, str | None]:
    """Name, folder and commit of a source; hub names are fetched."""
    text, folder = os.fspath(source), local_folder(source)
    if folder is None:
        return text, *fetch(text, revision=revision)
    if not folder.exists():
        near = near_matches(text)
        noun = "File" if folder.suffix == GGUF else "Folder"
        raise ModelError(f"{noun} {text!r} does not exist." + (f" Did you mean {near}?" if near else ""))
    if revision is not None:
        raise OptionError(f"A revision belongs to a hub name; {text!r} is a folder on this machine.")
    name = folder.resolve().stem if folder.suffix == GGUF else folder.resolve().name
    return text if _is_bundled(source) else name, folder.resolve(), None


def local_folder(source: str | os.PathLike[str]) -> Path | None:
    """The folder that a source names, there or not: that of a bundled model, or a path; None for a hub name."""
    text = os.fspath(source)
    if _is_bundled(source):
        return Path(registry.lookup("model", text))
    check_path(Path(text))
    folder = Path(text).expanduser()
    return folder if _is_path(source) or folder.exists() else None


def _is_path(source: str | os.PathLike[str]) -> bool:
    """True if a source is written as a path, not as a name."""
    text = os.fspath(source)
    starts_as_path = text.startswith((".", "~", os.sep)) or Path(text).is_absolute()
    return not isinstance(source, str) or starts_as_path or text.endswith(GGUF)


def _is_bundled(source: str | os.PathLike[str]) -> bool:
    return isinstance(source, str) and source in registry.names("model")


def has_tokenizer(folder: Path) -> bool:
    """True if a folder holds the files of a tokenizer."""
    return any((folder / name).is_file() for name in _TOKENIZER)


def check_folder(folder: Path, *, needs_tokenizer: bool = True, fetched: str = "") -> None:
    """Raise a ModelError for a folder, a copy of `fetched` on the hub, that holds no causal language model."""
    if folder.suffix == GGUF and folder.is_file():
        if importlib.util.find_spec("gguf") is None:
            raise ModelError(f"To read {str(folder)!r}, install the package gguf: pip install 'headcats[gguf]'.")
        return
    if not folder.is_dir() and not fetched:
        problem = "is a file" if folder.is_file() else "does not exist"
        raise ModelError(
            f"Expected a folder with a model in Hugging Face layout, or a file *{GGUF}; {str(folder)!r} {problem}."
        )
    needed = {"config.json": ("config.json",), "weights (model.safetensors)": _WEIGHTS}
    if needs_tokenizer:
        needed["a tokenizer (tokenizer.json; or pass tokenizer=)"] = _TOKENIZER
    missing = [part for part, names in needed.items() if not any((folder / name).is_file() for name in names)]
    if missing and fetched:
        raise ModelError(
            f"The copy of {fetched!r} in the cache lacks {' and '.join(missing)}: load it again with network, or name "
            f"another model if the hub has no more of it."
        )
    has_model = not any(part in missing for part in list(needed)[:2])
    others = (kind for name, kind in _OTHER_FORMATS.items() if any(folder.glob(name)))
    if not has_model and (kind := next(others, "")):
        raise ModelError(
            f"Folder {str(folder)!r} holds a model {kind}; expected one in Hugging Face layout (config.json, "
            "model.safetensors, tokenizer.json): convert it, and save it with save_pretrained."
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
    _check_shards(folder)
    config, name = _read_json(folder / "config.json"), fetched or folder.name
    architecture = ", ".join(config.get("architectures") or []) or config.get("model_type", "an unnamed architecture")
    if config.get("is_encoder_decoder"):
        raise ModelError(
            f"Model {name!r} is an encoder-decoder ({architecture}); headcats needs a decoder-only (causal) model."
        )
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
    """Folder and commit of the hub's model `name`, downloaded if it is not in the cache (and there is a network)."""
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


@dataclass(frozen=True)
class Revision:
    """One revision, as `load_model` takes it; `tokenizer` is None for the revision's own."""

    name: str
    source: str
    revision: str | None = None
    tokenizer: str | None = None


def find_revisions(source: str | os.PathLike[str], revisions: Sequence[str | os.PathLike[str]]) -> list[Revision]:
    """The revisions of a source, in their order; those on the hub are downloaded.

    One without tokenizer gets that of the source. Of a folder, a revision is a folder in it, or any other one by its
    path.
    """
    if isinstance(revisions, str | os.PathLike) or not revisions:
        raise OptionError(
            "revisions must be a list of at least one revision, such as ['step1000', 'step2000'] (--revisions "
            f"step1000,step2000); got {revisions!r}."
        )
    found = [_find(source, revision) for revision in revisions]
    twice = [name for name, times in Counter(revision.name for revision in found).items() if times > 1]
    if twice:
        raise OptionError(f"Two revisions are called {twice[0]!r}: name each once, in folders of different names.")
    return found


def training_step(name: str) -> int | None:
    """Step in the name of a revision: the number after "step", or the only number there is, or None."""
    steps, numbers = _STEP.findall(name), _NUMBER.findall(name)
    candidates = steps if len(steps) == 1 else numbers
    return int(candidates[0]) if len(candidates) == 1 else None


def _find(source: str | os.PathLike[str], revision: str | os.PathLike[str]) -> Revision:
    text, base = os.fspath(revision), local_folder(source)
    folder = Path(text).expanduser() if _is_path(revision) else None
    if base is not None:
        folder = _below(base, text)
    if folder is None:
        name = os.fspath(source)
        fetched, _ = fetch(name, revision=text)
        check_folder(fetched, needs_tokenizer=False, fetched=f"{name}@{text}")
        # A name is a node of the results, and a branch may have a slash in its own.
        return Revision(text.replace("/", "="), name, text, None if has_tokenizer(fetched) else name)
    check_folder(folder, needs_tokenizer=False)
    borrows = not has_tokenizer(folder) and (base is None or has_tokenizer(base))
    return Revision(folder.resolve().name, str(folder), tokenizer=os.fspath(source) if borrows else None)


def _below(base: Path, revision: str) -> Path:
    """The folder of a revision: in that of the model, or by its path."""
    if not base.is_dir():
        raise ModelError(f"Folder {str(base)!r} does not exist, so it has no revisions.")
    for folder in (base / revision, Path(revision).expanduser()):
        if folder.is_dir() and revision:
            return folder
    names = sorted(config.parent.name for config in base.glob("*/config.json"))
    raise ModelError(
        f"{unknown_name_message(f'revision of {str(base)!r}', revision, names)} A revision is a folder in it, or the "
        "path of another one."
    )
