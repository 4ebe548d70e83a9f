"""Prompts of a task with marked answers, for methods that need no corrupted prompts."""

from collections.abc import Sequence
from typing import Any

from headcats.base.errors import DataError, OptionError, check_count
from headcats.prompts.answered import AnsweredText, few_shot_texts
from headcats.prompts.template import find_template
from headcats.results.options import MOST_DEMOS, MOST_PROMPTS
from headcats.tasks.definition import Task, word_pairs
from headcats.tasks.suites import Suite
from headcats.tasks.suites import suite as find_suite


def task_texts(
    task: str,
    *,
    suite: str | Suite | Task | Sequence[Task | str] = "icl",
    n_prompts: int = 64,
    n_demos: int = 5,
    template: str = "arrow",
    tokenizer: Any = None,
    seed: int = 0,
) -> list[AnsweredText]:
    """Few-shot prompts of one task, each followed by its right answer, which is marked.

    Input of joint methods that read texts. All queries are used equally often.

    Args:
        task: Name of a task of the suite.
        suite: Name of a suite, a `Suite`, or a list of tasks and task names.
        n_prompts: Number of texts.
        n_demos: Demonstrations per text, 0 for none.
        template: Template of the prompts: "arrow", "question", or "chat" for that of `tokenizer`.
        tokenizer: That of the model that is to read the texts; only "chat" asks for it.
        seed: Seed of pairs, queries and demonstrations.

    Returns:
        The texts; `item` is the query. Methods drop, and count, those that their model's tokenizer cannot encode.

    Raises:
        UnknownNameError: An unknown suite, task or template.
        OptionError: `n_prompts` below 1, `n_demos` below 0, or "chat" without a tokenizer that has one.
        DataError: A task of finished prompts, or with too few pairs for one prompt.

    Example:
        >>> import headcats as hc
        >>> text = hc.papers.head_gating.task_texts("country_capital", n_prompts=4, n_demos=1)[0]
        >>> print(text.text)
        Chile → Santiago
        Sudan → Khartoum
        >>> text.text[slice(*text.spans[0])], text.category
        (' Khartoum', 'Knowledge')
    """
    tasks = find_suite(suite)
    (definition,) = tasks.named([task])
    check_count("n_prompts", n_prompts, most=MOST_PROMPTS)
    check_count("n_demos", n_demos, least=0, most=MOST_DEMOS)
    pairs = word_pairs(definition, seed=seed)
    if not pairs:
        raise DataError(
            f"Task {task!r} has finished prompts instead of word pairs: mark the answers yourself, "
            "AnsweredText(text, [(start, end)])."
        )
    if template == "chat" and tokenizer is None:
        raise OptionError(
            "template='chat' is the template of a tokenizer: pass that of the model, tokenizer=model.tokenizer."
        )
    return few_shot_texts(
        pairs,
        n=n_prompts,
        n_demos=n_demos,
        template=find_template(template).written_by(tokenizer, tried=[(pairs[:n_demos], pairs[-1][0])]),
        seed=seed,
        task=task,
        category=tasks.category_of(definition).name,
        purpose="task_texts",
    )
