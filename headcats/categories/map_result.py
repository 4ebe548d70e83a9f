"""The result of a map: heads of every category by one way to judge a run, and the maps that could contradict it.

Terminal, JSON, page and cards are views of it: what is counted or named is so here, once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import xarray as xr
from jaxtyping import Bool, Shaped

from headcats.categories.by_block import checked_selection
from headcats.categories.map_spec import MapSpec
from headcats.categories.membership import SETTLED
from headcats.categories.outcome import IN, NOT_JUDGED, outcomes
from headcats.categories.task_tests import numbered_tasks
from headcats.results.head_axes import cell_name, unit_of

SPECIFIC = " (task-specific)"
_GRID = ("category", "layer", "head")


@dataclass(frozen=True)
class CategoryHeads:
    """A category of a map, with the names of its heads, the largest effect first."""

    name: str
    n_tasks: int  # with numbers
    min_tasks: int
    judged: bool  # any head has a number
    heads: tuple[str, ...]
    open_elsewhere: tuple[int, ...]  # other categories in which each of them is undecided
    n_undecided: int
    n_settled: int  # in it in enough of the resamples
    expected: float | None  # heads that the rule finds on average if none has an effect

    @property
    def size(self) -> int:
        """Number of heads in it."""
        return len(self.heads)


@dataclass(frozen=True)
class MapResult:
    """Heads of every category: by scores of tasks, or by a joint method."""

    spec: MapSpec
    # `members` and `overlap`; of a map by scores also `scores`, and of the requested one their tests
    tables: Mapping[str, xr.Dataset]
    name: str = ""  # how a reader tells it from other maps of the run, such as "mean ablation"
    method: str = ""  # its label
    title: str = ""  # one line on what a figure of it shows
    suffix: str = ""  # end of the names of its files, so that none replaces that of another map
    # options of a command on the run that gives the same map, without dashes -> value
    options: Mapping[str, str] = field(default_factory=dict)
    block: xr.Dataset | None = None  # of a joint method; None for all others
    # of a joint method, category -> its tasks that were skipped
    tried: Mapping[str, Sequence[str]] = field(default_factory=dict)
    # the same map by task-specific effects; None where they are mapped already or not known
    task_specific: "MapResult | None" = None
    others: tuple["MapResult", ...] = ()  # maps by the other exact methods of the run
    left_out: Mapping[str, str] = field(default_factory=dict)  # name -> why there is no such map
    # tests of these very categories, as `hc.run_evidence` returns them; the first speaks for them
    evidence: tuple[xr.DataTree, ...] = ()
    cautions: tuple[str, ...] = ()  # warnings of the statistics, in the order in which they came
    # rows of the longest file of finished prompts where all tasks are such files; None elsewhere
    longest_list: int | None = None

    @property
    def verdicts(self) -> dict[str, str]:
        """Category -> verdict of the test; {} where none was made."""
        return verdicts_of(self.evidence[0]) if self.evidence else {}

    @property
    def differing_verdicts(self) -> dict[str, str]:
        """The verdicts; {} where all are alike."""
        return self.verdicts if len({*self.verdicts.values()}) > 1 else {}

    @property
    def overlap(self) -> xr.Dataset:
        """Memberships of one sign, and what categories share."""
        return self.tables["overlap"]

    @property
    def tasks(self) -> list[str]:
        """Tasks with numbers, of a map by scores."""
        return [task for tasks in numbered_tasks(self.tables["scores"]).values() for task in tasks]

    @property
    def sign(self) -> str:
        """Sign of the heads, helping or suppressing."""
        return str(self.overlap.attrs.get("sign", "helping"))

    @property
    def is_scored(self) -> bool:
        """True for a map by a method that scores tasks."""
        return self.block is None

    @property
    def is_of_relations(self) -> bool:
        """True for a joint method with a row for every task rather than one for every category."""
        return self.block is not None and checked_selection(self.block).over == "task"

    @property
    def has_several_relations(self) -> bool:
        """True where a category of a joint method has, or was tried on, more than one task."""
        tried = self.tried.values() if self.is_of_relations else ()
        return bool((self.overlap["n_tasks"] > 1).any() or any(tried))

    @property
    def not_judged(self) -> str:
        """Why the rule can judge no head; "" where it can."""
        return str(self.tables["members"].attrs.get("not_judged", ""))

    @property
    def no_task_specific(self) -> str:
        """Why there are no task-specific effects beside total ones, or no head can be judged by them; else ""."""
        if self.task_specific is not None:
            return self.task_specific.not_judged
        return self.left_out.get(f"{self.name}{SPECIFIC}", "")

    @property
    def all(self) -> tuple["MapResult", ...]:
        """Maps of the run, the requested one first."""
        return tuple(filter(None, (self, self.task_specific, *self.others)))

    @cached_property
    def inside(self) -> Bool[np.ndarray, "category layer head"]:
        """True for each head in each category, in the order of `overlap`."""
        return (self.overlap["member"] == 1).transpose(*_GRID).to_numpy()

    @cached_property
    def settled(self) -> Bool[np.ndarray, "category layer head"] | None:
        """Memberships that hold in enough of the resamples; None without any."""
        if "probability" not in self.overlap:
            return None
        return (self.overlap["probability"] >= SETTLED).transpose(*_GRID).to_numpy() & self.inside

    @cached_property
    def categories(self) -> tuple[CategoryHeads, ...]:
        """Every category, in the order of `overlap`."""
        table, has_number = self.overlap, self.overlap["effect"].notnull()
        undecided = (table["undecided"] & has_number).transpose(*_GRID).to_numpy()
        n_open, places = undecided.sum(0), list(map(self.members_of, range(len(undecided))))
        judged = has_number.any(("layer", "head")).values
        settled = np.zeros(len(judged), dtype=int) if self.settled is None else self.settled.sum((1, 2))
        expected = self.tables["members"].get("size_expected")
        return tuple(
            CategoryHeads(
                name,
                int(table["n_tasks"][place]),
                int(table["min_tasks"][place]),
                bool(judged[place]),
                self.head_names(places[place]),
                tuple(int(n_open[cell]) for cell in places[place]),
                int(undecided[place].sum()),
                int(settled[place]),
                None if expected is None else float(expected.sel(category=name)),
            )
            for place, name in enumerate(table["category"].values.tolist())
        )

    def members_of(self, category: int) -> list[tuple[int, int]]:
        """Places along `layer` and `head` of the heads in the category at a place; the largest effect first."""
        effect = self.overlap["effect"].transpose(*_GRID).to_numpy()[category]
        places = np.argwhere(self.inside[category])
        order = np.argsort(-abs(effect[self.inside[category]]), kind="stable")
        return [(i, j) for i, j in places[order].tolist()]

    def head_names(self, places: Sequence[tuple[int, int]]) -> tuple[str, ...]:
        """Names of the heads at places along `layer` and `head`."""
        layers, heads, unit = (*(self.overlap[axis].values for axis in ("layer", "head")), unit_of(self.overlap))
        return tuple(cell_name(int(layers[i]), int(heads[j]), unit) for i, j in places)

    def outcomes_on(self, mapped: "MapResult") -> Shaped[np.ndarray, "category layer head"]:
        """Outcomes of this map for the categories and heads of another one; "not judged" of those that it lacks."""
        here = outcomes(self.overlap).reindex_like(mapped.overlap, fill_value=NOT_JUDGED)
        return here.transpose(*_GRID).to_numpy()

    def names_too(self, mapped: "MapResult") -> Bool[np.ndarray, "category layer head"]:
        """Memberships of another map that this one has as well; categories that were not judged here have none."""
        return mapped.inside & (self.outcomes_on(mapped) == IN)


def verdicts_of(evidence: xr.DataTree) -> dict[str, str]:
    """Category -> verdict of one test; categories without a task in it have none."""
    table = evidence["relabelling"].to_dataset()
    verdicts = zip(table["category"].values.tolist(), table["verdict"].values.tolist(), strict=True)
    tested = set(table["task_category"].values.tolist())
    return {category: verdict for category, verdict in verdicts if category in tested}


def block_title(block: xr.Dataset) -> str:
    """One line on what a picture of the block of a joint method shows."""
    return f"{block.attrs['label']}, model {block.attrs['model']}"


def criteria(members: xr.Dataset) -> str:
    """The rule, and how many relations a head has to pass, as the end of a title."""
    needed = {int(n) for n in members["min_tasks"].values[members["n_tasks"].values > 1]}
    least = f" in at least {' or '.join(map(str, sorted(needed)))} of a category's relations" if needed else ""
    return f", rule {members.attrs['rule']}{least}"
