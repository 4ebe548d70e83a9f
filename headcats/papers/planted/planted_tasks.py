"""The toys with planted heads: their language, tasks and prompts, and the jobs of heads, at random places.

A prompt is `[bos, one slot per task, item noise, prompt noise, query]`, so all tasks have the same length and roles. A
task fills its own slot: the answer in clean prompts, a blank in corrupted ones; all other slots are blank. The noise
slots hold random words in clean prompts, one that is the same for all prompts of a query item and one drawn per prompt,
and blanks in corrupted ones. The query names the task and an answer (in corrupted prompts the distractor).
"""

from dataclasses import dataclass
from typing import Literal

from headcats.models.head import Head
from headcats.prompts.pair import PromptPair
from headcats.statistics.random_streams import stream

CATEGORIES = {
    "Algorithmic": "#1f77b4", "Knowledge": "#ff7f0e", "Linguistic": "#2ca02c", "Translation": "#d62728",
}  # fmt: skip
TASKS_PER_CATEGORY = 4
TASKS = {f"{name.lower()}_{number}": name for name in CATEGORIES for number in range(TASKS_PER_CATEGORY)}
"""Task -> category; a task's place in this order is the place of its slot."""
NUMBERS = {task: number for number, task in enumerate(TASKS)}

N_ANSWERS, N_NOISE_WORDS = 16, 32
BOS, BLANK = 0, 1
_KINDS = {"a": N_ANSWERS, "n": N_NOISE_WORDS, "q": N_ANSWERS}
WORDS = ("<bos>", "_", *(f"{task}{kind}{n}" for task in TASKS for kind, size in _KINDS.items() for n in range(size)))
"""Word of every id. Tasks have words of their own for one answer, so that they are independent sources."""

FIRST_SLOT = 1
NOISE_SLOTS = (FIRST_SLOT + len(TASKS), FIRST_SLOT + len(TASKS) + 1)
ROLES = ("bos", *(f"slot_{task}" for task in TASKS), "item_noise", "prompt_noise", "query")
N_LAYERS, N_HEADS = 4, 8
Kind = Literal["helping", "suppressing", "one task", "or", "and", "none"]
PlannedJobs = tuple[tuple[Kind, tuple[str, ...], int], ...]
"""Kind of job, the categories it is done for, and how many heads do it. `or` and `and` are one pair each."""


def n_items(task: str) -> int:
    """Query items that a task has: 25 to 45, by task."""
    return 25 + 20 * NUMBERS[task] // (len(TASKS) - 1)


def first_words(task: str) -> tuple[int, int, int]:
    """Ids of a task's first answer, first noise word and first query; the others follow one after another."""
    first = WORDS.index(f"{task}a0")
    return first, first + N_ANSWERS, first + N_ANSWERS + N_NOISE_WORDS


def prompt_pairs(task: str, *, n: int, seed: int) -> list[PromptPair]:
    """`n` prompts of a task. Items come in turn, in random order, so the first prompts are those of a smaller list.

    An item has one answer and one distractor; several items share an answer.
    """
    draws = stream(seed, task, "toy prompts")
    items = draws.permutation(n_items(task)).tolist()
    item_noise = draws.integers(N_NOISE_WORDS, size=len(items)).tolist()
    prompt_noise = draws.integers(N_NOISE_WORDS, size=n).tolist()
    blanks = [WORDS[BLANK]] * (len(TASKS) + len(NOISE_SLOTS))
    pairs = []
    for row, noise in enumerate(prompt_noise):
        item = items[row % len(items)]
        answer = item % N_ANSWERS
        distractor = (answer + 1 + item // N_ANSWERS) % N_ANSWERS
        slots = [f"{task}a{answer}" if each == task else WORDS[BLANK] for each in TASKS]
        pairs.append(
            PromptPair(
                key=f"{task} {row}",
                item=f"item {item}",
                clean=" ".join([*slots, f"{task}n{item_noise[item]}", f"{task}n{noise}", f"{task}q{answer}"]),
                corrupted=" ".join([*blanks, f"{task}q{distractor}"]),
                answer=f" {task}a{answer}",
                distractor=f" {task}a{distractor}",
                distractor_task="blank",
            )
        )
    return pairs


@dataclass(frozen=True)
class Job:
    """Job that one head was made to do."""

    # `helping` and `suppressing` heads write the answer, or its opposite, in every task of their categories; `one
    # task` helps in the first task of its category only, so it is no member by any rule that asks for more; of an
    # `or` pair one head alone does the whole work, of an `and` pair neither does any without the other
    kind: Kind
    categories: tuple[str, ...]
    effect: float  # share of the gap; negative for suppressing heads; for a pair, of both together

    @property
    def tasks(self) -> tuple[str, ...]:
        """Tasks the head works in."""
        of_categories = tuple(task for task, category in TASKS.items() if category in self.categories)
        return of_categories[:1] if self.kind == "one task" else of_categories


Jobs = dict[Head, Job]


def place(*, effect: float, seed: int, jobs: PlannedJobs) -> Jobs:
    """A job for every head, `none` for those that are left; the places are random."""
    heads = [Head(layer, head) for layer in range(N_LAYERS) for head in range(N_HEADS)]
    order = iter(stream(seed, "toy heads").permutation(len(heads)))
    sizes = {"suppressing": -effect, "none": 0.0}
    placed = {
        heads[next(order)]: Job(kind, categories, sizes.get(kind, effect))
        for kind, categories, count in jobs
        for _ in range(count)
    }
    return placed | {heads[number]: Job("none", (), 0.0) for number in order}


def of_kind(jobs: Jobs, *kinds: Kind) -> list[Head]:
    """The heads with such a job."""
    return [head for head, job in jobs.items() if job.kind in kinds]


def rest_of_gap(jobs: Jobs, task: str) -> float:
    """Share of a task's gap that no head carries: what is missing to 1. Negative where the heads carry more than 1."""
    carried = sum(job.effect / (2 if job.kind in ("or", "and") else 1) for job in jobs.values() if task in job.tasks)
    return 1 - carried
