"""Tokens of answers: which are chosen, where z is taken for them, and what the model makes of them.

Ma et al. average z over the 5 semantically most important tokens of an answer, chosen by a second language model, which
cannot be repeated offline. Here they are the 5 that the model finds least likely: function words are easily guessed,
the words that carry an answer are not. Shorter answers are used whole, as in the paper's code.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headcats.models.adapter import HookedModel
from headcats.models.hooks import Edit, hook_z
from headcats.papers.generation import Generated, LineEnds, generate, line_ends
from headcats.prompts.answered import AnsweredBatch, AnsweredText
from headcats.prompts.drop_report import DropReport
from headcats.prompts.pair import Span
from headcats.prompts.tokens import UNKNOWN_WORD, encode_with_bos, unknown_id

_QUOTE = '"'
# Texts per forward pass.
CHUNK = 32
_NO_EDITS: Mapping[int, Edit] = MappingProxyType({})


class OwnAnswers(NamedTuple):
    """Texts with the model's answers in place of those given, in the order of the prompts."""

    texts: tuple[AnsweredText, ...]
    batches: list[AnsweredBatch]
    """Their tokens, one batch per length."""
    report: DropReport
    right: int
    """How many are the answers given, ignoring spaces and case."""
    cut: int
    """How many ended at the limit or at the end of the context, not by the model."""


def own_answers(
    model: HookedModel,
    texts: Sequence[AnsweredText],
    *,
    limit: int,
    advance: Callable[[float], None] = lambda share: None,
) -> OwnAnswers:
    """Answers that the model writes after the text before the first span, right or wrong; empty ones are counted.

    An answer ends at a line break, at the end of the text, and at a quotation mark where the prompt's last one is open.
    """
    tokenizer, report = model.text_tokenizer, DropReport()
    prompts = _encoded_prompts(model, texts, report)
    answers: dict[int, Generated] = {}
    for quoted in (True, False):
        ends = line_ends(tokenizer) if not quoted else _quote_ends(tokenizer)
        places = [place for place, (prompt, _) in prompts.items() if prompt.endswith(_QUOTE) == quoted]
        start = len(answers) / max(1, len(prompts))
        share = partial(_advance, advance, start, len(places) / max(1, len(prompts)))
        continuations = generate(model, [prompts[place][1] for place in places], ends=ends, limit=limit, advance=share)
        answers |= zip(places, continuations, strict=True)
    written: dict[int, AnsweredText] = {}
    for place, (prompt, _) in prompts.items():
        answer = str(tokenizer.decode(list(answers[place].tokens), clean_up_tokenization_spaces=False))
        if not answer.strip():
            report.drop("the model wrote no answer", repr(texts[place].key or texts[place].text))
            continue
        report.kept += 1
        whole = prompt + answer
        written[place] = replace(texts[place], text=whole, spans=(Span(len(prompt), len(whole)),))
    given = {place: texts[place].text[slice(*texts[place].spans[0])] for place in written}
    by_length: dict[int, list[int]] = {}
    for place in written:
        by_length.setdefault(len(prompts[place][1]) + len(answers[place].tokens), []).append(place)
    batches = []
    for length, places in by_length.items():
        rows = [(*prompts[place][1], *answers[place].tokens) for place in places]
        starts = torch.tensor([len(prompts[place][1]) for place in places])
        is_answer = torch.arange(length) >= starts[:, None]
        batches.append(AnsweredBatch(torch.tensor(rows), is_answer, tuple(written[place] for place in places)))
    return OwnAnswers(
        tuple(written.values()),
        batches,
        report,
        sum(_bare(text.text[text.spans[0][0] :]) == _bare(given[place]) for place, text in written.items()),
        sum(answers[place].cut for place in written),
    )


