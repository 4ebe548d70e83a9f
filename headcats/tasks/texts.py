"""Prompts of a task with their answers marked, for functions that read texts without a corrupted twin."""

from collections.abc import Sequence

from headcats.errors import DataError, OptionError
from headcats.prompts.answered import AnsweredText
from headcats.prompts.few_shot import few_shot_texts
from headcats.registry import lookup
from headcats.tasks.definition import Task
from headcats.tasks.suites import Suite
from headcats.tasks.suites import suite as find_suite

_POOL = 1024  # of a task that generates its pairs


def task_texts(
    task: str,
    *,
    suite: str | Suite | Task | Sequence[Task | str] = "icl",
    n_prompts: int = 64,
    n_demos: int = 5,
    template: str = "arrow",
    seed: int = 0,
) -> list[AnsweredText]:
    """Few-shot prompts of one task, each followed by its right answer, which is marked.

    For `hc.methods.head_gating`, `hc.contrastive_gates`, `hc.toggle_curves`, `hc.relation_ablation`,
    `hc.methods.function_probe` and `hc.scale_function_heads`. Every query is asked as often as any other; the
    demonstrations of a prompt are other pairs.

    Args:
        task: Name of a task of the suite.
        suite: Name of a suite, a `Suite`, or a list of tasks and task names.
        n_prompts: How many texts.
        n_demos: Demonstrations per text, 0 for none.
        template: How a prompt is written: "arrow" or "question".
        seed: Seed of pairs, queries and demonstrations. Two seeds share words, not the order of prompts.

    Returns:
        The texts; `item` is the query, `category` the category of the suite. What a model's tokenizer cannot write is
        dropped, and counted, where the texts are read.

    Raises:
        UnknownNameError: An unknown suite, task or template.
        OptionError: Fewer than one text, or fewer than no demonstrations.
        DataError: A task of finished prompts, or of too few pairs for one prompt.

    Example:
        >>> import headcats as hc
        >>> text = hc.task_texts("country_capital", n_prompts=4, n_demos=1)[0]
        >>> print(text.text)
        Chile → Santiago
        Sudan → Khartoum
        >>> text.text[slice(*text.spans[0])], text.category
        (' Khartoum', 'Knowledge')
    """
    chosen = find_suite(suite)
    (found,) = chosen.named([task])
    if n_prompts < 1 or n_demos < 0:
        raise OptionError(f"Expected n_prompts of at least 1 and n_demos of at least 0; got {n_prompts} and {n_demos}.")
    pairs = [pair for pair in found.pairs(_POOL, seed=seed) if isinstance(pair, tuple)]
    if not pairs:
        raise DataError(
            f"Task {task!r} is made of finished prompts, and texts are made of word pairs: mark the answers yourself, "
            "AnsweredText(text, [(start, end)])."
        )
    return few_shot_texts(
        pairs,
        n=n_prompts,
        n_demos=n_demos,
        template=lookup("template", template),
        seed=seed,
        task=task,
        category=chosen.category_of(found).name,
        purpose="task_texts",
    )
