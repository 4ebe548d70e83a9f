"""A cluster whose one worker is this process, without Ray."""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from headcats.scale.spread import Spread


class InProcess:
    """An `Elsewhere` and its workers; `shared` holds what every `map` was given.

    Args:
        at_work: A context in which every call is done, as where a worker has other memory than this process.
    """

    def __init__(self, at_work: Callable[[], contextlib.AbstractContextManager[Any]] = contextlib.nullcontext) -> None:
        self.at_work, self.shared = at_work, []

    @contextlib.contextmanager
    def connected(self) -> Iterator[Callable[..., Spread]]:
        def spread(preparation: Any, **options: Any) -> Spread:
            self.model = preparation.model
            return Spread(self, preparation, **options)

        yield spread

    def map(self, calls: Iterable[Any], *, shared: Any = None) -> Iterator[tuple[Any, Any]]:
        self.shared.append(shared)
        for call in calls:
            with self.at_work():
                result = call.on(self.model, shared)
            yield call, result
