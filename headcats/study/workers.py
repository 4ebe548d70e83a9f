"""What a study asks of processes that hold its model; `headcats.cluster` has some."""

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

from headcats.models.adapter import HookedModel


@runtime_checkable
class Call(Protocol):
    """A piece of work that can be sent to a process with the model."""

    @property
    def title(self) -> str:
        """For messages."""

    @property
    def group(self) -> Any:
        """Calls of one group have unpatched runs in common; a process does them one after the other if it can."""

    def on(self, model: HookedModel, shared: Any) -> Any:
        """Do it; `shared` is what all calls have in common, which the process keeps from call to call."""

    def halves(self) -> "Sequence[Call]":
        """The same work in smaller pieces; none if it cannot be cut."""


@runtime_checkable
class Workers(Protocol):
    """Processes that hold the model."""

    def map(self, calls: Iterable[Any], *, shared: Any = None) -> Iterator[tuple[Any, Any]]:
        """(call, result) as they are finished, in any order; of a call that was cut, its pieces.

        An error of headcats that a call raises is raised here.
        """


@runtime_checkable
class Connection(Protocol):
    """A way to such processes."""

    def workers(self, model: HookedModel) -> contextlib.AbstractContextManager[Workers]:
        """Processes with the model of this one, until the context is left."""


@runtime_checkable
class Elsewhere(Protocol):
    """Other machines, such as an `hc.Cluster`."""

    def connected(self) -> contextlib.AbstractContextManager[Connection]:
        """Reach them, before a model is loaded here."""
