"""Ray in this process: a call is done when somebody waits for it, and a worker that dies has lost its model."""

import logging
import os
from typing import Any

import pytest
from ray.exceptions import ActorDiedError, WorkerCrashedError


class _Died(BaseException):
    """In place of the end of a process."""


class _Actor:
    def __init__(self, made: type, arguments: tuple[Any, ...]) -> None:
        self.made, self.arguments, self.killed = made, arguments, False
        self.do, self.prepare = _Method(self, "do"), _Method(self, "prepare")
        self.die()

    def die(self) -> None:
        """Start again, as Ray does it: without a model."""
        self.worker = self.made(*self.arguments)


class _Method:
    def __init__(self, actor: _Actor, name: str) -> None:
        self.actor, self.name = actor, name

    def options(self, **options: Any) -> "_Method":
        return self

    def remote(self, *arguments: Any) -> "_Reference":
        return _Reference(self.actor, self.name, arguments)


class _Reference:
    def __init__(self, actor: _Actor, name: str, arguments: tuple[Any, ...]) -> None:
        self.actor, self.name, self.arguments = actor, name, arguments
        self.result: Any = None
        self.error: Exception | None = None

    def work(self) -> None:
        log = logging.getLogger("headcats")
        propagated, log.propagate = log.propagate, False  # a worker logs in its own process
        try:
            if self.actor.killed:
                raise ActorDiedError
            self.result = getattr(self.actor.worker, self.name)(*self.arguments)
        except _Died:
            self.actor.die()
            self.error = WorkerCrashedError()
        except Exception as error:  # noqa: BLE001 - whoever gets the result gets it
            self.error = error
        finally:
            log.propagate = propagated


class RayHere:
    """The functions of Ray that a `Pool` and its workers call."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        def die(status: int) -> None:
            raise _Died

        patch.setattr(os, "_exit", die)

    def remote(self, **options: Any) -> Any:
        return _Class

    def put(self, value: Any) -> Any:
        return value

    def wait(self, references: list[_Reference], **options: Any) -> tuple[list[_Reference], list[_Reference]]:
        """The first that can be done; a killed worker finds no place again."""
        for reference in references:
            if not (reference.actor.killed and reference.name == "prepare"):
                reference.work()
                return [reference], [other for other in references if other is not reference]
        return [], references

    def get(self, reference: Any) -> Any:
        if not isinstance(reference, _Reference):
            return reference
        if reference.error is not None:
            raise reference.error
        return reference.result

    def kill(self, actor: _Actor) -> None:
        actor.killed = True


class _Class:
    def __init__(self, made: type) -> None:
        self.made = made

    def options(self, **options: Any) -> "_Class":
        return self

    def remote(self, *arguments: Any) -> _Actor:
        return _Actor(self.made, arguments)
