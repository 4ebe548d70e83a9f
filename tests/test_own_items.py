"""Items of a user that raise, give something else or write into what they get: each is named, and harms no other."""

import itertools
import re
from collections.abc import Callable, Mapping
from typing import Any

import misbehaving
import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
import torch
import xarray as xr
from architectures import tiny_bridge
from batches import random_batch
from covering import spread

import headcats as hc
from headcats.base import registry
from headcats.base.errors import HeadcatsError
from headcats.figures import figure
from headcats.figures.panels.grid import PanelGrid
from headcats.methods.method import SuiteInputs, TaskInputs
from headcats.models.adapter import adapt
from headcats.prompts.template import ARROW
from headcats.rules import Rule
from headcats.rules.rule import Cutoffs, parse_rule
from headcats.study.plan import plan
from headcats.sweeps.batch_sweep import sweep, sweep_runs
from headcats.sweeps.reference import Reference
from headcats.sweeps.runs import BaseRuns

pytestmark = pytest.mark.usefixtures("unchecked_types")


class Own(Exception):
    """Of the user."""


class Unreadable(Exception):
    """Its text fails, too."""

    def __str__(self) -> str:
        raise RuntimeError


def raising(error: BaseException) -> Callable[..., Any]:
    def behaves(*arguments: Any, **options: Any) -> Any:
        raise error

    return behaves


def giving(value: Any) -> Callable[..., Any]:
    return lambda *arguments, **options: value


def unknown_field(first: Any, *arguments: Any, **options: Any) -> Any:
    return first.no_such_field


RAISES: dict[str, Callable[..., Any]] = {
    "AttributeError": unknown_field,
    "ValueError": raising(ValueError("bad [b]value[/]\nin two lines")),
    "KeyError": raising(KeyError("x")),
    "TypeError": raising(TypeError("takes another type")),
    "StopIteration": raising(StopIteration()),
    "AssertionError": raising(AssertionError()),
    "of their own": raising(Own("mine")),
    "unreadable": raising(Unreadable()),
}
NOTHING: dict[str, Callable[..., Any]] = {name: giving(value) for name, value in (("None", None), ("text", "no"))}


WRONG = RAISES | NOTHING


def not_refused(call: Callable[[Any], Any], cases: Mapping[str, Any], match: str) -> list[str]:
    """The cases in which anything but a HeadcatsError with these words comes."""
    offenders = []
    for name, case in cases.items():
        try:
            call(case)
        except HeadcatsError as error:
            if not re.search(match, str(error)):
                offenders.append(f"{name}: {error}")
        except Exception as error:  # noqa: BLE001 - it is what the test reports
            offenders.append(f"{name}: {type(error).__name__}")
        else:
            offenders.append(f"{name}: nothing was raised")
    return offenders


@pytest.fixture(scope="module")
def model() -> Any:
    return tiny_bridge("gpt2")


# ------------------------------------------------------------------------------------------------------- metrics
METRICS = {
    "a list": lambda logits, targets: logits[:, 0].tolist(),
    "a number": lambda logits, targets: 1.0,
    "mean": lambda logits, targets: logits.mean(),
    "rows x vocabulary": lambda logits, targets: logits,
    "one row less": lambda logits, targets: logits[1:, 0],
    "complex": lambda logits, targets: logits[:, 0].to(torch.complex64),
    "NaN": lambda logits, targets: logits[:, 0] * torch.nan,
    "infinity": lambda logits, targets: logits[:, 0] / 0,
    "an array": lambda logits, targets: logits[:, 0].numpy(),
    "of one argument": lambda logits: logits[:, 0],
    "out of range": lambda logits, targets: logits[:, 10**6],
    "another shape": lambda logits, targets: logits @ logits,
}


def on_paths(wrong: dict[str, Callable[..., Any]]) -> dict[str, tuple[str, Callable[..., Any]]]:
    cases = spread(list(wrong), [("auto",), ("hooked",)])
    return {f"{name} on {path}": (path, wrong[name]) for name, path in cases}


def test_a_metric(model: Any) -> None:
    def swept(case: tuple[str, Callable[..., Any]]) -> None:
        path, behaves = case

        def bad(*arguments: Any) -> Any:
            return behaves(*arguments)

        hc.metrics.metric(bad)
        sweep(model, random_batch(), "denoising_patch", metrics=["log_prob", "bad"], path=path)

    assert not_refused(swept, on_paths(WRONG | METRICS), "Metric 'bad'") == []


def in_place(logits: torch.Tensor, targets: Any) -> torch.Tensor:
    value = logits[:, 0].clone()
    for tensor in (logits, targets.clean_logits, targets.rest.answer, targets.rest.distractor, targets.rest.rank):
        tensor.mul_(0).sub_(7)
    targets.answer.zero_()
    targets.distractor.zero_()
    return value


