"""Scores with a known truth: results trees such as `hc.run` leaves behind, from effects that are chosen.

The difference that replacing a head makes on one prompt is

    effect(task, head) * (1 + by_distractor * pattern(distractor task)) + sd * noise(prompt, head)

* `noise` has unit variance. `"t"` has heavy tails: it is a sum of four terms, each t-distributed with 4 degrees of
  freedom and scaled to unit variance: what all heads share and what is a head's own, and of each what all prompts of a
  query item share and what is a prompt's own. Correlation between two prompts of one item: `within_item`; between two
  heads on one prompt: `between_heads`; between tasks: none. The other kinds are functions of such a sum of normal
  terms: `"normal"` itself; `"log-normal"`, -exp (skewness -6); `"spikes"`, a large negative value in one prompt of
  twenty and a little normal noise. Both are skewed to the left: samples without an extreme value look like an effect.
* Query items: each task has its own number of them, drawn from `items`. Every item is asked about once; the other
  prompts ask about items drawn at random, so some items have many prompts and most have one or two.
* Distractor tasks: prompts are balanced over `distractors` strata. Where a head has an effect, it is larger against
  some distractor tasks than against others (`pattern` has mean 0 and SD 1 over the prompts of a task, so the effect of
  the task is the planted one).
* Gaps: 1 on average, per prompt with SD `gap_sd` (normal), independent of the rest.
"""

import json
import math
from dataclasses import dataclass

import numpy as np
import xarray as xr
from jaxtyping import Float, Int
from scipy import stats

COLOURS = ("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728")
METHOD = "denoising_patch"
FREEDOM = 4
SPIKE = 0.05
Noise = Float[np.ndarray, "prompt head"]


@dataclass(frozen=True)
class Design:
    """Sizes and noise of a simulated study. Effects and standard deviations are in shares of the gap."""

    categories: int = 4
    tasks: int = 7
    layers: int = 6
    heads: int = 8
    prompts: int = 64
    # fewest and most query items of a task; each prompt asks about its own where prompts are fewer
    items: tuple[int, int] = (25, 45)
    distractors: int = 4  # distractor tasks that the prompts of a task are balanced over
    noise: str = "t"  # "t", "normal", "log-normal" or "spikes"
    sd: float | Float[np.ndarray, " head"] = 0.15  # standard deviation of a head's effect over prompts
    within_item: float = 0.5  # correlation between prompts of one query item
    between_heads: float = 0.3  # correlation between heads on one prompt
    by_distractor: float = 0.25  # SD over distractor tasks of a planted effect, as a share of it
    gap_sd: float = 0.1  # standard deviation of the gap over prompts

    @property
    def n_tasks(self) -> int:
        """Tasks of all categories."""
        return self.categories * self.tasks

    @property
    def n_heads(self) -> int:
        """Heads of the model."""
        return self.layers * self.heads

    @property
    def category_of_task(self) -> Int[np.ndarray, " task"]:
        """Index of each task's category."""
        return np.repeat(np.arange(self.categories), self.tasks)

    @property
    def names(self) -> list[str]:
        """Names of the categories."""
        return [f"Category {chr(ord('A') + place)}" for place in range(self.categories)]


def noise(design: Design, rng: np.random.Generator, *, item: Int[np.ndarray, " prompt"]) -> Noise:
    """Noise of unit variance with the two correlations (see above)."""
    shared, own = (
        _clustered(rng, item=item, columns=columns, within_item=design.within_item, normal=design.noise != "t")
        for columns in (1, design.n_heads)
    )
    values = np.sqrt(design.between_heads) * shared + np.sqrt(1 - design.between_heads) * own
    if design.noise == "log-normal":
        return (math.exp(0.5) - np.exp(values)) / math.sqrt((math.e - 1) * math.e)
    if design.noise == "spikes":
        spikes = (SPIKE - (values > stats.norm.isf(SPIKE))) / math.sqrt(SPIKE * (1 - SPIKE))
        return np.asarray(0.1 * rng.normal(size=spikes.shape) + math.sqrt(0.99) * spikes)
    return values


