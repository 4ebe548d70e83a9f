"""Inputs that went wrong, in their thousands: whatever is in a file or on the command line, only errors of headcats.

`python tests/fuzzing.py --n 10000` prints how often each kind was tried and what became of it. Every input is a change
of a good one: of its bytes, or of its structure with a checksum that fits, as if another program had written it.
"""

import argparse
import contextlib
import functools
import io
import json
import logging
import random
import shutil
import signal
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import hypothesis
import numpy as np
import torch
import xarray as xr
from counting import SUITE, counting_folder
from hypothesis import strategies as st
from hypothesis.errors import StopTest
from simulated import block
from typer.testing import CliRunner

import headcats as hc
from headcats import cli
from headcats.base.errors import HeadcatsError
from headcats.categories.map_spec import MapSpec
from headcats.categories.run_maps import map_tables
from headcats.cli.options import settings
from headcats.models.adapter import HookedModel
from headcats.results.file_format import json_content_of, json_with_checksum
from headcats.results.folder import ResultsFolder
from headcats.results.manifest import Manifest
from headcats.results.records import BlockRecord, CategoryRecord, MethodRecord, ModelRecord, PlanRecord, TaskRecord
from headcats.results.run_results import RunResults
from headcats.results.tables import read_table, table_bytes

FINE = ("read", "named")
LONGEST = 30.0  # seconds of computing that one input may take: a whole reading, on a busy machine
LABELS = ("denoising_patch@last", "mean_ablation@all")
TASKS = {"capital": "Knowledge", "plural": "Linguistic", "language": "Knowledge", "tense": "Linguistic"}
STUDY = 'suite = "icl"\nmethods = ["denoising_patch"]\nn_prompts = 8\nseed = 0\ntasks = ["next_letter"]\n'
VALUES: list[Any] = [
    None, True, 0, -1, 3, 10**30, 0.5, float("nan"), float("inf"), "", "x", "é\x00", "../../x", [], [1], ["x"], {},
    {"x": 1}, "a" * 300, "denoising_patch@last", "2026-01-01", "#ff7f0e", [[]], {"": {}},
]  # fmt: skip


KNOWN = "--method --metric --rule --min-tasks --effect --sign --positions --csv --json --x"
WORDS = (
    " x -1 0 3 nan inf half fdr fdr:alpha=x threshold:value=0.1 : a=b total helping last logit_diff elbow "
    "fdr:alpha=0.05,alpha=1 task_specific suppressing all"
)


class TooLongError(BaseException):
    """An input took too long; nothing that is attacked may catch this."""


def good_folder(path: Path) -> Path:
    """Results of four tasks by two methods, of which one is finished."""
    folder, draw = ResultsFolder(path), np.random.default_rng(0)
    checksums: dict[str, str] = {}
    for task in TASKS:
        for label in LABELS:
            values = draw.normal(0.05, 0.02, (12, 2, 3))
            checksums[task] = folder.write_block(task, label, block(values).assign_attrs(fingerprint="f"))
    stored = {task: folder.read_block(task, LABELS[-1]) for task in TASKS}
    folder.write_joined(LABELS[-1], stored, checksums=checksums, categories=TASKS)
    folder.write_suite(json.dumps({"name": "made up", "tasks": [{"name": task} for task in TASKS]}))
    folder.write_manifest(
        Manifest(
            plan=PlanRecord(suite="made up", metrics=("logit_diff",), n_prompts=12, n_demos=2, template="arrow"),
            model=ModelRecord("toy", weights_hash="h", dtype="float32", layers=(0, 1), heads=(3, 3)),
            categories=(CategoryRecord("Knowledge", "#ff7f0e"), CategoryRecord("Linguistic", "#2ca02c")),
            methods=LABELS,
            requested=tuple(TASKS),
            tasks={task: TaskRecord(category, accuracy=0.9, n_items=12) for task, category in TASKS.items()},
            blocks={
                label: MethodRecord({task: BlockRecord("f", "last_position") for task in TASKS}) for label in LABELS
            },
            beside=("suite.json",),
            versions={"headcats": "0.1.0"},
            created="2026-01-01T00:00:00+00:00",
        )
    )
    return path


