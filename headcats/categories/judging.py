"""Categories judged by a rule: their tasks reduced to one number per head, and an outcome for each.

Also for resampled data, and for data without any effect.
"""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr
from jaxtyping import Bool, Float, Int, Int8, Shaped

from headcats.base.errors import DataError, OptionError, StatisticsWarning
from headcats.categories.task_tests import TaskTests
from headcats.results.head_axes import head_coords
from headcats.rules.rule import Cutoffs, Rule
from headcats.scores.testing import p_of_statistic
from headcats.statistics.multiplicity import benjamini_hochberg, partial_conjunction

ROWS = ("category", "layer", "head")
"""Dims of what is judged."""
Grids = dict[str, Float[np.ndarray, "... layer head"]]


@dataclass(frozen=True)
class Reduction:
    """Reduction of the tasks of one category, the `rows` of `tests`, to the r-th largest effect."""

    tests: TaskTests
    rows: Int[np.ndarray, " task"]
    r: int  # number of tasks in which a head has to matter

    def of_scores(self) -> Grids:
        """`effect, low, high` and one-sided `p_value, p_below`, `[layer, head]`; NaN if fewer than r tasks have any.

        `p_below` tests "above in at least r tasks" the other way round.
        """
        effect, low, high = (self._values(name) for name in ("effect", "low", "high"))
        p_above = self.tests.p_above[self.rows]
        reduced = self._reduced(effect, low, p_above, high=high, correlation=self._correlation)
        enough = (~np.isnan(effect)).sum(axis=0) >= self.r
        others = len(effect) - self.r + 1
        reduced["p_below"] = np.where(enough, self._conjunction(self.tests.p_below[self.rows], others), np.nan)
        if "specific_effect" in self.tests.grids:
            # Some tasks may lack the control.
            both = enough & ((~np.isnan(self._values("specific_effect"))).sum(axis=0) >= self.r)
            for name, missing in (("specific_effect", -np.inf), ("specific_low", -np.inf), ("specific_high", np.inf)):
                reduced[name] = np.where(both, self._largest(self._values(name), missing), np.nan)
        return reduced

    def trusted_p(self) -> Float[np.ndarray, "layer head"]:
        """`p_value` of the tasks in which the head is not `doubtful`."""
        return self._conjunction(np.where(self.tests.doubtful[self.rows], 1.0, self.tests.p_above[self.rows]), self.r)

    def of_resamples(self, cells: Int[np.ndarray, " cell"]) -> Grids:
        """`effect, low, p_value` of the heads at `cells` in every draw, as if it were the data, `[draw, 1, cell]`.

        Each head keeps its standard error and the width of its interval in each task.
        """
        return self._of_effects(self._resampled[:, self.rows[:, None], cells], cells, correlation=self._correlation)

    def largest_of_resamples(self) -> Grids:
        """Bounds that no draw exceeds, `[1, cell]` for all heads: the largest effect and low end, the smallest p."""
        # Task by task, without a copy of all draws; NaN for heads without any.
        largest = np.stack([np.fmax.reduce(self._resampled[:, row], axis=0) for row in self.rows])
        # Correlation between tasks makes no p smaller, unless it is above one half.
        bounds = self._of_effects(largest, np.arange(largest.shape[-1]), correlation=None)
        return bounds | {"p_value": np.minimum(bounds["p_value"], 0.5)}

    @property
    def drawable(self) -> Bool[np.ndarray, " cell"]:
        """True if a head has a number in any draw: none of a single query item has."""
        draws, _, cells = self._resampled.shape
        tasks_with_number = np.zeros((draws, cells), dtype=np.int16)
        for row in self.rows:
            tasks_with_number += ~np.isnan(self._resampled[:, row])
        return np.asarray((tasks_with_number >= self.r).any(axis=0))

    @property
    def _resampled(self) -> Float[np.ndarray, "draw task cell"]:
        """Resampled effects of all tasks of the scores."""
        draws = self.tests.scores["resampled"].values
        return draws.reshape(*draws.shape[:2], -1)

    def _of_effects(
        self,
        effect: Float[np.ndarray, "*draw task cell"],
        cells: Int[np.ndarray, " cell"],
        *,
        correlation: Float[np.ndarray, "task task"] | None,
    ) -> Grids:
        grids = (self._values(name).reshape(len(self.rows), -1) for name in ("effect", "low", "standard_error"))
        middle, low, error = (values[:, None, cells] for values in grids)
        effect = effect[..., None, :]
        scores, least = self._scores, self.tests.least
        with np.errstate(divide="ignore", invalid="ignore"):
            statistic = (effect - least) / (error + scores.attrs["error_floor"])
        p_value = p_of_statistic(scores, np.where(statistic == 0, 0.0, statistic), effect)
        return self._reduced(effect, effect - (middle - low), p_value, correlation=correlation)

    def without_effect(self) -> Grids:
        """Grids of draws in which every effect is the tested one, so that all that is called is false."""
        scores = self._scores
        statistic = scores["null_effect_t"].values
        p_value = p_of_statistic(scores, statistic)
        effect = self.tests.least + statistic * (self._values("standard_error") + scores.attrs["error_floor"])
        below, above = self._values("effect") - self._values("low"), self._values("high") - self._values("effect")
        return self._reduced(effect, effect - below, p_value, high=effect + above, correlation=self._correlation)

    def smallest_p(self) -> float:
        """The smallest one-sided p that the category can reach."""
        return float(self._conjunction(self.tests.smallest_p[self.rows][:, None, None] / 2, self.r)[0, 0])

    @property
    def _scores(self) -> xr.Dataset:
        """Scores of the category's tasks, without the resampled effects, which are large."""
        return self.tests.scores.drop_vars("resampled", errors="ignore").isel(task=self.rows)

    def _values(self, name: str) -> Float[np.ndarray, "task layer head"]:
        return self.tests.grids[name][self.rows]

    def _reduced(
        self,
        effect: Float[np.ndarray, "*draw task layer head"],
        low: Float[np.ndarray, "*draw task layer head"],
        p_value: Float[np.ndarray, "*draw task layer head"],
        *,
        high: Float[np.ndarray, "*draw task layer head"] | None = None,
        correlation: Float[np.ndarray, "task task"] | None,
    ) -> Grids:
        reduced = {"effect": self._largest(effect, -np.inf), "low": self._largest(low, -np.inf)}
        if high is not None:
            reduced["high"] = self._largest(high, np.inf)
        reduced["p_value"] = _conjunction(p_value, self.r, correlation=correlation)
        enough = (~np.isnan(effect)).sum(axis=-3) >= self.r
        return {name: np.where(enough, values, np.nan) for name, values in reduced.items()}

    def _largest(
        self, values: Float[np.ndarray, "... task layer head"], missing: float
    ) -> Float[np.ndarray, "... layer head"]:
        ordered = np.sort(np.where(np.isnan(values), missing, values), axis=-3)
        return ordered[..., values.shape[-3] - self.r, :, :]

    def _conjunction(self, p_value: Float[np.ndarray, "... task layer head"], r: int) -> Float[np.ndarray, "..."]:
        return _conjunction(p_value, r, correlation=self._correlation)

    @property
    def _correlation(self) -> Float[np.ndarray, "task task"]:
        return self.tests.noise_correlation[np.ix_(self.rows, self.rows)]


