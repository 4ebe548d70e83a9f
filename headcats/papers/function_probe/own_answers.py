"""The model's own answers, as the paper reads them: greedy continuations of each prompt, marked as answers."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import torch

from headcats.models.adapter import HookedModel
from headcats.models.generation import Generated, LineEnds, generate, line_ends
from headcats.prompts.answered import AnsweredBatch, AnsweredText
from headcats.prompts.drop_report import DropReport
from headcats.prompts.pair import Span
from headcats.prompts.tokens import UNKNOWN_WORD, encode_with_bos, unknown_id

_QUOTE = '"'


class OwnAnswers(NamedTuple):
    """Texts with the model's answers in place of those given, in the order of the prompts."""

    texts: tuple[AnsweredText, ...]
    batches: list[AnsweredBatch]
    """Tokens of the answers, one batch per length."""
    report: DropReport
    right: int
    """Number that are the answers given, ignoring spaces and case."""
    cut: int
    """Number that ended at the limit or at the end of the context, not by the model."""


def own_answers(
    model: HookedModel,
    texts: Sequence[AnsweredText],
    *,
    limit: int,
    advance: Callable[[float], None] = lambda share: None,
) -> OwnAnswers:
    """Answers that the model writes after the text in front of the first span, up to `limit` tokens.

    An answer ends at a token with a line break, at the end of the text, and, after a prompt that opens a quotation with
    its last character, at a token with a quotation mark; that token is no part of it. Right and wrong answers are kept,
    as in the paper; those without a visible character are dropped and counted.
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
