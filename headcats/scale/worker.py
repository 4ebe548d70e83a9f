"""The process of a worker: a model, and the calls that it is sent."""

import logging
import platform
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch

from headcats.base.errors import HeadcatsError, MemoryShortageError
from headcats.base.guard import is_out_of_memory, noting_traceback
from headcats.models.adapter import HookedModel
from headcats.models.loading import load_model
from headcats.results.records import ModelRecord
from headcats.study.identity import describe_differences, model_record, versions
from headcats.sweeps.within_memory import share_memory


@dataclass(frozen=True)
class Order:
    """The model of a worker, how it is loaded, and the process that it must agree with; `neighbours` share a node."""

    source: str
    loading: Mapping[str, Any]
    model: ModelRecord
    versions: Mapping[str, str]
    threads: int
    neighbours: int


@dataclass(frozen=True)
class Answer:
    """Result of a call with notes and warnings, or an error, no memory, or a process that is `unfit`."""

    result: Any = None
    error: HeadcatsError | None = None
    out_of_memory: str = ""
    unfit: str = ""
    notes: tuple[str, ...] = ()
    warnings: tuple[tuple[type[Warning], str], ...] = ()


class Worker:
    """Holds the model, and does one call after the other."""

    def __init__(self, order: Order) -> None:
        self.order = order
        self._model: HookedModel | None = None
        self._shared: tuple[str, Any] = ("", None)

    def prepare(self) -> str:
        """Load the model, once; returns the reason why this process cannot be a worker, or ""."""
        if self._model is not None:
            return ""
        order = self.order
        torch.set_num_threads(order.threads)
        share_memory(order.neighbours)
        try:
            if problem := version_problem(order.versions):
                return problem
            model = load_model(order.source, **order.loading)
            differences = describe_differences(order.model.identity_differences(model_record(model)))
        except Exception as error:  # noqa: BLE001 - raised, it would look like a lost worker, which is tried again
            kind = "" if isinstance(error, HeadcatsError) else f"{type(error).__name__}: "
            return f"{platform.node()} cannot load the model, which every node needs: {kind}{error}"
        if differences:
            return (
                f"{platform.node()} has another model {order.source!r} ({'; '.join(differences)}): every node needs "
                "that of the process that starts the run."
            )
        self._model = model
        return ""

    def do(self, call: Any, mark: str, references: list[Any]) -> Answer:
        """Do a call; the one reference is to what all calls have in common, which is fetched when its `mark` is new."""
        import ray

        # Ray starts an idle worker that has died again by itself, without the model.
        if problem := self.prepare():
            return Answer(unfit=problem)
        if self._shared[0] != mark:
            self._shared = mark, ray.get(references[0])
        with _Notes() as notes, warnings.catch_warnings(record=True) as caught:
            answer = self._answer(call)
        warned = tuple((warning.category, str(warning.message)) for warning in caught)
        return replace(answer, notes=tuple(notes.lines), warnings=warned)

    def _answer(self, call: Any) -> Answer:
        try:
            return Answer(call.on(self._model, self._shared[1]))
        except Exception as error:
            if is_out_of_memory(error) or isinstance(error, MemoryShortageError):
                return Answer(out_of_memory=str(error)[:300] or type(error).__name__)
            if isinstance(error, HeadcatsError):
                return Answer(error=noting_traceback(error))
            raise


class _Notes(logging.Handler):
    """Keeps what headcats logs as warnings within, for the process that shows it."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the text of a record."""
        self.lines.append(record.getMessage())

    def __enter__(self) -> "_Notes":
        logging.getLogger("headcats").addHandler(self)
        return self

    def __exit__(self, *error: object) -> None:
        logging.getLogger("headcats").removeHandler(self)


def version_problem(expected: Mapping[str, str]) -> str:
    """Sentence on packages of this process that are other ones than expected, or ""."""
    here = versions()
    there = {name: here.get(name) for name in expected if here.get(name) != expected[name]}
    differences = [f"{name} {version}, and this process {expected[name]}" for name, version in there.items()]
    if not differences:
        return ""
    return f"{platform.node()} has {', '.join(differences)}: every node needs the same versions."
