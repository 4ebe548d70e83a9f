"""Repositories of the Hugging Face hub: fetched into its cache, checked against its hashes, read there without network.

What goes wrong is a `HubProblem`, of which callers make one sentence. huggingface_hub itself goes on with a file whose
connection was lost, and repeats requests for files that are refused for a while; it does not repeat the first request,
nor compare what came over HTTP with the hash that the hub names.
"""

import errno
import hashlib
import logging
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypeVar

from huggingface_hub import HfApi, constants, snapshot_download, try_to_load_from_cache
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

# Seconds until the hub counts as unreachable.
_TIMEOUT = 10.0
_TRIES = 5
_LONGEST_WAIT = 330.0  # the hub counts requests in windows of five minutes
_COMMIT = re.compile(r"[0-9a-f]{40}")
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS)
_OWN_CACHE = "set HF_HOME to the folder of a cache that holds it and HF_HUB_OFFLINE=1 to use that cache without network"
_REPEATS = ("thrown while requesting", "Waiting", "Retrying in", "Error while downloading")
_log = logging.getLogger("headcats")
Kind = Literal["model", "dataset"]
T = TypeVar("T")


class HubProblem(Exception):
    """What happened, and what to do about it: two clauses of the sentence that a caller makes.

    Attributes:
        passes: Whether the hub may answer another time: no network, too many requests, a fault of its own.
    """

    def __init__(self, what: str, advice: str, *, passes: bool = False) -> None:
        super().__init__(f"{what}; {advice}")
        self.what, self.advice, self.passes = what, advice, passes


def fetch_snapshot(
    name: str, *, kind: Kind, revision: str | None, choose: Callable[[Sequence[str]], list[str]], first: str
) -> tuple[Path, str | None]:
    """Folder in the cache with the files of a repository at a revision (None: the newest), and its commit.

    `choose` picks the files to fetch from all names. `first` is a file that every copy has: a cached copy with it
    serves where the hub cannot be asked.

    Raises:
        HubProblem: Nothing was fetched, or a file did not arrive whole; nothing of it is kept in the cache then.
    """
    try:
        cached = _cached(name, kind, revision, first)
        if constants.HF_HUB_OFFLINE:
            if cached is None:
                raise HubProblem(
                    f"HF_HUB_OFFLINE=1 is set and it is not in the cache ({constants.HF_HUB_CACHE})", _OWN_CACHE
                )
            return cached
        info = patiently(
            lambda: HfApi().repo_info(name, repo_type=kind, revision=revision, timeout=_TIMEOUT, files_metadata=True),
            tries=_TRIES if cached is None else 1,
        )
    except Exception as error:  # noqa: BLE001 - of the HTTP library, another one in every version of huggingface_hub
        problem = hub_problem(error, name=name, kind=kind, revision=revision)
        if problem.passes and cached is not None:
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
            raise hub_problem(error, name=name, kind=kind, revision=revision, while_fetching=True) from None
        if folder.name != info.sha:
            raise HubProblem("it changed while it was fetched", "repeat this")
        _check_arrived(folder, [files[file] for file in absent])
        return folder, info.sha
    return cached


def patiently(ask: Callable[[], T], *, tries: int = _TRIES) -> T:
    """What the hub answers; asked again after the wait that it names while it takes no requests or has a fault."""
    for attempt in range(1, tries):
        try:
            return ask()
        except HfHubHTTPError as error:
            if not _passes(error):
                raise
            wait = _named_wait(error.response.headers) or 2.0**attempt
            if wait > _LONGEST_WAIT:
                raise
            _log.info("The hub answers %d; trying again in %.0f s.", error.response.status_code, wait)
            time.sleep(wait)
    return ask()


def _named_wait(headers: Mapping[str, str]) -> float:
    """Seconds after which the hub takes requests again, by either header that it sends; 0 where it does not say."""
    named = re.fullmatch(r"(\d+)", headers.get("Retry-After", "")) or re.search(
        r"\br\s*=\s*0\b.*\bt\s*=\s*(\d+)", headers.get("RateLimit", "")
    )
    return float(named[1]) + 1 if named else 0.0  # + 1 since it counts whole seconds


@contextmanager
def repeating_quietly() -> Iterator[None]:
    """One line in place of all that huggingface_hub says on stderr of requests that it repeats."""
    handlers, once = logging.getLogger("huggingface_hub").handlers, _RepeatsOnce()
    for handler in handlers:
        handler.addFilter(once)
    try:
        yield
    finally:
        for handler in handlers:
            handler.removeFilter(once)


