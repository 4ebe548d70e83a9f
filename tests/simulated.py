"""Results trees with known truth, built in memory: what `hc.run` would return if the heads' effects were chosen by
hand."""

import json

import numpy as np
import xarray as xr
from scipy import stats

CATEGORIES = [
    {"name": "Algorithmic", "colour": "#1f77b4"},
    {"name": "Knowledge", "colour": "#ff7f0e"},
    {"name": "Linguistic", "colour": "#2ca02c"},
    {"name": "Translation", "colour": "#d62728"},
]
NAMES = [str(category["name"]) for category in CATEGORIES]


def block(
    differences: np.ndarray,
    *,
    gaps: np.ndarray | None = None,
    items: np.ndarray | None = None,
    distractors: np.ndarray | None = None,
    base: str = "corrupted",
) -> xr.Dataset:
    """A raw block whose effects on each prompt are `differences (prompt, layer, head)`, whichever run `base` names."""
    n = len(differences)
    gaps = np.ones(n) if gaps is None else gaps
    items = np.arange(n) if items is None else items
    corrupted = np.linspace(-1, 1, n)
    clean = corrupted + gaps
    start = corrupted if base == "corrupted" else clean
    patched = start[:, None, None] + (differences if base == "corrupted" else -differences)
    coords = {"metric": ["logit_diff"], "item": ("prompt", [f"item {i}" for i in items])}
    if distractors is not None:
        coords["distractor_task"] = ("prompt", [str(d) for d in distractors])
    return xr.Dataset(
        {
            "patched": (("metric", "prompt", "layer", "head"), patched[None]),
            "clean": (("metric", "prompt"), clean[None]),
            "corrupted": (("metric", "prompt"), corrupted[None]),
        },
        coords=coords,
        attrs={"base": base, "method": "denoising_patch", "positions": "last"},
    )


def tree(
    blocks: dict[str, xr.Dataset], *, categories: dict[str, str], name: str = "denoising_patch@last"
) -> xr.DataTree:
    """A results tree with one block per task."""
    nodes = {f"/{task}": xr.Dataset(attrs={"category": categories[task]}) for task in blocks}
    nodes |= {f"/{task}/{name}": data for task, data in blocks.items()}
    results = xr.DataTree.from_dict(nodes)
    results.attrs["categories"] = json.dumps(CATEGORIES)
    return results


def clustered_noise(rng: np.random.Generator, *, items: np.ndarray, heads: int, correlation: float = 0.5) -> np.ndarray:
    """Noise of unit variance `(prompt, head)`, t with 4 degrees of freedom, correlated within items, without any
    effect."""
    of_item = rng.standard_t(4, size=(items.max() + 1, heads))[items]
    own = rng.standard_t(4, size=(len(items), heads))
    return (np.sqrt(correlation) * of_item + np.sqrt(1 - correlation) * own) / np.sqrt(2)


def null_results(
    rng: np.random.Generator, *, tasks: int, shape: tuple[int, int], prompts: int, n_items: int, clusters: bool = True
) -> xr.DataTree:
    """Tasks whose heads have no effect, prompts correlated within items; `clusters=False` hides which prompts
    belong."""
    items = np.arange(prompts) % n_items
    blocks = {}
    for task in range(tasks):
        noise = clustered_noise(rng, items=items, heads=shape[0] * shape[1]).reshape(prompts, *shape)
        named = items if clusters else np.arange(prompts)
        blocks[f"task{task}"] = block(noise, items=named, distractors=np.arange(prompts) % 4)
    return tree(blocks, categories={f"task{task}": NAMES[task % 4] for task in range(tasks)})


def with_null(scores: xr.Dataset, p: np.ndarray) -> xr.Dataset:
    """Scores made by hand, with standard errors for which the two-sided p of "no effect" is `p (task, layer, head)`.

    Items scatter normally, without skew, independently between tasks; p is right to 1 %.
    """
    draws = 10**9
    from_end = np.unique(np.geomspace(1, draws // 2, 3_000).astype(np.int64)) - 1
    rank = np.unique(np.concatenate([from_end, draws - 1 - from_end]))
    n = scores.sizes["task"]
    effect = scores["effect"].values
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.where(effect == 0, 1.0, np.abs(effect) / stats.norm.isf(np.asarray(p) / 2))
    dims = ("task", "layer", "head")
    return (
        scores.assign(
            standard_error=(dims, error),
            skewness=(dims, np.zeros(effect.shape)),
            doubtful=(dims, np.zeros(effect.shape, dtype=bool)),
            noise_correlation=(("task", "other_task"), np.eye(n)),
            null_t=(("task", "rank"), np.tile(stats.norm.isf((rank + 1) / (draws + 1)), (n, 1))),
        )
        .assign_coords(rank=rank, other_task=scores["task"].values)
        .assign_attrs(scores.attrs | {"error_floor": 0.0, "null_draws": draws})
    )