@functools.cache
def model() -> HookedModel:
    """A model that can do the tasks of `counting`."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as place:
        return hc.load_model(counting_folder(Path(place)), device="cpu")


def run_again(folder: Path) -> None:
    """A run of it into a folder, begun or continued."""
    options = {"n_prompts": 8, "n_demos": 2, "methods": ["denoising_patch"], "progress": False}
    hc.run(model(), suite=SUITE, tasks=["always_a", "always_b", "always_c"], out=folder, **options)


def studied_folder(path: Path) -> Path:
    """That run with evidence."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        run_again(path)
        hc.run_evidence(model(), path, n_prompts=4, relabellings=19)
    return path


def invoked(*arguments: str) -> None:
    """Run a command line; what it raises beside its own errors is raised."""
    result = CliRunner().invoke(cli.app, list(arguments))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception


# ----------------------------------------------------------------------------------------------------- the changes
def change_bytes(data: bytes, draw: random.Random) -> bytes:
    """A few bytes flipped, cut, doubled, zeroed or put in."""
    changed = bytearray(data)
    for _ in range(draw.choice([1, 1, 1, 2, 5])):
        at, n = draw.randrange(len(changed) + 1), draw.choice([1, 1, 8, 64, 500])
        what = draw.choice(["flip", "cut", "double", "zero", "put in", "end"])
        if what == "flip" and at < len(changed):
            changed[at] ^= 1 << draw.randrange(8)
        elif what == "cut":
            del changed[at : at + n]
        elif what == "double":
            changed[at:at] = changed[at : at + n]
        elif what == "zero":
            changed[at : at + n] = bytes(len(changed[at : at + n]))
        elif what == "put in":
            changed[at:at] = draw.randbytes(n)
        else:
            del changed[at:]
    return bytes(changed)


def change_structure(value: Any, draw: random.Random) -> Any:
    """One entry of JSON replaced, removed, renamed or doubled, somewhere in it."""
    if isinstance(value, dict) and value and draw.random() < 0.9:
        key = draw.choice(list(value))
        what = draw.choice(["deeper", "deeper", "deeper", "replace", "remove", "rename"])
        rest = {name: entry for name, entry in value.items() if name != key}
        if what == "deeper":
            return value | {key: change_structure(value[key], draw)}
        if what == "remove":
            return rest
        if what == "rename":
            return rest | {draw.choice(["", "x", f"{key} ", key.upper()]): value[key]}
        return value | {key: draw.choice(VALUES)}
    if isinstance(value, list) and value and draw.random() < 0.9:
        at = draw.randrange(len(value))
        what = draw.choice(["deeper", "replace", "remove", "double"])
        entry = {
            "deeper": lambda: [change_structure(value[at], draw)],
            "replace": lambda: [draw.choice(VALUES)],
            "remove": list,
            "double": lambda: [value[at]] * 2,
        }[what]()
        return [*value[:at], *entry, *value[at + 1 :]]
    return draw.choice(VALUES)


def change_table(table: xr.Dataset, draw: random.Random) -> xr.Dataset:
    """A variable, dimension or attribute of a table lost, renamed, cut or of another type."""
    what = draw.choice(["drop", "rename", "cut", "text", "lost axis", "attribute", "nan", "transpose", "no labels"])
    names = [str(name) for name in table.variables]
    name = draw.choice(names)
    if what == "drop":
        return table.drop_vars(name)
    if what == "rename":
        return table.rename({name: draw.choice(["x", "patched2", "head_"])})
    if what == "cut":
        dim = draw.choice([str(dim) for dim in table.dims])
        return table.isel({dim: slice(0, draw.choice([0, 1]))})
    if what == "lost axis":
        return table.isel({draw.choice([str(dim) for dim in table.dims]): 0}, drop=draw.random() < 0.5)
    if what == "attribute":
        key = draw.choice(list(table.attrs))
        return table.assign_attrs({key: draw.choice(["", "x", "{", "[]", "3", 3, "null"])})
    values = table[draw.choice([name for name, each in table.data_vars.items() if each.dtype.kind in "iuf"])]
    if what == "nan":
        return table.assign({values.name: values * np.nan})
    if what == "transpose":
        return table.transpose(*reversed(list(table.dims)))
    if what == "no labels":
        return table.drop_vars([str(name) for name in table.coords])
    return table.assign({values.name: values.astype(str)})


