"""The page of dependencies agrees with pyproject.toml and constraints.txt."""

import json
from pathlib import Path

import pytest
from advisories import hits, pins_of
from dependencies import NOT_PINNED, PAGE, UNKNOWN, declared, is_permissive, with_tables, written

ROWS = written(PAGE.read_text(encoding="utf-8"))


def test_its_table_has_the_names_bounds_and_pins() -> None:
    assert [row[:4] for row in ROWS] == [row[:4] for row in declared()], "run `python docs/scripts/dependencies.py`"


def test_every_row_says_licence_and_use() -> None:
    assert not [row.name for row in ROWS if row.licence in ("", UNKNOWN) or not row.use]


def test_every_dependency_is_pinned() -> None:
    assert [row.name for row in ROWS if row.tested == NOT_PINNED] == []


def test_making_the_tables_again_keeps_what_was_written_by_hand() -> None:
    again = written(with_tables(PAGE.read_text(encoding="utf-8")))
    assert [(row.name, row.use) for row in again] == [(row.name, row.use) for row in ROWS]


@pytest.mark.parametrize(
    ("licence", "permissive"),
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


class TestAdvisories:
    PINS = pins_of("# tested\nSome_Package==1.4\nother==2.0  # why\n")

    def test_safety_db(self, tmp_path: Path) -> None:
        database = tmp_path / "insecure.json"
        rows = {"$meta": {"timestamp": 0}, "some-package": ["<1.4", ">=1.0,<1.5"], "absent": ["<9"]}
        database.write_text(json.dumps(rows), encoding="utf-8")
        assert hits(database, self.PINS) == ["some-package 1.4: insecure >=1.0,<1.5"]

    @pytest.mark.parametrize(
        ("events", "is_hit"),
        [
            ([{"introduced": "0"}], True),
            ([{"introduced": "0"}, {"fixed": "1.4"}], False),
            ([{"introduced": "0"}, {"last_affected": "1.4"}], True),
            ([{"introduced": "0"}, {"fixed": "1.0"}, {"introduced": "1.3"}, {"fixed": "1.10"}], True),
            ([{"introduced": "1.5"}], False),
        ],
    )
    @pytest.mark.parametrize("withdrawn", [False, True])
    def test_osv(self, events: list[dict[str, str]], is_hit: bool, withdrawn: bool, tmp_path: Path) -> None:
        package = {"ecosystem": "PyPI", "name": "some.package"}
        advisory = {
            "id": "X-1",
            "affected": [{"package": package, "ranges": [{"type": "ECOSYSTEM", "events": events}]}],
        }
        if withdrawn:
            advisory["withdrawn"] = "2026-01-01T00:00:00Z"
        (tmp_path / "X-1.json").write_text(json.dumps(advisory), encoding="utf-8")
        assert hits(tmp_path, self.PINS) == (["some.package 1.4: X-1"] if is_hit and not withdrawn else [])

    def test_an_empty_folder_is_no_database(self, tmp_path: Path) -> None:
        with pytest.raises(SystemExit, match="neither a file nor a folder"):
            hits(tmp_path, self.PINS)
