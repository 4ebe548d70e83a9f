"""The page of dependencies agrees with pyproject.toml and constraints.txt."""

from dependencies import PAGE, UNKNOWN, declared, is_permissive, with_tables, written
from for_each import for_each

ROWS = written(PAGE.read_text(encoding="utf-8"))


def test_its_table_has_the_names_bounds_and_pins() -> None:
    assert [row[:4] for row in ROWS] == [row[:4] for row in declared()], "run `python docs/scripts/dependencies.py`"


def test_every_row_says_licence_and_use() -> None:
    assert not [row.name for row in ROWS if row.licence in ("", UNKNOWN) or not row.use]


def test_making_the_tables_again_keeps_what_was_written_by_hand() -> None:
    again = written(with_tables(PAGE.read_text(encoding="utf-8")))
    assert [(row.name, row.use) for row in again] == [(row.name, row.use) for row in ROWS]


@for_each(
    "licence,permissive",
    [
        ("MIT", True),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("MPL-2.0 AND MIT", False),
        ("LicenseRef-NVIDIA-Proprietary", False),
        (UNKNOWN, False),
    ],
)
def test_permissive_licences(licence: str, permissive: bool) -> None:
    assert is_permissive(licence) is permissive
