"""What the overlap map says when the pointer is over a head."""

import html
from collections.abc import Mapping

import numpy as np
import xarray as xr
from jaxtyping import Float32

from headcats.figures.cells import NUMBERS, head_name, on_grid


def hover_numbers(here: xr.Dataset) -> Float32[np.ndarray, "head layer number"]:
    """Effect, low, high and q of each category in turn, for the full grid of heads.

    float32 keeps a page of 80 x 64 heads small; three digits are shown.
    """
    order = ("layer", "head", "category")
    grids = [on_grid(here[n].transpose(*order).astype("float32"), fill=np.float32(np.nan)) for n in NUMBERS]
    stacked = np.stack(grids, axis=-1)
    return stacked.reshape(*stacked.shape[:2], -1)


def hover_text(here: xr.Dataset, overlap: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Two grids of strings: head with its set, undecided and suppressed categories, such as
    `L9H6: Algorithmic + Knowledge`; tasks.

    Args:
        here: The categories of the panel; their undecided verdicts and tasks are named.
        overlap: All categories; the set named is the whole one.
    """
    heads = overlap["set"].transpose("layer", "head")
    undecided = (here.member == 0) & here.effect.notnull()
    still_open = undecided.transpose("layer", "head", "category").to_numpy()
    passed = here.tasks.transpose("layer", "head", "category").to_numpy().astype(str)
    categories = [html.escape(str(c), quote=False) for c in here.category.values]
    marked = (
        here.suppressing == 1 if "suppressing" in here else here.member.copy(data=np.zeros(here.member.shape, bool))
    )
    suppressed = marked.transpose("layer", "head", "category").to_numpy()
    who, tasks = np.empty(heads.shape, dtype=object), np.empty(heads.shape, dtype=object)
    layer, head, sets = heads["layer"].values, heads["head"].values, heads.values.astype(str)
    for i, j in np.ndindex(heads.shape):
        names = html.escape(str(sets[i, j]), quote=False).replace("+", " + ") or "no category"
        open_ones = [c for c, is_open in zip(categories, still_open[i, j], strict=True) if is_open]
        verdict = f" (undecided: {', '.join(open_ones)})" if open_ones else ""
        hurt = [c for c, is_hurt in zip(categories, suppressed[i, j], strict=True) if is_hurt]
        verdict += f" (suppresses: {', '.join(hurt)})" if hurt else ""
        who[i, j] = f"{head_name(int(layer[i]), int(head[j]))}: {names}{verdict}"
        tasks[i, j] = "".join(
            f"<br>tasks of {c}: {html.escape(names, quote=False).replace(',', ', ')}"
            for c, names in zip(categories, passed[i, j], strict=True)
            if names
        )
    return on_grid(heads.copy(data=who), fill=""), on_grid(heads.copy(data=tasks), fill="")


def hover_template(categories: Mapping[str, bool], *, note: str = "") -> str:
    """The plotly template over `text`, `customdata` (as `hover_numbers` orders it) and `hovertext`.

    Args:
        categories: Those shown, in this order -> whether they have numbers.
        note: HTML after the numbers.
    """
    lines = ["<b>%{text}</b>"]
    for i, (name, judged) in enumerate(categories.items()):
        effect, low, high, q = (f"customdata[{4 * i + k}]" for k in range(4))
        escaped = html.escape(name, quote=False)
        numbers = f"effect %{{{effect}:.3f}} [%{{{low}:.3f}}, %{{{high}:.3f}}], q %{{{q}:.2g}}"
        lines.append(f"{escaped}: {numbers if judged else 'not judged'}")
    return "<br>".join(lines) + note + "%{hovertext}<extra></extra>"
