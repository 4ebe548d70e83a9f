"""Results folders that are well-formed and mean harm: nothing that they name is run or copied, and none of them grows.

`python tests/hostile_folders.py --n 200` prints how often each kind was tried and what became of it. Each folder is
read by one command, in a process of its own: what that leaves, opens and takes is looked at from outside.
"""

import argparse
import contextlib
import functools
import io
import itertools
import json
import logging
import os
import random
import resource
import shutil
import signal
import socket
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import h5py
import numpy as np
from counting import counting_folder
from fuzzing import FINE, studied_folder

from headcats import cli
from headcats.results.file_format import FORMAT, content_of, json_content_of, json_with_checksum, with_checksum

SECRET = b"3f9ac1d2 nobody but the owner reads this "
HIDDEN = "elsewhere"
"""Folder beside the results, of which nothing may come into them."""
LONGEST = 40  # seconds of computing that one command may take; six times that of waiting, on a busy machine
BASE, TIMES = 192 * 2**20, 1.5  # bytes of memory beside the good folder's; times the bytes of the files
EVIL = "import pathlib\npathlib.Path({mark!r}).touch()\nsuite = ['plural', 'antonym']\n"
Harm = Callable[[Path, random.Random], list[str] | None]
"""Makes a good copy hostile; returns the arguments of the one command that is tried, or None for any."""


