"""`hc.describe_heads`: what every head of a model does, whatever the task."""

import functools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float, Int
from torch import Tensor

from headcats.base.errors import DataError, ModelError
from headcats.models.adapter import HookedModel
from headcats.models.checks import check_model
from headcats.models.loading import load_model
from headcats.models.patterns import attention_patterns
from headcats.prompts.batch import PromptBatch
from headcats.prompts.batch_checks import check_fits
from headcats.prompts.tokens import bos_of
from headcats.results.descriptors import DESCRIPTORS
from headcats.statistics.random_streams import stream
from headcats.sweeps.descriptors.direct_paths import DirectPaths, copying_scores, direct_logits, direct_paths

ATTENTION = ("previous_token", "duplicate_token", "induction", "first_token", "entropy", "distance")
# Rounding of a sum of softmax weights in 16 bits.
_ROUNDING = 0.02
Values = dict[int, Float[Tensor, " head"]]
"""Layer -> a number for each of its heads."""
N_SEQUENCES = 8
_LENGTH = 50
# Of one token, the token after its earlier occurrence is itself.
_SHORTEST = 2


def describe_heads(
    model: Any, *, prompts: PromptBatch | Sequence[PromptBatch] | None = None, seed: int = 0
) -> xr.Dataset:
    """Describe every head whatever the task: where it looks, what it copies, what it writes for an answer.

    Attention is that on 8 sequences `[bos] s_1 .. s_T s_1 .. s_T` of T = 50 different random tokens (fewer where the
    model has no room), so a head that waits for the words or the format of a task does not show what it does there.
    With a(i, j) the attention from token i to token j and e(i) the token's first occurrence, means over sequences of:

    - `previous_token`: a(i, i - 1), over all i but the first. Elhage et al. (2021).
    - `duplicate_token`: a(i, e(i)), over the second half. Wang et al. (2022).
    - `induction`: a(i, e(i) + 1), over the second half. Olsson et al. (2022).
    - `first_token`: a(i, 0), over all i but the first; large for an attention sink. Xiao et al. (2023).
    - `entropy`: - sum_j a(i, j) ln a(i, j), in nats; `distance`: sum_j a(i, j) (i - j), in tokens; over all i but the
      first.

    `copying` is sum(Re lambda) / sum(|lambda|) over the eigenvalues of the OV circuit `W_E W_V W_O W_U`: 1 if whatever
    token the head attends to is raised in the logits, -1 if lowered. Weights and means of the norms before the
    attention and at the end belong to the circuit; their scales, biases, positions and MLPs do not. W_U is taken less
    its mean over the vocabulary, so weight processing changes nothing. Elhage et al. (2021).

    `direct_logit`, with `prompts`: what the output of a head at the last token adds to the logit of the answer minus
    that of the distractor, `(z W_O) N (W_U[answer] - W_U[distractor])`, N the final norm with its scale frozen at that
    of the prompt. Mean over the clean prompts of a task; of longer answers, the first token. In logits, positive = for
    the answer; value biases belong to their heads, unless they were folded. Wang et al. (2022).

    About 5 seconds for GPT-2 small on one core.

    Args:
        model: As in `hc.run`. A tokenizer is not needed: without, there is no BOS.
        prompts: Prompts with answers, of one or several tasks, such as `hc.task_prompts` gives.
        seed: Seed of the random sequences.

    Returns:
        The variables above `(layer, head)`, and with prompts `direct_logit (task, layer, head)` and their number,
        `n_prompts (task)`. Each has the attributes `long_name`, `units` and, where something is NaN that a head of the
        model should have, `missing`: of which layers, and why. Heads that a layer lacks are NaN, too. Attributes:
        `model`, `seed`, `n_sequences`, `length` (T) and `bos` (how many tokens in front of each sequence).

    Raises:
        DataError: `prompts` are no batches, or tokens and answers that the model cannot take.
        ModelError: The model cannot be loaded, or is no causal model without dropout. A descriptor that cannot be read
            (no attention patterns, a norm behind the heads, a soft cap) is no error.

    Example:
        >>> import headcats as hc
        >>> model = hc.load_model("mini")
        >>> heads = hc.describe_heads(model, prompts=hc.task_prompts(model, "country_capital", n_prompts=8))
        >>> heads.induction.dims, heads.direct_logit.dims
        (('layer', 'head'), ('task', 'layer', 'head'))
        >>> table = heads.drop_dims("task").to_dataframe()  # a row per head
        >>> len(table.nlargest(2, "induction"))
        2

    References:
        Elhage et al. (2021), A Mathematical Framework for Transformer Circuits; Olsson et al. (2022), In-context
        Learning and Induction Heads, arXiv 2209.11895; Wang et al. (2022), Interpretability in the Wild, arXiv
        2211.00593; Xiao et al. (2023), Efficient Streaming Language Models with Attention Sinks, arXiv 2309.17453.
    """
    by_task = _by_task(prompts)
    adapted = load_model(model)
    check_model(adapted)
    for batch in (batch for batches in by_task.values() for batch in batches):
        check_fits(batch, adapted)
    described, paths = describe_model(adapted, seed=seed)
    return described.assign(describe_prompts(adapted, paths, by_task).data_vars) if by_task else described


