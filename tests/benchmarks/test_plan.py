"""A small version of plans held against runs: operations, memory and storage; time is for a quiet machine."""

import plan
import pytest

pytestmark = pytest.mark.ci


@pytest.mark.parametrize("shape", ["6x8", pytest.param("16x8-gqa", marks=pytest.mark.slow)])
def test_a_plan_is_within_a_fifth_of_the_run(shape, capsys):
    table = plan.main(["--shape", shape, "--untimed", "--prompts", "8"])
    assert [line.quantity for line in table] == ["operations", "memory", "storage"]
    assert all(abs(line.error) <= 0.2 for line in table), capsys.readouterr().out
