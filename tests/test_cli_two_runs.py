"""Two `headcats run` into one folder: both finish or one is told, and whoever reads sees whole results."""

import contextlib
import re
import subprocess
import sys
import time

import pytest

import headcats as hc
from headcats.results.run_results import RunResults

OPTIONS = (
    "--model=mini",
    "--methods=denoising_patch",
    "--n-prompts=4",
    "--n-demos=2",
    "--min-accuracy=0",
    "--no-views",
)


def begun(folder, task):
    command = [sys.executable, "-m", "headcats", "run", f"--tasks={task}", f"--out={folder}", "--quiet", *OPTIONS]
    return subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, encoding="utf-8")


@pytest.mark.slow  # without models: results/test_two_writers.py
def test_two_runs_of_different_tasks(tmp_path):
    folder = tmp_path / "r"
    with contextlib.ExitStack() as stack:
        runs = {task: stack.enter_context(begun(folder, task)) for task in ("next_letter", "capital_country")}
        while any(run.poll() is None for run in runs.values()):
            if (folder / "manifest.json").exists():
                # A warning, of damage, would be an error.
                assert set(RunResults(hc.load(folder)).tasks) <= set(runs)
            time.sleep(0.05)
        said = {task: run.stderr.read() for task, run in runs.items()}
    done = {task for task, run in runs.items() if run.returncode == 0}
    assert done, said
    assert set(RunResults(hc.load(folder)).tasks) == done
    assert not list(folder.rglob("*.tmp"))
    for task in runs.keys() - done:
        assert runs[task].returncode == 2
        assert re.search(r"is being written by `headcats run` \(process \d+ on ", said[task])
        # Who was told repeats it.
        with begun(folder, task) as again:
            assert again.wait() == 0
    assert set(RunResults(hc.load(folder)).tasks) == set(runs)