# ------------------------------------------------------------------------------------------------------ parts of it
def change_json(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change what a JSON file holds, with a checksum that fits."""
    stored = json.loads(json_content_of(path.read_bytes()))
    change(stored)
    path.write_bytes(json_with_checksum(json.dumps(stored)))


def manifest_without_suite(folder: Path, source: str) -> None:
    """The suite of the results is left to whatever the manifest names."""

    def change(stored: dict[str, Any]) -> None:
        stored["suite_source"] = source
        stored["beside"].remove("suite.json")

    change_json(folder / "manifest.json", change)
    (folder / "suite.json").unlink()


def with_code(folder: Path) -> Path:
    """A file of Python whose execution leaves a mark beside the results."""
    path = folder / "evil.py"
    path.write_text(EVIL.format(mark=str(folder.parent / "mark")), encoding="utf-8")
    return path


def a_table(folder: Path, draw: random.Random) -> Path:
    """A table of any kind."""
    return draw.choice(sorted(folder.rglob("*.nc")))


def change_table(path: Path, change: Callable[[h5py.File], None]) -> None:
    """Change a table as another program would, with a checksum that fits."""
    image = io.BytesIO(content_of(path.read_bytes()))
    with h5py.File(image, "r+", track_order=True) as file:
        change(file)
    path.write_bytes(with_checksum(image.getvalue()))


def numbers(file: h5py.File) -> h5py.Dataset:
    """The first variable of numbers with axes."""
    return next(each for each in file.values() if each.dtype.kind == "f" and each.ndim and "NAME" not in each.attrs)


def replaced(file: h5py.File, make: Callable[[str, h5py.Dataset], object]) -> None:
    """Put something in place of that variable, with its attributes."""
    before = numbers(file)
    name = before.name.lstrip("/")
    attrs = {key: value for key, value in before.attrs.items() if key not in ("DIMENSION_LIST", "REFERENCE_LIST")}
    file.move(name, "before")
    make(name, file["before"])
    if isinstance(file.get(name, getlink=True), h5py.HardLink):
        for key, value in attrs.items():
            file[name].attrs[key] = value
    del file["before"]


def padded(file: h5py.File, draw: random.Random) -> None:
    """Half of them have megabytes of numbers beside: limits that grow with the file are tried, too."""
    if draw.random() < 0.5:
        data = np.frombuffer(draw.randbytes(draw.randrange(10**6, 5 * 10**6)), np.uint8)
        places = [int(each.attrs["_Netcdf4Dimid"]) for each in file.values() if "_Netcdf4Dimid" in each.attrs]
        pad = file.create_dataset("pad", data=data, track_order=True)
        pad.make_scale("pad")
        pad.attrs["_Netcdf4Dimid"] = np.int32(max(places) + 1)


# ------------------------------------------------------------------------------------------------------- the harms
def code_by_name(folder: Path, draw: random.Random) -> None:
    """The manifest names code in place of a suite."""
    code = with_code(folder)
    manifest_without_suite(folder, draw.choice(["./evil.py:suite", f"{code}:suite", "evil:suite", "os:system"]))


def code_in_the_plan(folder: Path, draw: random.Random) -> None:
    """The plan, the methods or the suite name code in place of what is registered."""
    with_code(folder)
    name, part = "./evil.py:suite", draw.choice(["suite", "template", "metrics", "methods", "task"])

    def change(stored: dict[str, Any]) -> None:
        if part == "methods":
            stored["methods"].append(draw.choice([name, "evil:suite"]))
        else:
            stored["plan"][part] = [name] if part == "metrics" else name

    if part == "task":
        change_json(folder / "suite.json", lambda stored: stored["tasks"][0].update(source=name, suite=name))
    else:
        change_json(folder / "manifest.json", change)


def code_in_a_table(folder: Path, draw: random.Random) -> None:
    """Attributes of a table name code: its method, figure or reader."""
    with_code(folder)
    name, key = (
        draw.choice(["./evil.py:suite", "evil:suite"]),
        draw.choice(["method", "declaration", "summary", "rule"]),
    )
    told = json.dumps(dict.fromkeys(["name", "figure", "reader", "suite"], name)) if key == "declaration" else name
    change_table(a_table(folder, draw), lambda file: file.attrs.__setitem__(key, told))


def data_elsewhere(folder: Path, draw: random.Random) -> None:
    """The manifest names data of the reader, or of the hub, in place of a suite."""
    rows = json.dumps([[SECRET.decode() + str(number), "x"] for number in range(40)])
    (folder.parent / HIDDEN / "mine.json").write_text(rows, encoding="utf-8")
    sources = [
        f"../{HIDDEN}/mine.json",
        f"../{HIDDEN}",
        "hf://datasets/evil/x",
        str(folder.parent / HIDDEN / "mine.json"),
    ]
    manifest_without_suite(folder, draw.choice(sources))


def model_of_the_hub(folder: Path, draw: random.Random) -> list[str]:
    """The manifest names no model that there is."""
    change = {"source": draw.choice(["hf://evil/x", "hf://datasets/evil/x", "/dev/zero", f"../{HIDDEN}/secret"])}
    change_json(folder / "manifest.json", lambda stored: stored["model"].update(change))
    return ["evidence", str(folder)]


def loader_options(folder: Path, draw: random.Random) -> list[str]:
    """The manifest's model comes with code, and with options that would have it run."""
    shutil.copytree(folder.parent / "model", folder / "model")
    (folder / "model" / "evil.py").write_text(with_code(folder).read_text(encoding="utf-8"), encoding="utf-8")
    config = json.loads((folder / "model" / "config.json").read_text(encoding="utf-8"))
    config["auto_map"] = {"AutoConfig": "evil.suite", "AutoModelForCausalLM": "evil.suite"}
    (folder / "model" / "config.json").write_text(json.dumps(config), encoding="utf-8")
    options = [{"trust_remote_code": True}, {"config": "model"}, {"quantization_config": {"quant_method": "evil"}}]
    loader = draw.choice([*options, {"code_revision": "main"}, {"attn_implementation": "evil/kernel"}])
    change_json(folder / "manifest.json", lambda stored: stored["model"].update(source="./model", loader=loader))
    return ["evidence", str(folder)]


def storage_elsewhere(folder: Path, draw: random.Random) -> None:
    """The values of a variable are in a file of the reader, or behind a pipe."""
    pipe, secret = folder / "pipe", folder.parent / HIDDEN / "secret"
    os.mkfifo(pipe)
    place = draw.choice([secret, pipe])

    def make(name: str, before: h5py.Dataset) -> None:
        external = [(str(place), 0, before.nbytes)]
        before.parent.create_dataset(name, before.shape, before.dtype, external=external, track_order=True)

    change_table(a_table(folder, draw), lambda file: replaced(file, make))


def bomb(folder: Path, draw: random.Random) -> None:
    """A variable of gigabytes in kilobytes, in place of another or beside them."""
    options = draw.choice([{}, {"compression": "gzip", "chunks": True}, {"compression": "lzf", "chunks": True}])

    def make(name: str, before: h5py.Dataset) -> None:
        shape = (before.shape[0] * 10 ** draw.randrange(5, 9), *before.shape[1:])
        before.parent.create_dataset(name, shape, before.dtype, track_order=True, **options)

    def change(file: h5py.File) -> None:
        if draw.random() < 0.5:
            replaced(file, make)
        else:
            places = [int(each.attrs["_Netcdf4Dimid"]) for each in file.values() if "_Netcdf4Dimid" in each.attrs]
            more = file.create_dataset("more", (10 ** draw.randrange(6, 9),), "i1", track_order=True, **options)
            more.make_scale("more")
            more.attrs["_Netcdf4Dimid"] = np.int32(max(places) + 2)
        padded(file, draw)

    change_table(a_table(folder, draw), change)


def revision_elsewhere(folder: Path, draw: random.Random) -> list[str]:
    """A revision of a series is a link to results that lie elsewhere."""
    private = folder.parent / HIDDEN / "private"
    shutil.copytree(folder, private)
    shutil.rmtree(folder)
    folder.mkdir()
    revisions = [{"name": name, "folder": name, "source": "model", "weights_hash": "f" * 32} for name in "ab"]
    series = {"format": FORMAT, "model": "m", "revisions": revisions}
    (folder / "series.json").write_bytes(json_with_checksum(json.dumps(series)))
    for name in "ab":
        (folder / name).symlink_to(draw.choice([private, os.path.relpath(private, folder)]))
    return [draw.choice(["report", "map"]), str(folder)]


def bomb_of_json(folder: Path, draw: random.Random) -> None:
    """Lists within lists, or millions of them."""
    path = draw.choice([folder / "manifest.json", folder / "suite.json"])
    text = json_content_of(path.read_bytes()).decode("utf-8").rstrip()
    more = draw.choice(["[" * 10**5 + "]" * 10**5, "[" + "[]," * 5_000_000 + "[]]", "9" * 10**6])
    path.write_bytes(json_with_checksum(f'{text[:-1]},"more":{more}}}'))


def no_file(folder: Path, draw: random.Random) -> None:
    """A pipe, a socket or a device is in place of a file."""
    paths = [folder / name for name in ("manifest.json", "suite.json", "descriptors.nc", ".writer.json", "series.json")]
    path = draw.choice([*paths, a_table(folder, draw), folder / "attention.json"])
    path.unlink(missing_ok=True)
    path.parent.mkdir(exist_ok=True)
    what = draw.choice(["pipe", "socket", "device"])
    if what == "pipe":
        os.mkfifo(path)
    elif what == "device":
        path.symlink_to(draw.choice(["/dev/zero", "/dev/stdin", "/dev/full"]))
    else:
        with contextlib.chdir(path.parent), socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)


