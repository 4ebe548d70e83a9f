"""The template "chat" is the tokenizer's own: a study gets it as soon as its model is there."""

import logging
import os
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

from headcats.base.errors import DamagedFileError, PlanError
from headcats.prompts.chat import CHAT
from headcats.prompts.pair import PromptPair
from headcats.prompts.template import Conversation, Template
from headcats.results.folder import ResultsFolder
from headcats.study.identity import describe_differences
from headcats.study.plan import Study
from headcats.tasks.stored import stored_suite

_log = logging.getLogger("headcats")


def with_own_template(study: Study, model: Any, *, out: str | os.PathLike[str] | None = None) -> Study:
    """Study with the chat template of the model's tokenizer if its template is "chat"; any other as it is.

    `model` is a `HookedModel`, or a writer in its place (`headcats.scale.resources`). Where the results folder `out`
    holds a chat template, that one goes on: the text in front of a conversation may name the day on which it was
    written. An OptionError if there is no template that can be used, a PlanError if that of `out` is another one.
    """
    if study.template != CHAT:
        return study
    template = study.template.written_by(model.text_tokenizer, tried=list(_first_prompts(study)))
    return study.changed(template=_template_of(out, template))


def _first_prompts(study: Study) -> Iterator[Conversation]:
    for pairs in study.pairs.values():
        words = [pair for pair in pairs[: study.n_demos + 1] if isinstance(pair, tuple)]
        if words:
            yield words[:-1], words[-1][0]
        elif isinstance(pairs[0], PromptPair):
            yield [], pairs[0].clean.strip()


def _template_of(out: str | os.PathLike[str] | None, template: Template) -> Template:
    """The chat template in a results folder; `template` where there is none."""
    folder = None if out is None else ResultsFolder(out)
    try:
        text = "" if folder is None else folder.read_suite()
    except DamagedFileError:  # the run says so, and writes it again
        text = ""
    if folder is None or not text:
        return template
    _, stored = stored_suite(text, source=str(folder.suite_path))
    if stored.name != template.name or stored == template:
        return template  # another template is another plan, which is refused as such
    if stored != replace(template, start=stored.start):
        now = asdict(template)
        changed = {name: (text, now[name]) for name, text in asdict(stored).items() if text != now[name]}
        raise PlanError(
            f"{folder.path} holds results of another chat template ({'; '.join(describe_differences(changed))}). Name "
            "another folder with --out (out=...)."
        )
    _log.warning(
        "The chat template now begins with %r; this run goes on with that of %s, %r.",
        template.start,
        folder.path,
        stored.start,
    )
    return stored
