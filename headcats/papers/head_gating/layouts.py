"""How public files write questions whose answer is to be written, and finished prompts: columns -> the parts of a row.

{problem, generated_solution, expected_answer}   OpenMathInstruct: the solution is to be written
{question, answer}                               an answer to be written
{prompt, target, pattern}                        finished prompts: ABA/ABB of Causal Head Gating
"""

from collections.abc import Callable
from typing import Any

from headcats.tasks.files.questions import LAYOUTS as WITH_OPTIONS
from headcats.tasks.files.questions import NO_ANSWER, NO_QUESTION, Parts, Row, as_text


def _solved(row: Row) -> Parts | str:
    """OpenMathInstruct: a row without a final answer does not say whether its solution is right."""
    if "expected_answer" in row and not as_text(row["expected_answer"]):
        return NO_ANSWER
    return _written(row["problem"], row["generated_solution"])


def _written(question: Any, answer: Any) -> Parts | str:
    text, written = as_text(question), as_text(answer)
    if not text:
        return NO_QUESTION
    return (text, written, ()) if written else NO_ANSWER


def _finished(row: Row) -> Parts | str:
    """Prompt and target unchanged: spaces and line ends are part of what the model reads."""
    prompt, target = (value if isinstance(value, str) else "" for value in (row["prompt"], row["target"]))
    if not prompt:
        return NO_QUESTION
    return (prompt, target, ()) if target else NO_ANSWER


FINISHED = ("prompt", "target")
LAYOUTS: dict[tuple[str, ...], Callable[[Row], Parts | str]] = WITH_OPTIONS | {
    ("problem", "generated_solution"): _solved,
    ("question", "answer"): lambda row: _written(row["question"], row["answer"]),
    FINISHED: _finished,
}
"""Columns of a layout -> what a row of it holds, or why it is dropped; the first that fits is taken."""
