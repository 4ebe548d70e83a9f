"""Prompts of a script as one batch, from its own token ids or texts. What a study would drop is an error here."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from headcats.base.errors import DataError
from headcats.models.adapter import adapt
from headcats.prompts.batch import PromptBatch
from headcats.prompts.encode import encode_pairs
from headcats.prompts.pair import PromptPair
from headcats.prompts.token_ids import label_fields, read_answers, second_fields, token_ids


def batch_of_tokens(
    sides: Mapping[str, Any],
    *,
    answers: Mapping[str, Any],
    items: Sequence[str] | None,
    distractor_tasks: Sequence[str] | None = None,
    second: Any = None,
    labels: Any = None,
) -> PromptBatch:
    """See `PromptBatch.from_tokens`; `sides` are "clean" and "corrupted", `answers` "answer" and "distractor"."""
    prompts = {side: token_ids(side, ids, "[prompt, pos]") for side, ids in sides.items()}
    of_second = second_fields(prompts["corrupted"], second)
    n = len(prompts["clean"])
    keys = _keys(n)
    return PromptBatch(
        clean=prompts["clean"],
        corrupted=prompts["corrupted"],
        **read_answers(answers["answer"], answers["distractor"]),
        keys=keys,
        items=keys if items is None else tuple(map(str, items)),
        distractor_tasks=("corrupted",) * n if distractor_tasks is None else tuple(map(str, distractor_tasks)),
        **of_second,
        **label_fields(labels, [*prompts.values(), *([of_second["second"]] if of_second else [])]),
    )


def batch_of_texts(model: Any, texts: Mapping[str, str | Sequence[str]], items: Sequence[str] | None) -> PromptBatch:
    """See `PromptBatch.from_texts`; `texts` are the fields of a `PromptPair`, prompt by prompt."""
    columns = {name: _column(name, value) for name, value in texts.items()}
    keys = _keys(len(columns["clean"]))
    columns |= {"key": list(keys), "item": list(keys if items is None else map(str, items))}
    for name, column in columns.items():
        if len(column) != len(keys) or not keys:
            raise DataError(
                f"Expected at least one clean prompt and as many texts of each kind; got {len(keys)} clean and "
                f"{len(column)} of {name}."
            )
    pairs = [PromptPair(**dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True)]
    tokenizer, n_ctx = _tokenizer_of(model)
    batches, report = encode_pairs(pairs, tokenizer, n_ctx=n_ctx)
    if report.dropped:
        raise DataError(f"Not every prompt can be scored: {report.summary()}. Leave such prompts out, or reword them.")
    shapes: dict[tuple[int, int], list[str]] = defaultdict(list)
    for batch in batches:
        shapes[batch.length, batch.corrupted.shape[1]] += batch.keys
    if len(shapes) > 1:
        listed = [f"{clean} and {corrupted} ({', '.join(of_shape)})" for (clean, corrupted), of_shape in shapes.items()]
        raise DataError(
            "A batch holds clean prompts of one length and corrupted ones of one, never padded; these have "
            f"{'; '.join(listed)} tokens. Make a batch for each."
        )
    # Answers of one token and of several are batches of their own in a study.
    rows = {key: (batch, row) for batch in batches for row, key in enumerate(batch.keys)}

    def ids_of(name: str) -> list[list[int]]:
        ids = [getattr(batch, name)[row].tolist() for batch, row in map(rows.__getitem__, keys)]
        return [[token for token in of_prompt if token >= 0] for of_prompt in ids]

    sides = {side: ids_of(side) for side in ("clean", "corrupted")}
    answers = {"answer": ids_of("answers"), "distractor": ids_of("distractors")}
    return batch_of_tokens(sides, answers=answers, items=columns["item"])


def _column(name: str, value: Any) -> list[str]:
    texts = [value] if isinstance(value, str) or not isinstance(value, Iterable) else list(value)
    if wrong := [text for text in texts if not isinstance(text, str)]:
        raise DataError(
            f"{name} must be texts; got a {type(wrong[0]).__name__}. For token ids: PromptBatch.from_tokens."
        )
    return texts


def _keys(n: int) -> tuple[str, ...]:
    return tuple(f"prompt {number}" for number in range(n))


def _tokenizer_of(model: Any) -> tuple[Any, int | None]:
    """The tokenizer, and how many tokens the model takes if it is one."""
    if hasattr(model, "bos_token_id"):
        return model, None
    adapted = adapt(model)
    return adapted.text_tokenizer, adapted.n_ctx
