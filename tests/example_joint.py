"""Joint methods that belong to the tests, with a figure, presets and a suite, as a package of somebody else has them.

`register_all` registers them; the fixture `joint_methods` does so for a test. Blocks that are made here by hand carry
their declaration, so that they are read without.
"""

import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import xarray as xr

from headcats.base.errors import DataError
from headcats.base.registry import register
from headcats.figures.figure import figure
from headcats.figures.panels.colour_scale import rising_scale
from headcats.figures.panels.grid import PanelGrid
from headcats.figures.panels.heads import layer_head_cells
from headcats.figures.panels.layout import Panel
from headcats.figures.tables import head_rows, require
from headcats.methods import Declaration, Selection, Strength, declare
from headcats.methods.method import SuiteInputs
from headcats.methods.presets import add_preset
from headcats.methods.spec import Option, WholeNumber
from headcats.results.declaration import declaration_of
from headcats.tasks.definition import Task
from headcats.tasks.suites import make_suite

COMMON: dict[str, Any] = {
    "kind": "joint", "figure_heads": "layer-head", "reader": "hc.categorize",
    "paper": "these tests", "cost": "nothing",
}  # fmt: skip
WEIGHTS = Declaration(
    **COMMON | {"name": "word_weights", "figure": "head_scores"},
    strength=Strength("score", "task", "category", "max", "weights", "largest score of its tasks"),
    selection=Selection(
        "score", "task", "category", rule="threshold:value=0.8", suppressing="suppression", threshold="threshold",
        text="score of a task",
    ),
)  # fmt: skip
GATES = Declaration(
    **COMMON | {"name": "made_gates", "figure": "gate_scores"},
    strength=Strength("facilitation", "seed", "dataset", "mean", "gates", "facilitation, mean over seeds"),
    selection=Selection(
        "facilitation", "seed", "dataset", "min", "threshold:value=0.5", "interference",
        text="least facilitation over seeds",
    ),
)  # fmt: skip
PROBE = Declaration(
    **COMMON | {"name": "class_probe", "figure": "probe_scores", "needs": "two categories"},
    strength=Strength(
        "importance", "seed", "function", "mean_abs", "probe", "absolute importance", void=("not above chance",)
    ),
    selection=Selection("importance", "seed", "function", "mean_abs", "elbow", text="absolute importance"),
)
ANSWERS = Declaration(
    **COMMON
    | {"name": "spoken_probe", "figure": "answer_scores", "figure_heads": "", "reader": "hc.figures.answer_scores"},
    needs="exact answers",
    default_suite="spoken",
)
DECLARED = (WEIGHTS, GATES, PROBE, ANSWERS)
MISFIT = "Algorithmic"
"""Category whose tasks `word_weights` cannot judge."""


class WordWeights:
    """Score every head on every task of word pairs, by a number that is drawn for both."""

    name = "word_weights"
    options: ClassVar[dict[str, Option]] = {}

    def __call__(self, model: Any, pairs: Mapping[str, Any], *, seed: int = 0) -> xr.Dataset:
        """Score word pairs.

        Args:
            model: A model.
            pairs: Task -> word pairs.
            seed: Seed of every draw.
        """
        shape = (len(model.layers), model.max_heads)
        blocks = [self._of(task, shape, category="", seed=seed) for task in pairs]
        return xr.concat(blocks, "task", combine_attrs="override")

    def parts(self, inputs: SuiteInputs) -> dict[str, tuple[str, ...]]:
        return {task: (task,) for task in inputs.readable}

    def on_part(self, inputs: SuiteInputs, part: str) -> xr.Dataset:
        if inputs.categories[part] == MISFIT:
            raise DataError(f"{MISFIT} tasks have no words to judge.")
        shape = (len(inputs.model.layers), inputs.model.max_heads)
        return self._of(part, shape, category=inputs.categories[part], seed=inputs.seed)

    def join(self, parts: Mapping[str, xr.Dataset]) -> xr.Dataset:
        return xr.concat(list(parts.values()), "task", combine_attrs="override")

    def _of(self, task: str, shape: tuple[int, int], *, category: str, seed: int) -> xr.Dataset:
        score = np.random.default_rng([seed, zlib.crc32(task.encode())]).random((1, *shape))
        block = weights_of(score, tasks=[task], belongs=[category], threshold=[0.9])
        return block.drop_attrs().assign_attrs(provenance=json.dumps({"method": self.name, "seed": seed}))


