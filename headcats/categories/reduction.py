"""From a category's tasks to one number per head: the r-th largest effect and its partial-conjunction p.

Also for resampled data, and for data without any effect.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr
from jaxtyping import Bool, Float, Int
from scipy import stats

from headcats.errors import StatisticsWarning
from headcats.rules.rule import Cutoffs, Rule

Grids = dict[str, Float[np.ndarray, "... layer head"]]


@dataclass(frozen=True)
class Reduction:
    """Reduction of the tasks of one category.

    Attributes:
        scores: Table over `(task, layer, head)`, in that order.
        tasks: Indices of the category's tasks.
        r: Number of tasks in which a head has to matter.
    """

    scores: xr.Dataset
    tasks: Int[np.ndarray, " task"]
    r: int

    def of_scores(self) -> Grids:
        """`effect, low, high` and one-sided `p_value`, `[layer, head]`; NaN if fewer than r tasks have a number.

        Also `null_effect, specific_effect, specific_low, specific_high` if the scores have them.
        """
        effect, low, high, p_value = (self._values(name) for name in ("effect", "low", "high", "p_value"))
        one_sided = np.where(effect > 0, p_value / 2, np.where(effect < 0, 1 - p_value / 2, 1.0))
        reduced = self._reduced(effect, low, high, np.where(np.isnan(p_value), 1.0, one_sided))
        enough = (~np.isnan(effect)).sum(axis=0) >= self.r
        if "null_effect" in self.scores:
            reduced["null_effect"] = np.where(enough, self._largest(self._values("null_effect"), -np.inf), np.nan)
        if "specific_effect" in self.scores:
            # Some tasks may lack the control.
            both = enough & ((~np.isnan(self._values("specific_effect"))).sum(axis=0) >= self.r)
            for name, missing in (("specific_effect", -np.inf), ("specific_low", -np.inf), ("specific_high", np.inf)):
                reduced[name] = np.where(both, self._largest(self._values(name), missing), np.nan)
        return reduced

    def of_draws(self, name: str) -> Grids:
        """The same for the draws `resampled` or `flipped` of the scores, `[draw, layer, head]`.

        Each head keeps the width of its interval in each task. p is one-sided from t with `n_items - 1` degrees of
        freedom, at least the smallest reachable one, with the head's standard error or, for flips, the flip's own.
        (Flips keep the sum of squares of n items: an effect of u standard errors leaves (n - u^2) / (n - 1) of the
        variance. With the full variance, p of flips would be too large.)
        """
        effect = self.scores[name].values[:, self.tasks]
        below, above = (self._values("effect") - self._values("low"), self._values("high") - self._values("effect"))
        error, items = self._values("standard_error"), self.scores["n_items"].values[self.tasks][:, None, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            t = effect / error
            if name == "flipped":
                # All items on one side leave no variance: u^2 = n, up to rounding.
                t = t * np.sqrt((items - 1) / np.maximum(items - t**2, 1e-9))
            p_value = stats.t.sf(t, np.maximum(items - 1, 1))
        smallest = self.scores["smallest_p"].values[self.tasks][:, None, None] / 2
        p_value = np.where(np.isnan(p_value), 1.0, np.maximum(p_value, smallest))
        return self._reduced(effect, effect - below, effect + above, p_value)

    def smallest_p(self) -> float:
        """The smallest one-sided p that the category can reach."""
        reach = np.sort(self.scores["smallest_p"].values[self.tasks])[self.r - 1] / 2
        return float(min(1.0, (len(self.tasks) - self.r + 1) * reach))

    def _values(self, name: str) -> Float[np.ndarray, "task layer head"]:
        return self.scores[name].values[self.tasks]

    def _reduced(self, effect: np.ndarray, low: np.ndarray, high: np.ndarray, p_value: np.ndarray) -> Grids:
        reduced = {
            "effect": self._largest(effect, -np.inf),
            "low": self._largest(low, -np.inf),
            "high": self._largest(high, np.inf),
            "p_value": self._conjunction(p_value),
        }
        enough = (~np.isnan(effect)).sum(axis=-3) >= self.r
        return {name: np.where(enough, values, np.nan) for name, values in reduced.items()}

    def _largest(
        self, values: Float[np.ndarray, "... task layer head"], missing: float
    ) -> Float[np.ndarray, "... layer head"]:
        ordered = np.sort(np.where(np.isnan(values), missing, values), axis=-3)
        return ordered[..., len(self.tasks) - self.r, :, :]

    def _conjunction(self, p_value: Float[np.ndarray, "... task layer head"]) -> Float[np.ndarray, "... layer head"]:
        smallest = np.sort(p_value, axis=-3)[..., self.r - 1, :, :]
        return np.minimum(1.0, (len(self.tasks) - self.r + 1) * smallest)


def resampled_members(
    reductions: Sequence[Reduction], cutoffs: Cutoffs
) -> tuple[Bool[np.ndarray, "resample category layer head"], Bool[np.ndarray, "category layer head"]]:
    """Heads that reach the cut-offs of the whole data in each bootstrap resample of items, tasks fixed.

    And heads with any resample: those of a single query item are NaN.
    """
    inside, drawable = [], []
    for reduction, effect, low, p_value in zip(reductions, *cutoffs, strict=True):
        draws = reduction.of_draws("resampled")
        inside.append((draws["effect"] >= effect) & (draws["low"] >= low) & (draws["p_value"] <= p_value))
        drawable.append(~np.isnan(draws["effect"]).all(axis=0))
    return np.stack(inside, axis=1), np.stack(drawable)


def sizes_without_effect(
    reductions: Sequence[Reduction], table: xr.Dataset, rule: Rule
) -> Float[np.ndarray, " category"]:
    """Mean number of heads per category that the rule finds if no head has an effect; NaN for a single query item.

    Null data keep the size of every item's effect, with a random sign (the same in all tasks with this item).
    """
    reduced = [reduction.of_draws("flipped") for reduction in reductions]
    dims = ("draw", "category", "layer", "head")
    draws = table.assign({name: (dims, np.stack([grids[name] for grids in reduced], axis=1)) for name in reduced[0]})
    tables = [draws] if rule.takes_draws else [draws.isel(draw=place) for place in range(draws.sizes["draw"])]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsWarning)  # warned once, about the data
        outcomes = np.concatenate([rule(of_draw).values.reshape(-1, *table["effect"].shape) for of_draw in tables])
    drawable = draws["effect"].notnull().any(("draw", "layer", "head")).values
    return np.where(drawable, (outcomes == 1).sum(axis=(2, 3)).mean(axis=0), np.nan)
