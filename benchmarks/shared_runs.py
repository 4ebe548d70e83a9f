"""What the methods of a run share: floating-point operations by what they are for, of all methods together and apart.

    python benchmarks/shared_runs.py [--tasks NAME ...] [--prompts 64] [--methods NAME ...]

The bundled model scores some tasks, first by all methods in one run, then by each in a run of its own. Counted are the
matrix products of PyTorch (`torch.utils.flop_counter`); of the rest nothing grows with the number of methods.
"""

import argparse
import contextlib
import functools
import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any
from unittest import mock

from torch.utils.flop_counter import FlopCounterMode

import headcats as hc
from headcats.models.replay.bridge import BridgeRecording
from headcats.study import task_run
from headcats.study.plan import plan
from headcats.sweeps import paths, runs
from headcats.sweeps.reference import Reference

TASKS = ("country_capital", "past_tense", "uppercase", "english_french")
# What calls that count by themselves are for; calls within one of them count with it.
PARTS = {
    "rows that are replaced": [(BridgeRecording, "block")],
    "unpatched runs": [(runs, "record"), (runs.Run, "_captured")],
    "means and donors": [(Reference, "_role_means"), (Reference, "_z")],
    "which tasks the model can do": [(task_run, "assess_prompts")],
    "checks of the path": [(paths, "_check")],
}
REST = "checks of the model"


def main(arguments: Sequence[str] | None = None) -> tuple[Counter[str], list[Counter[str]]]:
    """Print both tables; the operations of all methods together, and of each apart."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", default=list(TASKS))
    parser.add_argument("--prompts", type=int, default=64)
    parser.add_argument("--methods", nargs="+", help="default: those of a plain run")
    chosen = parser.parse_args(arguments)
    methods = chosen.methods or [
        spec.label for spec in plan(suite="icl", methods=None, n_prompts=chosen.prompts, seed=0).task_methods
    ]
    together = operations(methods, chosen)
    apart = [operations([method], chosen) for method in methods]
    print(f"GFLOP of {len(chosen.tasks)} tasks x {chosen.prompts} prompts: together, and apart by {', '.join(methods)}")
    for part in (*PARTS, REST):
        each = " + ".join(f"{counts[part] / 1e9:.1f}" for counts in apart)
        print(f"{part}: {together[part] / 1e9:.1f} ({together[part] / together.total():.0%}); {each}")
    print(f"all: {together.total() / 1e9:.1f}; {sum(counts.total() for counts in apart) / 1e9:.1f}")
    return together, apart


def operations(methods: Sequence[str], chosen: argparse.Namespace) -> Counter[str]:
    """Part -> operations of a run, on a model that was checked by no run before."""
    counts: Counter[str] = Counter()
    model = hc.load_model("mini")
    with FlopCounterMode(display=False) as counter, _counting(counter, counts):
        hc.run(model, tasks=chosen.tasks, methods=list(methods), n_prompts=chosen.prompts, progress=False)
    counts[REST] = counter.get_total_flops() - counts.total()
    return counts


@contextlib.contextmanager
def _counting(counter: FlopCounterMode, counts: Counter[str]) -> Iterator[None]:
    inside: list[str] = []

    def counted(part: str, function: Any) -> Any:
        @functools.wraps(function)
        def call(*args: Any, **options: Any) -> Any:
            if inside:
                return function(*args, **options)
            before = counter.get_total_flops()
            inside.append(part)
            try:
                return function(*args, **options)
            finally:
                inside.pop()
                counts[part] += counter.get_total_flops() - before

        return call

    with contextlib.ExitStack() as replaced:
        for part, places in PARTS.items():
            for owner, name in places:
                replaced.enter_context(mock.patch.object(owner, name, counted(part, getattr(owner, name))))
        yield


if __name__ == "__main__":
    logging.getLogger("headcats").setLevel(logging.ERROR)
    main()
