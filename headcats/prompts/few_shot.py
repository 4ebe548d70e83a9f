"""Few-shot prompts with their answers, without corrupted prompts."""

from collections.abc import Sequence

from headcats.errors import DataError
from headcats.prompts.answered import AnsweredText
from headcats.prompts.pair import Span, WordPair
from headcats.prompts.template import Template
from headcats.statistics.random_streams import stream


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

    Queries cycle through all pairs in random orders, so each is used equally often; the demonstrations of a prompt are
    different pairs, never the query. `purpose` names the random stream: two purposes give independent prompts.

    Raises:
        DataError: Fewer pairs than one prompt needs.
    """
    if len(pairs) < n_demos + 1:
        raise DataError(
            f"Task {task!r} has {len(pairs)} usable pairs; a prompt of {n_demos} demonstrations needs {n_demos + 1}: "
            "use fewer demonstrations."
        )
    draws = stream(seed, task, purpose)
    texts: list[AnsweredText] = []
    while len(texts) < n:
        for query in draws.permutation(len(pairs))[: n - len(texts)]:
            places = draws.choice(len(pairs) - 1, n_demos, replace=False)
            item, output = pairs[query]
            prompt, _ = template.render([pairs[place + (place >= query)] for place in places], item)
            text = prompt + template.answer(output)
            span, key = Span(len(prompt), len(text)), f"{task}/{len(texts)}"
            texts.append(AnsweredText(text, (span,), key=key, item=item, task=task, category=category))
    return texts