# ------------------------------------------------------------------------------------------------------ the attacks
def read_all(folder: Path) -> None:
    """What commands without a model do with results."""
    run = RunResults(hc.load(folder))
    if run.tasks:
        map_tables(run, MapSpec.parse().resolve(run))
    hc.report(folder)


def damage(path: Path, draw: random.Random, read: Callable[[], object]) -> None:
    """Change bytes of a file; reading it must then fail, unless nothing has changed."""
    before = path.read_bytes()
    path.write_bytes(change_bytes(before, draw))
    with contextlib.suppress(HeadcatsError):
        read()
        assert path.read_bytes() == before, "a damaged file was read"


def manifest_bytes(folder: Path, draw: random.Random) -> None:
    """Bytes of the manifest."""
    damage(folder / "manifest.json", draw, ResultsFolder(folder).read_manifest)
    read_all(folder)


def change_entries(path: Path, draw: random.Random) -> None:
    """Change the structure of a JSON file, with a checksum that fits."""
    stored = change_structure(json.loads(json_content_of(path.read_bytes())), draw)
    path.write_bytes(json_with_checksum(json.dumps(stored)) if isinstance(stored, dict) and stored else b"0")


def manifest_structure(folder: Path, draw: random.Random) -> None:
    """Entries of the manifest, with a checksum that fits."""
    change_entries(folder / "manifest.json", draw)
    read_all(folder)


def block_bytes(folder: Path, draw: random.Random) -> None:
    """Bytes of a block."""
    path = draw.choice(sorted(folder.rglob("*.nc")))
    damage(path, draw, lambda: read_table(path, again="-"))
    read_all(folder)


def block_structure(folder: Path, draw: random.Random) -> None:
    """A block that is no block, with a checksum that fits."""
    path = draw.choice(sorted(folder.rglob("*.nc")))
    made = read_table(path, again="-")
    path.write_bytes(table_bytes(change_table(made, draw)))
    read_all(folder)


def suite_file(folder: Path, draw: random.Random) -> None:
    """Entries of the suite."""
    change_entries(folder / "suite.json", draw)
    read_all(folder)
    settings(None, {"out": folder})


def study_toml(folder: Path, draw: random.Random) -> None:
    """A study.toml."""
    path = folder / "study.toml"
    path.write_bytes(change_bytes(STUDY.encode(), draw))
    hc.suite(settings(path, {})["suite"])


def options(folder: Path, draw: random.Random) -> None:
    """Options of commands without a model."""
    values = [*LABELS, *WORDS.split(" "), "9" * 40, "\x1b[1m"]
    known = KNOWN.split(" ")
    command = draw.choice(["map", "report", "compare", "figure", "export", "list"])
    arguments = {"figure": ["overlap_map", str(folder)], "list": ["tasks"]}
    chosen = [command, *arguments.get(command, [str(folder)])]
    for _ in range(draw.randrange(1, 4)):
        chosen += [draw.choice(known), draw.choice(values)]
    with contextlib.chdir(folder):  # where files are that an option names
        invoked(*chosen)


def evidence_bytes(folder: Path, draw: random.Random) -> None:
    """Bytes of a file of evidence."""
    path = draw.choice(sorted(folder.rglob("evidence/**/*.nc")))
    damage(path, draw, lambda: read_table(path, again="-"))
    if draw.random() < 0.5:
        hc.report(folder)
    else:
        figure = "relabelled_tasks"
        invoked("figure", figure, str(folder), "--out", str(folder / "figure.html"))


def evidence_structure(folder: Path, draw: random.Random) -> None:
    """A table of evidence that is none, with a checksum that fits."""
    path = draw.choice(sorted(folder.rglob("evidence/**/*.nc")))
    table = read_table(path, again="-")
    path.write_bytes(table_bytes(change_table(table, draw)))
    hc.report(folder)


def continued_run(folder: Path, draw: random.Random) -> None:
    """Bytes or entries of a manifest, which a run then finds."""
    path = folder / "manifest.json"
    if draw.random() < 0.5:
        path.write_bytes(change_bytes(path.read_bytes(), draw))
    else:
        change_entries(path, draw)
    run_again(folder)