@pytest.mark.parametrize("path", ["auto", "hooked"])
def test_a_metric_in_place_changes_no_other_to_the_bit(path: str, model: Any) -> None:
    names, options = ["log_prob", "kl", "logit_diff", "rank"], {"path": path}
    alone = sweep(model, random_batch(), "denoising_patch", metrics=names, **options)
    beside = sweep(model, random_batch(), "denoising_patch", metrics=[in_place, *names, in_place][:-1], **options)
    xr.testing.assert_identical(beside.sel(metric=names).drop_attrs(), alone.drop_attrs())


# ------------------------------------------------------------------------------------------------------- methods
METHODS = {
    "an array": lambda z: z.clean.numpy(),
    "a list": lambda z: [z.clean],
    "one position less": lambda z: z.clean[:, 1:],
    "mean": lambda z: z.clean.mean(),
    "NaN": lambda z: z.clean * torch.nan,
    "infinity": lambda z: z.clean / 0,
    "complex": lambda z: z.clean.to(torch.complex64),
    "no argument": lambda: None,
    "undeclared": lambda z: z.resampled,
}


def test_a_causal_method(model: Any) -> None:
    def swept(case: tuple[str, Callable[..., Any]]) -> None:
        path, behaves = case

        def bad(*sources: Any) -> Any:
            return behaves(*sources)

        hc.methods.causal_method(base="clean", positions="last")(bad)
        sweep(model, random_batch(), "bad", path=path)

    assert not_refused(swept, on_paths(WRONG | METHODS), "'bad'") == []


@pytest.mark.parametrize("source", ["clean", "corrupted", "mean", "other_item"])
def test_a_method_in_place_changes_no_other_to_the_bit(source: str, model: Any) -> None:
    """Two sweeps that share runs and reference; the first writes into all that it is given."""

    def swept(replacement: Callable[..., Any]) -> xr.Dataset:
        intervention = hc.Intervention("own", "clean", replacement, uses_reference=True)
        options: dict[str, Any] = {"metrics": ["logit_diff"], "positions": "last", "unit": "head", "path": "auto"}
        return sweep_runs(runs, intervention, reference=reference, **options)

    runs, reference = BaseRuns(adapt(model), random_batch(1)), Reference(random_batch(20, seed=5))
    alone = swept(lambda z: getattr(z, source).clone())

    def destroys(z: Any) -> torch.Tensor:
        value = getattr(z, source).clone()
        getattr(z, source).zero_()
        return value + 0 * getattr(z, source)

    for _ in range(2):
        xr.testing.assert_identical(swept(destroys).drop_attrs(), alone.drop_attrs())


# --------------------------------------------------------------------------------------------- methods with a class
def declared(kind: str, code: str) -> Any:
    declaration = hc.methods.Declaration(name="bad", kind=kind, paper="this test")
    return hc.methods.declare(declaration, f"misbehaving:{code}", summary="misbehaving:summary" * (kind == "joint"))


@pytest.fixture(autouse=True)
def _as_it_should() -> Any:
    yield
    misbehaving.BEHAVIOUR.clear()


def suite_inputs() -> SuiteInputs:
    tasks = hc.suite("icl").named(["plural", "antonym"])
    pairs = {task.name: task.pairs(8, seed=0) for task in tasks}
    categories = {task.name: task.category for task in tasks}
    return SuiteInputs(None, tasks, categories, pairs, ARROW, 1, 4, 0)


def call_joint(member: str) -> Any:
    inputs, method = suite_inputs(), registry.lookup("method", "bad")
    parts = {task: misbehaving.part(task) for task in inputs.readable}
    arguments: dict[str, tuple[Any, ...]] = {
        "__init__": (inputs,), "parts": (inputs,), "work": (inputs, "plural"), "on_part": (inputs, "plural"),
        "join": (parts,), "summary": (parts["plural"],),
    }  # fmt: skip
    return getattr(method, "parts" if member == "__init__" else member)(*arguments[member])


JOINT_RESULTS = {
    "parts": [None, ["plural"], {"a": "plural"}, {1: ("plural",)}, {"a": None}],
    "work": [None, "1", float("nan"), float("inf"), -1],
    "on_part": [None, {}, misbehaving.part("a")["share"], misbehaving.part("a") * np.inf],
    "join": [None, [], misbehaving.part("a") * np.inf],
    "summary": [None, "text", [1], {"a": "b"}],
}


@pytest.mark.parametrize("member", ["__init__", *JOINT_RESULTS])
def test_a_joint_method(member: str) -> None:
    def called(behaves: Callable[..., Any]) -> None:
        declared("joint", "Joint")
        misbehaving.BEHAVIOUR[member] = behaves
        call_joint(member)

    wrong = {repr(result)[:40]: giving(result) for result in JOINT_RESULTS.get(member, [])}
    raises = RAISES | {"AttributeError": raising(AttributeError("no"))}  # __init__ is given nothing
    assert not_refused(called, raises | wrong, "Method 'bad'") == []


