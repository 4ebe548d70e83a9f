"""Damages that were never measured: every set of heads costs what a test says it costs."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from headcats.evidence.confounders import StratifiedLabellings
from headcats.evidence.specificity import damage_table
from headcats.evidence.verdicts import relabelling_table
from headcats.models.head import Head
from headcats.statistics.labellings import Labellings, draw_labellings
from headcats.sweeps.tree import HeadSet


def heads(*names: str) -> HeadSet:
    """Heads by name."""
    return tuple(map(Head.parse, names))


def labellings(*sizes: int, n: int = 200) -> Labellings:
    """Categories of so many tasks, no two of which share words."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    return draw_labellings(labels, np.arange(len(labels)), n_categories=len(sizes), n=n, seed=0)


def by_agreement(drawn: Labellings, *, own: float = 0.6, elsewhere: float = 0.1, noise: float = 0.02) -> np.ndarray:
    """Damage (labelling, task, category): a category's heads cost a task the more, the more of the category's other
    tasks truly are of its kind."""
    true, members = drawn.labels[0], drawn.members
    kinds = (true[:, None] == np.arange(drawn.n_categories)).astype(float)
    others = np.einsum("lsc,sk->lck", members, kinds)[:, None] - members[..., None] * kinds[:, None, :]
    share = np.einsum("ltck,tk->ltc", others, kinds) / others.sum(axis=-1)
    wobble = noise * np.random.default_rng(0).standard_normal(len(true))[:, None]
    return elsewhere + (own - elsewhere) * share + wobble


def tables(
    drawn: Labellings,
    damages: np.ndarray,
    cosines: np.ndarray | None = None,
    *,
    coincide: tuple[str, ...] = (),
    inseparable: Mapping[int, tuple[str, ...]] | None = None,
) -> tuple[xr.Dataset, xr.Dataset]:
    """Nodes `relabelling` and `specificity` of some damages; tasks of one category have a cosine of .8."""
    categories = list("ABCDEFGH"[: drawn.n_categories])
    true, stratified = drawn.labels[0], StratifiedLabellings(drawn, coincide, inseparable or {})
    names = [f"{categories[label].lower()}{place}" for place, label in enumerate(true)]
    chosen = {name: ([heads("L0H0")], np.zeros((1, len(categories)), dtype=int)) for name in names}
    cosines = 0.8 * (true[:, None] == true) if cosines is None else cosines
    tested = relabelling_table(cosines, damages, stratified, tasks=names, categories=categories)
    table = damage_table(damages[0], drawn, chosen, categories=categories)
    return tested.assign(damaged=("task", ~np.isnan(damages).all(axis=(0, 2)))), table
