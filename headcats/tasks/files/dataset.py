"""Tables of the `datasets` library: saved on disk, or of the hub."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from headcats.errors import DataError
from headcats.tasks.files.records import Records
from headcats.tasks.files.table_file import arrow_records

HUB = "hf://datasets/"
_MARKS = ("dataset_info.json", "dataset_dict.json")
_ROWS = 8192


def is_saved_dataset(folder: Path) -> bool:
    """Whether `save_to_disk` has written this folder."""
    return (any((folder / mark).is_file() for mark in _MARKS) and (folder / "state.json").is_file()) or (
        folder / _MARKS[1]
    ).is_file()


def saved_records(folder: Path) -> Records:
    """A dataset that `save_to_disk` has written.

    Raises:
        DataError: It cannot be read, or has several splits.
    """
    import datasets

    return _records(lambda: datasets.load_from_disk(str(folder)), folder.name, "name the folder of one")


def hub_records(address: str) -> Records:
    """A dataset of the hub, downloaded if it is not in the cache: `hf://datasets/user/name[/config[/split]]`.

    Raises:
        DataError: Another form of address, no such dataset or no network, or several configs or splits and none named.
    """
    parts = [part for part in address.removeprefix(HUB).split("/") if part]
    if not address.startswith(HUB) or not 2 <= len(parts) <= 4:
        raise DataError(
            f"Expected a dataset of the hub as {HUB}user/name, /config and /split behind it; got {address!r}."
        )
    return loaded_records("/".join(parts[:2]), *parts[2:])


def loaded_records(name: str, config: str | None = None, split: str | None = None) -> Records:
    """What `datasets.load_dataset` loads under this name; code of the dataset is never run."""
    import datasets

    def load() -> Any:
        return datasets.load_dataset(name, config, split=split)

    return _records(load, name.rpartition("/")[2], "name one behind the config, as /default/train")


def _records(load: Callable[[], Any], name: str, advice: str) -> Records:
    import pyarrow as pa

    try:
        table = load()
    except (OSError, ValueError, RuntimeError, KeyError, TypeError, AttributeError, pa.ArrowException) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__).rstrip(".")
        raise DataError(f"The dataset {name!r} cannot be loaded: {reason}.") from None
    if isinstance(table, dict):
        if len(table) != 1:
            raise DataError(f"The dataset {name!r} has the splits {', '.join(map(repr, table))}: {advice}.")
        (table,) = table.values()

    def batches() -> Iterator[Any]:
        yield from table.with_format("arrow").iter(batch_size=_ROWS)

    return arrow_records(name, table.column_names, batches)
