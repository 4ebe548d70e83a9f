"""Few-shot prompt pairs: a clean prompt and the same query after demonstrations that say something else.

`other_task`: the demonstrations keep their inputs but show another task's outputs; that task's answer to the same query
is the distractor. Both prompts differ in the demonstrated outputs alone, and prompts are balanced over the other tasks.

`shuffled_labels` (Todd et al. 2024, arXiv 2310.15213): the demonstrations keep their inputs but their outputs are
permuted, so that the prompt shows no task; the distractor is a seeded wrong output among them.

Every pair gets a second corruption of the same query where one can be made (see `headcats.prompts.second_corruption`).
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from headcats.errors import DataError, UnknownNameError
from headcats.prompts.derangement import derange
from headcats.prompts.pair import PromptPair, SecondCorruption
from headcats.prompts.second_corruption import SecondLabels
from headcats.prompts.template import Template
from headcats.random_streams import stream
from headcats.registry import unknown_name_message

WordPair = tuple[str, str]
# (demonstration pairs, query, their corrupted outputs, distractor, name of what the corrupted prompt shows)
Draw = tuple[list[WordPair], WordPair, list[str], str, str]

# A distractor task must leave room for different demonstration sets, or its prompts are all alike.
SHARED_INPUTS_PER_DEMONSTRATION = 2


def build_pairs(
    task: str,
    pairs: Sequence[WordPair],
    others: Mapping[str, Sequence[WordPair]],
    *,
    n: int,
    seed: int,
    template: Template,
    n_demos: int = 5,
    corruption: str = "other_task",
) -> list[PromptPair]:
    """`n` different prompt pairs of one task.

    Args:
        task: The task's name; names the random stream and the pairs.
        pairs: Its (input, output) pairs.
        others: Every other task's pairs, by name; those that share enough inputs are its distractor tasks.
        n: How many pairs.
        seed: Seed of the study.
        template: How a prompt is written.
        n_demos: Demonstrations per prompt, at least 1.
        corruption: "other_task" or "shuffled_labels".

    Returns:
        Pairs in a fixed order in which every run of (number of distractor tasks) pairs holds each distractor task once,
        and in which queries repeat as late as they can.

    Raises:
        DataError: Too few pairs, or (other_task) no task that shares `2 * (n_demos + 1)` inputs with other outputs.
        UnknownNameError: An unknown corruption.
    """
    every = each_pair(
        task,
        pairs,
        others,
        seed=seed,
        template=template,
        n_demos=n_demos,
        corruption=corruption,
        repeats=20 * n + 100,
    )
    built = list(itertools.islice(every, n))
    if len(built) < n:
        raise DataError(
            f"Task {task!r} gives only {len(built)} different prompts of {n_demos} demonstrations; {n} were asked for."
        )
    return built


def each_pair(
    task: str,
    pairs: Sequence[WordPair],
    others: Mapping[str, Sequence[WordPair]],
    *,
    seed: int,
    template: Template,
    n_demos: int,
    corruption: str,
    repeats: int,
) -> Iterator[PromptPair]:
    """The pairs of `build_pairs`, one after the other for as long as there are new ones.

    Args:
        task: As in `build_pairs`, like every argument that is not named here.
        pairs: The task's word pairs.
        others: Those of every other task.
        seed: Seed of the study.
        template: How a prompt is written.
        n_demos: Demonstrations per prompt.
        corruption: "other_task" or "shuffled_labels".
        repeats: How many draws of a prompt that was there before are taken for the end.

    Raises:
        DataError, UnknownNameError: As `build_pairs`, but for too few prompts.
    """
    if corruption not in CORRUPTIONS:
        raise UnknownNameError(unknown_name_message("corruption", corruption, CORRUPTIONS))
    own = dict(pairs)
    draws = CORRUPTIONS[corruption](task, own, others, n_demos, stream(seed, task, "prompts", corruption))
    # A stream of its own: the prompts are the same with and without it.
    second_draws = stream(seed, task, "second corruption", corruption)
    seconds = SecondLabels(own, others, distractor_tasks(own, others, n_demos=n_demos), corruption=corruption)
    seen: set[str] = set()
    misses = 0
    for demonstrations, (query, output), labels, distractor, shown in draws:
        clean, clean_spans = template.render(demonstrations, query)
        if clean in seen:
            misses += 1
            if misses > repeats:
                return
            continue
        inputs = [given for given, _ in demonstrations]
        corrupted, corrupted_spans = template.render(list(zip(inputs, labels, strict=True)), query)
        second = None
        if found := seconds.draw(demonstrations, labels, shown, second_draws):
            second_task, second_labels = found
            text, spans = template.render(list(zip(inputs, second_labels, strict=True)), query)
            second = SecondCorruption(text, second_task, spans)
        yield PromptPair(
            key=f"{task}/{len(seen)}",
            item=query,
            clean=clean,
            corrupted=corrupted,
            answer=template.answer(output),
            distractor=template.answer(distractor),
            distractor_task=shown,
            roles={role: (clean_spans[role], corrupted_spans[role]) for role in clean_spans},
            second=second,
        )
        seen.add(clean)


def distractor_tasks(
    pairs: Mapping[str, str], others: Mapping[str, Sequence[WordPair]], *, n_demos: int
) -> dict[str, dict[str, str]]:
    """Tasks that can stand in for this one: other task's name -> its outputs on the shared inputs that it answers
    otherwise.

    Tasks with fewer than `2 * (n_demos + 1)` such inputs are left out. Sorted by name, so that the order of a suite
    does not matter.
    """
    least = SHARED_INPUTS_PER_DEMONSTRATION * (n_demos + 1)
    found = {}
    for name in sorted(others):
        shared = {given: output for given, output in others[name] if given in pairs and pairs[given] != output}
        if len(shared) >= least:
            found[name] = shared
    return found


def _other_task(
    task: str,
    pairs: Mapping[str, str],
    others: Mapping[str, Sequence[WordPair]],
    n_demos: int,
    draws: np.random.Generator,
) -> Iterator[Draw]:
    strata = distractor_tasks(pairs, others, n_demos=n_demos)
    if not strata:
        raise DataError(
            f"Task {task!r} shares fewer than {SHARED_INPUTS_PER_DEMONSTRATION * (n_demos + 1)} "
            "inputs with every other "
            "task of the suite, so no other task can be shown on its inputs; add such a task, or use "
            "corruption='shuffled_labels'."
        )
    queries = {name: _cycle(sorted(shared), draws) for name, shared in strata.items()}
    while True:
        for name in draws.permutation(sorted(strata)).tolist():
            shared = strata[name]
            query = next(queries[name])
            inputs = _sample([given for given in sorted(shared) if given != query], n_demos, draws)
            demonstrations = [(given, pairs[given]) for given in inputs]
            yield demonstrations, (query, pairs[query]), [shared[given] for given in inputs], shared[query], name


def _shuffled_labels(
    task: str,
    pairs: Mapping[str, str],
    others: Mapping[str, Sequence[WordPair]],
    n_demos: int,
    draws: np.random.Generator,
) -> Iterator[Draw]:
    if n_demos < 2 or len(pairs) < n_demos + 1 or len(set(pairs.values())) < 2:
        raise DataError(
            f"Task {task!r} has {len(pairs)} pairs with {len(set(pairs.values()))} different outputs; "
            "shuffling the labels "
            f"of {n_demos} demonstrations needs at least 2 demonstrations, {n_demos + 1} pairs and 2 outputs."
        )
    inputs = sorted(pairs)
    for query in _cycle(inputs, draws):
        chosen = _sample([given for given in inputs if given != query], n_demos, draws)
        labels = [pairs[given] for given in chosen]
        wrong = sorted({label for label in labels if label != pairs[query]})
        if len(set(labels)) < 2 or not wrong:
            continue
        shuffled = derange(labels, draws)
        distractor = wrong[draws.integers(len(wrong))]
        yield (
            [(given, pairs[given]) for given in chosen],
            (query, pairs[query]),
            shuffled,
            distractor,
            "shuffled_labels",
        )


CORRUPTIONS: dict[str, Callable[..., Iterator[Draw]]] = {
    "other_task": _other_task,
    "shuffled_labels": _shuffled_labels,
}


def _cycle(words: Sequence[str], draws: np.random.Generator) -> Iterator[str]:
    """Every word once in a random order, then again in another, without end."""
    while True:
        yield from (words[index] for index in draws.permutation(len(words)))


def _sample(words: Sequence[str], size: int, draws: np.random.Generator) -> list[str]:
    return [words[index] for index in draws.choice(len(words), size=size, replace=False)]
