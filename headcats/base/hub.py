"""The Hugging Face hub: files of a repository fetched into the cache, read without network, and uploaded.

huggingface_hub repeats requests, goes on with a file whose connection was lost and compares sizes. What goes wrong all
the same is a `HubProblem`.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from huggingface_hub import (
    CommitOperationAdd,
    CommitOperationDelete,
    HfApi,
    constants,
    get_token,
    snapshot_download,
    try_to_load_from_cache,
)
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from headcats.base.errors import first_line

Kind = Literal["model", "dataset"]
# Seconds until the hub counts as unreachable.
_TIMEOUT = 10.0
_log = logging.getLogger("headcats")


class HubProblem(Exception):
    """Problem of the hub, and what to do about it: two clauses of the sentence that a caller makes.

    `passes` if the hub may answer another time (no network, too many requests, a fault of its own), `is_found` if it
    knows the name.
    """

    def __init__(self, what: str, advice: str, *, passes: bool = False, is_found: bool = True) -> None:
        super().__init__(f"{what}; {advice}")
        self.what, self.advice, self.passes, self.is_found = what, advice, passes, is_found


def fetch_snapshot(
    name: str, *, kind: Kind, revision: str | None, choose: Callable[[Sequence[str]], list[str]], first: str
) -> tuple[Path, str | None]:
    """Folder in the cache with the files of a repository at a revision (None: the newest), and its commit.

    `choose` picks the files of all names; a cached copy with the file `first` serves where the hub cannot be asked.
    """
    try:
        info = HfApi().repo_info(name, repo_type=kind, revision=revision, timeout=_TIMEOUT)
    except Exception as error:  # noqa: BLE001 - of the HTTP library, another one in every version of huggingface_hub
        problem = hub_problem(error, name=name, kind=kind, revision=revision)
        cached = try_to_load_from_cache(name, first, repo_type=kind, revision=revision) if problem.passes else None
        if not isinstance(cached, str):
            raise problem from None
        _log.info("%s: %s; taking the copy in the cache.", name, problem.what)
        folder = Path(cached).parent
        return folder, folder.name
    chosen = choose([sibling.rfilename for sibling in info.siblings or []])
    try:
        # By its name, not by the commit, so that the cache knows the name when there is no network.
        folder = Path(snapshot_download(name, repo_type=kind, revision=revision, allow_patterns=chosen))
    except Exception as error:  # noqa: BLE001 - as above
        raise hub_problem(error, name=name, kind=kind, revision=revision) from None
    return folder, folder.name


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
        api.create_repo(name, repo_type="dataset", private=private or None, exist_ok=True)
        if private and not api.repo_info(name, repo_type="dataset").private:
            raise HubProblem("it is public already", "make it private in its settings, or choose another name")
        if revision is not None:
            api.create_branch(name, repo_type="dataset", branch=revision, exist_ok=True)
        present = api.list_repo_files(name, repo_type="dataset", revision=revision)
        stale = [CommitOperationDelete(path) for path in present if replaces(path) and path not in files]
        added = [CommitOperationAdd(path, content) for path, content in files.items()]
        commit = api.create_commit(
            name, [*stale, *added], commit_message=message, repo_type="dataset", revision=revision
        )
    except Exception as error:  # noqa: BLE001 - as above
        raise hub_problem(error, name=name, kind="dataset", revision=revision) from None
    return str(commit.oid)


def hub_problem(error: Exception, *, name: str, kind: Kind, revision: str | None = None) -> HubProblem:
    """An error of huggingface_hub, of the HTTP library below it, or of the disk."""
    if isinstance(error, HubProblem):
        return error
    # "It is not in the cache", or "this file was not uploaded", because of something.
    if isinstance(error, LocalEntryNotFoundError | RuntimeError) and isinstance(error.__cause__, Exception):
        error = error.__cause__
    address = f"{constants.ENDPOINT}/{'datasets/' if kind == 'dataset' else ''}{name}"
    if isinstance(error, GatedRepoError):  # which is one that was not found, too
        advice = f"accept its terms on {address} and set HF_TOKEN to your token"
        return HubProblem("it is gated and no token with access was found", advice)
    if isinstance(error, RevisionNotFoundError):
        advice = f"take one of the branches, tags or commits on {address}/tree/main"
        return HubProblem(f"it has no revision {revision!r}", advice)
    if isinstance(error, RepositoryNotFoundError):
        advice = "check the name, and set HF_TOKEN to a token with access if it is private"
        return HubProblem(f"the hub has no public {kind} of that name", advice, is_found=False)
    if isinstance(error, HFValidationError):
        return HubProblem("that is not a hub name, which reads 'owner/name'", "check the name", is_found=False)
    if isinstance(error, HfHubHTTPError):
        status = error.response.status_code
        advice = "set HF_TOKEN to a token with access" if status in (401, 403) else "try again later"
        passes = status in (408, 429) or status >= 500
        return HubProblem(f"the hub answers with an error ({status})", advice, passes=passes)
    reason = first_line(error).partition(". ")[0]
    what = f"the hub was not reached, or the cache not written ({type(error).__name__}: {reason})"
    advice = "check the network and the disk, or set HF_HOME to the folder of a cache that holds it"
    return HubProblem(what, advice, passes=True, is_found=False)
