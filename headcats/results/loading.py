"""Results of a run, or of every revision of a series, as one labelled tree, read from a folder or the hub."""

import math
import os
import warnings
from collections.abc import Mapping
from pathlib import Path

import xarray as xr

from headcats.base.errors import DamagedFileError, StorageError, StorageWarning, pluralize
from headcats.results.folder import ResultsFolder
from headcats.results.place import Place, find_place, no_results
from headcats.results.run_results import RunResults
from headcats.results.series import SeriesFolder, SeriesRecord
from headcats.results.stored_blocks import LARGE
from headcats.results.stored_run import StoredRun

_NAMED = 3
"""Files that a message names."""


def load(path: str | os.PathLike[str]) -> xr.DataTree:
    """Results of a run, from its folder or from the Hugging Face hub; of a series, those of every revision.

    Args:
        path: The folder that `hc.run(out=...)`, `hc.run_series` or `headcats run` wrote; or "hf://owner/name", where
            `hc.push` put it, with "@" and a branch, tag or commit for another one than the newest. What was fetched
            once is also read without network.

    Returns:
        A tree with one node `/<task>/<method@positions>` per block: `patched (metric, prompt, layer, head)`,
        `clean (metric, prompt)`, `corrupted (metric, prompt)` in each metric's own unit. Task nodes carry the attribute
        `category`; the root carries `categories` (names, order, colours; JSON), `manifest` (JSON) and `suite` (its
        tasks with their pairs; JSON). A joint method has the node
        `/_suite/<method>`, whose content its docstring describes (see `hc.suite_blocks`). The node `/_drops` is a table
        of what was kept and dropped of every task, and why: `results["_drops"].to_dataset().to_dataframe()`. The node
        `/_descriptors` holds what `hc.describe_heads` says of the model and of the scored prompts.

        Of a series a tree with one node `/<revision>` per revision, in order, each as above. The root carries `series`
        (JSON: `model`, and of every revision `name`, `folder`, `source`, `revision`, `step` and `weights_hash`); a
        revision that a stopped run has not come to is listed there and has no node.

    Raises:
        StorageError: No such folder, or no manifest in it, or a damaged one, or a damaged list of revisions.

    Warns:
        StorageWarning: A block, the suite or the descriptors are damaged, missing, or of another run. The results are
            without them, and the attribute `missing` of the root (JSON) says which, why, and what to do. Of a series, a
            revision is left out whose manifest is damaged.

    Example:
        >>> import headcats as hc
        >>> results = hc.load("results/mini-icl")
        >>> sorted(results["plural"])
        ['denoising_patch@last', 'mean_ablation@all', 'second_corruption_patch@last']
        >>> block = results["plural"]["denoising_patch@last"]
        >>> block.patched.dims, block.clean.dims
        (('metric', 'prompt', 'layer', 'head'), ('metric', 'prompt'))
        >>> results["plural"].attrs["category"]
        'Linguistic'
        >>> list(hc.load("results/mini-checkpoints"))[-2:]
        ['step4000', 'step8000']
    """
    place = find_place(path)
    if (revisions := open_series(place, checked_later=math.inf)) is None:
        return read_results(place)
    record, runs = revisions
    root = xr.Dataset(attrs={"series": record.to_json()})
    series = xr.DataTree(root, children={name: run.tree for name, run in runs.items()})
    series.encoding["source"] = place.address
    return series


def open_series(place: Place, *, checked_later: float = LARGE) -> tuple[SeriesRecord, dict[str, RunResults]] | None:
    """List of a series, and the results of its revisions by name, in order; None where no series is.

    Warns:
        StorageWarning: A revision is left out whose manifest is damaged, or a block of one.
    """
    folder = SeriesFolder(place.folder)
    if not folder.file.is_file():
        return None
    record, runs = folder.read(), dict[str, RunResults]()
    for revision in record.revisions:
        path = folder.results(revision).path
        if folder.results(revision).manifest_path.is_file():
            try:
                runs[revision.name] = open_results(Place(str(path), path), checked_later=checked_later)
            except DamagedFileError as error:
                warnings.warn(f"Revision {revision.name} is left out: {error}", StorageWarning, stacklevel=3)
    return record, runs


def read_results(place: Place) -> xr.DataTree:
    """`load` of a place that is found already."""
    return open_results(place, checked_later=math.inf).tree


def open_results(place: Place, *, checked_later: float = LARGE) -> StoredRun:
    """Results of a run, of which a block is parsed when it is looked up; errors and warnings of `load`.

    Of files of `checked_later` bytes or more, damage within is an error when their block is looked up.
    """
    folder = ResultsFolder(place.folder)
    manifest = folder.read_manifest() if folder.manifest_path.is_file() else None
    if manifest is None:
        raise StorageError(no_results(folder.path))
    # The manifest first: what it names is there, and what a run has added since then is not missed.
    run = StoredRun(place, folder, manifest, checked_later=checked_later)
    if run.missing and place.on_hub:
        raise StorageError(
            f"The copy of {place} in the cache is not whole: it lacks {pluralize(len(run.missing), 'file')}, "
            f"{next(iter(run.missing))} first; read it again with network."
        )
    if run.missing:
        warnings.warn(_missing(folder.path, run.missing), StorageWarning, stacklevel=3)
    return run


def read_whole_results(place: Place) -> StoredRun:
    """`open_results` for what copies them; a DamagedFileError where a file is damaged or missing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StorageWarning)
        run = open_results(place, checked_later=math.inf)
    if run.missing:
        raise DamagedFileError(next(iter(run.missing.values())))
    return run


def _missing(folder: Path, problems: Mapping[str, str]) -> str:
    more = f" And {pluralize(len(problems) - _NAMED, 'file')} more." if len(problems) > _NAMED else ""
    lines = " ".join(list(problems.values())[:_NAMED])
    return f"{folder} lacks {pluralize(len(problems), 'file')}, which what follows leaves out. {lines}{more}"
