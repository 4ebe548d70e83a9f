"""Findings of a comparison of different models: the structure of their categories."""

import itertools
from collections.abc import Iterator

import numpy as np
import xarray as xr

from headcats.reports.text.agreement import NOT_JUDGED, approximation_findings
from headcats.reports.text.finding import Finding, line, paragraph, table
from headcats.reports.text.wording import number_text


def structure_findings(structure: xr.Dataset) -> Iterator[Finding]:
    """The categories of several models side by side.

    Args:
        structure: What `hc.evidence.category_structure` returns.
    """
    models, categories = structure["model"].values.tolist(), structure["category"].values.tolist()
    protocol = [structure.attrs[part] for part in ("method", "positions", "metric") if structure.attrs[part]]
    yield paragraph("structure.models", protocol=protocol, sign=structure.attrs["sign"])
    yield from approximation_findings(structure["approximation"].values.tolist())
    rows = []
    for category, model in itertools.product(categories, models):
        cell = structure.sel(category=category, model=model)
        size = str(int(cell["size"])) if np.isfinite(cell["share"]) else NOT_JUDGED
        rows.append([category, model, size, *(number_text(cell[name]) for name in ("share", "mean_layer", "depth"))])
    columns = ["category", "model", "heads", "share of heads", "mean layer", "depth (0 first, 1 last)"]
    yield table("structure.categories", columns, rows, numeric=columns[2:])
    rows = []
    for model in models:
        cells = [structure.sel(model=model, k=k) for k in structure["k"].values]
        counts = [
            f"{int(cell['in_k'])}: {number_text(cell['share_k'])} ({number_text(cell['expected_k'])})" for cell in cells
        ]
        rows.append([model, str(int(structure["n_heads"].sel(model=model))), *counts])
    yield table("structure.counts", ["model", "heads", *(f"in exactly {k}" for k in structure["k"].values)], rows)
    rows = []
    for first, second in itertools.combinations(categories, 2):
        cells = [structure.sel(model=model, category=first, other=second) for model in models]
        texts = [f"{number_text(cell['jaccard'])} ({number_text(cell['expected'])})" for cell in cells]
        rows.append([f"{first} and {second}", *texts])
    yield table("structure.jaccard", ["", *models], rows, numeric=models)
    for first, second in itertools.combinations(models, 2):
        cell = structure.sel(model=first, other_model=second)
        yield line(
            "structure.correlation", first=first, second=second, correlation=cell["correlation"], n=int(cell["n_pairs"])
        )
