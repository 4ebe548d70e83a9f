"""Which texts a function probe is trained on, and which it is tested on."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from jaxtyping import Bool, Shaped

from headcats.base.errors import DataError
from headcats.prompts.answered import AnsweredText
from headcats.results.categories import FUNCTIONS
from headcats.statistics.random_streams import stream


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Functions of the scheme first, in its order; other names after them, sorted."""
    names = set(names)
    return (*(name for name in FUNCTIONS if name in names), *sorted(names.difference(FUNCTIONS)))


def usable_functions(texts: Sequence[AnsweredText], *, least_items: int) -> tuple[tuple[str, ...], dict[str, int]]:
    """Functions with enough distinct query items, and those with too few -> how many; DataError for fewer than two."""
    items: dict[str, set[str]] = {}
    for text in texts:
        if not text.category:
            raise DataError(
                f"Text {text.key or text.text!r} has no category: set AnsweredText.category to its function."
            )
        items.setdefault(text.category, set()).add(item_of(text))
    skipped = {name: len(items[name]) for name in in_order(items) if len(items[name]) < least_items}
    functions = tuple(name for name in in_order(items) if name not in skipped)
    if len(functions) < 2:
        counts = ", ".join(f"{name} {len(members)}" for name, members in items.items()) or "no texts at all"
        raise DataError(
            f"function_probe needs at least 2 functions with {least_items} or more distinct query items each; items by "
            f"function: {counts}. Give more texts."
        )
    return functions, skipped


def item_of(text: AnsweredText) -> str:
    """The cluster of a text: its item, or the text itself if it names none."""
    return text.item or text.text


def items_of(texts: Sequence[AnsweredText]) -> Shaped[np.ndarray, " text"]:
    """The cluster of every text."""
    return np.array([item_of(text) for text in texts], dtype=object).astype(str)


def task_of(text: AnsweredText) -> tuple[str, str]:
    """Function and task of a text: tasks of two functions may share a name."""
    return text.category, text.task


def held_out_texts(
    texts: Sequence[AnsweredText], functions: Sequence[str], *, folds: int, seed: int, probe: int
) -> Bool[np.ndarray, " text"]:
    """True for one of `folds` parts of the query items, with every function's share in it."""
    from sklearn.model_selection import StratifiedGroupKFold  # takes longer to import than most commands to run

    labels = np.array([functions.index(text.category) for text in texts])
    state = int(stream(seed, "function_probe", "held out", str(probe)).integers(2**31))
    splits = StratifiedGroupKFold(folds, shuffle=True, random_state=state).split(labels, labels, items_of(texts))
    held_out = np.isin(np.arange(len(texts)), next(splits)[1])
    for number, name in enumerate(functions):
        n, n_held_out = int((labels == number).sum()), int(held_out[labels == number].sum())
        if n_held_out in (0, n):
            raise DataError(
                f"Function {name!r} cannot be split by query item: {n_held_out} of its {n} texts would be held out. "
                "Give it more different items."
            )
    return held_out


def left_out_tasks(texts: Sequence[AnsweredText], *, seed: int, probe: int) -> list[frozenset[tuple[str, str]]]:
    """Sets of (function, task) that are left out together: one task of every function, each task exactly once.

    A probe that knows tasks alone then guesses right by chance: one task left out alone would meet one task of its own
    function and two of every other. A function with a single task is never left out.
    """
    tasks: dict[str, list[str]] = {}
    for function, task in sorted({task_of(text) for text in texts}):
        tasks.setdefault(function, []).append(task)
    shuffled: dict[str, list[str]] = {}
    for function, names in tasks.items():
        order = stream(seed, "function_probe", "left out", function, str(probe)).permutation(len(names))
        shuffled[function] = [names[place] for place in order] if len(names) > 1 else []
    return [
        frozenset((function, names[number]) for function, names in shuffled.items() if number < len(names))
        for number in range(rounds_of({function: len(names) for function, names in tasks.items()}))
    ]


def rounds_of(tasks: Mapping[str, int]) -> int:
    """Rounds that leave tasks out: the most tasks of a function, or none if fewer than two functions have two tasks."""
    several = [n for n in tasks.values() if n > 1]
    return max(several) if len(several) > 1 else 0
