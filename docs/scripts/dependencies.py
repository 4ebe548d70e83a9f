"""Write the tables of docs/dependencies.md again, from pyproject.toml, constraints.txt and what is installed.

    pip install -c constraints.txt -e ".[test]" && python docs/scripts/dependencies.py

Bounds come from pyproject.toml, tested versions from constraints.txt, licences from the metadata of the installed
packages. What headcats uses a package for is written by hand, in the last column, and kept. So is the licence of a
package that is not installed.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "dependencies.md"
NOT_PINNED = "not tested"
UNKNOWN = "unknown"
_DIRECT_HEAD = "| Package | Extra | Needs | Tested | Licence | Used for |\n|:--|:--|:--|:--|:--|:--|\n"
_KINDS_HEAD = "| Licence | Packages |\n|:--|:--|\n"
# What metadata say that predate SPDX expressions, as field or classifier.
_SPDX = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "Apache 2.0 License": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD",
    "ISC License": "ISC",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "The MIT License (MIT)": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}
_PERMISSIVE = {"0BSD", "Apache-2.0", "BSD", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0", "CNRI-Python", "ISC"}
_PERMISSIVE |= {"LLVM-exception", "MIT", "PSF-2.0", "Zlib"}
_SHORT = re.compile(r"[\w.+-]+(?: (?:AND|OR|WITH) [\w.+-]+)*")


class Direct(NamedTuple):
    """A row of the first table: a package that pyproject.toml names."""

    name: str
    extra: str
    needs: str
    tested: str
    licence: str = UNKNOWN
    use: str = ""


def declared() -> list[Direct]:
    """Every direct dependency with its bound and pin, those of the plain install first."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pins = tested_versions()
    groups = {"": project["dependencies"], **project["optional-dependencies"]}
    rows = []
    for extra, lines in groups.items():
        for requirement in map(Requirement, lines):
            if requirement.name != project["name"]:
                needs = ",".join(sorted(map(str, requirement.specifier), reverse=True))
                tested = pins.get(canonicalize_name(requirement.name), NOT_PINNED)
                rows.append(Direct(requirement.name, extra, needs, tested))
    return rows


def tested_versions() -> dict[str, str]:
    """Name -> version of constraints.txt."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = (line.split("==") for line in lines if "==" in line and not line.startswith("#"))
    return {canonicalize_name(name): version for name, version in pins}


def written(page: str) -> list[Direct]:
    """The rows of the first table as the page has them."""
    _, _, after = page.partition(_DIRECT_HEAD)
    return [Direct(*(cell.strip() for cell in line.strip("|").split("|"))) for line in _rows(after).splitlines()]


def licence_of(package: Distribution) -> str:
    """SPDX expression of the metadata, or for older ones of what their fields or licence files begin with.

    `unknown` where none of them is known here.
    """
    fields = package.metadata
    classifiers = [line.rpartition(" :: ")[2] for line in fields.get_all("Classifier") or () if line[:7] == "License"]
    texts = [fields.get("License-Expression"), fields.get("License"), " OR ".join(_SPDX.get(x, x) for x in classifiers)]
    texts += [package.read_text(f"licenses/{file}") for file in fields.get_all("License-File") or ()]
    for text in filter(None, texts):
        first_line = text.strip().partition("\n")[0]
        spdx = _SPDX.get(first_line, text)
        if _SHORT.fullmatch(spdx):
            return spdx
    return UNKNOWN


def installed(names: list[str]) -> dict[str, Distribution]:
    """These packages and all that they require on this machine, by name."""
    packages: dict[str, Distribution] = {}
    visited: set[tuple[str, str]] = set()

    def visit(name: str, extra: str) -> None:
        if (canonicalize_name(name), extra) in visited:
            return
        visited.add((canonicalize_name(name), extra))
        package = packages[canonicalize_name(name)] = distribution(name)
        for requirement in map(Requirement, package.requires or ()):
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                for asked in ("", *requirement.extras):
                    visit(requirement.name, asked)

    for name in names:
        visit(name, "")
    return packages


def is_permissive(licence: str) -> bool:
    """Nothing in the expression asks for more than a notice."""
    return set(re.split(r" (?:AND|OR|WITH) ", licence)) <= _PERMISSIVE


def direct_table(page: str) -> str:
    """The first table; uses, and licences of what is not installed, as the page has them."""
    before = {(row.name, row.extra): row for row in written(page)}

    def lines() -> Iterator[str]:
        for row in declared():
            old = before.get((row.name, row.extra), row)
            try:
                licence = licence_of(distribution(row.name))
            except PackageNotFoundError:
                licence = old.licence
            yield f"| {' | '.join(row._replace(licence=licence, use=old.use))} |\n"

    return _DIRECT_HEAD + "".join(lines())


def kinds_table() -> str:
    """The second table: licences of the plain install by kind, with the names of what is not permissive."""
    packages = installed([row.name for row in declared() if not row.extra])
    licences = {name: licence_of(package) for name, package in sorted(packages.items())}
    counts = Counter(licence for licence in licences.values() if is_permissive(licence))
    ranked = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    rows = [f"| permissive | {', '.join(f'{count} {licence}' for licence, count in ranked)} |\n"]
    rows += [f"| **{licence}** | {name} |\n" for name, licence in licences.items() if not is_permissive(licence)]
    return _KINDS_HEAD + "".join(rows)


def with_tables(page: str) -> str:
    """The page with both tables made again."""
    for head, table in ((_DIRECT_HEAD, direct_table(page)), (_KINDS_HEAD, kinds_table())):
        before, found, after = page.partition(head)
        if not found:
            raise ValueError(f"{PAGE.name} must hold a table that starts with {head.splitlines()[0]!r}.")
        page = before + table + after.removeprefix(_rows(after))
    return page


def _rows(text: str) -> str:
    """The rows of a table that `text` goes on with."""
    rows = re.match(r"(?:\|.*\n)*", text)
    return rows[0] if rows else ""


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"Wrote {PAGE.relative_to(ROOT)}.")
