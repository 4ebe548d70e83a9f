"""What a comparison of different models says: the structure of their categories."""

from collections.abc import Iterator

import numpy as np
import xarray as xr

from headcats.reports.text.agreement import NOT_JUDGED, approximation_sentence, number_text
from headcats.reports.text.table import Finding, Paragraph, table


def structure_findings(found: xr.Dataset) -> Iterator[Finding]:
    """The categories of several models side by side.

    Args:
        found: What `hc.evidence.category_structure` returns.
    """
    models, categories = found["model"].values.tolist(), found["category"].values.tolist()
    protocol = ", ".join(found.attrs[part] for part in ("method", "positions", "metric") if found.attrs[part])
    protocol += f", {found.attrs['sign']} heads"
    yield Paragraph(f"Different models: their heads do not correspond, so the structure is compared ({protocol}).")
    if sentence := approximation_sentence(found["approximation"].values.tolist()):
        yield sentence
    rows = []
    for category in categories:
        for model in models:
            cell = found.sel(category=category, model=model)
            rows.append(
                [
                    category,
                    model,
                    str(int(cell["size"])) if np.isfinite(cell["share"]) else NOT_JUDGED,
                    *(number_text(cell[one]) for one in ("share", "mean_layer", "depth")),
                ]
            )
    columns = ["category", "model", "heads", "share of heads", "mean layer", "depth (0 first, 1 last)"]
    yield table("Categories", columns, rows, numeric=columns[2:])
    rows = [
        [
            model,
            str(int(found["n_heads"].sel(model=model))),
            *(
                f"{int(cell['in_k'])}: {number_text(cell['share_k'])} ({number_text(cell['expected_k'])})"
                for cell in (found.sel(model=model, k=k) for k in found["k"].values)
            ),
        ]
        for model in models
    ]
    columns = ["model", "heads", *(f"in exactly {k}" for k in found["k"].values)]
    yield table("Heads in k categories: number, share (share expected by chance)", columns, rows)
    rows = [
        [
            f"{first} and {second}",
            *(
                f"{number_text(cell['jaccard'])} ({number_text(cell['expected'])})"
                for cell in (found.sel(model=model, category=first, other=second) for model in models)
            ),
        ]
        for place, first in enumerate(categories)
        for second in categories[place + 1 :]
    ]
    yield table("Jaccard between categories (by chance)", ["", *models], rows, numeric=models)
    for place, first in enumerate(models):
        for second in models[place + 1 :]:
            cell = found.sel(model=first, other_model=second)
            yield (
                f"Correlation of these Jaccard indices between {first} and {second}: "
                f"{number_text(cell['correlation'])} over {int(cell['n_pairs'])} pairs of categories."
            )