def _conjunction(
    p_value: Float[np.ndarray, "... task layer head"], r: int, *, correlation: Float[np.ndarray, "task task"] | None
) -> Float[np.ndarray, "... layer head"]:
    return partial_conjunction(np.moveaxis(p_value, -3, 0), r=r, correlation=correlation)


def resampled_members(
    reductions: Sequence[Reduction], cutoffs: Cutoffs
) -> tuple[Bool[np.ndarray, "resample category layer head"], Bool[np.ndarray, "category layer head"]]:
    """Heads that reach the data's cut-offs in each resample of items, tasks fixed; and heads with any resample."""
    inside, drawable = [], []
    for reduction, cutoff in zip(reductions, map(Cutoffs._make, zip(*cutoffs, strict=True)), strict=True):
        heads = reduction.tests.p_above.shape[1:]
        member = np.zeros((len(reduction.tests.scores["resample"]), math.prod(heads)), dtype=bool)
        # Most heads are far from any cut-off in all draws.
        cells = np.flatnonzero(_reaches(reduction.largest_of_resamples(), cutoff))
        member[:, cells] = _reaches(reduction.of_resamples(cells), cutoff)[:, 0]
        inside.append(member.reshape(-1, *heads))
        drawable.append(reduction.drawable.reshape(heads))
    return np.stack(inside, axis=1), np.stack(drawable)


def _reaches(reduced: Grids, cutoff: Cutoffs) -> Bool[np.ndarray, "..."]:
    return np.asarray(
        (reduced["effect"] >= cutoff.effect) & (reduced["low"] >= cutoff.low) & (reduced["p_value"] <= cutoff.p_value)
    )


def sizes_without_effect(
    reductions: Sequence[Reduction], table: xr.Dataset, rule: Rule
) -> Float[np.ndarray, " category"]:
    """Mean number of heads per category that the rule finds in null data, the items' scatter; NaN for a single item."""
    reduced = [reduction.without_effect() for reduction in reductions]
    dims = ("draw", *ROWS)
    draws = table.assign({name: (dims, np.stack([grids[name] for grids in reduced], axis=1)) for name in reduced[0]})
    sizes = (judge_draws(draws, rule) == 1).sum(axis=(2, 3)).mean(axis=0)
    return np.where(draws["effect"].notnull().any(("draw", "layer", "head")).values, sizes, np.nan)


