"""`headcats push`: results as a data set on the Hugging Face hub."""

from typing import Annotated

import typer

from headcats.cli.answer import put
from headcats.cli.arguments import AsJson, Source
from headcats.cli.console import tell
from headcats.results.place import HUB
from headcats.results.sharing import push

_NAME = "Name of the data set, as owner/name; it is made if there is none."
_PRIVATE = "Only its owner can read it."
_REVISION = "Branch to write to, made if there is none; default: the main one."


def push_command(
    folder: Source,
    name: Annotated[str, typer.Argument(help=_NAME, metavar="OWNER/NAME")],
    private: Annotated[bool, typer.Option("--private", help=_PRIVATE)] = False,
    revision: Annotated[str | None, typer.Option("--revision", help=_REVISION)] = None,
    as_json: AsJson = False,
) -> None:
    """Put results on the Hugging Face hub, for others to read: `headcats map hf://owner/name`.

    Manifest, suite and tables are uploaded in one commit, with a page that says what they are; pages and pictures are
    not, nor any folder of this machine. The same command again brings the data set up to date. It needs a token that
    may write, in HF_TOKEN or from `hf auth login`.

    Examples:
    - `headcats push results/mini-icl owner/mini-icl`
    - `headcats push results/mini-icl owner/mini-icl --private --revision draft`

    Keys of `--json`: `address` (as `hc.load` takes it), `name`, `commit`.
    """
    address = push(folder, name, private=private, revision=revision)
    commit = address.rpartition("@")[2]
    if as_json:
        put({"address": address, "name": name, "commit": commit})
        return
    at = "" if revision is None else f"@{revision}"
    tell([f"Pushed {folder} to {name}, commit {commit}. Read it: `headcats map {HUB}{name}{at}`"])
