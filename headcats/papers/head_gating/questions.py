"""The texts of the paper: questions with shuffled options, each after one example, and finished prompts."""

import heapq
import json
import math
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from headcats.base.errors import DataError, OptionError, StatisticsWarning, check_count, pluralize
from headcats.papers.head_gating.question_files import FINISHED, LAYOUTS, question_records
from headcats.papers.head_gating.settings import N_EXAMPLES, N_ORDERS
from headcats.prompts.answered import AnsweredText
from headcats.prompts.drop_report import DropReport
from headcats.prompts.pair import Span
from headcats.statistics.random_streams import stream
from headcats.tasks.files.questions import LETTERS, as_text
from headcats.tasks.files.records import EMPTY, Texts, by_meaning
from headcats.tasks.files.task_rows import KeptRows, keep_rows

OTHER_SOLUTION = "another answer to an earlier question"
EXAMPLE, NOT_DRAWN = "kept as an example", "not drawn"


class Question(NamedTuple):
    """A question and its answer, both without spaces around them unless the prompt is finished."""

    number: int
    """Of its row in the file."""
    text: str
    answer: str
    options: tuple[str, ...] = ()
    """Sorted; the answer is one of them. Empty where the answer is to be written."""
    pattern: str | None = None
    """What a finished prompt is an instance of, "" where the file does not say; None for a question."""

    @property
    def item(self) -> str:
        """Identity of a question: files with a fixed question differ in their answers alone."""
        return f"{self.text}\n{self.answer}" if self.options else self.text

    @property
    def length(self) -> int:
        """Characters of the question and all its options, or its answer."""
        return len(self.text) + sum(map(len, self.options or (self.answer,)))


@dataclass(frozen=True)
class Questions:
    """Questions of a file: the rows that are kept, and where a row stands, for messages."""

    name: str
    rows: KeptRows
    place: Callable[[int], str]
    finished: bool

    def __iter__(self) -> Iterator[Question]:
        """In the order of the file."""
        return (self._question(number, texts) for number, texts in self.rows)

    def drawn(self, n: int | None, *, seed: int) -> list[Question]:
        """`n` of them in the order in which the seed draws them; None takes all, in the order of the file."""
        if n is None:
            return list(self)
        kept = self.rows.chosen(n, seed=seed) if len(self.rows) > n else self.rows.shuffled(seed=seed)
        return [self._question(number, texts) for number, texts in kept]

    def _question(self, number: int, texts: Texts) -> Question:
        _, answer, text, options, pattern = texts
        return Question(number, text, answer, tuple(json.loads(options)), pattern if self.finished else None)


def read_questions(source: str | os.PathLike[str] | Sequence[Mapping[str, Any]]) -> Questions:
    """Questions of a file, a saved dataset, a dataset of the hub, or of records, without rows that cannot be asked."""
    records = question_records(source)
    names = by_meaning(records.columns, file=records.file)
    layout = next((layout for layout in LAYOUTS if set(layout) <= set(names)), None)
    if layout is None:
        expected = "; ".join(", ".join(map(repr, layout)) for layout in LAYOUTS)
        raise DataError(
            f"{records.file}: unknown layout with the columns {', '.join(map(repr, records.columns)) or 'none'}; "
            f"expected one of these sets: {expected}. Rename the columns."
        )
    finished, parts_of = layout == FINISHED, LAYOUTS[layout]

    def read() -> Iterator[tuple[int, Texts | str]]:
        seen: set[int] = set()
        for number, cells in records.read():
            row = dict(zip(names, cells, strict=True)) if len(cells) else {}
            parts = parts_of(row) if row else EMPTY
            if isinstance(parts, str):
                yield number, parts
                continue
            text, answer, options = parts
            if not options and not finished:
                mark = hash(text)
                if mark in seen:
                    yield number, OTHER_SOLUTION
                    continue
                seen.add(mark)
            listed = json.dumps(sorted(options), ensure_ascii=False)
            pattern = as_text(row.get("pattern")) if finished else ""
            identity = f"{text}\n{answer if finished else listed}"
            yield number, (identity, answer, text, listed, pattern)

    rows = keep_rows(read(), file=records.file, place=records.place, output=1)
    return Questions(records.file, rows, records.place, finished)


