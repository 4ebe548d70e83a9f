"""Word tables: one TSV per domain, one row per entry; two columns give (input, output) pairs."""

import csv
import functools
from importlib import resources

from headcats.errors import UnknownNameError
from headcats.registry import unknown_name_message


def table_pairs(table: str, source: str, target: str) -> list[tuple[str, str]]:
    """(source, target) pairs of two columns of a word table, in row order, without the pairs that `merge` drops.

    Args:
        table: Name of a table in `headcats/tasks/tables`, such as "countries".
        source: Column of the inputs.
        target: Column of the outputs.

    Raises:
        UnknownNameError: No such table or column.
    """
    rows = _read(table)
    for column in (source, target):
        if column not in rows[0]:
            raise UnknownNameError(unknown_name_message(f"column of table {table!r}", column, rows[0]))
    return merge([(row[source], row[target]) for row in rows])


def merge(*lists: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Lists of (source, target) pairs as one, without duplicates, empty words and pairs of equal words.

    Sources with two different targets are dropped too: a question with two answers cannot be scored.
    """
    pairs = [pair for pairs in lists for pair in pairs if all(pair) and pair[0] != pair[1]]
    targets: dict[str, set[str]] = {}
    for source, target in pairs:
        targets.setdefault(source, set()).add(target)
    return list(dict.fromkeys(pair for pair in pairs if len(targets[pair[0]]) == 1))


@functools.cache
def _read(table: str) -> list[dict[str, str]]:
    folder = resources.files("headcats.tasks") / "tables"
    path = folder / f"{table}.tsv"
    if not path.is_file():
        tables = sorted(entry.name.removesuffix(".tsv") for entry in folder.iterdir() if entry.name.endswith(".tsv"))
        raise UnknownNameError(unknown_name_message("word table", table, tables))
    lines = path.read_text(encoding="utf-8").splitlines()
    return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
