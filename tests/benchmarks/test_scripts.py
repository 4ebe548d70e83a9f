"""One small run of each benchmark script: it ends well, and what it measures agrees with what it is held against.

Not of `train.py` (hours) and `same_numbers.py make` (whole suites).
"""

import json
import subprocess
import sys
from pathlib import Path

import plan
import pytest
import recovery
import same_numbers
import xarray as xr
from recovery_parts import session as recovery_session
from sweep_speed.sides import SIDES

pytestmark = pytest.mark.slow

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def script(name: str, *arguments: str) -> None:
    """Run a script in a process of its own."""
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / name), *arguments], capture_output=True, check=False, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "command", ["commands.py {run} --rounds 1", "relation_checks.py --model mini-cognitive --suite cognitive"]
)
def test_it_ends_well(command, counting_run):
    script(*command.format(run=counting_run).split())


def test_a_number_that_changed_in_its_last_bit_differs(tmp_path):
    for name, effect in (("before", 1.0), ("after", 1 + 2**-52)):
        (tmp_path / name).mkdir()
        xr.Dataset({"effect": effect}).to_netcdf(tmp_path / name / "scores.nc", engine="h5netcdf")
    assert [same_numbers.compare(tmp_path / "before", tmp_path / name) for name in ("before", "after")] == [0, 1]


@pytest.mark.parametrize("shape", ["6x8", "16x8-gqa"])
def test_a_plan_is_within_a_fifth_of_the_run(shape):
    table = plan.main(["--shape", shape, "--untimed", "--prompts", "8"])
    assert [line.quantity for line in table] == ["operations", "memory"]
    assert {line.quantity: line.error for line in table if abs(line.error) > 0.2} == {}


def test_all_sides_of_the_speed_benchmark_give_the_same_numbers(tmp_path):
    works = ["last", "last-log-prob", "all-shared", "each"]
    (tmp_path / "page.md").write_text("# Title\n", encoding="utf-8")
    arguments = ["--shape", "tiny", "--repeat", "1", "--threads", "1", "--backend", "bridge", "--work", *works]
    script("speed.py", *arguments, "--json", str(tmp_path / "all.json"), "--write", str(tmp_path / "page.md"))
    rows = json.loads((tmp_path / "all.json").read_text(encoding="utf-8"))["rows"]
    assert [row["side"] for row in rows if row["work"] == "last"] == list(SIDES)
    for row in rows:
        assert row["difference"] <= 1e-5
        assert row["effect"] > 0.1  # else equality would say nothing
        assert row["seconds"] > 0
    paths = [row["path"] for row in rows if row["side"] == "ours"]
    assert paths == ["last_position", "last_position", "suffix", "suffix; last_position"]
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert page.startswith("# Title\n")
    assert "bridge cpu float32" in page


@pytest.mark.parametrize(
    ("work", "repetitions"),
    [("claims", 1), ("labels", 1), ("null", 2), ("planted", 2), ("prompts", 1), ("rules", 1), ("sharing", 1)],
)
def test_numbers_of_recovery_do_not_depend_on_the_number_of_processes(work, repetitions, tmp_path):
    found = []
    for processes in ("1", "2"):
        file = tmp_path / f"{processes}.json"
        common = ["--quick", "--seed", "5", "--repetitions", str(repetitions), "--work", work]
        recovery_session.run(recovery.options([*common, "--processes", processes, "--json", str(file)]))
        found.append(json.loads(file.read_text(encoding="utf-8"))[work])
    assert found[0]["rows"]
    assert found[0] == found[1]