def link_out(folder: Path, draw: random.Random) -> None:
    """A link leads out of the folder, to where files would be read, replaced or removed."""
    hidden = folder.parent / HIDDEN
    name = draw.choice(["blocks", "evidence", "attention.json", ".kept", "suite.json", "descriptors.nc"])
    path = folder / name
    target = hidden / ("secret" if path.suffix else "tables")
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    path.symlink_to(draw.choice([target, os.path.relpath(target, path.parent)]))


HARMS: dict[str, Harm] = {
    "code by name": code_by_name,
    "code in the plan": code_in_the_plan,
    "code in a table": code_in_a_table,
    "data elsewhere": data_elsewhere,
    "model of the hub": model_of_the_hub,
    "loader options": loader_options,
    "storage elsewhere": storage_elsewhere,
    "bomb in a table": bomb,
    "bomb of JSON": bomb_of_json,
    "revision elsewhere": revision_elsewhere,
    "pipe, socket, device": no_file,
    "link out": link_out,
}


# ------------------------------------------------------------------------------------------------------- the trials
class Driver:
    """A good folder with its model, and what its commands take."""

    def __init__(self, root: Path) -> None:
        self.root, self.good = root, root / "good"
        counting_folder(root / "model")
        studied_folder(self.good)
        assert self.tried(["map", str(self.good)], self.good)[0] == "read"  # and keeps what it has computed
        self._plain: dict[str, int] = {}

    def commands(self, folder: Path) -> list[list[str]]:
        """Every command that reads a folder."""
        at, good, out, model = str(folder), str(self.good), str(folder.parent / "out"), str(folder.parent / "model")
        return [
            ["map", at],
            ["report", at],
            ["merge", at, "--out", out],
            ["compare", at],
            ["evidence", at, "--model", model, "--n-prompts", "4", "--relabellings", "19"],
            ["compare", at, good],
            ["export", at, "--format", "csv", "--out", f"{out}.csv"],
            ["figure", "overlap_map", at, "--out", f"{out}.html"],
            ["run", "--model", model, "--out", at, "--methods", "mean_ablation", "--no-attention"],
        ]

    def place(self, number: int) -> Path:
        """A copy of the good folder, beside a model and what is none of its business."""
        place = self.root / str(number)
        (place / HIDDEN / "tables").mkdir(parents=True)
        (place / HIDDEN / "secret").write_bytes(SECRET * 5000)
        shutil.copytree(self.root / "model", place / "model")
        shutil.copytree(self.good, place / "r", ignore=shutil.ignore_patterns(".writer*"))
        for path in sorted((place / "r" / "blocks").rglob("*.nc"))[:2]:
            shutil.copy(path, place / HIDDEN / "tables")

        def fill(file: h5py.File) -> None:
            numbers(file)[...] = np.frombuffer(SECRET[:8], "f8").astype("f4")[0]

        shutil.copy(path, place / HIDDEN / "table.nc")
        change_table(place / HIDDEN / "table.nc", fill)
        return place

    def outcome(self, harm: Harm, number: int, draw: random.Random) -> tuple[str, str]:
        """Command, and what became of one hostile folder."""
        place = self.place(number)
        folder, hidden = place / "r", place / HIDDEN
        given = harm(folder, draw)
        commands = self.commands(folder)
        arguments = given or commands[number % len(commands)]
        before = _content(hidden)
        declared = sum(path.lstat().st_blocks * 512 for path in folder.rglob("*"))
        found, peak, printed = self.tried(arguments, folder)
        if (place / "mark").exists():
            found = "executed"
        elif (place / "opened").exists():
            found = "opened elsewhere"
        elif _content(hidden) != before:
            found = "wrote elsewhere"
        elif any(SECRET in text for text in _content(place, without=hidden).values()) or SECRET in printed:
            found = "copied from elsewhere"
        elif peak > self.plain(arguments[0]) + BASE + TIMES * declared:
            found = f"took {peak / 2**20:.0f} MB for {declared / 2**20:.1f}"
        if found not in FINE:
            print(arguments, found, printed.decode("utf-8", "replace")[-2000:], sep="\n", flush=True)
        shutil.rmtree(place)
        return arguments[0], found

    def plain(self, command: str) -> int:
        """Bytes of memory that a command takes for the good folder, the most of all its forms."""
        if command not in self._plain:
            place = self.place(-1 - len(self._plain))
            forms = [each for each in self.commands(place / "r") if each[0] == command]
            found, peaks, _ = zip(*(self.tried(each, place / "r") for each in forms), strict=True)
            assert set(found) <= set(FINE), f"{command}: {found}"
            self._plain[command] = max(peaks)
            shutil.rmtree(place)
        return self._plain[command]

    def tried(self, arguments: list[str], folder: Path) -> tuple[str, int, bytes]:
        """What a command came to in a process of its own, the memory that it took more, and what it printed."""
        log = self.root / "log"
        child = os.fork()
        if child == 0:
            _run(arguments, folder, log)
        ends = time.monotonic() + 6 * LONGEST
        while not (done := os.wait4(child, os.WNOHANG))[0]:
            if time.monotonic() > ends:
                os.kill(child, signal.SIGKILL)
                os.wait4(child, 0)
                return "hang", 0, log.read_bytes()
            time.sleep(0.01)
        printed, code = log.read_bytes(), os.waitstatus_to_exitcode(done[1])
        peak = done[2].ru_maxrss * 1024
        if code == -signal.SIGXCPU:
            return "hang", peak, printed
        if b"Traceback" in printed or code not in (0, 2, 3):
            return f"foreign error ({code})", peak, printed
        return "named" if code == 2 else "read", peak, printed


