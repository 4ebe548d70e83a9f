"""Methods of somebody else, by `misbehaving:Class`, whose members do what a test puts into `BEHAVIOUR`."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import xarray as xr

BEHAVIOUR: dict[str, Callable[..., Any]] = {}
"""Member -> what it does in place of what is right."""


def part(name: str) -> xr.Dataset:
    """What `on_part` should give."""
    return xr.Dataset(
        {"share": (("task", "layer", "head"), np.ones((1, 2, 4)))},
        coords={"task": [name], "layer": [0, 1], "head": np.arange(4)},
        attrs={"provenance": "{}"},
    )


def task_block() -> xr.Dataset:
    """What `on_part` of a task should give."""
    values = np.zeros((1, 4, 3, 4), dtype=np.float32)
    return xr.Dataset(
        {
            "patched": (("metric", "prompt", "layer", "head"), values),
            "clean": (("metric", "prompt"), values[..., 0, 0] + 1),
            "corrupted": (("metric", "prompt"), values[..., 0, 0]),
        },
        coords={"metric": ["logit_diff"], "layer": [0, 1, 2], "head": [0, 1, 2, 3]},
        attrs={"provenance": "{}", "dropped": 0},
    )


def behave(member: str, right: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    return BEHAVIOUR.get(member, right)(*arguments, **options)


class Joint:
    """A joint method."""

    name = "bad"
    options: ClassVar[dict[str, Any]] = {}

    def __init__(self) -> None:
        behave("__init__", lambda: None)

    def parts(self, inputs: Any, **options: Any) -> Any:
        return behave("parts", lambda inputs: {task: (task,) for task in inputs.readable}, inputs)

    def work(self, inputs: Any, part: str, **options: Any) -> Any:
        return behave("work", lambda inputs, part: 1.0, inputs, part)

    def on_part(self, inputs: Any, name: str, **options: Any) -> Any:
        return behave("on_part", lambda inputs, name: part(name), inputs, name)

    def join(self, parts: Any) -> Any:
        return behave("join", lambda parts: xr.concat(list(parts.values()), "task", combine_attrs="override"), parts)


class OnTask:
    """A method that scores one task at a time."""

    name = "bad"
    positions = "last"
    options: ClassVar[dict[str, Any]] = {}

    def memory_plan(self, model: Any, batch: Any, **options: Any) -> Any:
        return behave("memory_plan", lambda model, batch: None, model, batch)

    def announce(self, runs: Any, **options: Any) -> Any:
        return behave("announce", lambda runs: None, runs)

    def on_part(self, inputs: Any, task: str, **options: Any) -> Any:
        return behave("on_part", lambda inputs: task_block(), inputs)

    def __call__(self, model: Any, *, times: int = 1) -> Any:
        return behave("__call__", lambda model: task_block(), model)


class Bare:
    """A method that lacks everything."""


def summary(block: xr.Dataset) -> Any:
    """Of a joint method."""
    return behave("summary", lambda block: ["It is so."], block)
