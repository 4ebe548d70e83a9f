"""Which pinned versions have known advisories, from a saved database: for machines without network.

    python docs/scripts/advisories.py DATABASE [FILE]

With network, `pip-audit --strict --no-deps --disable-pip -r constraints.txt` asks a database of today.

DATABASE is `insecure.json` of Safety DB, or a folder of advisories in the OSV format (`*.yaml`, `*.json`), such as the
PyPA's. FILE holds lines `name==version`; constraints.txt if not given. Ends with 1 if something was found.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

ROOT = Path(__file__).parents[2]


def pins_of(text: str) -> dict[str, Version]:
    """Name -> version of lines `name==version`."""
    lines = (line.partition("#")[0].split("==") for line in text.splitlines())
    return {canonicalize_name(line[0].strip()): Version(line[1].strip()) for line in lines if len(line) == 2}


def in_safety_db(entries: Mapping[str, list[str]], pins: Mapping[str, Version]) -> Iterator[str]:
    """Name, version and range of every hit in Safety DB."""
    for name, ranges in entries.items():
        version = pins.get(canonicalize_name(name))
        for versions in ranges if version is not None else ():
            if SpecifierSet(versions).contains(version, prereleases=True):
                yield f"{name} {version}: insecure {versions}"


def in_osv(advisory: Mapping[str, Any], pins: Mapping[str, Version]) -> Iterator[str]:
    """Name, version and advisory, if it is about a pinned version and was not withdrawn."""
    for affected in () if advisory.get("withdrawn") else advisory.get("affected", ()):
        package = affected.get("package", {})
        version = pins.get(canonicalize_name(package.get("name", "")))
        if package.get("ecosystem") == "PyPI" and version is not None and _is_affected(version, affected):
            yield f"{package['name']} {version}: {', '.join([advisory['id'], *advisory.get('aliases', ())])}"


def _is_affected(version: Version, affected: Mapping[str, Any]) -> bool:
    if version in map(_parsed, affected.get("versions", ())):
        return True
    for versions in affected.get("ranges", ()):
        if versions["type"] != "ECOSYSTEM":
            continue
        events = [(_parsed(text), event) for entry in versions["events"] for event, text in entry.items()]
        is_hit = False
        for bound, event in sorted((pair for pair in events if pair[0]), key=lambda pair: pair[0] or version):
            if event == "introduced" and version >= bound:
                is_hit = True
            elif (event == "fixed" and version >= bound) or (event == "last_affected" and version > bound):
                is_hit = False
        if is_hit:
            return True
    return False


def _parsed(text: str) -> Version | None:
    try:
        return Version(text)
    except InvalidVersion:
        return None  # of a time before PEP 440: no pin has it


def hits(database: Path, pins: Mapping[str, Version]) -> list[str]:
    """Every advisory about a pinned version, a line each."""
    if database.is_file():
        entries = json.loads(database.read_text(encoding="utf-8"))
        return sorted(in_safety_db({name: rows for name, rows in entries.items() if name != "$meta"}, pins))
    files = [path for path in database.rglob("*") if path.suffix in {".json", ".yaml"}]
    if not files:
        raise SystemExit(f"{database} is neither a file nor a folder with advisories (*.yaml, *.json).")
    read = (yaml.safe_load(path.read_text(encoding="utf-8")) for path in files)  # JSON is YAML, too
    return sorted({line for advisory in read for line in in_osv(advisory, pins)})


if __name__ == "__main__":
    pinned = pins_of(Path([*sys.argv, ROOT / "constraints.txt"][2]).read_text(encoding="utf-8"))
    found = hits(Path(sys.argv[1]), pinned)
    print(*found, f"{len(pinned)} versions, {len(found)} advisories", sep="\n")
    sys.exit(bool(found))