def without(name: str) -> xr.Dataset:
    return misbehaving.task_block().drop_vars(name)


def with_nan() -> xr.Dataset:
    block = misbehaving.task_block()
    block["patched"][0, 1] = np.nan
    return block


def with_a_hole() -> xr.Dataset:
    block = misbehaving.task_block()
    block["patched"][0, 1, 0, 2] = np.nan
    return block


TASK_BLOCKS = {
    "nothing": None,
    "an array": misbehaving.task_block()["patched"],
    "nothing patched": without("patched"),
    "nothing clean": without("clean"),
    "other dims": misbehaving.task_block().transpose(),
    "infinity": misbehaving.task_block() / 0,
    "NaN": with_nan(),
    "NaN of one head in one prompt": with_a_hole(),
    "NaN alone": misbehaving.task_block() * np.nan,
    "whole numbers": misbehaving.task_block().astype(int),
    "no attributes": misbehaving.task_block().drop_attrs(),
    "a list as provenance": misbehaving.task_block().assign_attrs(provenance="[]"),
    "another type in it": misbehaving.task_block().assign_attrs(provenance='{"path": 3}'),
    "an attribute that no file holds": misbehaving.task_block().assign_attrs(extra={"a": 1}),
    "no labels of metrics": misbehaving.task_block().drop_vars("metric"),
    "a summary that is no JSON": misbehaving.task_block().assign_attrs(summary="good"),
    "one layer of three": misbehaving.task_block().isel(layer=[1]),
    "layers of another model": misbehaving.task_block().assign_coords(layer=[3, 4, 5]),
    "a head less": misbehaving.task_block().isel(head=[0, 1, 2]),
    "a prompt less": misbehaving.task_block().isel(prompt=[0, 1]),
    "a metric less": misbehaving.task_block().assign_coords(metric=["kl"]),
    "texts and numbers": misbehaving.task_block().assign_coords(item=("prompt", np.array(["a", 1, None, "b"], object))),
}


def test_a_method_of_tasks(model: Any) -> None:
    def on_task(behaves: Callable[..., Any]) -> None:
        misbehaving.BEHAVIOUR["on_part"] = behaves
        method.on_part(inputs, "task", positions="last")

    method = declared("task", "OnTask")
    inputs = TaskInputs((BaseRuns(adapt(model), random_batch()),), ("logit_diff",), lambda kind: None)
    with np.errstate(all="ignore"):
        blocks = {name: giving(block) for name, block in TASK_BLOCKS.items()}
        assert not_refused(on_task, RAISES | blocks, "Method 'bad'") == []


def test_a_layer_may_lack_heads(model: Any) -> None:
    block = misbehaving.task_block()
    block["patched"][..., 0, 3] = np.nan
    method = declared("task", "OnTask")
    misbehaving.BEHAVIOUR["on_part"] = giving(block)
    inputs = TaskInputs((BaseRuns(adapt(model), random_batch()),), ("logit_diff",), lambda kind: None)
    assert method.on_part(inputs, "task", positions="last").identical(block)


def test_a_class_that_is_no_method() -> None:
    def planned(case: tuple[str, str]) -> None:
        declared(*case)
        plan(suite=["plural", "antonym"], methods=["bad:n=3"], n_prompts=4)

    for code in ("Bare", "NoSuchClass", "BEHAVIOUR"):
        kinds = {kind: (kind, code) for kind in ("task", "joint")}
        assert not_refused(planned, kinds, f"Method 'bad' \\(misbehaving:{code}\\)") == []


def test_the_caller_s_own_mistake_stays_a_type_error() -> None:
    method = declared("task", "OnTask")
    with pytest.raises(TypeError, match="unexpected keyword"):
        method("model", time=2)


# --------------------------------------------------------------------------------------------------------- rules
def scores() -> xr.Dataset:
    effect = np.random.default_rng(0).normal(size=(2, 3, 4))
    names = ("effect", "low", "high", "p_value")
    coords = {"task": ["a", "b"], "layer": [0, 1, 2], "head": np.arange(4), "category": ("task", ["A", "B"])}
    return xr.Dataset({name: (("task", "layer", "head"), effect.copy()) for name in names}, coords=coords)


def ones(scores: xr.Dataset) -> xr.DataArray:
    return xr.ones_like(scores["effect"], dtype=int)