def results(design: Design, effects: Float[np.ndarray, "task head"], *, rng: np.random.Generator) -> xr.DataTree:
    """A results tree as `hc.run` returns it, of heads with these `effects`, in shares of the gap; positive = helps."""
    nodes: dict[str, xr.Dataset] = {}
    for place, category in enumerate(design.category_of_task):
        nodes[f"/task {place}"] = xr.Dataset(attrs={"category": design.names[category]})
        nodes[f"/task {place}/{METHOD}@last"] = _block(design, effects[place], rng)
    tree = xr.DataTree.from_dict(nodes)
    listed = [{"name": name, "colour": COLOURS[place % len(COLOURS)]} for place, name in enumerate(design.names)]
    tree.attrs["categories"] = json.dumps(listed)
    return tree


def without_items(tree: xr.DataTree) -> xr.DataTree:
    """The same numbers, every prompt named as a query item of its own: what an analysis sees that ignores items."""
    nodes = {"/": tree.to_dataset()}
    for task, node in tree.children.items():
        nodes[f"/{task}"] = node.to_dataset()
        for name, block in node.children.items():
            prompts = [f"prompt {place}" for place in range(block.sizes["prompt"])]
            nodes[f"/{task}/{name}"] = block.to_dataset().assign_coords(item=("prompt", prompts))
    return xr.DataTree.from_dict(nodes)


def _clustered(
    rng: np.random.Generator, *, item: Int[np.ndarray, " prompt"], columns: int, within_item: float, normal: bool
) -> Float[np.ndarray, "prompt column"]:
    shapes = (item.max() + 1, columns), (len(item), columns)
    of_item, of_prompt = (rng.normal(size=size) if normal else rng.standard_t(FREEDOM, size=size) for size in shapes)
    of_item = of_item[item]
    scale = 1.0 if normal else np.sqrt(FREEDOM / (FREEDOM - 2))
    return (np.sqrt(within_item) * of_item + np.sqrt(1 - within_item) * of_prompt) / scale


def _block(design: Design, effects: Float[np.ndarray, " head"], rng: np.random.Generator) -> xr.Dataset:
    n = design.prompts
    n_items = min(n, int(rng.integers(design.items[0], design.items[1] + 1)))
    item = rng.permutation(np.concatenate([np.arange(n_items), rng.integers(n_items, size=n - n_items)]))
    distractor = np.arange(n) % design.distractors
    found = noise(design, rng, item=item)
    varied = effects * (1 + design.by_distractor * _pattern(rng, distractor, columns=len(effects)))
    differences = (varied + design.sd * found).reshape(n, design.layers, design.heads)
    corrupted = rng.normal(-1.0, 1.0, size=n)
    clean = corrupted + rng.normal(1.0, design.gap_sd, size=n)
    return xr.Dataset(
        {
            "patched": (("metric", "prompt", "layer", "head"), (corrupted[:, None, None] + differences)[None]),
            "clean": (("metric", "prompt"), clean[None]),
            "corrupted": (("metric", "prompt"), corrupted[None]),
        },
        coords={
            "metric": ["logit_diff"],
            "item": ("prompt", [f"item {place}" for place in item]),
            "distractor_task": ("prompt", [f"distractor {place}" for place in distractor]),
        },
        attrs={"base": "corrupted", "method": METHOD, "positions": "last"},
    )


def _pattern(
    rng: np.random.Generator, distractor: Int[np.ndarray, " prompt"], *, columns: int
) -> Float[np.ndarray, "prompt column"]:
    drawn = rng.normal(size=(distractor.max() + 1, columns))[distractor]
    drawn -= drawn.mean(axis=0)
    size = drawn.std(axis=0)
    return np.divide(drawn, size, where=size > 0, out=np.zeros_like(drawn))
