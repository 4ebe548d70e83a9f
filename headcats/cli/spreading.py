"""`headcats run` on a cluster, and in parts."""

import shlex
from pathlib import Path
from typing import Any

import xarray as xr

from headcats.base.errors import OptionError, pluralize
from headcats.cli.answer import Answer
from headcats.results.run_results import RunResults
from headcats.scale.ray_cluster import Cluster
from headcats.scale.shard import Shard


def cluster_of(options: dict[str, Any]) -> Cluster | None:
    """Return the cluster that scores, in place of how it is written; None for this process.

    It is looked for before a model is loaded.
    """
    text = options.pop("cluster", None)
    if text is None:
        return None
    address, _, gpus = text.partition(",")
    name, _, number = gpus.partition("=")
    if gpus and (name.strip() != "gpus" or not number.strip().isdecimal()):
        raise OptionError(f"cluster must be here, auto or host:port, with or without ,gpus=N; got {text!r:.80}.")
    cluster = Cluster(None if address == "here" else address, int(number) if gpus else None)
    cluster.check_reachable()
    if cluster.gpus_per_worker != 0:
        # The workers have the GPUs; this process reads texts, and the heads' descriptors.
        options.setdefault("device", "cpu")
    return cluster


def tell_shard(results: xr.DataTree, shard: Shard, folder: Path, answer: Answer) -> None:
    """Print what a part of a run holds, and how to join all; maps and pages are of the whole."""
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
