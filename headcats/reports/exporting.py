"""`hc.export`: the effects of a run as a file for other programs."""

import io
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from headcats.base.errors import DataError, OptionError, UnknownNameError, unknown_name_message
from headcats.categories.argument_checks import RESULTS, check_is
from headcats.categories.map_spec import MapSpec
from headcats.categories.run_maps import read_scores
from headcats.results.loading import read_results
from headcats.results.manifest import Manifest
from headcats.results.place import find_place
from headcats.results.records import ModelRecord
from headcats.results.run_results import RunResults
from headcats.results.whole_file import csv_bytes, write_whole
from headcats.scores.table import score_table


def export(
    results: xr.DataTree | str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    format: str,
    method: str | None = None,
    positions: str | None = None,
    metric: str | None = None,
    effect: str = "total",
    tasks: Sequence[str] | None = None,
) -> Path:
    """Write the effects of every head, by one method and metric, as a file for other programs.

    - "csv", "parquet": a row for every task, layer and head, with all that `hc.score` says: effect, interval, p and q
      (over all tasks of the run), gap, numbers of prompts and items; columns have the names and units of
      the scores (docs/schema.md).
    - "mib": the circuit track of the Mechanistic Interpretability Benchmark reads it (`--level node`). The score of a
      node `a{layer}.h{head}` is the mean over tasks of the effect in shares of the gap, positive = the head helps;
      embedding and MLPs have none, and are always kept. Tasks whose gap is not clear have no effect and no part in it.

    Args:
        results: What `hc.run` or `hc.load` returns, or what `hc.load` takes.
        path: File to write, named `*.json` for "mib". It appears complete or not at all.
        format: "csv", "parquet" or "mib".
        method: Method, as `name` or `name@positions`; None takes the first exact one that was run. The benchmark
            corrupts at all positions.
        positions: Positions, where a method was run at several.
        metric: Metric; None takes the first of the run.
        effect: "total" or "task_specific" effects, as in `hc.score`.
        tasks: Names of the tasks to write; None takes all.

    Returns:
        The file.

    Raises:
        OptionError: An unknown format, a name that the benchmark does not read, or positions that have to be chosen.
        UnknownNameError: A method, metric or task that the results do not hold.
        DataError: Something else than results, or for "mib" no effect, or a model that the benchmark cannot hold.
        StorageError: Results that cannot be read, or a file that cannot be written.

    Example:
        >>> import headcats as hc
        >>> hc.export("results/mini-icl", "plural.csv", format="csv", tasks=["plural"]).name
        'plural.csv'
        >>> import pandas
        >>> list(pandas.read_csv("plural.csv").columns[3:9])
        ['category', 'independent_source', 'task', 'layer', 'head', 'effect']

    References:
        Mueller et al. (2025), MIB: A Mechanistic Interpretability Benchmark, arXiv 2504.13151.
    """
    if format not in FORMATS:
        *some, last = map(repr, FORMATS)
        raise OptionError(f"format must be {', '.join(some)} or {last}; got {format!r}.")
    target = Path(path)
    if format == "mib" and target.suffix != ".json":
        raise OptionError(f"The benchmark reads files whose names end in .json; got {target.name!r}.")
    reading = MapSpec.parse(method=method, positions=positions, metric=metric, effect=effect)
    if isinstance(results, str | os.PathLike):
        results = read_results(find_place(results))
    check_is(results, RESULTS, by="hc.export")
    run = RunResults(results)
    scores = _chosen(read_scores(run, reading), tasks)
    write_whole(target, FORMATS[format](scores, run.manifest_or_empty))
    return target


def _chosen(scores: xr.Dataset, tasks: Sequence[str] | None) -> xr.Dataset:
    present = [str(task) for task in scores["task"].values]
    for task in tasks or ():
        if task not in present:
            raise UnknownNameError(unknown_name_message("task of these scores", task, present))
    return scores if tasks is None else scores.sel(task=list(tasks))


def _csv(scores: xr.Dataset, manifest: Manifest) -> bytes:
    return csv_bytes(score_table(scores))


def _parquet(scores: xr.Dataset, manifest: Manifest) -> bytes:
    content = io.BytesIO()
    score_table(scores).to_parquet(content, index=False)
    return content.getvalue()


def _mib(scores: xr.Dataset, manifest: Manifest) -> bytes:
    effect = scores["effect"].mean("task")  # tasks without numbers are left out
    if not bool(effect.notnull().any()):
        raise DataError("No head has an effect on these tasks, since their gaps are not clear: choose others.")
    return json.dumps(node_graph(effect, manifest.model), allow_nan=False).encode("utf-8")


FORMATS: dict[str, Callable[[xr.Dataset, Manifest], bytes]] = {"csv": _csv, "parquet": _parquet, "mib": _mib}
"""Format -> the content of the file."""


def node_graph(effect: xr.DataArray, model: ModelRecord) -> dict[str, Any]:
    """Return the graph of the benchmark as JSON holds it, from scores `(layer, head)`, positive = the head helps."""
    if model.layers != tuple(range(model.n_layers)) or len(set(model.heads)) != 1:
        raise DataError(
            f"The benchmark reads models with the same number of heads in every layer; {model.name} has "
            f"{', '.join(map(str, model.heads))} in the layers {', '.join(map(str, model.layers))} of {model.n_layers}."
        )
    n_heads = model.heads[0]
    shape = {"n_layers": model.n_layers, "n_heads": n_heads, "d_model": model.d_model}
    values = effect.reindex(layer=range(model.n_layers), head=range(n_heads)).transpose("layer", "head").values
    nodes: dict[str, dict[str, Any]] = {"input": {"in_graph": True}}
    for layer in range(model.n_layers):
        for head in range(n_heads):
            score = float(values[layer, head])
            nodes[f"a{layer}.h{head}"] = {"in_graph": True} | ({"score": score} if np.isfinite(score) else {})
        nodes[f"m{layer}"] = {"in_graph": True}
    nodes["logits"] = {"in_graph": True}
    return {"cfg": shape | {"parallel_attn_mlp": model.parallel_attn_mlp}, "nodes": nodes, "edges": {}}
