"""Settings of this process that make small models on a CPU several times faster; none of them changes a number."""

import ctypes
import os
import sys

_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4
_MOST = 2**31 - 1


def tune_processor() -> None:
    """Call before torch is loaded. What the user has set in the environment stays."""
    # Threads that spin while they wait for each other slow a small model down many times over as soon as the machine
    # does something else too; sleeping ones do not.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    if sys.platform == "linux" and not {"MALLOC_MMAP_MAX_", "MALLOC_TRIM_THRESHOLD_"} & set(os.environ):
        _keep_freed_memory()


def _keep_freed_memory() -> None:
    """Let glibc keep the memory of freed activations: giving it back costs page faults at every forward."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    mallopt(_M_MMAP_MAX, 0)
    mallopt(_M_TRIM_THRESHOLD, _MOST)
