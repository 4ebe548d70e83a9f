"""Few-shot prompt pairs: a clean prompt, and the same query after corrupted demonstrations.

`other_task`: the demonstrations keep their inputs but show another task's outputs; that task's answer to the query is
the distractor. The two prompts differ in the demonstrated outputs only, and prompts are balanced over the other tasks.

`shuffled_labels` (Todd et al. 2024, arXiv 2310.15213): the demonstrations keep their inputs but their outputs are
permuted, so the prompt shows no task; the distractor is a random wrong output among them.

Where possible, every pair gets a second, independent corruption of the same query: it separates the effect of one wrong
task from that of any. It keeps the demonstrated inputs and shows the outputs of a third task that answers all of them,
or random outputs of a third task for other inputs ("labels of NAME"), none of them an output of the task or of the
first corruption. The task's own outputs in a wrong order would be no control: heads that recognise the task by the kind
of its outputs still see that kind. After a permutation, the second is another one, with just that limitation.
"""

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from headcats.base.errors import DataError, UnknownNameError, unknown_name_message
from headcats.prompts.pair import PromptPair, SecondCorruption, WordPair
from headcats.prompts.template import Template
from headcats.statistics.random_streams import sample, stream

PairsByTask = Mapping[str, Sequence[WordPair]]
# Distractor task -> its outputs for the inputs that it shares.
Strata = Mapping[str, Mapping[str, str]]
# (demonstrations, query with its output, corrupted outputs, distractor, name of the task shown instead)
Draw = tuple[list[WordPair], WordPair, list[str], str, str]

# A distractor task must leave room for different sets of demonstrations, or its prompts are all alike.
SHARED_INPUTS_PER_DEMONSTRATION = 2
# Random permutations tried before one is constructed.
ATTEMPTS = 50


def build_pairs(
    task: str,
    pairs: Sequence[WordPair],
    others: PairsByTask,
    *,
    n: int,
    seed: int,
    template: Template,
    n_demos: int = 5,
    corruption: str = "other_task",
    distractors: Collection[str] | None = None,
) -> list[PromptPair]:
    """`n` different prompt pairs of one task, with `n_demos` (at least 1) demonstrations; a DataError for too few.

    Distractor tasks alternate in blocks that hold each once; queries repeat as late as possible. Distractor tasks are
    the `others` that share enough inputs, and of these the `distractors` alone if they are named.
    """
    options: dict[str, Any] = {"seed": seed, "template": template, "n_demos": n_demos, "corruption": corruption}
    options["distractors"] = distractors
    built = list(itertools.islice(each_pair(task, pairs, others, repeats=20 * n + 100, **options), n))
    if len(built) < n:
        raise DataError(
            f"Task {task!r} gives only {len(built)} different prompts of {n_demos} demonstrations; {n} are needed."
        )
    return built


def each_pair(
    task: str,
    pairs: Sequence[WordPair],
    others: PairsByTask,
    *,
    seed: int,
    template: Template,
    n_demos: int,
    corruption: str,
    repeats: int,
    distractors: Collection[str] | None = None,
) -> Iterator[PromptPair]:
    """Generate the pairs of `build_pairs`, until `repeats` draws in total have given a prompt seen before."""
    if corruption not in CORRUPTIONS:
        raise UnknownNameError(unknown_name_message("corruption", corruption, CORRUPTIONS))
    outputs = dict(pairs)
    strata = {
        name: shared
        for name, shared in distractor_tasks(outputs, others, n_demos=n_demos).items()
        if distractors is None or name in distractors
    }
    draws = CORRUPTIONS[corruption](task, outputs, strata, n_demos, stream(seed, task, "prompts", corruption))
    # A separate stream, so that second corruptions leave the pairs unchanged.
    second_draws = stream(seed, task, "second corruption", corruption)
    seconds = SecondLabels(outputs, others, strata, corruption=corruption)
    seen: set[str] = set()
    for demonstrations, (query, output), labels, distractor, distractor_task in draws:
        clean, clean_spans = template.render(demonstrations, query)
        if clean in seen:
            repeats -= 1
            if repeats < 0:
                return
            continue
        inputs = [word for word, _ in demonstrations]
        corrupted, corrupted_spans = template.render(list(zip(inputs, labels, strict=True)), query)
        second = None
        if shown_instead := seconds.draw(demonstrations, labels, distractor_task, second_draws):
            text, spans = template.render(list(zip(inputs, shown_instead[1], strict=True)), query)
            second = SecondCorruption(text, shown_instead[0], spans)
        yield PromptPair(
            key=f"{task}/{len(seen)}",
            item=query,
            clean=clean,
            corrupted=corrupted,
            answer=template.answer(output),
            distractor=template.answer(distractor),
            distractor_task=distractor_task,
            roles={role: (clean_spans[role], corrupted_spans[role]) for role in clean_spans},
            second=second,
        )
        seen.add(clean)


def distractor_tasks(pairs: Mapping[str, str], others: PairsByTask, *, n_demos: int) -> dict[str, dict[str, str]]:
    """Distractor task -> its other outputs for shared inputs; of `2 * (n_demos + 1)` such inputs or more, by name."""
    if not n_demos:
        return {}
    shared = {
        name: {word: output for word, output in others[name] if word in pairs and pairs[word] != output}
        for name in sorted(others)
    }
    least = SHARED_INPUTS_PER_DEMONSTRATION * (n_demos + 1)
    return {name: outputs for name, outputs in shared.items() if len(outputs) >= least}