class MadeGates:
    """Draw gates for every category."""

    name = "made_gates"
    options: ClassVar[dict[str, Option]] = {"preset": ("usual", "small"), "n_seeds": WholeNumber(2, least=1)}

    def parts(self, inputs: SuiteInputs, **options: Any) -> dict[str, tuple[str, ...]]:
        return {f"seed {number}": inputs.readable for number in range(int(options["n_seeds"]))}

    def on_part(self, inputs: SuiteInputs, part: str, **options: Any) -> xr.Dataset:
        groups, seed = list(dict.fromkeys(inputs.categories.values())), int(part.split()[1])
        shape = (len(groups), 1, len(inputs.model.layers), inputs.model.max_heads)
        block = gates_of(np.random.default_rng(seed).random(shape), datasets=groups).assign_coords(seed=[seed])
        return block.drop_attrs().assign_attrs(provenance=json.dumps({"method": self.name}))

    def join(self, parts: Mapping[str, xr.Dataset]) -> xr.Dataset:
        return xr.concat(list(parts.values()), "seed", combine_attrs="override")


def summary(block: xr.Dataset) -> list[str]:
    """Say how many tasks have a head of at least .5.

    Args:
        block: Of `word_weights`.
    """
    inside = (block["score"] >= 0.5).any(("layer", "head"))
    return [f"{int(inside.sum())} of {inside.size} tasks have a head of at least .5."]


def head_scores(
    block: xr.Dataset, *, variable: str = "", above: float = 0.0, panels: Sequence[str] = (), title: str | None = None
) -> PanelGrid:
    """Scores of heads, one panel per task, data set or function.

    Args:
        block: Of a joint method of the tests.
        variable: Another variable than that of its strength.
        above: Scores to draw.
        panels: Panels to draw, all by default.
        title: Heading.
    """
    strength = declaration_of(block).strength if isinstance(block, xr.Dataset) else None
    name = variable or (strength.variable if strength else "score")
    found = block.dims if isinstance(block, xr.Dataset) else ()
    row = next((dim for dim in ("task", "dataset", "function") if dim in found), "task")
    dims = (row, *(["seed"] if "seed" in found else []), "layer", "head")
    require(block, {name: dims}, figure="head_scores", table='hc.suite_blocks(results)["word_weights"]')
    scores = block[name].mean("seed") if "seed" in dims else block[name]
    rows = {str(label): scores.sel({row: label}) for label in scores[row].values if not panels or label in panels}
    frame = pd.concat([head_rows(block, {"score": s.where(s >= above)}).assign(panel=n) for n, s in rows.items()])
    cells = layer_head_cells(block, within=(150, 150))
    scale = rising_scale(frame["score"].to_numpy(), colours="viridis", name=f"{name} above {above:g}")
    shown = [
        Panel(name, [cells.plot([cells.heatmap(part, "score", name=name, template="<b>L%{layer}H%{head}</b>")])])
        for name, part in frame.groupby("panel", sort=False)
    ]
    return PanelGrid(shown, frame, title, beside=scale, grey=True)


