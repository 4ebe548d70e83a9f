"""Inputs that went wrong give errors of headcats alone, end in time and write nothing elsewhere."""

import subprocess
import sys
from pathlib import Path

import pytest


def fuzzed(n, seed):
    """The last line that the driver prints; in a process of its own, which it may leave in any state."""
    command = [sys.executable, str(Path(__file__).with_name("fuzzing.py")), "--n", str(n), "--seed", str(seed)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()[-1]


def test_a_few_inputs():
    assert fuzzed(14, seed=9) == "14 inputs, 0 with a foreign error, a hang or a write outside"


@pytest.mark.slow  # ten minutes and more
def test_five_hundred_inputs():
    assert fuzzed(500, seed=0) == "500 inputs, 0 with a foreign error, a hang or a write outside"
