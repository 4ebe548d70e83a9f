"""The fields of a batch from a script's own token ids or texts. What a study would drop is an error here."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from headcats.base.errors import DataError
from headcats.models.adapter import adapt
from headcats.prompts.encoded import encoded_pairs, number_roles
from headcats.prompts.pair import PromptPair, check_role


def fields_of_tokens(
    sides: Mapping[str, Any],
    *,
    answers: Mapping[str, Any],
    items: Sequence[str] | None,
    distractor_tasks: Sequence[str] | None = None,
    second: Any = None,
    labels: Any = None,
) -> dict[str, Any]:
    """The fields of `PromptBatch.from_tokens`, of `sides` "clean" and "corrupted" and two `answers`."""
    prompts = {side: _token_ids(side, ids, "[prompt, pos]") for side, ids in sides.items()}
    of_second = _second_fields(prompts["corrupted"], second)
    n = len(prompts["clean"])
    keys = _keys(n)
    return {
        **prompts,
        **_read_answers(answers),
        "keys": keys,
        "items": keys if items is None else tuple(map(str, items)),
        "distractor_tasks": ("corrupted",) * n if distractor_tasks is None else tuple(map(str, distractor_tasks)),
        **of_second,
        **_label_fields(labels, [*prompts.values(), *([of_second["second"]] if of_second else [])]),
    }


def fields_of_texts(
    model: Any, texts: Mapping[str, str | Sequence[str]], items: Sequence[str] | None
) -> dict[str, Any]:
    """The fields of `PromptBatch.from_texts`; `texts` are those of a `PromptPair`, prompt by prompt."""
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
    adapted = None if hasattr(model, "bos_token_id") else adapt(model)  # a tokenizer has no limit
    tokenizer, n_ctx = (model, None) if adapted is None else (adapted.text_tokenizer, adapted.n_ctx)
    rows, report = encoded_pairs(pairs, tokenizer, n_ctx=n_ctx)
    if report.dropped:
        raise DataError(f"Not every prompt can be scored: {report.summary()}. Leave such prompts out, or reword them.")
    shapes: dict[tuple[int, int], list[str]] = defaultdict(list)
    for row in rows:
        shapes[len(row.clean), len(row.corrupted)].append(row.pair.key)
    if len(shapes) > 1:
        listed = [f"{clean} and {corrupted} ({', '.join(of_shape)})" for (clean, corrupted), of_shape in shapes.items()]
        raise DataError(
            "A batch holds clean prompts of one length and corrupted ones of one, never padded; these have "
            f"{'; '.join(listed)} tokens. Make a batch for each."
        )
    sides = {"clean": [row.clean for row in rows], "corrupted": [row.corrupted for row in rows]}
    answers = {"answer": [row.scored.answer for row in rows], "distractor": [row.scored.distractor for row in rows]}
    return fields_of_tokens(sides, answers=answers, items=columns["item"])


def _column(name: str, value: Any) -> list[str]:
    texts = [value] if isinstance(value, str) or not isinstance(value, Iterable) else list(value)
    if wrong := [text for text in texts if not isinstance(text, str)]:
        raise DataError(
            f"{name} must be texts; got a {type(wrong[0]).__name__}. For token ids: PromptBatch.from_tokens."
        )
    return texts


def _keys(n: int) -> tuple[str, ...]:
    return tuple(f"prompt {number}" for number in range(n))


def _second_fields(corrupted: Tensor, second: Any) -> dict[str, Any]:
    """The fields `second` and `second_tasks`, none if no prompt has a second corruption."""
    if second is None:
        return {}
    ids = _token_ids("second", second, "[prompt, pos]")
    if ids.shape != corrupted.shape:
        return {"second": ids, "second_tasks": ("second",) * len(ids)}
    differs = (ids != corrupted.to(ids.device)).any(1).tolist()
    return {"second": ids, "second_tasks": tuple("second" if row else "" for row in differs)} if any(differs) else {}


def _read_answers(given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of answers of one token, `[prompt]`, or of several; a DataError for ids of any other shape."""
    if all(_has_tokens(value) for value in given.values()):
        rows = {name: [_tokens(name, row) for row in value] for name, value in given.items()}
        if empty := [name for name, of_name in rows.items() if not all(of_name)]:
            raise DataError(f"{empty[0]} must hold at least one token id per prompt.")
        return answer_fields(rows["answer"], rows["distractor"])
    return {name: _token_ids(name, value, "[prompt]") for name, value in given.items()}