def _other_task(
    task: str, pairs: Mapping[str, str], strata: Strata, n_demos: int, draws: np.random.Generator
) -> Iterator[Draw]:
    if not strata:
        raise DataError(
            f"Task {task!r} shares fewer than {SHARED_INPUTS_PER_DEMONSTRATION * (n_demos + 1)} inputs with every "
            "task that may corrupt it, so it has no distractor task; add one, or use corruption='shuffled_labels'."
        )
    queries = {name: _cycle(sorted(shared), draws) for name, shared in strata.items()}
    while True:
        for name in draws.permutation(sorted(strata)).tolist():
            shared = strata[name]
            query = next(queries[name])
            inputs = sample([word for word in sorted(shared) if word != query], n_demos, draws)
            demonstrations = [(word, pairs[word]) for word in inputs]
            yield demonstrations, (query, pairs[query]), [shared[word] for word in inputs], shared[query], name


def _shuffled_labels(
    task: str, pairs: Mapping[str, str], strata: Strata, n_demos: int, draws: np.random.Generator
) -> Iterator[Draw]:
    if n_demos < 2 or len(pairs) < n_demos + 1 or len(set(pairs.values())) < 2:
        raise DataError(
            f"Task {task!r} has {len(pairs)} pairs with {len(set(pairs.values()))} different outputs; shuffling the "
            f"labels of {n_demos} demonstrations needs at least 2 demonstrations, {n_demos + 1} pairs and 2 outputs."
        )
    inputs = sorted(pairs)
    for query in _cycle(inputs, draws):
        demonstrations = [(word, pairs[word]) for word in sample([i for i in inputs if i != query], n_demos, draws)]
        labels = [output for _, output in demonstrations]
        wrong = sorted({label for label in labels if label != pairs[query]})
        if len(set(labels)) < 2 or not wrong:
            continue
        shuffled = derange(labels, draws)
        yield demonstrations, (query, pairs[query]), shuffled, wrong[draws.integers(len(wrong))], "shuffled_labels"


CORRUPTIONS: dict[str, Callable[..., Iterator[Draw]]] = {"other_task": _other_task, "shuffled_labels": _shuffled_labels}


def _cycle(words: Sequence[str], draws: np.random.Generator) -> Iterator[str]:
    """All words in random order, over and over, each time in a new order."""
    while True:
        yield from (words[index] for index in draws.permutation(len(words)))


class SecondLabels:
    """Outputs of second corruptions for one task, of which `strata` are the distractor tasks."""

    def __init__(self, pairs: Mapping[str, str], others: PairsByTask, strata: Strata, *, corruption: str) -> None:
        self._permutes = corruption == "shuffled_labels"
        self._strata = strata
        self._outputs = {name: {output for _, output in others[name]} for name in sorted(others)}
        self._foreign = {name: sorted(w) for name, w in self._outputs.items() if w.isdisjoint(pairs.values())}

    def draw(
        self,
        demonstrations: Sequence[WordPair],
        labels: Sequence[str],
        distractor_task: str,
        draws: np.random.Generator,
    ) -> tuple[str, list[str]] | None:
        """Name and outputs of a second corruption, or None; the first one shows the `labels` of `distractor_task`."""
        inputs, outputs = zip(*demonstrations, strict=True)
        if self._permutes:
            shuffles = (derange(outputs, draws) for _ in range(ATTEMPTS if len(set(outputs)) > 1 else 0))
            return next((("shuffled_labels", words) for words in shuffles if words != list(labels)), None)
        third_tasks = [
            name
            for name, answers in self._strata.items()
            if name != distractor_task
            and all(answers.get(word, label) != label for word, label in zip(inputs, labels, strict=True))
        ]
        if third_tasks:
            name = third_tasks[draws.integers(len(third_tasks))]
            return name, [self._strata[name][word] for word in inputs]
        first = self._outputs.get(distractor_task, set())
        foreign = [name for name, w in self._foreign.items() if len(w) >= len(inputs) and first.isdisjoint(w)]
        if not foreign:
            return None
        name = foreign[draws.integers(len(foreign))]
        words = self._foreign[name]
        return f"labels of {name}", sample(words, len(inputs), draws)


def derange(labels: Sequence[str], draws: np.random.Generator) -> list[str]:
    """A permutation that changes as many labels as possible: all, unless more than half of them are equal."""
    most = max(labels.count(label) for label in labels)
    changeable = min(len(labels), 2 * (len(labels) - most))
    for _ in range(ATTEMPTS):
        candidate = [labels[index] for index in draws.permutation(len(labels))]
        if sum(a != b for a, b in zip(candidate, labels, strict=True)) == changeable:
            return candidate
    # Rare if there are few distinct labels: sorted by label and shifted by the largest group, no group meets itself.
    order = sorted(draws.permutation(len(labels)).tolist(), key=lambda index: labels[index])
    moved = list(labels)
    for rank, index in enumerate(order):
        moved[index] = labels[order[(rank + most) % len(labels)]]
    return moved
