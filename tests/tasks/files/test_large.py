"""Files of 100 MB are read within 400 MB, and every row is kept or counted as dropped."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

SIZE, LIMIT = 100 * 2**20, 400 * 2**20
# The peak of this very program: that of RUSAGE_SELF begins with the process that has started it.
READ = """
import re, sys
from pathlib import Path
import headcats as hc
(task,) = hc.suite(sys.argv[1]).tasks
task.pairs(1024, seed=0)
peak = int(re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1]) * 1024
print(task.drops.kept + sum(task.drops.dropped.values()), peak)
"""
FILLER = " and so on as it stands in the long records of public files" * 4


def csv_rows() -> Iterator[str]:
    yield "input,output,note\n"
    for n in range(10**7):
        yield f"word {n}{FILLER},answer {n % 97},x\n"


def solved_rows() -> Iterator[str]:
    for n in range(10**7):
        yield json.dumps({"question": f"How many {n}?{FILLER}", "answer": f"First {n}.\n#### {n % 97}"}) + "\n"


def option_rows() -> Iterator[str]:
    options = {"label": ["A", "B"], "text": ["first", "second"]}
    for n in range(10**7):
        yield json.dumps({"question_stem": f"Which {n}?{FILLER}", "choices": options, "answerKey": "AB"[n % 2]}) + "\n"


def edits() -> Iterator[str]:
    for n in range(10**7):
        edit = {"prompt": f"{FILLER} {{}} is", "subject": f"S{n}", "target_true": {"str": f"a{n % 97}"}}
        edit["target_new"] = {"str": f"b{n % 89}"}
        yield ("[" if n == 0 else ",") + json.dumps({"case_id": n, "requested_rewrite": edit})


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    ("name", "rows"), [("a.csv", csv_rows), ("b.jsonl", solved_rows), ("c.jsonl", option_rows), ("d.json", edits)]
)
def test_a_file_of_100_mb(tmp_path: Path, name: str, rows: Callable[[], Iterator[str]]) -> None:
    path, size, n = tmp_path / name, 0, 0
    with path.open("w", encoding="utf-8") as file:
        for row in rows():
            size += file.write(row)
            n += 1
            if size > SIZE:
                break
        file.write("]" if name.endswith(".json") else "")
    done = subprocess.run([sys.executable, "-c", READ, str(path)], check=True, capture_output=True, text=True)
    counted, peak = map(int, done.stdout.split())
    assert counted == n - name.endswith(".csv")
    assert peak < LIMIT
