"""Break the package in one place at a time and see whether the plain tests notice.

`python tests/mutants.py --n 30 --seed 0`: draws places in the rooms that compute numbers, changes a comparison, an
operator, a sign, a constant or a condition there in a copy of the package, and runs the tests of the file, then those
of its room, then all plain tests, until one fails. Prints each place and the test that caught it; exit status 1 if more
than `--most` survive.
"""

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
ROOMS = (
    "categories", "descriptors", "evidence", "methods", "metrics", "models", "prompts", "rules", "scores", "statistics",
    "sweeps",
)  # fmt: skip
_SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


class Mutant(NamedTuple):
    """A change of one place."""

    file: Path
    line: int
    before: str
    after: str
    source: str
    """The whole file, changed."""


def places(tree: ast.AST) -> Iterator[ast.AST]:
    """Nodes that can be changed; none in annotations, messages of errors, or what only type checkers read."""
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list", "exc", "msg", "bases"):
            continue
        for node in value if isinstance(value, list) else [value]:
            if isinstance(node, ast.AST) and not isinstance(node, ast.JoinedStr) and not _for_types(node):
                if _changed(node) is not None:
                    yield node
                yield from places(node)


def _for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def _changed(node: ast.AST) -> ast.AST | None:
    """The node in another form; None where it has none that is surely wrong."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _SWAPS:
        return ast.Compare(node.left, [_SWAPS[type(node.ops[0])](), *node.ops[1:]], node.comparators)  # type: ignore[list-item]
    if isinstance(node, ast.BinOp) and type(node.op) in _SWAPS and not _holds_text(node):
        return ast.BinOp(node.left, _SWAPS[type(node.op)](), node.right)  # type: ignore[arg-type]
    if isinstance(node, ast.BoolOp):
        return ast.BoolOp(_SWAPS[type(node.op)](), node.values)  # type: ignore[arg-type]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
        return node.operand
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return ast.Constant(node.value + 1 if isinstance(node.value, int) else node.value * 2 + 0.1)
    return None


def _holds_text(node: ast.AST) -> bool:
    return any(
        isinstance(part, ast.JoinedStr) or (isinstance(part, ast.Constant) and isinstance(part.value, str))
        for part in ast.walk(node)
    )


def drawn(n: int, seed: int) -> list[Mutant]:
    """`n` mutants of different files, as many of each room as of another."""
    draws = random.Random(seed)
    rooms = {room: sorted((ROOT / "headcats" / room).rglob("*.py")) for room in ROOMS}
    for files in rooms.values():
        draws.shuffle(files)
    mutants: list[Mutant] = []
    while len(mutants) < n and any(rooms.values()):
        for room in draws.sample(ROOMS, len(ROOMS)):
            while rooms[room] and len(mutants) < n:
                if mutant := _of_file(rooms[room].pop(), draws):
                    mutants.append(mutant)
                    break
    return mutants


def _of_file(file: Path, draws: random.Random) -> Mutant | None:
    text = file.read_text(encoding="utf-8")
    nodes = list(places(ast.parse(text)))
    if not nodes:
        return None
    node = draws.choice(nodes)
    before, changed = ast.get_source_segment(text, node) or "", _changed(node)
    assert changed is not None
    lines = text.splitlines(keepends=True)
    start = sum(len(line.encode()) for line in lines[: node.lineno - 1]) + node.col_offset  # type: ignore[attr-defined]
    raw, after = text.encode(), f"({ast.unparse(changed)})"
    source = raw[:start] + after.encode() + raw[start + len(before.encode()) :]
    return Mutant(file.relative_to(ROOT), node.lineno, before, after, source.decode())  # type: ignore[attr-defined]


def caught_by(mutant: Mutant, copy: Path) -> str:
    """The test that fails with the mutant; "" if none does.

    Args:
        mutant: What to try.
        copy: A folder that holds a copy of the package.
    """
    target = copy / mutant.file
    right = target.read_text(encoding="utf-8")
    target.write_text(mutant.source, encoding="utf-8")
    try:
        room = ROOT.joinpath("tests", *mutant.file.parts[1:-1])
        own = [path for path in sorted(room.glob("test_*.py")) if path.stem == f"test_{mutant.file.stem}"]
        own += (ROOT / "tests").glob(f"test_{mutant.file.parts[1]}.py")
        for tests in ([*own], [room] if room.exists() else [], [ROOT / "tests"]):
            if tests and (failed := _first_failure(tests, copy)):
                return failed
    finally:
        target.write_text(right, encoding="utf-8")
    return ""


def _python(arguments: list[str], copy: Path) -> subprocess.CompletedProcess[str]:
    """Run Python with the copy of the package; without `PYTHONSAFEPATH` it would find that of the current folder."""
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, encoding="utf-8", check=False,
        env=os.environ | {"PYTHONPATH": str(copy), "PYTHONSAFEPATH": "1", "OMP_NUM_THREADS": "1"},
    )  # fmt: skip


def _first_failure(tests: list[Path], copy: Path) -> str:
    done = _python(["-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--tb=no", "-n2", *map(str, tests)], copy)
    if done.returncode in (0, 5):  # all passed, or there is none
        return ""
    if named := re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE):
        return named[1]
    if done.returncode == 4:  # the fault is not that of the mutant: a full disk, say
        sys.exit(done.stderr)
    return f"pytest ended with {done.returncode}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--most", type=int, default=2, help="how many may survive")
    chosen = parser.parse_args()
    survivors = 0
    with tempfile.TemporaryDirectory() as home:
        copy = Path(shutil.copytree(ROOT / "headcats", Path(home) / "headcats")).parent
        imported = _python(["-c", "import headcats; print(headcats.__file__)"], copy).stdout.strip()
        if not imported.startswith(str(copy)):
            sys.exit(f"The tests would import {imported}, not the copy in {copy}.")
        if failed := _first_failure([ROOT / "tests"], copy):
            sys.exit(f"Without any change {failed} fails.")
        mutants = drawn(chosen.n, chosen.seed)
        for number, mutant in enumerate(mutants, 1):
            test = caught_by(mutant, copy)
            survivors += not test
            change = f"{mutant.before} -> {mutant.after}".replace("\n", " ")
            print(f"{number:3d}  {mutant.file}:{mutant.line}  {change}  |  {test or 'SURVIVED'}", flush=True)
    print(f"{len(mutants) - survivors} of {len(mutants)} caught, seed {chosen.seed}")
    return int(survivors > chosen.most)


if __name__ == "__main__":
    sys.exit(main())