def _tokens(name: str, row: Any) -> list[int]:
    """A tensor or array has as many tokens in every row: -1 stands behind the end of shorter answers."""
    ids = _token_ids(name, row, "[token]").tolist()
    end = ids.index(-1) if -1 in ids else len(ids)
    if set(ids[end:]) - {-1}:
        raise DataError(f"{name} token ids may end in -1, for no token, and not hold it before others; got {ids}.")
    return ids[:end]


def _has_tokens(value: Any) -> bool:
    if isinstance(value, Sequence):
        return len(value) > 0 and isinstance(value[0], Sequence | Tensor)
    return getattr(value, "ndim", 1) == 2


def _label_fields(labels: Any, prompts: Sequence[Tensor]) -> dict[str, Any]:
    """The roles that clean, corrupted and second prompts share, `role[i/n]` where n tokens of a prompt have one."""
    if labels is None:
        return {}
    n, length = prompts[0].shape
    listed = list(labels) if isinstance(labels, Iterable) and not isinstance(labels, str) else None
    rows = [listed] * n if listed is not None and all(isinstance(label, str) for label in listed) else listed
    if rows is None or any(isinstance(row, str) or not isinstance(row, Iterable) for row in rows):
        raise DataError(
            "labels must be a list of roles, one a token, for all prompts or a list for each: ['bos', 'x1', ...]; got "
            f"{labels!r:.80}."
        )
    if len(rows) != n or any(len(row) != length for row in rows) or any(ids.shape[1] != length for ids in prompts):
        sizes = sorted({f"{len(row)}" for row in rows})
        raise DataError(
            f"labels must name every token of the prompts, clean and corrupted of one length: expected {length} for "
            f"each of {n} prompts of {' and '.join(sorted({str(ids.shape[1]) for ids in prompts}))} tokens; got "
            f"{len(rows)} of {' and '.join(sizes)}."
        )
    for label in {label for row in rows for label in row}:
        check_role(label)
    numbered = tuple(number_roles(row) for row in rows)
    return {"labels": numbered, "corrupted_labels": numbered}


def answer_fields(answers: Sequence[Sequence[int]], distractors: Sequence[Sequence[int]]) -> dict[str, Any]:
    """The fields of a batch that hold answers and distractors, given the token ids of each."""
    fields: dict[str, Any] = {}
    longest = max(map(len, (*answers, *distractors)))
    for name, rows in (("answer", answers), ("distractor", distractors)):
        fields[name] = torch.tensor([ids[0] for ids in rows])
        if longest > 1:
            fields[f"{name}_rest"] = torch.tensor([[*ids[1:], *[-1] * (longest - len(ids))] for ids in rows])
    return fields


def _token_ids(name: str, value: Any, axes: str) -> Tensor:
    """Token ids as a tensor with these axes; a DataError, which calls them `name`, for anything else."""
    try:
        tensor = torch.as_tensor(value)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"{name} token ids must form a rectangular array of integers ({error}): make a batch for each length."
        ) from None
    if tensor.ndim != len(axes.split()) or not tensor.numel():
        raise DataError(f"{name} token ids must be {axes} with at least one entry; got shape {tuple(tensor.shape)}.")
    if tensor.is_floating_point() or tensor.is_complex() or tensor.dtype == torch.bool:
        raise DataError(f"{name} token ids must be integers; got {tensor.dtype}.")
    return tensor.to(torch.int64)
