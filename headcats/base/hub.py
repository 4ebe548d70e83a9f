"""The Hugging Face hub: files of a repository fetched into the cache, checked, read without network, and uploaded.

huggingface_hub itself goes on with a file whose connection was lost. It does not repeat the first request, nor compare
what comes over HTTP with the hash that the hub names. What goes wrong is a `HubProblem`.
"""

import hashlib
import logging
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from huggingface_hub import (
    CommitOperationAdd,
    CommitOperationDelete,
    HfApi,
    constants,
    get_token,
    snapshot_download,
    try_to_load_from_cache,
)

from headcats.base.hub_problem import (
    OWN_CACHE,
    TRIES,
    HubProblem,
    Kind,
    hub_problem,
    not_whole,
    patiently,
)

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


def upload(
    name: str,
    files: Mapping[str, bytes | Path],
    *,
    replaces: Callable[[str], bool],
    message: str,
    private: bool = False,
    revision: str | None = None,
) -> str:
    """Put files (path -> content) into the data set `owner/name`, made if there is none, in one commit; returns its id.

    Other files of the data set are deleted where `replaces` says so. With `private`, a public data set of that name is
    refused before anything is sent. `revision` is a branch, made if there is none.
    """
    if get_token() is None:
        tokens = f"{constants.ENDPOINT}/settings/tokens"
        raise HubProblem("there is no token", f"make one that may write on {tokens} and set HF_TOKEN to it")
    api = HfApi()
    try:
        patiently(lambda: api.create_repo(name, repo_type="dataset", private=private or None, exist_ok=True))
        if private and not patiently(lambda: api.repo_info(name, repo_type="dataset")).private:
            raise HubProblem("it is public already", "make it private in its settings, or choose another name")
        if revision is not None:
            patiently(lambda: api.create_branch(name, repo_type="dataset", branch=revision, exist_ok=True))
        present = api.list_repo_files(name, repo_type="dataset", revision=revision)
        stale = [CommitOperationDelete(path) for path in present if replaces(path) and path not in files]
        return str(
            patiently(
                lambda: api.create_commit(
                    name,
                    [*stale, *(CommitOperationAdd(path, content) for path, content in files.items())],
                    commit_message=message,
                    repo_type="dataset",
                    revision=revision,
                )
            ).oid
        )
    except Exception as error:  # noqa: BLE001 - of the HTTP library, another one in every version of huggingface_hub
        raise hub_problem(error, name=name, kind="dataset", revision=revision, doing="uploading") from None