def register_all() -> None:
    """Register the methods with their figure, presets and suite."""
    declare(WEIGHTS, "example_joint:WordWeights", summary="example_joint:summary")
    declare(GATES, "example_joint:MadeGates")
    declare(PROBE, "example_joint:WordWeights")
    declare(ANSWERS, "example_joint:WordWeights")
    drawn = figure(head_scores)
    for declared in DECLARED:
        register("figure", declared.figure, drawn)
    reading = {"rule": "threshold:value=0.7", "min_tasks": "1"}
    add_preset("words2020", "Doe (2020), arXiv 2001.00001", {"methods": ("word_weights",)}, reading=reading)
    add_preset("gates2020", "Doe (2020)", {"methods": ("made_gates",)})
    add_preset("gates-small", "Doe (2020), for small models", {"methods": ("made_gates:preset=small",)})
    add_preset("classes2020", "Doe (2020)", {"suite": "classes", "methods": ("class_probe",)})
    add_preset("shots2020", "Doe (2020)", {"methods": ("zero_ablation",), "n_demos": 10, "template": "question"})
    add_preset("spoken2020", "Doe (2020)", {"suite": "spoken", "n_demos": 0, "methods": ("spoken_probe",)})
    register("suite", "spoken", spoken_suite)
    register("suite", "classes", classes_suite)


def classes_suite() -> Any:
    """Two tasks for another model, with fewer demonstrations."""
    defaults = {"model": "mini-cognitive", "n_demos": 4}
    return make_suite(["plural", "antonym"], name="classes", defaults=defaults)


def spoken_suite() -> Any:
    """Two tasks that are answered in sentences."""
    sums = [(f"{n} + 1", f"It is {n + 1}.") for n in range(40)]
    tasks = [
        Task(name, "knowledge", "made up", lambda n, *, seed: sums, exact=r"\d+") for name in ("say_next", "tell_next")
    ]
    return make_suite(tasks, name="spoken")


# ---------------------------------------------------------------------------------------------------- blocks by hand
def _block(about: Declaration, values: Mapping[str, Any], coords: Mapping[str, Any]) -> xr.Dataset:
    shape = next(iter(values.values()))[1].shape
    grid = {"layer": np.arange(shape[-2]), "head": np.arange(shape[-1])}
    attrs = {"method": about.name, "label": about.name, "model": "made-up", "declaration": about.as_text()}
    return xr.Dataset(dict(values), {**coords, **grid}, attrs)


def weights_of(
    score: np.ndarray,
    *,
    tasks: Sequence[str],
    belongs: Sequence[str],
    threshold: Sequence[float],
    suppression: np.ndarray | None = None,
) -> xr.Dataset:
    """A block of `word_weights` with that `score (task, layer, head)`; 40 word pairs of every task."""
    dims = ("task", "layer", "head")
    values = {
        "score": (dims, score),
        "suppression": (dims, np.zeros_like(score) if suppression is None else suppression),
    }
    per_task = {name: ("task", np.array(threshold, dtype=float)) for name in ("threshold", "suppression_threshold")}
    block = _block(WEIGHTS, values, {"task": list(tasks), "category": ("task", list(belongs))})
    return block.assign(per_task | {"n": ("task", np.full(len(tasks), 40))})


def gates_of(
    facilitation: np.ndarray, *, datasets: Sequence[str], interference: np.ndarray | None = None
) -> xr.Dataset:
    """A block of `made_gates` with that facilitation `(dataset, seed, layer, head)`; interference is the rest."""
    dims = ("dataset", "seed", "layer", "head")
    other = 1 - facilitation if interference is None else interference
    coords = {"dataset": list(datasets), "seed": np.arange(facilitation.shape[1])}
    block = _block(GATES, {"facilitation": (dims, facilitation), "interference": (dims, other)}, coords)
    return block.assign(n=("dataset", np.full(len(datasets), 50)))


def probe_of(importance: np.ndarray, *, functions: Sequence[str], verdict: str = "") -> xr.Dataset:
    """A block of `class_probe` with that `importance (seed, function, layer, head)`."""
    values = {"importance": (("seed", "function", "layer", "head"), importance)}
    block = _block(PROBE, values, {"seed": np.arange(len(importance)), "function": list(functions)})
    return block.assign_attrs(verdict=verdict)
