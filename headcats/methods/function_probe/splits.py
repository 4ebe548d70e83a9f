"""Which texts a function probe learns from, and which it is tested on."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Bool

from headcats.errors import DataError
from headcats.methods.function_probe.names import in_order
from headcats.prompts.answered import AnsweredText
from headcats.statistics.random_streams import stream


def usable_functions(texts: Sequence[AnsweredText], *, least_items: int) -> tuple[tuple[str, ...], dict[str, int]]:
    """Functions with enough distinct query items, in the order of the scheme, and those that have too few.

    Returns:
        Functions to be told apart; and function -> number of its items, for those that are skipped.

    Raises:
        DataError: A text without a category, or fewer than two functions left.
    """
    items: dict[str, set[str]] = {}
    for text in texts:
        if not text.category:
            raise DataError(
                f"Text {text.key or text.text!r} has no category: set AnsweredText.category to its function."
            )
        items.setdefault(text.category, set()).add(item_of(text))
    skipped = {name: len(items[name]) for name in in_order(set(items)) if len(items[name]) < least_items}
    functions = tuple(name for name in in_order(set(items)) if name not in skipped)
    if len(functions) < 2:
        counts = ", ".join(f"{name} {len(members)}" for name, members in items.items()) or "no texts at all"
        raise DataError(
            f"function_probe needs at least 2 functions with {least_items} or more distinct query items each; items by "
            f"function: {counts}. Give more texts."
        )
    return functions, skipped


def item_of(text: AnsweredText) -> str:
    """The cluster of a text: its item, or the text itself where none is named."""
    return text.item or text.text


def task_of(text: AnsweredText) -> tuple[str, str]:
    """Function and task of a text: two functions may have tasks of one name."""
    return text.category, text.task


def held_out_texts(
    texts: Sequence[AnsweredText], functions: Sequence[str], *, folds: int, seed: int, probe: int
) -> Bool[np.ndarray, " text"]:
    """True for the texts that are held out: one of `folds` parts of the query items, with every function's share in it.

    All texts with the same item are on one side, whatever their task.

    Raises:
        DataError: A function has no text on one of the sides, because its items are those of other functions.
    """
    from sklearn.model_selection import StratifiedGroupKFold  # takes longer to import than most commands to run

    labels = np.array([functions.index(text.category) for text in texts])
    items = np.array([item_of(text) for text in texts], dtype=object).astype(str)
    state = int(stream(seed, "function_probe", "held out", str(probe)).integers(2**31))
    splits = StratifiedGroupKFold(folds, shuffle=True, random_state=state).split(labels, labels, items)
    held_out = np.zeros(len(texts), dtype=bool)
    held_out[next(splits)[1]] = True
    for number, name in enumerate(functions):
        of_function = held_out[labels == number]
        if of_function.all() or not of_function.any():
            raise DataError(
                f"Function {name!r} cannot be split by query item: {int(of_function.sum())} of its {len(of_function)} "
                "texts would be held out. Give it more different items."
            )
    return held_out


def left_out_tasks(texts: Sequence[AnsweredText], *, seed: int, probe: int) -> list[frozenset[tuple[str, str]]]:
    """Tasks that are left out together: one of every function at a time, so that each is left out exactly once.

    One task of each function, not one task alone: a probe that knows tasks and no functions then finds one task of
    every function among those it has learnt, and guesses right by chance. (Left out alone, a task would meet one task
    of its own function and two of every other, and such a probe would look worse than chance.) A function with a single
    task is never left out.

    Returns:
        As many sets of (function, task) as the function with the most tasks has; none if fewer than two functions have
        two tasks, since there would be nothing to confuse.
    """
    tasks: dict[str, list[str]] = {}
    for function, task in sorted({task_of(text) for text in texts}):
        tasks.setdefault(function, []).append(task)
    rounds = rounds_of({function: len(names) for function, names in tasks.items()})
    mixed: Mapping[str, list[str]] = {
        function: [
            names[place]
            for place in stream(seed, "function_probe", "left out", function, str(probe)).permutation(len(names))
        ]
        for function, names in tasks.items()
        if len(names) > 1
    }
    return [
        frozenset((function, names[number]) for function, names in mixed.items() if number < len(names))
        for number in range(rounds)
    ]


def rounds_of(tasks: Mapping[str, int]) -> int:
    """How many rounds leave tasks out: as many as the function with the most tasks has, 0 where fewer than two
    functions have two tasks.

    Args:
        tasks: Function -> number of its tasks.
    """
    several = [n for n in tasks.values() if n > 1]
    return max(several) if len(several) > 1 else 0
