"""The chat template of an instruction-tuned model's tokenizer, as a template of prompts.

A demonstration is a turn of the user (its input) and a turn of the assistant (its output). The query is the last turn
of the user, and the answer is the beginning of the assistant's reply, right after the generation prompt. A finished
prompt is one turn of the user.

The tokenizer writes a conversation of marks, and the text between them is the fixed text of the template. So roles,
corruptions and stored suites work as for every template. What is made is compared with what the tokenizer writes for
words; chat templates that are no such template, since they write the turns of a conversation differently, are refused.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from headcats.base.errors import OptionError
from headcats.prompts.pair import PromptPair, SecondCorruption, Span, WordPair
from headcats.prompts.template import Conversation, Template

# Inputs and outputs of two demonstrations, and the query: private-use characters, which no template writes or strips.
_MARKS = tuple(map(chr, range(0xE000, 0xE005)))
# Checked for every tokenizer, with as many demonstrations.
_WORDS: tuple[WordPair, ...] = (("France", "Paris"), ("3, 4 and 5", "6"), ("été", "summer"))


def chat_template(tokenizer: Any, *, tried: Sequence[Conversation] = ()) -> Template:
    """The chat template of a tokenizer as a `Template`, which writes the prompts `tried` as the tokenizer does."""
    if not getattr(tokenizer, "chat_template", None):
        raise OptionError(
            "The tokenizer of this model has no chat template: leave out --template chat (template='chat'), or set "
            "tokenizer.chat_template."
        )
    first_x, first_y, second_x, second_y, query = _MARKS
    marked = _written(tokenizer, _messages([(first_x, first_y), (second_x, second_y)], query))
    opening, between, turn, *rest, prompt = _cut(marked)
    if rest != [between, turn]:
        raise _refused("it writes the turns of a conversation differently, so there is no one text around them")
    before = _common_end(opening, turn.removeprefix(_closing(tokenizer)))
    header, lead = _split_lead(between, prompt)
    template = Template(
        "chat",
        before=before,
        between=header,
        lead=lead,
        after=turn.removesuffix(before),
        start=opening.removesuffix(before),
        between_query="" if prompt == header else prompt,
        bos="written",
    )
    _check(template, tokenizer, tried)
    return template


@dataclass(frozen=True)
class _Chat(Template):
    """Stands for the chat template of a tokenizer that is not known yet."""

    def written_by(self, tokenizer: Any, *, tried: Sequence[Conversation] = ()) -> Template:
        """The chat template of the tokenizer."""
        return chat_template(tokenizer, tried=tried)

    def render(self, demonstrations: Sequence[WordPair], query: str) -> tuple[str, dict[str, Span]]:
        """Refuses: without this, prompts of no text at all around their words could be scored."""
        raise OptionError(
            "The template 'chat' is that of a tokenizer, and none was given here: name another template, such as "
            "template='arrow'."
        )


CHAT = _Chat("chat", before="", between="", lead="", after="", bos="written")


def as_messages(pairs: Sequence[PromptPair], template: Template) -> list[PromptPair]:
    """Finished prompts as they are read: stripped of outer spaces and written as messages by a conversation's template.

    The lead of the template replaces the spaces in front of an answer. Roles move along.
    """
    return list(pairs) if template.bos != "written" else [_as_message(pair, template) for pair in pairs]


def _as_message(pair: PromptPair, template: Template) -> PromptPair:
    clean, corrupted, second = pair.clean, pair.corrupted, pair.second
    moved = {
        name: (_moved(spans[0], clean, template), _moved(spans[1], corrupted, template))
        for name, spans in pair.roles.items()
    }
    if second is not None:
        spans = {name: _moved(span, second.text, template) for name, span in second.roles.items()}
        second = SecondCorruption(
            template.query(second.text.strip()),
            second.distractor_task,
            {name: span for name, span in spans.items() if span},
        )
    return replace(
        pair,
        clean=template.query(clean.strip()),
        corrupted=template.query(corrupted.strip()),
        # An answer of nothing but spaces stays, and is dropped and counted where it is encoded.
        answer=template.answer(pair.answer.lstrip(" ") or pair.answer),
        distractor=template.answer(pair.distractor.lstrip(" ") or pair.distractor),
        roles={name: (first, other) for name, (first, other) in moved.items() if first and other},
        second=second,
    )


def _moved(span: Span, text: str, template: Template) -> Span | None:
    """Where a span of a text lies in its message; None if it held nothing but the spaces around the text."""
    message = text.strip()
    offset = len(template.start + template.before)
    removed = len(text) - len(text.lstrip())
    start, stop = max(span.start - removed, 0), min(span.stop - removed, len(message))
    return Span(start + offset, stop + offset) if start < stop else None


def _messages(demonstrations: Sequence[WordPair], query: str) -> list[dict[str, str]]:
    turns = [(role, text) for pair in demonstrations for role, text in zip(("user", "assistant"), pair, strict=True)]
    return [{"role": role, "content": text} for role, text in [*turns, ("user", query)]]


def _written(tokenizer: Any, messages: list[dict[str, str]]) -> str:
    """The text of messages with the generation prompt."""
    try:
        return str(tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))
    except Exception as error:  # noqa: BLE001 - a chat template is a program of the model's authors
        raise _refused(f"it cannot write {len(messages)} messages of user and assistant in turn ({error})") from None


def _closing(tokenizer: Any) -> str:
    """The text behind an assistant's message that ends a conversation; "" if the tokenizer writes no such one."""
    x, y, *_ = _MARKS
    messages = _messages([(x, y)], "")[:2]
    try:
        text = str(tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=False))
    except Exception:  # noqa: BLE001 - as above; without it, roles are told apart less well, and texts are the same
        return ""
    return text.partition(y)[2]


def _cut(marked: str) -> list[str]:
    """The text in front of, between and behind the marks."""
    pieces = []
    for mark in _MARKS:
        piece, is_there, marked = marked.partition(mark)
        if not is_there or mark in marked:
            raise _refused("it leaves out messages of the user or the assistant, repeats them or changes their text")
        pieces.append(piece)
    return [*pieces, marked]


def _common_end(first: str, second: str) -> str:
    alike = itertools.takewhile(lambda ends: ends[0] == ends[1], zip(reversed(first), reversed(second), strict=False))
    return first[len(first) - len(list(alike)) :]


def _split_lead(between: str, prompt: str) -> tuple[str, str]:
    """The header of an assistant's message, and the spaces that follow it if the generation prompt ends before them."""
    lead = between.removeprefix(prompt)
    if between.startswith(prompt) and not lead.strip():
        return prompt, lead
    if not prompt.startswith(between.rstrip()):
        raise _refused(
            f"its generation prompt is {prompt!r}, but assistant messages come after {between!r}, so the answer would "
            "not come next"
        )
    return between, ""


def _check(template: Template, tokenizer: Any, tried: Sequence[Conversation]) -> None:
    ours = [(_WORDS[:n], "Italy") for n in range(len(_WORDS) + 1)]
    for demonstrations, query in [*ours, *tried]:
        if template.render(demonstrations, query)[0] != _written(tokenizer, _messages(demonstrations, query)):
            words = ", ".join(repr(word) for pair in demonstrations for word in pair)
            after = f" after {words}" if words else ""
            raise _refused(
                f"it changes messages, or writes those of longer conversations differently; see {query!r}{after}"
            )


def _refused(reason: str) -> OptionError:
    return OptionError(
        f"The chat template of this model's tokenizer cannot be used: {reason}. Leave out --template chat "
        "(template='chat'), or set another tokenizer.chat_template."
    )