def _run(arguments: list[str], folder: Path, log: Path) -> None:
    """The command in this process, which then ends."""
    status = 1
    try:
        with open(log, "wb", buffering=0) as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        sys.stdout, sys.stderr = (open(number, "w", encoding="utf-8", closefd=False) for number in (1, 2))  # noqa: SIM115
        os.chdir(folder.parent)
        for kind, limit in {resource.RLIMIT_DATA: 12 * 2**30, resource.RLIMIT_CPU: LONGEST}.items():
            resource.setrlimit(kind, (limit, resource.getrlimit(kind)[1]))
        sys.path.insert(0, str(folder))
        socket.socket.connect = lambda *_: (folder.parent / "mark").touch()  # type: ignore[assignment, method-assign]
        sys.argv = ["headcats", *arguments]
        sys.addaudithook(functools.partial(_note_opened, folder.parent))
        warnings.simplefilter("ignore")
        logging.disable(logging.NOTSET)
        cli.main()
        status = 0
    except SystemExit as stop:
        status = int(stop.code or 0)
    except BaseException:  # noqa: BLE001 - what is looked for
        os.write(2, traceback.format_exc().encode())
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        os._exit(status)


def _note_opened(place: Path, event: str, arguments: tuple[Any, ...]) -> None:
    """Leave a mark where a file is opened that is none of the results' business."""
    hidden = os.fspath((place / HIDDEN).resolve())
    if event == "open" and isinstance(arguments[0], str) and os.path.realpath(arguments[0]).startswith(hidden):
        (place / "opened").touch()


