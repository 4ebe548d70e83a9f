"""Tables of the `datasets` library: saved on disk, or of the hub."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from headcats.base.errors import DataError
from headcats.tasks.files.records import Records
from headcats.tasks.files.table_file import arrow_records

HUB = "hf://datasets/"
_MARKS = ("dataset_info.json", "dataset_dict.json")
_ROWS = 8192
# A name of the hub; `.` and `..` are none.
_NAME = re.compile(r"(?!\.{1,2}$)[\w.-]+")


def is_saved_dataset(folder: Path) -> bool:
    """True if `save_to_disk` has written this folder."""
    return (any((folder / mark).is_file() for mark in _MARKS) and (folder / "state.json").is_file()) or (
        folder / _MARKS[1]
    ).is_file()


def saved_records(folder: Path) -> Records:
    """A dataset that `save_to_disk` has written."""
    import datasets

    return _records(lambda: datasets.load_from_disk(str(folder)), folder.name, "name the folder of one")


def hub_records(address: str) -> Records:
    """A dataset of the hub, downloaded if it is not in the cache: `hf://datasets/user/name[/config[/split]]`."""
    parts = address.removeprefix(HUB).rstrip("/").split("/")
    if not (address.startswith(HUB) and 2 <= len(parts) <= 4 and all(parts) and all(map(_NAME.fullmatch, parts[:2]))):
        raise DataError(
            f"Expected a dataset of the hub as {HUB}user/name, /config and /split behind it; got {address!r}."
        )
    user, name, *chosen = parts
    if Path(user, name).exists():
        raise DataError(
            f"{user}/{name} is here too, as a file or folder, which would be loaded in place of the hub's: name it as "
            "one, or start from another folder."
        )
    return loaded_records(f"{user}/{name}", *chosen)


def loaded_records(name: str, config: str | None = None, split: str | None = None) -> Records:
    """Records that `datasets.load_dataset` loads under this name; code of the dataset is never run."""
    import datasets

    def load() -> Any:
        return datasets.load_dataset(name, config, split=split)

    return _records(load, name.rpartition("/")[2], "name one behind the config, as /default/train")


def _records(load: Callable[[], Any], name: str, advice: str) -> Records:
    try:
        table = load()
    except Exception as error:  # noqa: BLE001 - any of datasets, pyarrow, fsspec and the readers of each format
        reason = next(iter(str(error).splitlines()), "").rstrip(".") or type(error).__name__
        raise DataError(f"The dataset {name!r} cannot be loaded: {reason}.") from None
    if isinstance(table, dict):
        if len(table) != 1:
            raise DataError(f"The dataset {name!r} has the splits {', '.join(map(repr, table))}: {advice}.")
        (table,) = table.values()

    def batches() -> Iterator[Any]:
        yield from table.with_format("arrow").iter(batch_size=_ROWS)

    return arrow_records(name, table.column_names, batches)
