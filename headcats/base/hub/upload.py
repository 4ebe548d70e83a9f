"""Put files into a data set of the hub, in one commit."""

from collections.abc import Callable, Mapping
from pathlib import Path

from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi, constants, get_token

from headcats.base.hub.patience import patiently, repeating_quietly
from headcats.base.hub.problem import HubProblem, hub_problem


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
        with repeating_quietly():
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
