"""Workers of a cluster, and which call each of them does next.

Ray places the workers, starts them again when they or their nodes die, moves prompts and results. Here, a worker gets
one call at a time, with those before it on the same prompts where there are any; one whose worker died goes to the next
that is free; one that ran out of memory is cut in halves, or tried by another worker.
"""

import logging
import time
import uuid
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import ray
from ray.exceptions import ActorDiedError, RayError, RayTaskError

from headcats.base.errors import ClusterError, first_line, pluralize
from headcats.scale.cells import Call
from headcats.scale.worker import Answer, Order, Worker

_DEATHS = 4
"""Workers that may die of a call, its halves included, before the run stops."""
_SOON, _PATIENCE, _LOOKS = 60.0, 600.0, 5.0
"""Seconds without any worker before a line says so, and before the run stops; and between two looks at the time."""

_log = logging.getLogger("headcats")


@dataclass(frozen=True)
class _Job:
    """A task, its crash count, and a worker too small for it."""

    call: Call
    deaths: int = 0
    too_small: Any = None


class Pool:
    """Up to `size` actors that hold the model, each with this share of its node."""

    def __init__(self, order: Order, *, size: int, resources: dict[str, Any]) -> None:
        self._order, self.size = order, size
        # Calls are not retried by Ray: one whose node is gone would wait for it, and others may be free.
        actor: Any = ray.remote(max_restarts=-1, max_task_retries=0, **resources)
        self._actor = actor(Worker)
        self._actors: list[Any] = []
        """Workers that were made, those that are left out too."""
        self._idle: dict[Any, Any] = {}
        """Worker -> the group of its last call."""
        self._starting: dict[Any, tuple[Any, bool]] = {}
        """Reference to the start of a worker -> the worker, and whether it has just been made."""
        self._busy: dict[Any, tuple[Any, _Job]] = {}
        self._logged: set[str] = set()
        self._had_worker = False
        self._lost_since: float | None = None
        """Time at which there was a worker for the last time."""
        self.repeated = self.cut = 0

    def map(self, calls: Iterable[Call], *, shared: Any = None) -> Iterator[tuple[Call, Any]]:
        """See `headcats.scale.cells.Workers`; a ClusterError for no worker, deadly calls, and calls too large to be
        cut.
        """
        waiting = [_Job(call) for call in calls]
        if not waiting:
            return
        self._start(len(waiting))
        # In a list, since Ray sends what a reference stands for along with every call that is given it bare.
        mark, references = uuid.uuid4().hex, [ray.put(shared)]
        while waiting or self._busy:
            for actor in list(self._idle):
                if job := self._next(waiting, actor):
                    self._idle.pop(actor)
                    self._busy[actor.do.remote(job.call, mark, references)] = actor, job
            results = []
            for reference in self._finished():
                if reference in self._starting:
                    self._started(reference)
                    continue
                actor, job = self._busy.pop(reference)
                answer = self._answer(reference, actor, job)
                if isinstance(answer, Answer) and answer.unfit:
                    waiting.insert(0, job)
                elif isinstance(answer, Answer) and not answer.out_of_memory:
                    results.append((job.call, answer.result))
                else:
                    waiting[:0] = self._again(job, answer, actor)
            yield from results

    def _start(self, n_calls: int) -> None:
        """Make as many workers as there are calls, up to the size."""
        for _ in range(min(self.size, n_calls) - len(self._actors)):
            actor = self._actor.remote(self._order)
            self._actors.append(actor)
            self._starting[actor.prepare.remote()] = actor, True

    def _next(self, waiting: list[_Job], actor: Any) -> _Job | None:
        """Take a call of the group that a worker has just had, else of one that nobody has; None if none is for it."""
        is_alone = len(self._idle) + len(self._busy) == 1
        taken, last = {job.call.group for _, job in self._busy.values()}, self._idle[actor]
        ranks = {
            place: 0 if job.call.group == last else 1 + (job.call.group in taken)
            for place, job in enumerate(waiting)
            if is_alone or job.too_small != actor
        }
        return waiting.pop(min(ranks, key=ranks.__getitem__)) if ranks else None

    def _finished(self) -> list[Any]:
        """References to finished calls and starts; none after some seconds, or a ClusterError if none can finish."""
        finished, _ = ray.wait([*self._busy, *self._starting], num_returns=1, timeout=_LOOKS)
        if self._busy or self._idle or finished:
            self._lost_since = None
            return list(finished)
        now = time.monotonic()
        self._lost_since = self._lost_since or now
        # A large model takes long to load, and a busy cluster has room when others are done. A worker that has had no
        # place while others had one may never get it.
        if not self._starting or (now - self._lost_since > _PATIENCE and self._had_worker):
            raise ClusterError(
                "No worker is left on the cluster. What is finished is kept: repeat the run when its nodes are back."
            )
        if now - self._lost_since > _SOON:
            self._log_once("No worker is ready yet: waiting for one. Ctrl-C stops, and what is finished is kept.")
        return []

    def _started(self, reference: Any) -> None:
        """Make a worker idle that is ready, or raise or log why it cannot be."""
        actor, is_new = self._starting.pop(reference)
        try:
            problem = ray.get(reference)
        except ActorDiedError as error:
            problem = f"A worker could not be started: {first_line(error)}."
        except RayError:  # it, or its node, died before it was ready
            self._await(actor)
            return
        if not problem:
            self._had_worker = True
            self._idle[actor] = None
        elif is_new:
            raise ClusterError(problem)
        else:
            self._leave_out(problem)

    def _leave_out(self, problem: str) -> None:
        self._log_once(f"A worker came back and is left out: {problem}")

    def _await(self, actor: Any) -> None:
        """Wait for a worker until Ray has found a place for it, on its node or another one."""
        self._starting[actor.prepare.options(max_task_retries=-1).remote()] = actor, False

    def _answer(self, reference: Any, actor: Any, job: _Job) -> Answer | str:
        """Answer of a worker, which is then free; or the reason why it died, after which Ray starts it again."""
        try:
            answer: Answer = ray.get(reference)
        except RayTaskError as error:
            if isinstance(error.cause, ImportError):
                raise ClusterError(
                    f"{job.call.title} needs code that a worker does not have ({error.cause}). Install it on every "
                    "node."
                ) from None
            raise
        except RayError as error:
            self._await(actor)
            return f"{type(error).__name__}: {first_line(error)}"
        if answer.unfit:
            self._leave_out(answer.unfit)
            return answer
        self._idle[actor] = job.call.group
        for line in answer.notes:
            self._log_once(line)
        for category, text in answer.warnings:
            if text not in self._logged:
                self._logged.add(text)
                warnings.warn(text, category, stacklevel=4)
        if answer.error is not None:
            raise answer.error
        return answer

    def _again(self, job: _Job, answer: Answer | str, actor: Any) -> list[_Job]:
        """Jobs in place of a call that was not finished."""
        title, cut = job.call.title, list(job.call.halves())
        if isinstance(answer, Answer):
            if cut:
                self.cut += 1
                self._log_once(f"Memory of a worker ran out on {title}: half as many prompts are tried.")
                return [_Job(half, job.deaths) for half in cut]
            if job.too_small is None:
                self.repeated += 1
                self._log_once(
                    f"Memory of a worker ran out on {title}: it is tried once more, by another if there is one."
                )
                return [replace(job, too_small=actor)]
            raise ClusterError(
                f"Memory of workers ran out twice on {title}, which cannot be cut into less: {answer.out_of_memory} "
                "Take fewer prompts, a limit (--memory, memory=...), or larger nodes."
            )
        deaths = job.deaths + 1
        if deaths >= _DEATHS:
            raise ClusterError(
                f"{pluralize(deaths, 'worker')} died one after the other on {title} (the last: {answer}). Most often "
                "a node has too little memory: set a limit (--memory, memory=...) or take larger nodes. What is "
                "finished is kept."
            )
        self.repeated += 1
        # A process that takes too much memory is ended without a word, so the second time it gets less to do.
        pieces = cut if cut and (deaths > 1 or "memory" in answer.lower()) else []
        self.cut += bool(pieces)
        smaller = ", with half as many prompts" if pieces else ""
        _log.warning("A worker died on %s (%s): it is done again elsewhere%s.", title, answer, smaller)
        return [_Job(call, deaths) for call in pieces or [job.call]]

    def _log_once(self, line: str) -> None:
        """Log a line once, whichever worker says it how often."""
        if line not in self._logged:
            self._logged.add(line)
            _log.warning("%s", line)

    def close(self) -> None:
        """End the workers."""
        if self.repeated or self.cut:
            _log.info(
                "Cluster: %s repeated, %s cut in halves.", pluralize(self.repeated, "call"), pluralize(self.cut, "call")
            )
        for actor in self._actors:
            ray.kill(actor)