class _RepeatsOnce(logging.Filter):
    told = False

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        repeats = any(part in message for part in _REPEATS)
        if repeats and not self.told:
            self.told = True
            _log.info("The hub refuses requests or breaks off for now; trying again, for some minutes at most.")
        return not repeats


def hub_problem(
    error: Exception, *, name: str, kind: Kind, revision: str | None = None, while_fetching: bool = False
) -> HubProblem:
    """An error of huggingface_hub as what happened and what to do."""
    if isinstance(error, HubProblem):
        return error
    if isinstance(error, LocalEntryNotFoundError) and isinstance(error.__cause__, Exception):
        error = error.__cause__  # "not in the cache", because of this
    address = f"{constants.ENDPOINT}/{'datasets/' if kind == 'dataset' else ''}{name}"
    by_class = {  # a gated repository is one that was not found, too
        GatedRepoError: (
            "it is gated and no token with access was found",
            f"accept its terms on {address} and set HF_TOKEN to your token",
        ),
        RevisionNotFoundError: (
            f"it has no revision {revision!r}",
            f"take one of the branches, tags or commits on {address}/tree/main",
        ),
        RepositoryNotFoundError: (
            f"the hub has no public {kind} of that name",
            "check the name, and set HF_TOKEN to a token with access if it is private",
        ),
        HFValidationError: ("that is not a hub name, which reads 'name' or 'owner/name'", "check the name"),
    }
    for cls, (what, advice) in by_class.items():
        if isinstance(error, cls):
            return HubProblem(what, advice)
    if isinstance(error, HfHubHTTPError):
        return _refusal(error.response.status_code)
    if isinstance(error, OSError) and error.errno in _NO_SPACE:
        what = f"the cache {constants.HF_HUB_CACHE} cannot be written ({error.strerror})"
        return HubProblem(what, "free space there or set HF_HOME to another folder")
    if isinstance(error, OSError) and str(error).startswith("Consistency check failed"):
        return _not_whole("a file", "size")
    happened = "the download broke off" if while_fetching else "the hub did not answer"
    advice = "repeat this to go on from the complete files" if while_fetching else f"check the network, or {_OWN_CACHE}"
    return HubProblem(f"{happened} ({type(error).__name__})", advice, passes=True)


def _refusal(status: int) -> HubProblem:
    """What a status means that says nothing about the repository."""
    if status == 401:
        return HubProblem("the hub does not know the token", "set HF_TOKEN to a valid one, or unset it")
    if status == 403:
        return HubProblem("the token has no right to that", "set HF_TOKEN to one that has, or ask the owner")
    if status == 429:
        advice = "wait some minutes, or set HF_TOKEN, with which the hub takes more"
        return HubProblem("the hub takes no more requests for now (429)", advice, passes=True)
    passes = status == 408 or status >= 500
    advice = "try again later" if passes else "check the name and the token"
    return HubProblem(f"the hub answers with an error ({status})", advice, passes=passes)


def _passes(error: HfHubHTTPError) -> bool:
    return _refusal(error.response.status_code).passes


def _not_whole(files: str, measure: str) -> HubProblem:
    return HubProblem(f"{files} came with another {measure} than the hub names and was deleted", "repeat this")


def _cached(name: str, kind: Kind, revision: str | None, first: str) -> tuple[Path, str | None] | None:
    """Folder of a copy in the cache, and its commit."""
    path = try_to_load_from_cache(name, first, repo_type=kind, revision=revision)
    if not isinstance(path, str):
        return None
    folder = Path(path).parent
    return folder, folder.name if _COMMIT.fullmatch(folder.name) else None


def _is_cached(name: str, kind: Kind, file: str, commit: str) -> bool:
    return isinstance(try_to_load_from_cache(name, file, repo_type=kind, revision=commit), str)


def _check_arrived(folder: Path, files: Iterable[Any]) -> None:
    """Delete files of another hash than the hub names, and raise."""
    named = [(file, file.lfs.sha256 if file.lfs else file.blob_id) for file in files]
    wrong = [file for file, known in named if known not in (None, _hash(folder / file.rfilename, large=bool(file.lfs)))]
    for file in wrong:
        path = folder / file.rfilename
        stored = path.resolve()  # snapshots hold links
        path.unlink()
        stored.unlink(missing_ok=True)
    if wrong:
        raise _not_whole(" and ".join(repr(file.rfilename) for file in wrong), "hash")


def _hash(path: Path, *, large: bool) -> str:
    """SHA-256 of a large file, else the hash by which git knows it."""
    if not large:
        data = path.read_bytes()
        return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