def question_texts(
    data: str | os.PathLike[str] | Sequence[Mapping[str, Any]],
    *,
    n_questions: int | None = None,
    n_orders: int = N_ORDERS,
    n_examples: int = N_EXAMPLES,
    instruction: str = "",
    seed: int = 0,
) -> tuple[list[AnsweredText], DropReport]:
    """Texts for gates from a public file of questions: one solved example, then the question and its answer.

    Options are shuffled and lettered, in the example too, and the answer is the letter of the right one; questions
    without options are answered in words. The shortest questions are the examples, of which every text has a random
    one; no text asks them. Finished prompts (columns `prompt`, `target`, and `pattern`) are taken as they are.

    Args:
        data: A JSON, JSON Lines, CSV, TSV or Parquet file, a saved dataset, `hf://datasets/user/name`, or records, with
            the fields of CommonsenseQA (`question, choices, answerKey`), BIG-bench (`input, target_scores`, or its
            table), OpenMathInstruct (`problem, generated_solution`), or `question, answer` with or without `choices`.
        n_questions: How many are drawn, all by default and where there are fewer; the examples come besides.
        n_orders: Texts of a question, each with its options in another order; fewer where there are fewer orders.
        n_examples: Questions that are examples.
        instruction: What the text begins with, on lines of its own.
        seed: Seed of the draws, the orders and the choice of the example. A question has the same texts whichever
            others are drawn, as long as the examples are the same.

    Returns:
        The texts: `item` is the question (all its orders are one cluster), `task` the name of the file, `category` the
        pattern of a finished prompt, `key` the row in the file. And the report, which counts every row by reason.

    Raises:
        DataError: No such file or something else than data, an unknown layout, no usable row, or no question beside the
            examples; the message counts what was dropped.
        OptionError: A number below 1, or an instruction that is no text.

    Warns:
        StatisticsWarning: Fewer questions than `n_questions`.

    References:
        Nam et al. (2025), Causal Head Gating, arXiv 2505.13737; https://github.com/andrewnam/causal_head_gating.

    Example:
        >>> import headcats as hc
        >>> letters = [{"question": f"After {a}?", "choices": [b, a], "answer": b} for a, b in ["ab", "bc", "cd"]]
        >>> texts, report = hc.papers.head_gating.question_texts(letters, n_examples=1)
        >>> print(texts[0].text)
        Question: After a?
        A. b
        B. a
        Answer: A
        Question: After b?
        A. b
        B. c
        Answer: B
        >>> texts[0].text[slice(*texts[0].spans[0])], report.kept, report.dropped
        (' B', 2, {'kept as an example': 1})
    """
    for name, count in (("n_orders", n_orders), ("n_examples", n_examples)):
        check_count(name, count, most=math.inf)
    if n_questions is not None:
        check_count("n_questions", n_questions, most=math.inf)
    if not isinstance(instruction, str):
        raise OptionError(f'instruction must be text, "" for none; got {instruction!r:.60}.')
    questions = read_questions(data)
    task = questions.name.partition(".")[0]
    report = DropReport(0, dict(questions.rows.report.dropped), dict(questions.rows.report.examples))
    examples = (
        [] if questions.finished else heapq.nsmallest(n_examples, questions, key=lambda question: question.length)
    )
    asked = _asked(questions, examples, n_questions, report, seed=seed)
    if not asked:
        raise DataError(
            f"{questions.name} has no question beside {pluralize(len(examples), 'example')}: {report.summary()}. Give "
            "more questions, or take fewer examples, n_examples=1."
        )
    if n_questions is not None and len(asked) < n_questions:
        message = f"{questions.name}: {pluralize(len(asked), 'question')}, not the {n_questions} asked for: "
        warnings.warn(f"{message}{report.summary()}.", StatisticsWarning, stacklevel=2)
    start = f"{instruction.strip()}\n" if instruction.strip() else ""
    texts = [
        text
        for question in asked
        for text in _texts(question, examples, start, n_orders=n_orders, seed=seed, place=questions.place, task=task)
    ]
    return texts, report


def _asked(
    questions: Questions, examples: Sequence[Question], n: int | None, report: DropReport, *, seed: int
) -> list[Question]:
    """The questions that are drawn; the report then counts every row that was read."""
    places = {example.number for example in examples}
    drawn = questions.drawn(None if n is None else n + len(places), seed=seed)
    asked = sorted([question for question in drawn if question.number not in places][:n])
    chosen = {question.number for question in asked}
    for number in map(int, questions.rows.numbers):
        if number in places:
            report.drop(EXAMPLE, questions.place(number))
        elif number not in chosen:
            report.drop(NOT_DRAWN, questions.place(number))
    report.kept = len(asked)
    return asked


def _texts(
    question: Question,
    examples: Sequence[Question],
    start: str,
    *,
    n_orders: int,
    seed: int,
    place: Callable[[int], str],
    task: str,
) -> Iterator[AnsweredText]:
    """The texts of one question, from a stream of its own."""
    key = place(question.number)
    if question.pattern is not None:
        prompt, text = question.text, question.text + question.answer
        yield AnsweredText(text, (Span(len(prompt), len(text)),), key=key, task=task, category=question.pattern)
        return
    draws = stream(seed, "question_texts", question.item)
    for number, order in enumerate(_orders(len(question.options), n_orders, draws), start=1):
        example = examples[int(draws.integers(len(examples)))]
        (shown_order,) = _orders(len(example.options), 1, draws)
        asked, answer = _written(question, order)
        shown, shown_answer = _written(example, shown_order)
        prompt = f"{start}{shown}{shown_answer}\n{asked}"
        text = prompt + answer
        orders = f", order {number}" if n_orders > 1 and question.options else ""
        yield AnsweredText(text, (Span(len(prompt), len(text)),), key=f"{key}{orders}", item=question.item, task=task)


def _orders(n_options: int, n_orders: int, draws: np.random.Generator) -> list[tuple[int, ...]]:
    """So many different orders, or all there are."""
    orders: dict[tuple[int, ...], None] = {}
    while len(orders) < min(n_orders, math.factorial(n_options)):
        orders[tuple(draws.permutation(n_options).tolist())] = None
    return list(orders)


def _written(question: Question, order: Sequence[int]) -> tuple[str, str]:
    """A question up to its answer, and the answer with the space before it."""
    options = [question.options[place] for place in order]
    lines = [f"Question: {question.text}", *(f"{LETTERS[i]}. {option}" for i, option in enumerate(options)), "Answer:"]
    return "\n".join(lines), f" {LETTERS[options.index(question.answer)] if options else question.answer}"
