"""Whether a tokenizer knows the fixed text of a template: where it does not, no task can be written with it."""

from collections.abc import Sequence
from typing import Any

from headcats.errors import OptionError
from headcats.prompts.template import Template
from headcats.prompts.tokens import encode, unknown_id
from headcats.registry import lookup, names

OPTION = '--template {name} (template="{name}")'
"""How a run is told the template."""
_LOOKED_AT = 8  # word pairs


def check_writable(
    template: Template, tokenizer: Any, pairs: Sequence[tuple[str, str]], *, option: str = OPTION
) -> None:
    """Refuse a template whose own text has tokens that the tokenizer does not know.

    Without this every word of every task would seem to be at fault.

    Args:
        template: How a prompt is written.
        tokenizer: A Hugging Face tokenizer.
        pairs: (input, output) pairs to write with it; the first few are looked at. None are fine, too.
        option: How the user names another template, with `{name}` for it.

    Raises:
        OptionError: It cannot be written; the message names the templates that can.
    """
    unknown = _unknown_text(template, tokenizer, pairs)
    if not unknown:
        return
    others = [name for name in names("template") if not _unknown_text(lookup("template", name), tokenizer, pairs)]
    if others:
        advice = f"It can write {', '.join(others)}: choose {option.format(name=others[0])}."
    else:
        advice = f"It can write none of {', '.join(names('template'))}: take another model."
    raise OptionError(
        f"Template {template.name!r} writes {' and '.join(map(repr, unknown))} around the words, which the tokenizer "
        f"of this model does not know. {advice}"
    )


def _unknown_text(template: Template, tokenizer: Any, pairs: Sequence[tuple[str, str]]) -> list[str]:
    """The fixed texts that hold an unknown token, if no pair can be written without one."""
    unknown, looked_at = unknown_id(tokenizer), pairs[:_LOOKED_AT]
    if unknown is None or not looked_at:
        return []
    # Alone, a text that is nothing but spaces can be unknown although it never is beside a word.
    written = encode(tokenizer, [template.render([pair], pair[0])[0] for pair in looked_at])
    if not all(unknown in ids for ids in written):
        return []
    texts = list(dict.fromkeys(text for text in (template.before, template.between, template.after) if text))
    return [text for text, ids in zip(texts, encode(tokenizer, texts), strict=True) if unknown in ids]
