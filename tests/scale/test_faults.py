"""What `tests/cluster_faults.py` does, once."""

import re

import pytest
from cluster_faults import FAULTS, table


# In plain runs workers die and run out of memory in test_pool.py.
@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_nothing_is_lost(fault: str) -> None:
    ((_, became),) = table(1, [fault])
    same = "(same bits|within rounding)" if "memory" in fault else "same bits"
    assert re.fullmatch(f"nothing lost, {same}", became), became