def judge_draws(draws: xr.Dataset, rule: Rule) -> Int8[np.ndarray, "draw category layer head"]:
    """Outcomes of a rule for each draw of a table of categories."""
    tables = [draws] if rule.takes_draws else [draws.isel(draw=place) for place in range(draws.sizes["draw"])]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsWarning)  # warned once, about the data
        outcomes = [rule(table).transpose(..., *ROWS).values for table in tables]
    return np.concatenate([values.reshape(-1, *values.shape[-3:]) for values in outcomes])


@dataclass(frozen=True)
class Judged:
    """Heads of categories, judged by a rule; `outcome` is 1, 0 or -1, and no head without a number in a task is out."""

    reductions: list[Reduction]
    table: xr.Dataset
    outcome: Int8[np.ndarray, "category layer head"]


def judge(
    tests: TaskTests, rows: Mapping[str, Int[np.ndarray, " task"]], needed: Mapping[str, int], *, rule: Rule
) -> Judged:
    """Reduce the tasks of every category, `rows` of the tests, and judge its heads in the `needed` number of them."""
    scores = tests.scores
    reductions = [Reduction(tests, places, needed[category]) for category, places in rows.items()]
    grids = stacked_grids(reductions)
    table = xr.Dataset(
        {name: (ROWS, values) for name, values in grids.items()}
        | {
            "smallest_p": ("category", [reduction.smallest_p() for reduction in reductions]),
            "n_items": ("category", [tests.n_items[places].min() for places in rows.values()]),
        },
        coords={"category": list(rows), **head_coords(scores)},
        attrs={name: scores.attrs[name] for name in ("method", "effect") if name in scores.attrs},
    )
    outcome = rule(table).values
    incomplete = np.stack([np.isnan(tests.grids["effect"][places]).any(axis=0) for places in rows.values()])
    return Judged(reductions, table, np.where(incomplete & (outcome == -1), 0, outcome).astype(np.int8))


def stacked_grids(reductions: Sequence[Reduction]) -> Grids:
    """Grids of several categories, `[category, layer, head]`, with q values over all their heads."""
    reduced = [reduction.of_scores() for reduction in reductions]
    grids = {name: np.stack([grids[name] for grids in reduced]) for name in reduced[0]}
    return grids | {"q_value": benjamini_hochberg(grids["p_value"])}


def tasks_needed(tasks: dict[str, list[str]], min_tasks: int | str) -> dict[str, int]:
    """Category -> r, of the categories with enough tasks."""
    check_min_tasks(min_tasks)
    counts = {category: len(members) for category, members in tasks.items()}
    needed = {category: needed_of(n, min_tasks) for category, n in counts.items()}
    enough = {category: r for category, r in needed.items() if 0 < counts[category] >= r}
    if not enough:
        have = ", ".join(f"{category}: {n}" for category, n in counts.items())
        raise DataError(
            f"min_tasks={min_tasks!r} needs at least {min_tasks} tasks with numbers, and no category has as many "
            f"({have}). Lower min_tasks or score more tasks."
        )
    return enough


def check_min_tasks(min_tasks: int | str) -> None:
    """Raises OptionError for anything but "half" or a whole number of at least 1."""
    if min_tasks != "half" and (isinstance(min_tasks, bool) or not isinstance(min_tasks, int) or min_tasks < 1):
        raise OptionError(f"min_tasks must be 'half' or a whole number of at least 1; got {min_tasks!r}.")


def needed_of(n: int, min_tasks: int | str) -> int:
    """Number of n tasks that `min_tasks` asks for; "half" is rounded up, and both of two."""
    return min(n, max(2, math.ceil(n / 2))) if isinstance(min_tasks, str) else min_tasks


def joined_names(
    inside: Bool[np.ndarray, "task layer head"], names: Shaped[np.ndarray, " task"]
) -> Shaped[np.ndarray, "layer head"]:
    """The names of the tasks of every head as one text, with a comma between them."""
    texts = np.full(inside.shape[1:], "", dtype=object)
    for heads, name in zip(inside, names, strict=True):
        texts[heads] = [f"{text},{name}".lstrip(",") for text in texts[heads]]
    return texts.astype(str)


def warn_of(problems: dict[str, list[str]], *, above: int = 1) -> None:
    """Warn once per problem that has names; the warning points at the caller's caller, or further `above`."""
    for problem, names in problems.items():
        if names:
            warnings.warn(f"{problem}: {', '.join(names)}.", StatisticsWarning, stacklevel=above + 2)
