"""`headcats run` on a cluster, and in parts."""

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer
import xarray as xr

from headcats.cli.answer import Answer
from headcats.cluster.ray_cluster import Cluster
from headcats.errors import OptionError, pluralize
from headcats.results.run_results import RunResults
from headcats.study.shard import Shard

Ray = Annotated[
    bool,
    typer.Option(
        "--ray",
        help="Score on the workers of a Ray cluster, or on the cores of this machine (needs `headcats[ray]`). This "
        "machine needs memory for the whole model too.",
    ),
]
Address = Annotated[
    str | None,
    typer.Option(
        "--address",
        help="host:port of the cluster's head node; default: RAY_ADDRESS, the Ray that runs here, or a new one.",
    ),
]
GpusPerWorker = Annotated[
    int | None,
    typer.Option("--gpus-per-worker", help="GPUs that each worker of --ray has; default: 1 where there are any."),
]


def cluster_of(ray: bool, address: str | None, gpus_per_worker: int | None, options: dict[str, Any]) -> Cluster | None:
    """Where to score; None for this process. Looked for before a model is loaded."""
    if not ray:
        if address is not None or gpus_per_worker is not None:
            raise OptionError("--address and --gpus-per-worker are of a cluster: add --ray.")
        return None
    cluster = Cluster(address, gpus_per_worker)
    cluster.check_reachable()
    if options["device"] is None and options["device_map"] is None and gpus_per_worker != 0:
        # The workers have the GPUs; this process reads texts, and the heads' descriptors.
        options["device"] = "cpu"
    return cluster


def tell_shard(results: xr.DataTree, shard: Shard, folder: Path, answer: Answer) -> None:
    """What a part of a run holds, and how to join all; maps and pages are of the whole."""
    run = RunResults(results)
    finished = run.manifest.finished()
    answer.numbers = {
        "folder": folder,
        "shard": str(shard),
        "blocks": sorted(f"{task} {name}" for task, name in finished),
    }
    answer.say([f"Part {shard} holds {pluralize(len(finished), 'block')}: {folder}"])
    # The star is for the shell.
    together, out = f"{shlex.quote(str(folder.parent))}/shard-*-of-{shard.of}", shlex.quote(str(folder.parent / "all"))
    answer.say([f"Give all {shard.of} parts the same --out."])
    answer.say([f"When all are done: `headcats merge {together} --out {out}`, then `headcats report`."])