RULES = {
    "an array": lambda scores: scores["effect"].values,
    "all scores": lambda scores: scores,
    "effects": lambda scores: scores["effect"],
    "two": lambda scores: ones(scores) * 2,
    "NaN": lambda scores: scores["effect"] * np.nan,
    "texts": lambda scores: ones(scores).astype(str),
    "truth values": lambda scores: scores["effect"] > 0,
    "one dim less": lambda scores: ones(scores).isel(head=0),
    "one head less": lambda scores: ones(scores).isel(head=slice(1, None)),
    "another dim": lambda scores: ones(scores).rename(head="heads"),
    "heads in another order": lambda scores: ones(scores).isel(head=[3, 2, 1, 0]),
    "unknown variable": lambda scores: scores["no_such"],
    "a number": lambda scores: 1,
}


def test_a_rule() -> None:
    def judged(behaves: Callable[..., Any]) -> None:
        def bad(*, cut: float = 0.0) -> Rule:
            return Rule(behaves)

        hc.rules.rule(bad)()(scores())

    assert not_refused(judged, WRONG | RULES, "Rule 'bad'") == []


MAKES = WRONG | {"AttributeError": raising(AttributeError("no")), "a function": giving(ones)}


def test_a_rule_that_is_none() -> None:
    def parsed(behaves: Callable[..., Any]) -> None:
        def bad(*, cut: float = 0.0) -> Any:
            return behaves()

        hc.rules.rule(bad)
        parse_rule("bad:cut=1")

    assert not_refused(parsed, MAKES, "Rule 'bad'") == []


def test_a_rule_in_place_changes_no_scores() -> None:
    table = scores()

    def judge(scores: xr.Dataset) -> xr.DataArray:
        for values in scores.values():
            values.values[:] = -7
        scores["extra"] = scores["effect"]
        return ones(scores)

    Rule(judge)(table)
    Rule(ones, lambda scores: Cutoffs(*[judge(scores).values[:, 0, 0]] * 3)).cutoffs(table)
    xr.testing.assert_identical(table, scores())


# ------------------------------------------------------------------------------------------------------- figures
FIGURES = {
    "a number": giving(3),
    "data": giving({"data": []}),
    "a frame": giving(pd.DataFrame()),
    "two figures": giving((go.Figure(), go.Figure())),
    "three things": giving((go.Figure(), pd.DataFrame(), 1)),
    "a broken grid": giving(PanelGrid([], None, "title")),
    "another grid": giving(PanelGrid([3], pd.DataFrame(), None)),
    "unknown variable": lambda scores: scores["no_such"],
}


def test_a_figure() -> None:
    def drawn(behaves: Callable[..., Any]) -> None:
        @figure
        def bad(scores: xr.Dataset, *, title: str | None = None) -> Any:
            return behaves(scores)

        bad(scores(), title="t")

    assert not_refused(drawn, WRONG | FIGURES, "Figure 'bad'") == []


# --------------------------------------------------------------------------------------------------------- tasks
def breaks_off(n: int, seed: int) -> Any:
    yield "a", "b"
    raise Own("in the middle")


TASKS = {
    "AttributeError": lambda n, seed: n.no_such_field,
    "a number": giving(3),
    "no pair": giving([]),
    "a generator that raises": breaks_off,
    "one word": giving(["a"]),
    "three words": giving([("a", "b", "c")]),
    "numbers": giving([(1, 2)]),
    "empty words": giving([("a", " ")]),
    "two answers": giving([("a", "b"), ("a", "c")]),
    "a frame": giving(pd.DataFrame({"a": ["b"]})),
    "without end": lambda n, seed: (("a", str(k)) for k in itertools.count()),
}


def test_a_task(monkeypatch: pytest.MonkeyPatch) -> None:
    def planned(behaves: Callable[..., Any]) -> None:
        @hc.task(category="A", source="this test")
        def bad(n: int, *, seed: int) -> Any:
            return behaves(n, seed)

        plan(suite=[bad, "plural"], n_prompts=4)

    monkeypatch.setattr("headcats.tasks.definition._MOST", 5000)
    assert not_refused(planned, WRONG | TASKS, "Task 'bad'") == []


def test_a_suite() -> None:
    def made(behaves: Callable[..., Any]) -> None:
        registry.register("suite", "bad", behaves)
        hc.suite("bad")

    assert not_refused(made, MAKES, "Suite 'bad'") == []


# -------------------------------------------------------------------------------------------------- registration
def test_what_has_no_name() -> None:
    decorators: dict[str, Callable[[Any], Any]] = {
        "metric": hc.metrics.metric, "rule": hc.rules.rule, "figure": figure,
        "task": hc.task(category="A", source="this test"),
        "method": hc.methods.causal_method(base="clean", positions="last"),
    }  # fmt: skip
    for kind, decorate in decorators.items():
        assert not_refused(decorate, {"lambda": lambda n, seed: None, "number": 3}, f"{kind} .*function") == []