OF_A_RUN: dict[str, Callable[[Path, random.Random], None]] = {
    "evidence, bytes": evidence_bytes,
    "evidence, structure": evidence_structure,
    "manifest under `run`": continued_run,
}
ATTACKS = OF_A_RUN | {
    "manifest, bytes": manifest_bytes,
    "manifest, entries": manifest_structure,
    "block, bytes": block_bytes,
    "block, structure": block_structure,
    "suite, entries": suite_file,
    "study.toml": study_toml,
    "options": options,
}


@contextlib.contextmanager
def in_time() -> Iterator[None]:
    """Interrupt what computes too long; what waits too long is left to whoever runs this."""

    def stop(*_: object) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, LONGEST)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def everything(root: Path, *, without: Path) -> list[tuple[Path, int, int]]:
    """Files and folders beside the one that is attacked, and in the current directory; files with size and time."""
    places = (path for place in (root, Path()) for path in place.rglob("*"))
    outside = sorted(path for path in places if not path.resolve().is_relative_to(without.resolve()))
    found = [(path, path.lstat()) for path in outside]
    return [(path, at.st_size, at.st_mtime_ns) if path.is_file() else (path, 0, 0) for path, at in found]


def outcome(attack: Callable[[Path, random.Random], None], good: Path, root: Path, draw: random.Random) -> str:
    """What became of one input, on a copy of good results."""
    folder = Path(shutil.copytree(good, root / "r"))
    outside, printed = everything(root, without=folder), io.StringIO()
    try:
        with warnings.catch_warnings(), contextlib.redirect_stderr(printed), in_time():
            warnings.simplefilter("ignore")
            attack(folder, draw)
        found = "read"
    except HeadcatsError:
        found = "named"
    except (KeyboardInterrupt, StopTest):  # Hypothesis has had enough of this one
        shutil.rmtree(folder)
        raise
    except TooLongError:
        found = "hang"
    except BaseException as error:  # noqa: BLE001 - what is looked for
        place = traceback.extract_tb(error.__traceback__)[-1]
        found = f"{type(error).__name__}: {str(error)[:80]} ({Path(place.filename).name}:{place.lineno})"
    if "Traceback" in printed.getvalue():
        found = f"printed a traceback: {printed.getvalue().splitlines()[-1][:80]}"
    if everything(root, without=folder) != outside:
        found = "wrote outside"
    shutil.rmtree(folder)
    return found


def table(n: int, *, seed: int = 0, kinds: Sequence[str] = tuple(ATTACKS)) -> Counter[tuple[str, str]]:
    """(kind, outcome) -> how often, over so many inputs of these kinds; of a wrong one the shortest is printed."""
    outcomes: Counter[tuple[str, str]] = Counter()
    with tempfile.TemporaryDirectory() as place, contextlib.chdir(place):
        root = Path(place)
        good, work = good_folder(root / "good"), root / "work"
        studied = studied_folder(root / "studied") if OF_A_RUN.keys() & set(kinds) else good
        work.mkdir()
        for number, kind in enumerate(kinds):
            inputs = n // len(kinds) + (number < n % len(kinds))
            attack(kind, studied if kind in OF_A_RUN else good, work, inputs=inputs, seed=seed, outcomes=outcomes)
    return outcomes


def attack(kind: str, good: Path, work: Path, *, inputs: int, seed: int, outcomes: Counter[tuple[str, str]]) -> None:
    """Try so many inputs of a kind, whose choices are those of Hypothesis; it shortens what goes wrong."""

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=inputs,
        deadline=None,
        database=None,
        report_multiple_bugs=False,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(st.randoms(note_method_calls=True, use_true_random=False))
    def attacked(draw: random.Random) -> None:
        found = outcome(ATTACKS[kind], good, work, draw)
        outcomes[kind, found] += 1
        assert found in FINE, f"{kind}: {found}"

    try:
        attacked()
    except AssertionError as error:
        print(error, *getattr(error, "__notes__", ()), sep="\n", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="*", default=list(ATTACKS), choices=list(ATTACKS))
    arguments = parser.parse_args()
    logging.disable()
    outcomes = table(arguments.n, seed=arguments.seed, kinds=arguments.kinds)
    for (kind, found), count in sorted(outcomes.items()):
        print(f"{count:6d}  {kind}: {found}")
    wrong = sum(count for (_, found), count in outcomes.items() if found not in FINE)
    print(f"{outcomes.total()} inputs, {wrong} with a foreign error, a hang or a write outside")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
