"""Which word pairs and prompts of a suite each tokenizer can score: answers of one token alone, and answers as a whole.

    python benchmarks/kept_pairs.py [TOKENIZER ...] [--suite icl] [--prompts 64] [--tasks]

A tokenizer is a folder or a `tokenizer.json`; the small ones of `tests/tokenizer_zoo.py`, which are trained here, come
after them. Word pairs are those whose output can be answered with; prompts are made of them as a study does, and none
is made of a task that is left without enough pairs. `--tasks` prints a row for every task, and the reasons.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from transformers import PreTrainedTokenizerFast

import headcats as hc
from headcats.base.errors import DataError
from headcats.prompts.corruption import build_pairs
from headcats.prompts.encode import encode_pairs, usable_pairs
from headcats.prompts.template import ARROW
from headcats.tasks.definition import word_pairs
from headcats.tasks.suites import Suite

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from tokenizer_zoo import ZOO

MODES = ("single", "whole")


class Kept(NamedTuple):
    """What is kept of a task."""

    pairs: int
    of_pairs: int
    prompts: int
    of_prompts: int
    batches: int
    reasons: Counter[str]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tokenizers", nargs="*", type=Path)
    parser.add_argument("--suite", default="icl")
    parser.add_argument("--prompts", type=int, default=64)
    parser.add_argument("--tasks", action="store_true", help="a row for every task, and why anything is dropped")
    asked = parser.parse_args()
    tasks = hc.suite(asked.suite)
    print("| tokenizer | answers | word pairs | prompts | tasks without a prompt | batches per task |")
    print("|:--|:--|--:|--:|--:|--:|")
    for name, load in _tokenizers(asked.tokenizers):
        tokenizer = load()
        for answers in MODES:
            kept = measure(tasks, tokenizer, answers=answers, n_prompts=asked.prompts)
            print(_row(name, answers, kept), flush=True)
            if asked.tasks:
                print(*_task_rows(kept), sep="\n")


def measure(suite: Suite, tokenizer: Any, *, answers: str, n_prompts: int) -> dict[str, Kept]:
    """What is kept of every task."""
    words, counts = {}, {}
    for task in suite.tasks:
        every = word_pairs(task, seed=0)
        words[task.name], report = usable_pairs(every, tokenizer, template=ARROW, answers=answers)
        counts[task.name] = len(every), Counter(report.dropped)
    kept = {}
    for name, usable in words.items():
        others = {other: pairs for other, pairs in words.items() if other != name}
        n_pairs, reasons = counts[name]
        try:
            made = build_pairs(name, usable, others, n=n_prompts, seed=0, template=ARROW)
        except DataError as error:
            kept[name] = Kept(len(usable), n_pairs, 0, n_prompts, 0, reasons + Counter({str(error): n_prompts}))
            continue
        batches, report = encode_pairs(made, tokenizer, task=name, answers=answers)
        kept[name] = Kept(len(usable), n_pairs, report.kept, n_prompts, len(batches), reasons + Counter(report.dropped))
    return kept


def _tokenizers(paths: list[Path]) -> Iterator[tuple[str, Callable[[], Any]]]:
    for path in paths:
        if path.is_dir():
            yield path.name, lambda path=path: PreTrainedTokenizerFast.from_pretrained(path)
        else:
            yield path.stem, lambda path=path: PreTrainedTokenizerFast(tokenizer_file=str(path))
    yield from ZOO.items()


def _row(name: str, answers: str, kept: dict[str, Kept]) -> str:
    pairs, of_pairs, prompts, of_prompts = (
        sum(getattr(task, column) for task in kept.values()) for column in Kept._fields[:4]
    )
    lost = sum(task.prompts == 0 for task in kept.values())
    batches = sum(task.batches for task in kept.values()) / max(len(kept) - lost, 1)
    return f"| {name} | {answers} | {pairs} of {of_pairs} | {prompts} of {of_prompts} | {lost} | {batches:.0f} |"


def _task_rows(kept: dict[str, Kept]) -> Iterator[str]:
    for name, task in kept.items():
        reasons = "; ".join(f"{count} {reason}" for reason, count in task.reasons.most_common())
        counts = f"{task.pairs} of {task.of_pairs} | {task.prompts} of {task.of_prompts}"
        yield f"| | {name} | {counts} | {reasons} | {task.batches} |"


if __name__ == "__main__":
    main()
