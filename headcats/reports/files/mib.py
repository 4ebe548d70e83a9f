"""Scores of heads as the circuit track of the Mechanistic Interpretability Benchmark reads them.

Its evaluation (`run_evaluation.py --level node --circuit-files FILE`) reads a graph whose nodes are the embedding
(`input`), every head (`a0.h0`), every MLP (`m0`) and the logits. It keeps the share of scored nodes with the largest
scores, for shares from 0.1 to 100 %, corrupts the others, and measures how much of the model's behaviour is left. Nodes
without a score are always kept: here the embedding and the MLPs, of which headcats says nothing. Edges need no scores
and are left out; the reader adds those of the nodes that it keeps.

The sign is the same on both sides: a node whose corruption lowers the metric has a positive score. The benchmark's own
scores are differences of the metric; these are shares of the gap. Only their order counts within a file.

References:
    Mueller et al. (2025), MIB: A Mechanistic Interpretability Benchmark, arXiv 2504.13151.
"""

from typing import Any

import numpy as np
import xarray as xr

from headcats.base.errors import DataError
from headcats.results.records import ModelRecord


def node_graph(effect: xr.DataArray, model: ModelRecord) -> dict[str, Any]:
    """The graph as JSON holds it.

    Args:
        effect: Scores over `(layer, head)`, positive = the head helps; a head without a number gets no score.
        model: The model of the results.

    Raises:
        DataError: Layers with different numbers of heads.
    """
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
