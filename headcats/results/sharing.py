"""Put results on the Hugging Face hub, as a data set that `hc.load("hf://owner/name")` reads."""

import os
import re
from dataclasses import replace
from pathlib import Path, PureWindowsPath

import xarray as xr

from headcats.base.errors import DataError, OptionError, StorageError, pluralize
from headcats.results.folder import ResultsFolder
from headcats.results.loading import read_whole_results
from headcats.results.manifest import Manifest
from headcats.results.place import HUB, MANIFEST, Place, belongs, find_place
from headcats.results.records import ModelRecord
from headcats.results.run_results import RunResults
from headcats.results.sources import public_source
from headcats.results.tables import read_table
from headcats.results.visible import visible
from headcats.results.whole_file import check_links

TAG = "headcats"
# Without the hub's viewer, which shows tables of text, not netCDF.
_CARD = Path(__file__).with_name("card.md")
# An underscore within a word is one.
_MARKUP = re.compile(r"[\\`*\[\]<>&|~$#!]|(?<!\w)_|_(?!\w)")


def push(
    results: xr.DataTree | str | os.PathLike[str], name: str, *, private: bool = False, revision: str | None = None
) -> str:
    """Upload results to the Hugging Face hub, in one commit, with a page that says what they are.

    What is uploaded are the manifest, the suite and every table, evidence included: no pages and pictures, which
    `hc.report` and the like make again, and in the manifest no folders of this machine. Results that are there already
    are replaced; tables that the folder does not have any more are removed.

    Args:
        results: A results folder, or what `hc.load` returns.
        name: `owner/name` of the data set; it is made if there is none, with the tag `headcats`. The token is that of
            `HF_TOKEN`, or of `hf auth login`.
        private: Only the owner can read it. A data set that is there already and public is refused.
        revision: Branch to write to, made from the newest if there is none; None is the main one.

    Returns:
        `hf://owner/name@commit`, as `hc.load` takes it.

    Raises:
        DataError: Results in memory, or a part of results.
        OptionError: A name that is none.
        StorageError: The folder holds no results, or the hub cannot be reached or refuses; one sentence says why.

    Example:
        >>> import headcats as hc
        >>> hc.push("results/mini-icl", "nobody")
        Traceback (most recent call last):
        headcats.base.errors.OptionError: Expected the name of a data set as 'owner/name'; got 'nobody'.
    """
    if name.count("/") != 1 or name.startswith(HUB):
        raise OptionError(f"Expected the name of a data set as 'owner/name'; got {name!r}.")
    place = _place(results)
    manifest = read_whole_results(place).manifest
    address = f"{HUB}{name}" if revision is None else f"{HUB}{name}@{revision}"
    files = _files(place.folder, manifest) | {"README.md": card(_without_folders(manifest), address).encode("utf-8")}
    # Takes a quarter of a second, which readers of folders need not wait.
    from headcats.base.hub import HubProblem, upload

    message = f"Results of {manifest.model.name} on {manifest.plan.suite}"
    try:
        commit = upload(name, files, replaces=belongs, message=message, private=private, revision=revision)
    except HubProblem as problem:
        raise StorageError(f"Could not push {place} to {address}: {problem.what}; {problem.advice}.") from None
    return f"{HUB}{name}@{commit}"


def _place(results: xr.DataTree | str | os.PathLike[str]) -> Place:
    if isinstance(results, str | os.PathLike):
        return find_place(results)
    place = RunResults(results).place if isinstance(results, xr.DataTree) else None
    if place is None:
        raise DataError(
            "hc.push uploads the files of a results folder, and these results lie in none. Save them, "
            'hc.run(..., out="results/mine"), and write hc.push("results/mine", "owner/name").'
        )
    return place


def _files(folder: Path, manifest: Manifest) -> dict[str, bytes | Path]:
    """Path in a results folder -> what is uploaded of it; `manifest` was read before, so all that it names is there."""
    files: dict[str, bytes | Path] = {}
    results = ResultsFolder(folder)
    check_links(folder, ["*"])
    others = {manifest_path.parent for manifest_path in folder.rglob(MANIFEST)} - {folder}  # results inside these
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and belongs(name) and others.isdisjoint(path.parents):
            files[name] = _without_folders(manifest).file_bytes() if name == MANIFEST else _checked(path, results)
    return files


def _checked(path: Path, results: ResultsFolder) -> Path:
    """A file that is whole."""
    if path.suffix == ".nc":
        read_table(path, again="What made it")
    else:
        results.read_suite()
    return path


def _without_folders(manifest: Manifest) -> Manifest:
    """The manifest with nothing but the names of the files and folders of this machine from which a run came."""
    fields = manifest.model.with_sources(public_source).complete().items()
    model = {name: _last_name(value) if isinstance(value, str) else value for name, value in fields}
    return replace(manifest, model=ModelRecord.from_dict(model), suite_source=_last_name(manifest.suite_source))


def _last_name(text: str) -> str:
    """The last part of a path of this machine, which begins at the root, the home or results; other text as it is."""
    path = PureWindowsPath(text)  # splits at the separators of both systems
    return path.name if path.is_absolute() or text.startswith(("/", "~", ".")) else text


def card(manifest: Manifest, address: str) -> str:
    """README.md of a data set with the results of a manifest; `address` is what `hc.load` takes."""
    model, plan, skipped = manifest.model, manifest.plan, manifest.skipped()
    n_tasks, unfinished = len(manifest.tasks), manifest.unfinished()
    tasks = pluralize(n_tasks or len(manifest.joint_tasks), "task") + (
        f", {len(skipped)} of them skipped" if skipped else ""
    )
    facts = {
        "model": _code(model.name) + (f", revision {_code(model.revision)}" if model.revision else ""),
        "weights": f"hash `{model.weights_hash}`, {model.dtype}, {model.model_class}",
        "suite": f"{_text(plan.suite)}: {tasks}" + (f", {len(unfinished)} still to come" if unfinished else ""),
        "categories": ", ".join(_text(category.name) for category in manifest.categories),
        "methods": ", ".join(map(_code, manifest.methods)),
        "metrics": ", ".join(map(_code, plan.metrics)),
        "prompts": f"{plan.n_prompts} per task, seed {plan.seed}",
        "headcats": manifest.versions.get("headcats", ""),
        "begun": manifest.created,
    }
    rows = "\n".join(f"| {key} | {value} |" for key, value in facts.items() if value)
    heading = {"model": _text(model.name), "model_code": _code(model.name), "suite": _text(plan.suite)}
    return _CARD.read_text(encoding="utf-8").format(tag=TAG, facts=rows, address=address, **heading)


def _text(name: str) -> str:
    """A name in Markdown, shown as it is."""
    return _MARKUP.sub(r"\\\g<0>", visible(name))


def _code(name: str) -> str:
    """A name as code in Markdown, between more backticks than it has in a row; also within a table."""
    text = visible(name).replace("|", r"\|")
    if "`" not in text:
        return f"`{text}`"
    fence = "`" * (1 + max(map(len, re.findall("`+", text))))
    return f"{fence} {text} {fence}"
