"""A test of many cheap cases as one item, which reports every case that fails."""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest


def for_each(names: str, cases: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorator: `parametrize` in one item; several names, separated by commas, take tuples.

    Every case has its own `tmp_path` and `monkeypatch`; other fixtures, the random state and what is registered are
    shared. Skipped if a case is and none fails.
    """
    fields = names.split(",")
    rows = [tuple(case) if len(fields) > 1 else (case,) for case in cases]
    assert rows

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def every_case(**fixtures: Any) -> None:
            failed: list[BaseException] = []
            skipped: list[BaseException] = []
            for number, row in enumerate(rows):
                own = dict(zip(fields, row, strict=True))
                if "tmp_path" in fixtures:
                    own["tmp_path"] = fixtures["tmp_path"] / f"case{number}"
                    own["tmp_path"].mkdir()
                with pytest.MonkeyPatch.context() as monkeypatch:
                    if "monkeypatch" in fixtures:
                        own["monkeypatch"] = monkeypatch
                    try:
                        test(**fixtures | own)
                    except pytest.skip.Exception as skip:
                        skipped.append(skip)
                    except (Exception, pytest.fail.Exception) as error:
                        if isinstance(error, pytest.fail.Exception) and str(error).startswith("Timeout"):
                            raise  # of pytest-timeout, whose time is that of all cases
                        error.add_note(f"{row}")
                        failed.append(error)
            if failed:
                raise BaseExceptionGroup(f"{len(failed)} of {len(rows)} cases", failed)
            if skipped:
                raise skipped[0]

        signature = inspect.signature(test)
        kept = [parameter for name, parameter in signature.parameters.items() if name not in fields]
        every_case.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        return every_case

    return decorate
