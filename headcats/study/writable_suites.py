"""Suites that a model's tokenizer can write, for a model that can do no task of another one."""

from headcats.errors import HeadcatsError
from headcats.models.adapter import HookedModel
from headcats.prompts.chat import as_messages
from headcats.prompts.encode import encode_pairs, usable_pairs
from headcats.prompts.pair import PromptPair
from headcats.registry import names
from headcats.study.plan import Study
from headcats.tasks.definition import Task
from headcats.tasks.suites import suite

_TRIED = 8
"""Prompts or word pairs of each task."""


def advice_on_suites(model: HookedModel, study: Study) -> str:
    """A line that names the other suites of which the model can read tasks; "" if there are none.

    Whether it can do those tasks is not looked at: a few prompts of each are encoded, no model is run.
    """
    others = [name for name in names("suite") if name not in (study.suite.name, study.suite.source)]
    writable = [name for name in others if _is_writable(name, model, study)]
    if not writable:
        return ""
    first = writable[0]
    return f"\nIts tokenizer can write tasks of {', '.join(writable)}: try --suite {first} (suite={first!r})."


def _is_writable(name: str, model: HookedModel, study: Study) -> bool:
    try:
        return any(_can_write(task, model, study) for task in suite(name).tasks)
    except HeadcatsError:
        return False  # a suite that cannot be made, or a template that the tokenizer cannot write


def _can_write(task: Task, model: HookedModel, study: Study) -> bool:
    pairs = task.pairs(_TRIED, seed=study.seed)[:_TRIED]
    prompts = [pair for pair in pairs if isinstance(pair, PromptPair)]
    if prompts:
        messages, bos = as_messages(prompts, study.template), study.template.bos
        return encode_pairs(messages, model.tokenizer, n_ctx=model.n_ctx, answers=study.answers, bos=bos)[1].kept > 0
    words = [pair for pair in pairs if isinstance(pair, tuple)]
    return len(usable_pairs(words, model.tokenizer, template=study.template, answers=study.answers)[0]) > 0