def describe_model(model: HookedModel, *, seed: int) -> tuple[xr.Dataset, DirectPaths]:
    """Describe heads without prompts; also return the paths that `describe_prompts` needs."""
    repeated = repeated_sequences(model, seed=seed)
    if isinstance(repeated, str):
        looks, unseen = dict[str, Values](), dict.fromkeys(model.layers, repeated)
        paths = direct_paths(model, torch.tensor([[0], [model.d_vocab - 1]]))
    else:
        looks, unseen = describe_attention(model, repeated)
        paths = direct_paths(model, repeated.tokens)
    copying, uncopied = copying_scores(paths)
    variables = {name: _variable(model, name, looks.get(name, {}), unseen) for name in ATTENTION}
    variables["copying"] = _variable(model, "copying", copying, uncopied)
    drawn = {"length": 0, "bos": 0} if isinstance(repeated, str) else {"length": repeated.length, "bos": repeated.n_bos}
    attrs = {"model": model.name, "seed": seed, "n_sequences": N_SEQUENCES, **drawn}
    return xr.Dataset(variables, coords=model.axes, attrs=attrs), paths


def describe_prompts(
    model: HookedModel, paths: DirectPaths, by_task: Mapping[str, Sequence[PromptBatch]]
) -> xr.Dataset:
    """`direct_logit` and `n_prompts` of tasks."""
    tables = []
    for task, batches in by_task.items():
        values, reasons = direct_logits(paths, batches)
        variable = _variable(model, "direct_logit", values, reasons).expand_dims(task=[task])
        n_prompts = xr.DataArray([sum(map(len, batches))], dims="task", attrs={"units": "prompts"})
        tables.append(xr.Dataset({"direct_logit": variable, "n_prompts": n_prompts}, coords=model.axes))
    return xr.concat(tables, "task")


def _variable(
    model: HookedModel, name: str, values: Mapping[int, torch.Tensor], reasons: Mapping[int, str]
) -> xr.DataArray:
    grid = np.full((len(model.layers), model.max_heads), np.nan)
    for row, layer in enumerate(model.layers):
        if layer in values:
            grid[row, : model.n_heads[layer]] = values[layer].numpy()
    attrs = {"long_name": DESCRIPTORS[name].meaning, "units": DESCRIPTORS[name].unit}
    if missing := _sentence(reasons, model.layers):
        attrs["missing"] = missing
    return xr.DataArray(grid, coords=model.axes, dims=("layer", "head"), attrs=attrs)


def _sentence(reasons: Mapping[int, str], layers: Sequence[int]) -> str:
    """Reasons, each with its layers."""
    grouped: dict[str, list[int]] = defaultdict(list)
    for layer, reason in reasons.items():
        grouped[reason].append(layer)
    return "; ".join(
        f"{'all layers' if len(of) == len(layers) else 'layer ' + ', '.join(map(str, of))}: {reason}"
        for reason, of in grouped.items()
    )