def _encoded_prompts(
    model: HookedModel, texts: Sequence[AnsweredText], report: DropReport
) -> dict[int, tuple[str, tuple[int, ...]]]:
    """Place of a text -> its prompt as text and tokens; those that cannot be continued are dropped."""
    unknown = unknown_id(model.text_tokenizer)
    prompts = [text.text[: text.spans[0][0]] for text in texts]
    encoded = encode_with_bos(model.text_tokenizer, prompts, bos=[text.bos for text in texts])
    kept: dict[int, tuple[str, tuple[int, ...]]] = {}
    for place, (prompt, (bos, ids, _)) in enumerate(zip(prompts, encoded, strict=True)):
        tokens = (*bos, *ids)
        problem = UNKNOWN_WORD if unknown is not None and unknown in tokens else ""
        problem = problem or ("" if tokens else "answer at the first position")
        problem = problem or ("longer than the context" if len(tokens) >= model.n_ctx else "")
        if problem:
            report.drop(problem, repr(texts[place].key or texts[place].text))
        else:
            kept[place] = prompt, tokens
    return kept


def _quote_ends(tokenizer: Any) -> LineEnds:
    lines = line_ends(tokenizer)
    return lambda token: lines(token) or _QUOTE in tokenizer.decode([token], clean_up_tokenization_spaces=False)


def _advance(advance: Callable[[float], None], start: float, size: float, share: float) -> None:
    advance(start + size * share)


def _bare(answer: str) -> str:
    return "".join(answer.split()).casefold()


def in_chunks(batches: Sequence[AnsweredBatch]) -> list[AnsweredBatch]:
    """Batches of the same texts, up to `CHUNK` each."""
    return [
        batch.select(range(start, min(start + CHUNK, len(batch))))
        for batch in batches
        for start in range(0, len(batch), CHUNK)
    ]


def chosen_tokens(model: HookedModel, batch: AnsweredBatch, *, top_tokens: int) -> Bool[Tensor, "prompt pos"]:
    """True at the answer tokens to average over: the `top_tokens` least expected, the earlier of equals; 0 for all."""
    if not top_tokens or int(batch.targets.sum(1).max()) <= top_tokens:
        return batch.targets
    log_probs = answer_readings(model, batch).log_prob
    order = torch.where(batch.targets, log_probs, torch.inf).argsort(dim=1, stable=True)
    mask = torch.zeros_like(batch.targets).scatter(1, order[:, :top_tokens], True)
    return mask & batch.targets


def positions_of(tokens: Bool[Tensor, "prompt pos"], *, at: str) -> Bool[Tensor, "prompt pos"]:
    """Where tokens are read: "predicting", one position earlier, where the model predicts each; "answer", at itself."""
    return tokens if at == "answer" else tokens.roll(-1, dims=1)  # no target is first, so nothing comes around


class AnswerReadings(NamedTuple):
    """Readings of a model at the tokens of each answer, on the CPU."""

    log_prob: Float[Tensor, "prompt pos"]
    """Log-probability of each answer token given the text before it, in nats; 0 at other tokens."""
    right: Bool[Tensor, "prompt pos"]
    """True where the answer token has the largest logit of the whole vocabulary, and at other tokens."""


@torch.no_grad()
def answer_readings(
    model: HookedModel, batch: AnsweredBatch, *, edits: Mapping[int, Edit] = _NO_EDITS
) -> AnswerReadings:
    """Read every answer token where it is predicted, one position earlier, in fp32; `edits` act on z by layer."""
    before = positions_of(batch.targets, at="predicting")
    logits = model.forward_at(batch.tokens, before, hooks={hook_z(layer): edit for layer, edit in edits.items()})
    prompt, pos = batch.targets.nonzero(as_tuple=True)
    token_ids = batch.tokens[prompt, pos].to(logits.device)
    log_prob = torch.zeros(batch.targets.shape)
    log_prob[prompt, pos] = logits.log_softmax(1).gather(1, token_ids[:, None])[:, 0].cpu()
    right = torch.ones_like(batch.targets)
    right[prompt, pos] = (logits.argmax(1) == token_ids).cpu()
    return AnswerReadings(log_prob, right)
