"""Whether a model, asked, calls its answer true."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float

from headcats.models.adapter import HookedModel
from headcats.models.generation import equal_lengths
from headcats.prompts.tokens import encode_with_bos, unknown_id

_PROMPT = """\
Somebody was asked: {question}
The reply was: {answer}
Mark this reply with a letter, (A) for {first} or (B) for {second}.
Mark: ("""
_OPTIONS = "True", "False"
_LETTERS = "A", "B"


def p_true(model: HookedModel, questions: Sequence[str], answers: Sequence[str]) -> Float[np.ndarray, " prompt"]:
    """Probability of "True" among both options, mean over the two orders of the options; NaN where none can be asked.

    The question cannot be asked where the tokenizer lacks a word of the prompt, does not write a letter of the options
    as one token, or the prompt is longer than the context.
    """
    both = [_first_option(model, questions, answers, options) for options in (_OPTIONS, _OPTIONS[::-1])]
    return (both[0] + 1 - both[1]) / 2


def _first_option(
    model: HookedModel, questions: Sequence[str], answers: Sequence[str], options: Sequence[str]
) -> Float[np.ndarray, " prompt"]:
    """Probability of the first option's letter, of the two."""
    tokenizer = model.text_tokenizer
    unknown = unknown_id(tokenizer)
    shares = np.full(len(questions), np.nan)
    asked: dict[int, tuple[tuple[int, ...], tuple[int, int]]] = {}
    for place, (question, answer) in enumerate(zip(questions, answers, strict=True)):
        prompt = _PROMPT.format(
            question=question.strip(), answer=" ".join(answer.split()), first=options[0], second=options[1]
        )
        texts = [prompt, *(prompt + letter for letter in _LETTERS)]
        (bos, before, _), *after = encode_with_bos(tokenizer, texts, bos=["once"] * len(texts))
        letters = [tokens[len(before) :] for _, tokens, _ in after if tokens[: len(before)] == before]
        tokens = (*bos, *before)
        known = unknown is None or unknown not in {*before, *(token for letter in letters for token in letter)}
        if known and [len(letter) for letter in letters] == [1, 1] and len(tokens) <= model.n_ctx:
            asked[place] = tokens, (letters[0][0], letters[1][0])
    places = list(asked)
    for part in equal_lengths([len(asked[place][0]) for place in places]):
        chosen = [places[row] for row in part]
        logits = model.run(torch.tensor([asked[place][0] for place in chosen]), hooks={}).cpu()
        pairs = logits.gather(1, torch.tensor([asked[place][1] for place in chosen]))
        shares[chosen] = pairs.double().softmax(-1)[:, 0].numpy()
    return shares