def _by_task(prompts: Any) -> dict[str, list[PromptBatch]]:
    if prompts is None:
        return {}
    batches = [prompts] if isinstance(prompts, PromptBatch) else list(prompts)
    if not batches:
        raise DataError("prompts is an empty list: give batches of prompts, or leave it out.")
    if wrong := [batch for batch in batches if not isinstance(batch, PromptBatch)]:
        raise DataError(
            f"prompts must be a PromptBatch or a list of them, as hc.task_prompts gives; got a "
            f"{type(wrong[0]).__name__}. Make one of token ids with hc.PromptBatch.from_tokens(...)."
        )
    by_task: dict[str, list[PromptBatch]] = defaultdict(list)
    for batch in batches:
        by_task[batch.task].append(batch)
    return dict(by_task)


class Repeated(NamedTuple):
    """Sequences `[bos] s_1 .. s_T s_1 .. s_T`: T is `length`, and `n_bos` tokens stand in front."""

    tokens: Int[Tensor, "sequence pos"]
    length: int
    n_bos: int


def repeated_sequences(model: HookedModel, *, seed: int) -> Repeated | str:
    """8 sequences of 50 different ordinary tokens (fewer without room), each twice; or why there are none."""
    bos = [] if model.tokenizer is None else bos_of(model.tokenizer)
    special = set() if model.tokenizer is None else set(getattr(model.tokenizer, "all_special_ids", ()))
    known = np.array([token for token in range(model.d_vocab) if token not in special])
    length = min(_LENGTH, (model.n_ctx - len(bos)) // 2, len(known))
    if length < _SHORTEST:
        return f"a context of {model.n_ctx} and {len(known)} ordinary tokens leave no sequence that could repeat"
    draws = stream(seed, "descriptors", "sequences")
    once = torch.from_numpy(np.stack([draws.choice(known, length, replace=False) for _ in range(N_SEQUENCES)]))
    front = torch.tensor([bos] * N_SEQUENCES, dtype=torch.long)
    return Repeated(torch.cat([front, once, once], 1), length, len(bos))


def describe_attention(model: HookedModel, repeated: Repeated) -> tuple[dict[str, Values], dict[int, str]]:
    """Name of a descriptor -> its values, means over sequences, one run at a time; and layer -> why it has none."""
    parts = dict.fromkeys(model.layers, functools.partial(_described, length=repeated.length))
    try:
        runs = [attention_patterns(model, tokens, parts)[1] for tokens in repeated.tokens.split(1)]
    except (ModelError, RuntimeError) as error:  # the model's own code, of sequences that nobody had run it on
        return {}, dict.fromkeys(model.layers, f"no attention pattern can be read: {error}")
    described = {layer: torch.cat([run[layer] for run in runs]) for layer in model.layers}
    off = {layer: float((values[..., -1] - 1).abs().max()) for layer, values in described.items()}
    reasons = {
        layer: "the attention of a token does not sum to 1 (as with a learned sink, which takes the rest)"
        for layer, size in off.items()
        if not size <= _ROUNDING
    }
    means = {layer: values.mean(0) for layer, values in described.items() if layer not in reasons}
    return {
        name: {layer: values[:, place] for layer, values in means.items()} for place, name in enumerate(ATTENTION)
    }, reasons


def _described(pattern: Float[Tensor, "sequence head from to"], *, length: int) -> Float[Tensor, "sequence head value"]:
    """Values in the order of `ATTENTION`, and last the sum of a row that is farthest from 1."""
    pattern = pattern.float()
    # What the first token does says nothing: it can look at itself alone.
    later = pattern[:, :, 1:]
    n = pattern.shape[-1]
    places = torch.arange(n, device=pattern.device)
    distances = (places[1:, None] - places).clamp(min=0).to(pattern.dtype)
    sums = later.sum(-1)
    farthest = (sums - 1).abs().argmax(-1, keepdim=True)
    values = [
        pattern.diagonal(-1, -2, -1).mean(-1),
        # The second time, the same token is `length` behind, and the one after it a token nearer.
        pattern.diagonal(-length, -2, -1)[..., -length:].mean(-1),
        pattern.diagonal(1 - length, -2, -1)[..., -length:].mean(-1),
        later[..., 0].mean(-1),
        torch.special.entr(later).sum(-1).mean(-1),
        (later * distances).sum(-1).mean(-1),
        sums.gather(-1, farthest)[..., 0],
    ]
    return torch.stack(values, -1)
