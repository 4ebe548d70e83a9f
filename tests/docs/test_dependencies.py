"""The page of dependencies agrees with pyproject.toml and constraints.txt."""

from dependencies import PAGE, UNKNOWN, declared, written

ROWS = written(PAGE.read_text(encoding="utf-8"))


def test_its_table_has_the_names_bounds_and_pins() -> None:
    assert [row[:4] for row in ROWS] == [row[:4] for row in declared()], "run `python docs/scripts/dependencies.py`"


def test_every_row_says_licence_and_use() -> None:
    assert not [row.name for row in ROWS if row.licence in ("", UNKNOWN) or not row.use]
