"""What `headcats compare` says of one results folder, saved in it for the report."""

import functools
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import xarray as xr

from headcats.categories.reading import EVIDENCE, Reading
from headcats.results.folder import read_table, slug, table_bytes
from headcats.results.whole_file import write_whole

_AGREEMENT, _HALVES, _PROTOCOLS = "agreement.nc", "halves.nc", "protocols"


@dataclass(frozen=True)
class Robustness:
    """How far the categories of one run depend on the protocol and on the prompts.

    Attributes:
        agreement: As `hc.evidence.agreement` returns it.
        members: Protocol -> what `hc.categorize` returns.
        left_out: Protocol -> why it is not compared.
        halves: As `hc.evidence.half_agreement` returns it, with the attribute `title`; None where prompts were not
            halved.
    """

    agreement: xr.Dataset
    members: Mapping[str, xr.Dataset]
    left_out: Mapping[str, str]
    halves: xr.Dataset | None


def robustness_folder(reading: Reading) -> str:
    """Where it lies within a results folder."""
    return f"{EVIDENCE}/robustness{reading.judging_suffix}"


def save_robustness(folder: str | os.PathLike[str], subfolder: str, robustness: Robustness) -> None:
    """Write it into a results folder, in place of what an earlier call wrote there.

    Args:
        folder: The results folder.
        subfolder: As `robustness_folder` names it.
        robustness: What to save.

    Raises:
        StorageError: The folder cannot be written.
    """
    files = {} if robustness.halves is None else {_HALVES: robustness.halves}
    for place, (name, members) in enumerate(robustness.members.items()):
        means = members.drop_dims([dim for dim in ("resample", "flip") if dim in members.dims])
        files[f"{_PROTOCOLS}/{place:03}-{slug(name)}.nc"] = means.assign_attrs(protocol=name)
    # Last, since it says that the others are there: a call that is stopped leaves nothing that looks whole.
    files[_AGREEMENT] = robustness.agreement.assign_attrs(
        left_out=json.dumps(dict(robustness.left_out), ensure_ascii=False)
    )
    contents = {name: table_bytes(table) for name, table in files.items()}
    shutil.rmtree(Path(folder) / subfolder, ignore_errors=True)
    for name, data in contents.items():
        write_whole(Path(folder) / subfolder / name, data)


def saved_robustness(folder: str | os.PathLike[str], subfolder: str) -> Robustness | None:
    """What was saved there; None where nothing was.

    Raises:
        StorageError: A damaged file.
    """
    home = Path(folder) / subfolder
    if not (home / _AGREEMENT).is_file():
        return None
    open_table = functools.partial(read_table, again=f"`headcats compare {folder}`")
    agreement = open_table(home / _AGREEMENT)
    halves = open_table(home / _HALVES) if (home / _HALVES).is_file() else None
    protocols = [open_table(path) for path in sorted((home / _PROTOCOLS).glob("*.nc"))]
    members = {str(protocol.attrs["protocol"]): protocol for protocol in protocols}
    return Robustness(agreement, members, json.loads(agreement.attrs["left_out"]), halves)
