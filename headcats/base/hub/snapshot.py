"""Fetch the files of a repository into the cache of huggingface_hub, and find them there without network."""

import hashlib
import logging
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from huggingface_hub import HfApi, constants, snapshot_download, try_to_load_from_cache

from headcats.base.hub.patience import TRIES, patiently, repeating_quietly
from headcats.base.hub.problem import OWN_CACHE, HubProblem, Kind, hub_problem, not_whole

# Seconds until the hub counts as unreachable.
_TIMEOUT = 10.0
_COMMIT = re.compile(r"[0-9a-f]{40}")
_log = logging.getLogger("headcats")


def fetch_snapshot(
    name: str, *, kind: Kind, revision: str | None, choose: Callable[[Sequence[str]], list[str]], first: str
) -> tuple[Path, str | None]:
    """Folder in the cache with the files of a repository at a revision (None: the newest), and its commit.

    `choose` picks the files of all names; a cached copy with the file `first` serves where the hub cannot be asked.
    """
    try:
        cached = _cached(name, kind, revision, first)
        if constants.HF_HUB_OFFLINE:
            if cached is None:
                what = f"HF_HUB_OFFLINE=1 is set and it is not in the cache ({constants.HF_HUB_CACHE})"
                raise HubProblem(what, f"unset it to download, or {OWN_CACHE}", is_found=False)
            return cached
        info = patiently(
            lambda: HfApi().repo_info(name, repo_type=kind, revision=revision, timeout=_TIMEOUT, files_metadata=True),
            tries=TRIES if cached is None else 1,
        )
    except Exception as error:  # noqa: BLE001 - of the HTTP library, another one in every version of huggingface_hub
        problem = hub_problem(error, name=name, kind=kind, revision=revision)
        if problem.passes and cached is not None:
            _log.info("%s: %s; taking the copy in the cache.", name, problem.what)
            return cached
        raise problem from None
    files = {sibling.rfilename: sibling for sibling in info.siblings or []}
    chosen = choose(list(files))
    absent = [file for file in chosen if not _is_cached(name, kind, file, info.sha)]
    if absent or cached is None or cached[1] != info.sha:
        try:
            # By its name, not by the commit, so that the cache knows the name when there is no network.
            with repeating_quietly():
                folder = Path(snapshot_download(name, repo_type=kind, revision=revision, allow_patterns=chosen))
        except Exception as error:  # noqa: BLE001 - as above
            raise hub_problem(error, name=name, kind=kind, revision=revision, doing="fetching") from None
        finally:  # whatever came before a download broke off or was stopped is taken for checked the next time
            wrong = _delete_wrong(name, kind, info.sha, [files[file] for file in absent])
        if folder.name != info.sha:
            raise HubProblem("it changed while it was fetched", "repeat this")
        if wrong:
            raise not_whole(" and ".join(map(repr, wrong)), "hash")
        return folder, info.sha
    return cached


def _cached(name: str, kind: Kind, revision: str | None, first: str) -> tuple[Path, str | None] | None:
    """Folder of a copy in the cache, and its commit."""
    path = try_to_load_from_cache(name, first, repo_type=kind, revision=revision)
    if not isinstance(path, str):
        return None
    folder = Path(path).parent
    return folder, folder.name if _COMMIT.fullmatch(folder.name) else None


def _is_cached(name: str, kind: Kind, file: str, commit: str) -> bool:
    return isinstance(try_to_load_from_cache(name, file, repo_type=kind, revision=commit), str)


def _delete_wrong(name: str, kind: Kind, commit: str, files: Iterable[Any]) -> list[str]:
    """Names of the files that have another hash than the hub names; they are deleted. Those that are not there pass."""
    wrong = []
    for file in files:
        path = try_to_load_from_cache(name, file.rfilename, repo_type=kind, revision=commit)
        named = file.lfs.sha256 if file.lfs else file.blob_id
        if not isinstance(path, str) or named in (None, _hash(Path(path), large=bool(file.lfs))):
            continue
        stored = Path(path).resolve()  # snapshots hold links
        Path(path).unlink()
        stored.unlink(missing_ok=True)
        wrong.append(file.rfilename)
    return wrong


def _hash(path: Path, *, large: bool) -> str:
    """SHA-256 of a large file, else the hash by which git knows it."""
    if not large:
        data = path.read_bytes()
        return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
