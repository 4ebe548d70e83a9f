"""Refuse more prompts than the tasks of a suite have, or than fit into memory."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import psutil

from headcats.base.errors import OptionError, shown
from headcats.prompts.pair import PromptPair, WordPair
from headcats.tasks.definition import Task

# As many may be asked for of a suite that has fewer: then it gives all it has, and says so.
_ALWAYS_ALLOWED = 10_000
_ASKED_FOR = 2_048  # takes a second or two of a suite whose prompts are drawn
_DEMONSTRATIONS = 20  # fewer are no reason to ask a task for its pairs
_BYTES = 1_000  # a prompt pair takes at least: two texts and the spans of its roles

Pairs = Sequence[WordPair] | Sequence[PromptPair]


def check_n_prompts(n_prompts: int, tasks: Iterable[Task], *, n_demos: int, seed: int) -> None:
    """Raises OptionError for more prompts than any of the tasks has, or than this machine could hold."""
    if n_prompts <= _ALWAYS_ALLOWED:
        return
    counts = [most_prompts(task.pairs(_ASKED_FOR, seed=seed), n_demos=n_demos) for task in tasks]
    if n_prompts > (most := max(counts)):
        raise OptionError(
            f"n_prompts is {shown(n_prompts)}, but no task of this suite has more than {_readable(most)} distinct "
            "prompts. Ask for at most as many."
        )
    needed, memory = sum(min(n_prompts, count) for count in counts) * _BYTES, psutil.virtual_memory().total
    if needed > memory:
        raise OptionError(
            f"n_prompts is {shown(n_prompts)}, but the texts of so many prompts take at least "
            f"{_readable(needed // 10**9)} GB, and this machine has {memory // 10**9} GB of memory. Ask for fewer."
        )


def check_n_demos(n_demos: int, pairs: Callable[[], Mapping[str, Pairs]]) -> None:
    """Raises OptionError for more demonstrations than any task has word pairs for; `pairs` gives those of each task."""
    if n_demos <= _DEMONSTRATIONS:
        return
    words = [len(of_task) for of_task in pairs().values() if not isinstance(of_task[0], PromptPair)]
    if words and n_demos >= max(words):
        raise OptionError(
            f"n_demos is {shown(n_demos)}, but none of these tasks has more than {max(words):,} word pairs, and a "
            "prompt shows a pair once. Ask for fewer."
        )


def most_prompts(pairs: Pairs, *, n_demos: int) -> int | float:
    """Most different prompts of a task; infinite for one that generates as many pairs as are asked for."""
    if len(pairs) >= _ASKED_FOR:
        return math.inf
    if isinstance(pairs[0], PromptPair):
        return len({pair.clean for pair in pairs if isinstance(pair, PromptPair)})
    # The query and the demonstrations in their order, all different.
    return math.perm(len({pair[0] for pair in pairs if isinstance(pair, tuple)}), n_demos + 1)


def _readable(number: float) -> str:
    return f"{number:,}" if number < 10**15 else f"10^{math.log10(number):.0f}"
