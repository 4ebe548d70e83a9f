"""`hc.describe_heads`: what every head of a model does, whatever the task."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
import xarray as xr

from headcats.base.errors import DataError
from headcats.models.adapter import HookedModel
from headcats.models.checks import check_model
from headcats.models.loading import load_model
from headcats.prompts.batch import PromptBatch
from headcats.prompts.batch_checks import check_fits
from headcats.results.descriptors import DESCRIPTORS
from headcats.sweeps.descriptors.attention import ATTENTION, N_SEQUENCES, Values, describe_attention, repeated_sequences
from headcats.sweeps.descriptors.direct_paths import DirectPaths, copying_scores, direct_logits, direct_paths


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
