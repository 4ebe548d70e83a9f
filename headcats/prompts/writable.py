"""Check that a tokenizer knows the fixed text of a template."""

from collections.abc import Sequence
from typing import Any

from headcats.errors import OptionError
from headcats.prompts.template import Template
from headcats.prompts.tokens import encode, unknown_id
from headcats.registry import lookup, names

OPTION = '--template {name} (template="{name}")'
"""How a user selects a template."""
_N_PAIRS = 8  # word pairs tried


def check_writable(
    template: Template, tokenizer: Any, pairs: Sequence[tuple[str, str]], *, option: str = OPTION
) -> None:
    """Refuse a template whose fixed text the tokenizer does not know; else every word of every task would be dropped.

    Args:
        template: Template of the prompts.
        tokenizer: A Hugging Face tokenizer.
        pairs: (input, output) pairs to render with it; the first few are tried.
        option: How a user selects another template, with `{name}` for it.

    Raises:
        OptionError: The template has an unknown token; the message lists templates that have none.
    """
    unknown = _unknown_text(template, tokenizer, pairs)
    if not unknown:
        return
    usable = [name for name in names("template") if not _unknown_text(lookup("template", name), tokenizer, pairs)]
    if usable:
        advice = f"It knows the text of {', '.join(usable)}: use {option.format(name=usable[0])}."
    else:
        advice = f"It knows none of the templates ({', '.join(names('template'))}): use another model."
    raise OptionError(
        f"The tokenizer of this model does not know {' and '.join(map(repr, unknown))}, part of the template "
        f"{template.name!r}. {advice}"
    )


def _unknown_text(template: Template, tokenizer: Any, pairs: Sequence[tuple[str, str]]) -> list[str]:
    """The fixed texts with an unknown token, [] if some pair can be written without one."""
    unknown = unknown_id(tokenizer)
    if unknown is None or not pairs:
        return []
    # Beside words first: some tokenizers do not know spaces on their own.
    prompts = encode(tokenizer, [template.render([pair], pair[0])[0] for pair in pairs[:_N_PAIRS]])
    if not all(unknown in ids for ids in prompts):
        return []
    texts = list(dict.fromkeys(text for text in (template.before, template.between, template.after) if text))
    return [text for text, ids in zip(texts, encode(tokenizer, texts), strict=True) if unknown in ids]
