"""The revisions of a model, such as its training checkpoints: those of one hub repository, or folders.

Found before any is loaded, so that a misspelt one is refused before anything is scored.
"""

import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from headcats.base.errors import ModelError, OptionError
from headcats.base.registry import unknown_name_message
from headcats.models.source import check_folder, fetch, has_tokenizer, local_folder

_STEP = re.compile(r"step[-_]?(\d+)", re.IGNORECASE)
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class Revision:
    """One revision, as `load_model` takes it.

    Attributes:
        name: The revision on the hub, or the last part of the folder's path.
        source: Hub name, or folder.
        revision: Revision of a hub name; None for a folder.
        tokenizer: Where the tokenizer comes from; None for the revision's own.
    """

    name: str
    source: str
    revision: str | None = None
    tokenizer: str | None = None


def find_revisions(source: str | os.PathLike[str], revisions: Sequence[str | os.PathLike[str]]) -> list[Revision]:
    """The revisions of a source, in their order; those on the hub are downloaded.

    A revision of a hub name is a branch, tag or commit, or a folder written as a path (`./mine`); one of a folder or a
    bundled model is a folder in it, or any other one by its path. One without tokenizer gets that of the source.

    Raises:
        OptionError: No revision, or two of one name.
        ModelError: One that does not exist or holds no model.
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
    """The training step in the name of a revision: the number after "step", or the only number; None without one.

    Example:
        >>> [training_step(name) for name in ("step1000", "checkpoint-500", "stage1-step20-tokens3B", "main")]
        [1000, 500, 20, None]
    """
    steps, numbers = _STEP.findall(name), _NUMBER.findall(name)
    candidates = steps if len(steps) == 1 else numbers
    return int(candidates[0]) if len(candidates) == 1 else None


def _find(source: str | os.PathLike[str], revision: str | os.PathLike[str]) -> Revision:
    text, base, folder = os.fspath(revision), local_folder(source), _as_path(revision)
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


def _as_path(revision: str | os.PathLike[str]) -> Path | None:
    """The folder of a revision that is written as a path; None for a name."""
    text = os.fspath(revision)
    is_path = not isinstance(revision, str) or text.startswith((".", "~", os.sep)) or Path(text).is_absolute()
    return Path(text).expanduser() if is_path else None


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
