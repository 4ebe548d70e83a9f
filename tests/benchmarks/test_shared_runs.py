"""Operations of two methods, together and apart."""

import re

import pytest
import shared_runs

pytestmark = pytest.mark.ci


def test_methods_share_unpatched_runs_and_no_rows(capsys):
    shared_runs.main(
        ["--tasks", "capital_country", "--prompts", "8", "--methods", "denoising_patch@last", "noising_patch@last"]
    )
    lines = capsys.readouterr().out.splitlines()[1:]
    numbers = {line.split(":")[0]: [float(number) for number in re.findall(r"(\d+\.\d+)", line)] for line in lines}
    together, *apart = numbers["unpatched runs"]
    assert together > 0
    assert together == pytest.approx(apart[0], abs=0.11)
    assert together == pytest.approx(apart[1], abs=0.11)
    together, *apart = numbers["rows that are replaced"]
    assert together == pytest.approx(sum(apart), abs=0.16)
