"""Few-shot prompts with their answers, without a corrupted twin."""

from collections.abc import Sequence

from headcats.errors import DataError
from headcats.prompts.answered import AnsweredText
from headcats.prompts.pair import Span
from headcats.prompts.template import Template
from headcats.random_streams import stream

WordPair = tuple[str, str]


def few_shot_texts(
    pairs: Sequence[WordPair],
    *,
    n: int,
    n_demos: int,
    template: Template,
    seed: int,
    task: str,
    category: str = "",
    purpose: str,
) -> list[AnsweredText]:
    """`n` prompts of random demonstrations and a query, each followed by its right answer.

    Queries go through a random order of all pairs again and again, so that each is asked as often as any other; the
    demonstrations of a prompt are different pairs, and never the query.

    Args:
        pairs: (input, output) pairs of one task.
        n: How many prompts.
        n_demos: Demonstrations per prompt, 0 for none.
        template: How a prompt is written.
        seed: Seed of the study.
        task: Name of the task.
        category: What the prompts count for.
        purpose: Name of the random stream: two purposes give independent prompts.

    Raises:
        DataError: Fewer pairs than one prompt needs.
    """
    if len(pairs) < n_demos + 1:
        raise DataError(
            f"Task {task!r} has {len(pairs)} usable pairs; a prompt of {n_demos} demonstrations needs {n_demos + 1}: "
            "use fewer demonstrations."
        )
    draws = stream(seed, task, purpose)
    made: list[AnsweredText] = []
    while len(made) < n:
        for query in draws.permutation(len(pairs))[: n - len(made)]:
            others = draws.choice(len(pairs) - 1, n_demos, replace=False)
            shown = [pairs[other + (other >= query)] for other in others]
            given, output = pairs[query]
            prompt, _ = template.render(shown, given)
            text = prompt + template.answer(output)
            made.append(
                AnsweredText(
                    text,
                    (Span(len(prompt), len(text)),),
                    key=f"{task}/{len(made)}",
                    item=given,
                    task=task,
                    category=category,
                )
            )
    return made