def _content(place: Path, *, without: Path | None = None) -> dict[str, bytes]:
    """Every file of a folder, and what a link says."""
    paths = (path for path in place.rglob("*") if without is None or not path.is_relative_to(without))
    return {
        str(path): os.readlink(path).encode() if path.is_symlink() else path.read_bytes() if path.is_file() else b""
        for path in paths
        if path.lstat().st_size < 2**28
    }


def table(n: int, *, seed: int = 0, kinds: tuple[str, ...] = tuple(HARMS)) -> Counter[tuple[str, str, str]]:
    """(kind, command, outcome) -> how often, over so many folders of these kinds."""
    outcomes: Counter[tuple[str, str, str]] = Counter()
    with tempfile.TemporaryDirectory() as root, contextlib.chdir(root):
        driver = Driver(Path(root))
        for number, kind in enumerate(itertools.islice(itertools.cycle(kinds), n)):
            draw = random.Random(f"{seed} {number}")
            command, found = driver.outcome(HARMS[kind], number // len(kinds) + number % len(kinds), draw)
            outcomes[kind, command, found] += 1
    return outcomes


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="*", default=list(HARMS), choices=list(HARMS))
    options = parser.parse_args()
    outcomes = table(options.n, seed=options.seed, kinds=tuple(options.kinds))
    by_kind = Counter[tuple[str, str]]()
    for (kind, _, found), count in outcomes.items():
        by_kind[kind, found] += count
    for (kind, found), count in sorted(by_kind.items()):
        print(f"{count:5d}  {kind}: {found}")
    wrong = sum(count for (_, found), count in by_kind.items() if found not in FINE)
    print(f"{by_kind.total()} folders, {wrong} with an execution, a foreign error, a hang, a leak or too much memory")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
