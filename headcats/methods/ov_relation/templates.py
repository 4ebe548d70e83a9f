"""Texts around a source word, as tokens: where the source stands in them, and what comes last."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from headcats.errors import DataError, OptionError
from headcats.methods.ov_relation.pairs import Relation
from headcats.prompts.tokens import bos_of, encode_with_ends, unknown_id

SLOT = "<X>"


@dataclass(frozen=True, eq=False)
class Filled:
    """A template filled with the sources of a relation.

    Attributes:
        tokens: Prompts, the beginning-of-sequence token in front where there is one.
        source: Position of the source.
        pairs: Place of each prompt's pair in the relation.
    """

    tokens: Int[Tensor, "prompt pos"]
    source: int
    pairs: Int[Tensor, " prompt"]


def check_template(template: str) -> None:
    """Refuse a text without exactly one place for the source, or without a space before it.

    Raises:
        OptionError: The message shows the template.
    """
    if template.count(SLOT) != 1 or not (template.startswith(SLOT) or f" {SLOT}" in template):
        raise OptionError(
            f"A template is a text with one {SLOT} in it, at the start or after a space (sources are words with a "
            f"space before them); got {template!r}."
        )


def fill(template: str, relation: Relation, tokenizer: Any) -> Filled:
    """The template with each source of a relation in turn.

    A pair is left out where the source is not the same single token in the text as it is alone.

    Raises:
        DataError: A word of the template that the tokenizer does not know, or no pair left.
    """
    bos, unknown = bos_of(tokenizer), unknown_id(tokenizer)
    start = template.index(SLOT)
    texts = [template.replace(SLOT, source) for source, _ in relation.words]
    prompts: list[list[int]] = []
    pairs, place = [], 0
    encoded = encode_with_ends(tokenizer, texts)
    for number, ((ids, ends), (source, _)) in enumerate(zip(encoded, relation.words, strict=True)):
        if unknown is not None and unknown in ids:
            raise DataError(
                f"Template {template!r} holds a word that the tokenizer does not know: pass templates=[...] of words "
                f"that it knows."
            )
        stop = start + len(source)
        at = [position for position, end in enumerate(ends) if start < end <= stop]
        if len(at) != 1 or ids[at[0]] != int(relation.sources[number]):
            continue
        if prompts and (len(prompts[0]) != len(bos) + len(ids) or place != len(bos) + at[0]):
            continue
        place = len(bos) + at[0]
        prompts.append(bos + ids)
        pairs.append(number)
    if not prompts:
        raise DataError(
            f"In template {template!r} no source of relation {relation.name!r} is the token that it is alone: leave "
            "out the template or the relation, or write a template with a space before the source and after it."
        )
    return Filled(torch.tensor(prompts), place, torch.tensor(pairs))


def check_templates(templates: Sequence[str]) -> tuple[str, ...]:
    """All of them, checked.

    Raises:
        OptionError: None, one twice, or see `check_template`.
    """
    texts = tuple(templates)
    if isinstance(templates, str) or not texts or len(set(texts)) < len(texts):
        raise OptionError(f"templates takes a list of different texts with {SLOT} in them; got {templates!r}.")
    for template in texts:
        check_template(template)
    return texts
