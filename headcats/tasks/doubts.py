"""Doubts on tasks of files: signs that another column than the one that was taken is meant."""

from collections.abc import Iterator

from headcats.prompts.pair import PromptPair, words_of
from headcats.tasks.definition import Task
from headcats.tasks.files.questions import LETTERS
from headcats.tasks.files.word_pairs import is_link

_LOOKED_AT = 1024
_LEAST_SHARE = 0.1  # words that are their own answer, such as "hotel" in French, are no doubt
_NUMBERS = {*map(str, range(6)), *LETTERS[:6]}


def doubts(task: Task, *, seed: int) -> dict[str, int]:
    """Number of pairs by doubt, of a task from a file; {} for any other.

    `option_numbers`: every answer is the letter of an option, or a number below 6, and no option is in the prompt;
    `links`: the input is an address; `in_prompt`: the answer is a word of the prompt and the distractor is not.
    """
    if task.drops is None:
        return {}
    texts = list(_texts(task, seed=seed))
    numbered = all(answer in _NUMBERS and "\nB. " not in clean for clean, answer, _ in texts)
    copied = (
        bool(words_of(answer)) and set(words_of(answer)) <= (words := set(words_of(clean))) and not other <= words
        for clean, answer, other in texts
    )
    links = (is_link(clean) for clean, _, _ in texts)
    counts = {"option_numbers": numbered * len(texts), "links": sum(links), "in_prompt": sum(copied)}
    return {doubt: n for doubt, n in counts.items() if n > _LEAST_SHARE * len(texts)}


def _texts(task: Task, *, seed: int) -> Iterator[tuple[str, str, set[str]]]:
    """Prompt or input, answer, and the words of the distractor of every pair."""
    for pair in task.pairs(_LOOKED_AT, seed=seed):
        if isinstance(pair, PromptPair):
            yield pair.clean, pair.answer.strip(), set(words_of(pair.distractor))
        else:
            yield *pair, {""}
