"""What goes wrong with the hub, as what happened and what to do about it; asking again while it takes no requests."""

import errno
import logging
import re
import time
from collections.abc import Callable, Mapping
from typing import Literal, TypeVar

from huggingface_hub import constants
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

Kind = Literal["model", "dataset"]
TRIES = 5
_LONGEST_WAIT = 330.0  # the hub counts requests in windows of five minutes
_log = logging.getLogger("headcats")
T = TypeVar("T")
OWN_CACHE = "set HF_HOME to the folder of a cache that holds it"
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS)
_BROKEN = {
    "asking": (
        "the hub did not answer",
        f"check the network, or {OWN_CACHE} and HF_HUB_OFFLINE=1 to use that cache without network",
    ),
    "fetching": ("the download broke off", "repeat this to go on from the complete files"),
    "uploading": ("the upload broke off", "repeat this, which sends nothing twice that has arrived"),
}


class HubProblem(Exception):
    """Problem of the hub, and what to do about it: two clauses of the sentence that a caller makes.

    Attributes:
        passes: Whether the hub may answer another time: no network, too many requests, a fault of its own.
        is_found: Whether the hub knows the name.
    """

    def __init__(self, what: str, advice: str, *, passes: bool = False, is_found: bool = True) -> None:
        super().__init__(f"{what}; {advice}")
        self.what, self.advice, self.passes, self.is_found = what, advice, passes, is_found


def hub_problem(
    error: Exception,
    *,
    name: str,
    kind: Kind,
    revision: str | None = None,
    doing: Literal["asking", "fetching", "uploading"] = "asking",
) -> HubProblem:
    """An error of huggingface_hub, of the HTTP library below it, or of the disk."""
    if isinstance(error, HubProblem):
        return error
    # "It is not in the cache", or "this file was not uploaded", because of something.
    if isinstance(error, LocalEntryNotFoundError | RuntimeError) and isinstance(error.__cause__, Exception):
        error = error.__cause__
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
            is_found = cls in (GatedRepoError, RevisionNotFoundError)
            return HubProblem(what, advice, is_found=is_found)
    if isinstance(error, HfHubHTTPError):
        return refusal(error)
    if isinstance(error, OSError) and error.errno in _NO_SPACE:
        what = f"the cache {constants.HF_HUB_CACHE} cannot be written ({error.strerror})"
        return HubProblem(what, "free space there or set HF_HOME to another folder")
    if isinstance(error, OSError) and str(error).startswith("Consistency check failed"):
        return not_whole("a file", "size")
    what, advice = _BROKEN[doing]
    return HubProblem(f"{what} ({type(error).__name__})", advice, passes=True, is_found=doing != "asking")


def refusal(error: HfHubHTTPError) -> HubProblem:
    """An answer whose status says nothing about the repository."""
    status = error.response.status_code
    if status == 401:
        return HubProblem("the hub does not know the token", "set HF_TOKEN to a valid one, or unset it")
    if status == 403:
        return HubProblem("the token has no right to that", "set HF_TOKEN to one that has, or ask the owner")
    if status == 429:
        advice = "wait some minutes, or set HF_TOKEN, with which the hub takes more"
        return HubProblem("the hub takes no more requests for now (429)", advice, passes=True)
    if status == 408 or status >= 500:
        return HubProblem(f"the hub answers with an error ({status})", "try again later", passes=True)
    words = next(iter((error.server_message or "").splitlines()), "").rstrip(".")
    return HubProblem(f"the hub answers with an error ({status}{words and f', {words!r}'})", "check the name")


def not_whole(files: str, measure: str) -> HubProblem:
    """Files that did not arrive as the hub has them, by "size" or "hash"."""
    return HubProblem(f"{files} came with another {measure} than the hub names and was deleted", "repeat this")


def patiently(ask: Callable[[], T], *, tries: int = TRIES) -> T:
    """Ask the hub, again after the wait that it names while it takes no requests or has a fault."""
    for attempt in range(1, tries):
        try:
            return ask()
        except HfHubHTTPError as error:
            if not refusal(error).passes:
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
