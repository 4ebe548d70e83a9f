"""The language of the toys with planted heads: what a prompt is and which tasks there are.

A prompt is `[bos, one slot per task, item noise, prompt noise, query]`, so all tasks have the same length and roles. A
task fills its own slot: the answer in clean prompts, a blank in corrupted ones; all other slots are blank. The noise
slots hold random words in clean prompts, one that is the same for all prompts of a query item and one drawn per prompt,
and blanks in corrupted ones. The query names the task and an answer (in corrupted prompts the distractor).
"""

from typing import Any

import torch
from torch import Tensor

from headcats.prompts.batch import PromptBatch
from headcats.prompts.pair import PromptPair
from headcats.results.manifest import Manifest
from headcats.results.records import CategoryRecord, TaskRecord
from headcats.statistics.random_streams import stream

CATEGORIES = {
    "Algorithmic": "#1f77b4", "Knowledge": "#ff7f0e", "Linguistic": "#2ca02c", "Translation": "#d62728",
}  # fmt: skip
TASKS_PER_CATEGORY = 4
TASKS = {f"{name.lower()}_{number}": name for name in CATEGORIES for number in range(TASKS_PER_CATEGORY)}
"""Task -> category; a task's place in this order is the place of its slot."""
NUMBERS = {task: number for number, task in enumerate(TASKS)}

N_ANSWERS, N_NOISE_WORDS = 16, 32
BOS, BLANK, FIRST_ANSWER = 0, 1, 2
FIRST_NOISE = FIRST_ANSWER + N_ANSWERS
FIRST_QUERY = FIRST_NOISE + N_NOISE_WORDS
N_WORDS = FIRST_QUERY + len(TASKS) * N_ANSWERS

FIRST_SLOT = 1
NOISE_SLOTS = (FIRST_SLOT + len(TASKS), FIRST_SLOT + len(TASKS) + 1)
LAST = NOISE_SLOTS[-1] + 1
ROLES = ("bos", *(f"slot_{task}" for task in TASKS), "item_noise", "prompt_noise", "query")


def n_items(task: str) -> int:
    """Query items that a task has: 25 to 45, by task."""
    return 25 + 20 * NUMBERS[task] // (len(TASKS) - 1)


def query_word(task: str, answer: Any) -> Any:
    """Id of the word that asks for `answer` (a number, or a tensor of numbers) in a task."""
    return FIRST_QUERY + NUMBERS[task] * N_ANSWERS + answer


def toy_batch(task: str, *, n: int, seed: int) -> PromptBatch:
    """`n` prompts of a task. Items come in turn, in random order, so the first prompts are those of a smaller batch.

    An item has one answer and one distractor; several items share an answer.
    """
    draws = stream(seed, task, "toy prompts")
    order = draws.permutation(n_items(task))
    item_words = torch.from_numpy(draws.integers(N_NOISE_WORDS, size=len(order)))
    item = torch.from_numpy(order[torch.arange(n).numpy() % len(order)])
    prompt_words = torch.from_numpy(draws.integers(N_NOISE_WORDS, size=n))
    answer = item % N_ANSWERS
    distractor = (answer + 1 + item // N_ANSWERS) % N_ANSWERS
    clean, corrupted = torch.full((2, n, len(ROLES)), BLANK)
    clean[:, 0] = corrupted[:, 0] = BOS
    clean[:, FIRST_SLOT + NUMBERS[task]] = FIRST_ANSWER + answer
    clean[:, NOISE_SLOTS[0]] = FIRST_NOISE + item_words[item]
    clean[:, NOISE_SLOTS[1]] = FIRST_NOISE + prompt_words
    clean[:, LAST], corrupted[:, LAST] = query_word(task, answer), query_word(task, distractor)
    return PromptBatch(
        clean=clean,
        corrupted=corrupted,
        answer=FIRST_ANSWER + answer,
        distractor=FIRST_ANSWER + distractor,
        keys=tuple(f"{task} {number}" for number in range(n)),
        items=tuple(f"item {number}" for number in item.tolist()),
        distractor_tasks=("blank",) * n,
        labels=(ROLES,) * n,
        corrupted_labels=(ROLES,) * n,
        task=task,
    )


WORDS: dict[str, tuple[str, int]] = {"<bos>": ("", BOS), "_": ("", BLANK)} | {
    f"{task}{kind}{number}": (task, first + number)
    for task in TASKS
    for kind, first, size in (
        ("a", FIRST_ANSWER, N_ANSWERS),
        ("n", FIRST_NOISE, N_NOISE_WORDS),
        ("q", query_word(task, 0), N_ANSWERS),
    )
    for number in range(size)
}
"""Word -> its task and id. Tasks have words of their own for one answer, so that they are independent sources."""


def prompt_pairs(task: str, *, n: int, seed: int) -> list[PromptPair]:
    """The prompts of `toy_batch` as text, in the words of the task."""
    batch = toy_batch(task, n=n, seed=seed)
    of_task = {number: word for word, (own, number) in WORDS.items() if own in ("", task)}

    def text(ids: Tensor) -> str:
        return " ".join(of_task[number] for number in ids.tolist())

    return [
        PromptPair(
            key=batch.keys[row],
            item=batch.items[row],
            clean=text(batch.clean[row, 1:]),
            corrupted=text(batch.corrupted[row, 1:]),
            answer=f" {text(batch.answer[row : row + 1])}",
            distractor=f" {text(batch.distractor[row : row + 1])}",
            distractor_task="blank",
        )
        for row in range(n)
    ]


def manifest() -> Manifest:
    """Tasks and categories, for `headcats.results.tree.tree`."""
    return Manifest(
        tasks={task: TaskRecord(category) for task, category in TASKS.items()},
        categories=tuple(CategoryRecord(name, colour) for name, colour in CATEGORIES.items()),
    )
