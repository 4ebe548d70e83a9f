"""Runs on a local cluster of several nodes, disturbed, and what became of them.

"Nothing lost" is a run that ended, or that ended when the same command was repeated, with the blocks of a run in one
process.
"""

import contextlib
import os
import signal
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil
import torch
import xarray as xr
from counting import SUITE, counting_folder

import headcats as hc
from headcats.base import registry
from headcats.base.registry import register
from headcats.scale.ray_cluster import _QUIET
from headcats.study.method_run import MethodRun

METHODS = ["denoising_patch", "noising_patch", "mean_ablation", "zero_ablation"]
OPTIONS = {"suite": SUITE, "n_prompts": 8, "n_demos": 2, "methods": METHODS, "metrics": ["logit_diff", "hungry"]}
# A file with the number of rows that a worker cannot measure at once; nothing limits the process that starts runs.
HUNGER = "HEADCATS_TEST_HUNGER"
_NODE = {"num_cpus": 1, "object_store_memory": 80 * 2**20}


def hungry(logits: torch.Tensor, targets: Any) -> torch.Tensor:
    """A metric for which memory runs out with so many rows at a time as the file says."""
    limit = Path(os.environ.get(HUNGER, ""))
    if limit.is_file() and limit.read_text(encoding="utf-8") == str(len(logits)):
        limit.with_suffix(".met").touch()
        raise MemoryError("hungry takes too much")
    return logits.float().max(-1).values


@contextlib.contextmanager
def local_nodes(n: int, **environment: str) -> Iterator[Any]:
    """A cluster of nodes of one core on this machine; the first is its head."""
    os.environ.update(_QUIET)
    import ray
    from ray.cluster_utils import Cluster

    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    before = {name: os.environ.get(name) for name in environment}
    os.environ.update(environment)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        cluster = Cluster(initialize_head=True, head_node_args={**_NODE, "include_dashboard": False})
        try:
            for _ in range(n - 1):
                cluster.add_node(**_NODE)
            for name, value in before.items():
                os.environ.pop(name) if value is None else os.environ.update({name: value})
            yield cluster
        finally:
            ray.shutdown()
            cluster.shutdown()


@contextlib.contextmanager
def after_blocks(n: int, act: Callable[[], None]) -> Iterator[None]:
    """Within, something happens in the process that starts a run when so many blocks are kept."""
    keep, kept = MethodRun._keep, 0

    def keep_and_act(self: MethodRun, *arguments: Any, **options: Any) -> None:
        nonlocal kept
        keep(self, *arguments, **options)
        kept += 1
        if kept == n:
            act()

    MethodRun._keep = keep_and_act  # type: ignore[method-assign]
    try:
        yield
    finally:
        MethodRun._keep = keep  # type: ignore[method-assign]


def workers() -> list[psutil.Process]:
    """Processes that hold a model for a run, on nodes that this process has started."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if any("ray::Worker" in part for part in process.cmdline()):
                found.append(process)
    return found


@contextlib.contextmanager
def knowing_hungry() -> Iterator[None]:
    """Within, the metric is registered; other tests of the process go over all that are."""
    register("metric", "hungry", hungry)
    try:
        yield
    finally:
        registry._tables["metric"].pop("hungry", None)


class Study:
    """A small study of the counting model, and what a run of it in one process gives."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.model = hc.load_model(counting_folder(root / "model"), device="cpu")
        with knowing_hungry(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.plain = hc.run(self.model, progress=False, **OPTIONS)

    def run(self, address: str | None, out: Path | None = None) -> Any:
        """The same on a cluster."""
        with knowing_hungry(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return hc.run(self.model, cluster=hc.Cluster(address), out=out, progress=False, **OPTIONS)

    def compared(self, results: Any) -> str:
        """How its numbers compare with those of one process."""
        if self.plain.equals(results):
            return "same bits"
        xr.testing.assert_allclose(self.plain, results, rtol=1e-4, atol=1e-4)
        return "within rounding"


# ------------------------------------------------------------------------------------------------------ the faults


def node_dies(study: Study, nodes: Any, out: Path) -> Any:
    """The last of three."""
    while len(nodes.worker_nodes) < 2:
        nodes.add_node(**_NODE)
    last = nodes.worker_nodes and sorted(nodes.worker_nodes, key=lambda node: node.node_id)[-1]
    with after_blocks(1, lambda: nodes.remove_node(last, allow_graceful=False)):
        return study.run(nodes.address, out)


def all_workers_are_killed(study: Study, nodes: Any, out: Path) -> Any:
    def kill() -> None:
        for process in workers():
            process.kill()

    with after_blocks(2, kill):
        return study.run(nodes.address, out)


def interrupted(study: Study, nodes: Any, out: Path) -> Any:
    # Where this process was started in the background, its shell has had it ignore the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with after_blocks(3, lambda: signal.raise_signal(signal.SIGINT)):
            study.run(nodes.address, out)
    except KeyboardInterrupt:
        hc.load(out)
        return study.run(nodes.address, out)
    finally:
        signal.signal(signal.SIGINT, before)
    raise AssertionError("it was not interrupted")


def out_of_memory(study: Study, nodes: Any, out: Path) -> Any:
    """Workers cannot measure all eight prompts of a task at once."""
    hunger = study.root / "hunger"
    hunger.write_text("8", encoding="utf-8")
    try:
        results = study.run(nodes.address, out)
    finally:
        hunger.unlink()
    hunger.with_suffix(".met").unlink()  # there, or memory was never short
    return results


FAULTS: dict[str, Callable[[Study, Any, Path], Any]] = {
    "all workers are killed": all_workers_are_killed,
    "Ctrl-C": interrupted,
    "workers run out of memory": out_of_memory,
    "a node dies": node_dies,
}


def outcome(study: Study, fault: Callable[[Study, Any, Path], Any], nodes: Any, out: Path) -> str:
    """What became of a run."""
    try:
        return f"nothing lost, {study.compared(fault(study, nodes, out))}"
    except Exception as error:  # noqa: BLE001 - the table shows it
        return f"{type(error).__name__}: {str(error)[:100]}"


def table(times: int, faults: Sequence[str] = tuple(FAULTS)) -> Counter[tuple[str, str]]:
    """(fault, outcome) -> how often; on two nodes, of each of which a worker is started for every run."""
    outcomes: Counter[tuple[str, str]] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        study = Study(root)
        for turn in range(times):
            with local_nodes(2, **{HUNGER: str(root / "hunger")}) as nodes:
                for name in faults:
                    outcomes[name, outcome(study, FAULTS[name], nodes, root / f"{turn} {name}")] += 1
    return outcomes
