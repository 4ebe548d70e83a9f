"""Small studies that are killed, starved and damaged lose nothing."""

import subprocess
import sys
from pathlib import Path

import pytest

DRIVER = Path(__file__).parents[1] / "faults.py"


def run_faults(n, seed):
    """What the driver prints; it loads the model in a process of its own, and forks a child for every run."""
    command = [sys.executable, str(DRIVER), "--n", str(n), "--seed", str(seed)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def test_a_few_faults():
    assert run_faults(6, seed=1)[-1] == "6 faults, 0 with a loss"


@pytest.mark.slow  # ten minutes and more
def test_two_hundred_faults():
    assert run_faults(200, seed=0)[-1] == "200 faults, 0 with a loss"
