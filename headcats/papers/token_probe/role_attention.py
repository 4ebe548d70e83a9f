"""Layer x token role: where the last token of a prompt, or of a model's own answer, looks."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import torch
import xarray as xr
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headcats.base.errors import DataError, OptionError
from headcats.base.registry import preset_of
from headcats.models.adapter import HookedModel, adapt
from headcats.models.checks import check_model
from headcats.models.patterns import attention_patterns
from headcats.papers.generation import equal_lengths
from headcats.papers.token_probe.answers import Answer, answer_questions
from headcats.papers.token_probe.items import AnsweredItem, Item, Question
from headcats.papers.token_probe.role_patching import by_layer_and_role, shared_roles, tasks_of
from headcats.papers.token_probe.settings import EXACT_ROLES, PRESETS, TokenProbeSettings
from headcats.prompts.batch import PromptBatch

_PRESET = "orgad2025"


def attention_by_role(
    model: Any,
    prompts: PromptBatch | Item | Sequence[PromptBatch] | Sequence[Item],
    *,
    roles: Sequence[str] | None = None,
    preset: str | TokenProbeSettings = _PRESET,
) -> xr.Dataset:
    """Attention of the last token to each role: the pattern's last row, mean over heads and texts.

    The clean prompts of a `PromptBatch` are run. A role has the sum over its tokens, so that all roles of the prompts,
    including those left out, sum to 1.

    A `Question` is answered by the model itself, greedily, and question and answer are run together, as are those of an
    `AnsweredItem`; the last token is that of the answer, at which the model decides to end it. A role is one token. Two
    roles may be the same one, and most of the question has none, so they do not sum to 1. "-1" is the attention of the
    last token to itself.

    Attention says where a head looks, not what that does.

    Args:
        model: A HookedTransformer, a TransformerBridge, or what `hc.load_model` returns; for questions with tokenizer.
        prompts: Prompts with named roles, as `hc.task_prompts` returns them, whose lengths may differ between batches;
            or questions, as `token_probe` takes them. Right and wrong answers count alike.
        roles: Roles such as "y1" or "last", None takes those that every prompt has; for questions, roles such as
            "last_q" or "-1", None takes those of the preset.
        preset: For questions only: "orgad2025", or `hc.papers.token_probe.TokenProbeSettings`, for roles, lengths and
            limit of answers.

    Returns:
        `attention (layer, role)` and `attention_by_head (layer, head, role)` in [0, 1], NaN where a layer has fewer
        heads, and `n` texts. Attribute `left_out`: roles that some prompts lack, one per line; of questions, how many
        were left out, and why. Questions add `n_left_out`, `n_cut` (answers ended by the limit: their last token ends
        nothing), and the attribute `exact_roles` as in `token_probe`, around which `hc.figures.layer_token` draws.

    Raises:
        DataError: No prompt, or prompts and questions in one list; no role of all prompts, or roles that do not align;
            no usable question, or token roles that coincide in most answers.
        ModelError: A model that computes no attention pattern, or, for questions, without tokenizer.
        OptionError: A `preset` for prompts; for questions, an empty list of roles or a role named twice.
        UnknownNameError: An unknown preset, or an unknown role of questions.

    Example:
        >>> import headcats as hc
        >>> model = hc.load_model("mini")
        >>> two = ["country_capital", "country_language"]
        >>> batches = hc.task_prompts(model, "country_capital", suite=two, n_prompts=4)
        >>> looks = hc.papers.token_probe.attention_by_role(model, batches)
        >>> looks.attention.dims, looks.attention_by_head.dims
        (('layer', 'role'), ('layer', 'head', 'role'))
        >>> bool((abs(looks.attention.sum("role") - 1) < 1e-4).all())  # every token has a role here
        True

    References:
        Token roles of questions: Orgad et al. (2025), LLMs Know More Than They Show, arXiv 2410.02707.
    """
    texts: list[Any] = [prompts] if isinstance(prompts, PromptBatch | Item) else list(prompts)
    kinds = {type(text) for text in texts}
    if not kinds or (kinds != {PromptBatch} and not kinds <= {Question, AnsweredItem}):
        received = " and ".join(sorted(kind.__name__ for kind in kinds)) or "none of either"
        raise DataError(
            f"Expected one or several PromptBatch with named roles, or only Question and AnsweredItem; got {received}."
        )
    if kinds == {PromptBatch} and preset != _PRESET:
        raise OptionError(
            f"preset is about the answers to questions, and these are prompts; got preset={preset!r:.80}."
        )
    adapted = adapt(model)
    check_model(adapted)
    return _to_prompts(adapted, texts, roles) if kinds == {PromptBatch} else _to_answers(adapted, texts, roles, preset)


def _to_prompts(model: HookedModel, batches: list[PromptBatch], roles: Sequence[str] | None) -> xr.Dataset:
    roles, left_out = shared_roles(batches, roles)
    attrs = {"method": "attention", "left_out": "\n".join(left_out), **tasks_of(batches)}
    parts = (
        (part.clean, torch.stack([part.positions(role)[:, : part.length] for role in roles]))
        for batch in batches
        for part in batch.in_parts()
    )
    return by_layer_and_role(model, roles, _mean_attention(model, parts, n_roles=len(roles)), attrs)


def _to_answers(
    model: HookedModel, questions: list[Item], roles: Sequence[str] | None, preset: str | TokenProbeSettings
) -> xr.Dataset:
    settings, name = preset_of("token_probe", preset, PRESETS), preset if isinstance(preset, str) else "custom"
    if roles is not None:
        settings = replace(settings, roles=(roles,) if isinstance(roles, str) else tuple(roles))
    # Answers take long: a model without patterns is to fail before them.
    _last_rows(model, torch.zeros((1, 1), dtype=torch.long))
    answers, report = answer_questions(model, questions, settings, preset=name)
    values = _mean_attention(model, _with_roles(answers, settings.roles), n_roles=len(settings.roles))
    values |= {"n_left_out": sum(report.dropped.values()), "n_cut": sum(answer.cut for answer in answers)}
    attrs = {"method": "attention", "preset": name, "exact_roles": "\n".join(EXACT_ROLES), "left_out": report.summary()}
    provenance = {"settings": asdict(settings), "questions": len(questions), "left_out": report.dropped}
    return by_layer_and_role(model, settings.roles, values, attrs, **provenance)


def _with_roles(
    answers: Sequence[Answer], roles: Sequence[str]
) -> Iterator[tuple[Int[Tensor, "prompt pos"], Bool[Tensor, "role prompt pos"]]]:
    """Texts of one length at a time, and where their roles are."""
    for places in equal_lengths([len(answer.tokens) for answer in answers]):
        part = [answers[place] for place in places]
        positions = torch.tensor([[answer.shape.position(role) for answer in part] for role in roles])
        masks = torch.nn.functional.one_hot(positions, len(part[0].tokens)).bool()
        yield torch.tensor([answer.tokens for answer in part]), masks


def _mean_attention(
    model: HookedModel,
    parts: Iterable[tuple[Int[Tensor, "_prompt _pos"], Bool[Tensor, "_role _prompt _pos"]]],
    *,
    n_roles: int,
) -> dict[str, Any]:
    """The variables of the result: sums over the tokens of a role, means over texts and heads."""
    total, n = np.full((len(model.layers), model.max_heads, n_roles), np.nan), 0
    for row, layer in enumerate(model.layers):
        total[row, : model.n_heads[layer]] = 0
    for tokens, masks in parts:
        last_rows = _last_rows(model, tokens)
        for row, layer in enumerate(model.layers):
            by_role = torch.einsum("phk,rpk->hr", last_rows[layer], masks.double())
            total[row, : len(by_role)] += by_role.numpy()
        n += len(tokens)
    by_head = total / n
    return {
        "attention": (("layer", "role"), np.nanmean(by_head, axis=1)),
        "attention_by_head": (("layer", "head", "role"), by_head),
        "n": n,
    }


def _last_rows(model: HookedModel, tokens: Int[Tensor, "prompt pos"]) -> dict[int, Float[Tensor, "prompt _head pos"]]:
    """Layer -> attention of the last token of every text."""
    return attention_patterns(model, tokens, dict.fromkeys(model.layers, lambda pattern: pattern[:, :, -1]))[1]
