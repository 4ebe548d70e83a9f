"""Templates: render demonstrations and a query as one prompt, if the tokenizer knows the fixed text."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headcats.base.errors import ExtensionError, OptionError
from headcats.base.registry import lookup, names, register, register_later
from headcats.prompts.pair import Span, WordPair
from headcats.prompts.tokens import check_bos, encode, unknown_id

Conversation = tuple[Sequence[WordPair], str]
"""Demonstrations and query of a prompt."""
OPTION = '--template {name} (template="{name}")'
"""Template as a user selects it."""
_N_PAIRS = 8  # word pairs tried


@dataclass(frozen=True)
class Template:
    """Fixed text around inputs `x` and outputs `y`.

    A demonstration is `before + x + between + lead + y + after`, the query `before + x + between_query`; the answer is
    `lead + y`. The space belongs to the answer because that is how subword tokenizers cut words.
    """

    name: str
    """Name on the command line and in the manifest."""
    before: str
    between: str
    """Text between input and output, without the lead."""
    lead: str
    """Text directly before an output, tokenised with it."""
    after: str
    start: str = ""
    """Text in front of the first demonstration, or of the query if there is none."""
    between_query: str = ""
    """Text behind the query, where the answer is read; "" takes `between`."""
    bos: str = "once"
    """Place of BOS (see `headcats.prompts.tokens.BOS`). "written" is for conversations, whose text has its special
    tokens in it; finished prompts become messages of them (see `headcats.prompts.chat`)."""

    def __post_init__(self) -> None:
        check_bos(self.bos)
        for name, text in vars(self).items():
            if not isinstance(text, str):
                raise OptionError(f"{name} of a template must be text; got {text!r:.80}.")

    @property
    def fixed_texts(self) -> list[str]:
        """The texts around inputs and outputs, in the order of a prompt, without empty ones."""
        texts = (self.start, self.before, self.between, self.after, self.between_query)
        return list(dict.fromkeys(filter(None, texts)))

    def written_by(self, tokenizer: Any, *, tried: Sequence[Conversation] = ()) -> "Template":
        """This template, or the tokenizer's own (`chat`), checked with the prompts that are `tried`."""
        return self

    def answer(self, output: str) -> str:
        """The continuation that answers a query with `output`."""
        return self.lead + output

    def query(self, x: str) -> str:
        """A prompt without demonstrations."""
        return self.render([], x)[0]

    def render(self, demonstrations: Sequence[tuple[str, str]], query: str) -> tuple[str, dict[str, Span]]:
        """The prompt, and role -> span in the order of the text, of (input, output) pairs and the input to be answered.

        The roles are `start before1 x1 between1 y1 after1 ... before_query x_query between_query`, without those of
        empty text; `y` includes its lead.
        """
        pieces: list[tuple[str, str]] = [("start", self.start)]
        for number, (word, output) in enumerate(demonstrations, start=1):
            texts = (self.before, word, self.between, self.answer(output), self.after)
            pieces += zip([f"{role}{number}" for role in ("before", "x", "between", "y", "after")], texts, strict=True)
        pieces += [("before_query", self.before), ("x_query", query)]
        pieces.append(("between_query", self.between_query or self.between))
        text, spans = "", {}
        for role, piece in pieces:
            if piece:
                spans[role] = Span(len(text), len(text) + len(piece))
            text += piece
        return text, spans


def find_template(name: str) -> Template:
    """The registered template of that name."""
    template = lookup("template", name)
    if not isinstance(template, Template):
        raise ExtensionError(f"Template {name!r} must be a Template; got a {type(template).__name__}.")
    return template


ARROW = register("template", "arrow", Template("arrow", before="", between=" →", lead=" ", after="\n"))
QUESTION = register("template", "question", Template("question", before="Q: ", between="\nA:", lead=" ", after="\n\n"))
register_later("template", "chat", "headcats.prompts.chat:CHAT")


def check_writable(template: Template, tokenizer: Any, pairs: Sequence[tuple[str, str]]) -> None:
    """Refuse a template whose fixed text the tokenizer does not know, and name those that it does."""
    unknown = _unknown_text(template, tokenizer, pairs)
    if not unknown:
        return
    others = _templates_of(tokenizer)
    usable = [name for name, other in others.items() if not _unknown_text(other, tokenizer, pairs)]
    if usable:
        advice = f"It knows the text of {', '.join(usable)}: use {OPTION.format(name=usable[0])}."
    else:
        advice = f"It knows none of the templates ({', '.join(others)}): use another model."
    raise OptionError(
        f"The tokenizer of this model does not know {' and '.join(map(repr, unknown))}, part of the template "
        f"{template.name!r}. {advice}"
    )


def _templates_of(tokenizer: Any) -> dict[str, Template]:
    """Every registered template that there is for a tokenizer, by name."""
    templates = {}
    for name in names("template"):
        with contextlib.suppress(OptionError):  # it has no chat template, or none that can be used
            templates[name] = find_template(name).written_by(tokenizer)
    return templates


def _unknown_text(template: Template, tokenizer: Any, pairs: Sequence[tuple[str, str]]) -> list[str]:
    """The fixed texts with an unknown token, [] if some pair can be written without one."""
    unknown = unknown_id(tokenizer)
    if unknown is None or not pairs:
        return []
    # Beside words first: some tokenizers do not know spaces on their own.
    prompts = encode(tokenizer, [template.render([pair], pair[0])[0] for pair in pairs[:_N_PAIRS]])
    if not all(unknown in ids for ids in prompts):
        return []
    texts = template.fixed_texts
    return [text for text, ids in zip(texts, encode(tokenizer, texts), strict=True) if unknown in ids]


def has_query(roles: Sequence[str]) -> bool:
    """True if the roles of a prompt are those of a template; a finished prompt has others."""
    return any(role.split("[")[0] == "x_query" for role in roles)
