"""Speed of the sweeps of headcats beside the ways in which heads are patched today.

Run `python benchmarks/speed.py --help`; `benchmarks/README.md` says what is measured and holds the table.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve()
# Page faults of glibc's allocator, which gives memory back and asks for it again, cost 2-3 times the computation on a
# virtual machine. Read when a process starts, so the script starts itself again with them.
ALLOCATOR = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "100000000000"}
QUIET = {
    "TQDM_DISABLE": "1",
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    "TOKENIZERS_PARALLELISM": "false",
}
SHAPES = ("gpt2-small", "24x16", "llama-gqa")


def options(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add = parser.add_argument
    add(
        "--backend", choices=("bridge", "hooked"), default="bridge", help="TransformerBridge or HookedTransformer (3.x)"
    )
    add("--work", nargs="+", metavar="NAME", help="default: all, but for the longest on 24x16")
    add("--shape", nargs="+", metavar="NAME", default=list(SHAPES), help=f"default: {' '.join(SHAPES)}")
    add("--prompts", type=int, help="prompts of a batch (default: those of the work, else of the shape)")
    add("--repeat", type=int, default=3, help="repetitions, of which the least counts (default 3)")
    add("--patience", type=int, default=120, help="seconds after which a side is not repeated again (default 120)")
    add("--threads", type=int, default=2, help="threads of PyTorch (default 2)")
    add("--device", default="cpu")
    add("--dtype", choices=("float32", "bfloat16", "float16"), default="float32")
    add("--memory", help="limit of our sweeps, such as 4GB, as in hc.sweep; default: half of what is free")
    add("--forwards", type=int, default=12, help="heads that the slow sides replace, evenly spread (default 12)")
    add("--full", action="store_true", help="the slow sides replace every head too: takes hours")
    add("--quick", action="store_true", help="one repetition, no peak memory")
    add("--label", default="", help="added to the name of the section, such as 'second run'")
    add("--json", type=Path, metavar="FILE", help="all numbers, unrounded")
    add("--write", type=Path, metavar="FILE", help="replace the section of this backend, device and dtype in a file")
    add("--peaks", action="store_true", help=argparse.SUPPRESS)  # the process that measures memory
    return parser.parse_args(arguments)


def start_again(threads: int) -> None:
    """Replace this process by one with the allocator's settings, on Linux; elsewhere go on without."""
    wanted = {"OMP_NUM_THREADS": str(threads), **QUIET}
    if sys.platform.startswith("linux"):
        wanted |= ALLOCATOR
    if any(os.environ.get(name) != value for name, value in wanted.items()):
        os.execve(sys.executable, [sys.executable, str(HERE), *sys.argv[1:]], {**os.environ, **wanted})


def main() -> None:
    """Measure and show."""
    chosen = options(sys.argv[1:])
    if not chosen.peaks:
        start_again(chosen.threads)
    # After the environment is right: torch reads it once.
    from sweep_speed.session import measure_peaks, run

    if chosen.peaks:
        print(json.dumps(measure_peaks(chosen)))
    else:
        run(chosen, script=HERE)


if __name__ == "__main__":
    main()
