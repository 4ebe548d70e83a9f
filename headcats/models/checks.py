"""Checks before any number of a model is trusted; each raises an error or returns its measurements for the manifest."""

import weakref
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from headcats.base.errors import DataError, ModelError
from headcats.models.adapter import HookedModel
from headcats.models.continued import PADDING
from headcats.models.hooks import Edit, bridge_takes, hook_before, keeping, output_projection, unnoticed
from headcats.models.weights import MixedOperations, check_finite, is_offloaded, readable

Report = dict[str, bool | int | float]

# Of the dtype's rounding error at the size of the logits; kernels whose order of summation depends on the batch stay
# below ten.
_ROUNDINGS = 32
# Model -> kind of prompts -> what `takes_padding` found.
_padded: weakref.WeakKeyDictionary[Any, dict[tuple[str, str], tuple[int, bool]]] = weakref.WeakKeyDictionary()
_FAR_MORE = 8
"""How many times more places in front must change logits if they are seen: rounding of 16 bits alone is large."""


def check_model(model: HookedModel) -> Report:
    """Refuse weights that are not finite or not read, dropout, autocast, and a model that is not causal.

    Train mode without dropout is allowed. Heads must be where hooks show them.
    """
    if torch.is_autocast_enabled(model.device.type):
        raise ModelError(
            f"torch.autocast is on for {model.device.type} and would run model {model.name!r} in another precision "
            "than its weights have: leave it, or load the model with the dtype that you want, dtype=... (--dtype)."
        )
    check_finite(model.model, name=model.name)
    _check_quantisation(model)
    if is_offloaded(model.model):
        _check_offloaded(model)
    training = any(module.training for module in model.model.modules())
    dropout = next(_active_dropout(model.model), None)
    if training and (dropout is not None or not _is_deterministic(model)):
        example = f" (for example in {readable(dropout)!r})" if dropout else ""
        raise ModelError(
            f"Model {model.name!r} is in train mode with active dropout{example}, so every forward pass differs: "
            f"call .eval() on it first."
        )
    if not _is_causal(model):
        raise ModelError(
            f"In model {model.name!r} a token changes the head outputs at the tokens before it; headcats needs a "
            f"causal language model."
        )
    _check_projections(model)
    return {"train_mode": training, "n_weights": sum(weight.numel() for weight in model.model.parameters())}


def check_hooks(model: HookedModel, clean: Int[Tensor, "prompt pos"], corrupted: Int[Tensor, "_prompt _pos"]) -> Report:
    """Check that hooks act: z replaced by itself changes logits by rounding at most, z of the clean run by more."""
    _check_pair(clean, corrupted)
    _, clean_z = model.capture(clean)
    base, base_z = model.capture(corrupted)
    if not bool(torch.isfinite(base).all()):
        raise ModelError(
            f"The logits of model {model.name!r} hold NaN or infinite values although its weights do not: "
            f"{model.dtype} overflows; load it in float32 or bfloat16."
        )
    floor = noise_floor(base, model.dtype)
    identity = _largest(model.logits(corrupted, edits={layer: _put(z) for layer, z in base_z.items()}) - base)
    if not identity <= floor:
        raise ModelError(
            f"Replacing the head outputs of model {model.name!r} by themselves changes its logits by {identity:.3g}; "
            f"expected at most {floor:.3g}. Its hooks cannot be trusted."
        )
    last = {layer: _put(z, positions=slice(-1, None)) for layer, z in clean_z.items()}
    control = _largest(model.logits(corrupted, edits=last) - base)
    if not control > floor:
        raise ModelError(
            f"Replacing every head output of model {model.name!r} at the last position by that of the other prompt "
            f"changes its logits by {control:.3g} only; expected more than rounding ({floor:.3g}). Either its hooks do "
            f"not act, or clean and corrupted prompts do not differ in what reaches the last position."
        )
    return {"identity_difference": identity, "control_difference": control, "floor": floor}


def check_residual(
    model: HookedModel, clean: Int[Tensor, "prompt pos"], corrupted: Int[Tensor, "_prompt _pos"]
) -> Report:
    """Check that patching the whole clean residual stream, before the first block, gives the clean logits.

    Corrupted prompts of another length are replaced by the clean tokens in another order.
    """
    if len(clean) == len(corrupted) and clean.shape != corrupted.shape:
        corrupted = clean.roll(1, 1)
    _check_pair(clean, corrupted)
    hook, stream = hook_before(0), dict[str, Tensor]()
    expected = model.run(clean, hooks={hook: keeping(stream, hook)})
    floor = noise_floor(expected, model.dtype)
    difference = _largest(model.run(corrupted, hooks={hook: _put(stream[hook])}) - expected)
    if not difference <= floor:
        raise ModelError(
            f"Patching the whole residual stream of the clean run into model {model.name!r} misses the clean logits by "
            f"{difference:.3g}; expected at most {floor:.3g}. The model reads its tokens in another way too, so "
            f"patched prompts would be a mixture."
        )
    return {"residual_difference": difference, "floor": floor}


def check_clean_unchanged(
    model: HookedModel, tokens: Int[Tensor, "prompt pos"], before: Float[Tensor, "prompt d_vocab"]
) -> Report:
    """Check that the model still gives the logits of before the sweep: no hook is left and no weight has changed."""
    floor = noise_floor(before, model.dtype)
    now = model.logits(tokens)
    difference = _largest(now - before.to(now.device))
    if not difference <= floor:
        raise ModelError(
            f"The logits of model {model.name!r} on unpatched prompts changed by {difference:.3g} during the sweep; "
            f"expected at most {floor:.3g}. Something else hooked or changed the model meanwhile."
        )
    return {"clean_difference": difference, "floor": floor}


def takes_padding(model: HookedModel, tokens: Int[Tensor, "prompt pos"]) -> bool:
    """True if prompts filled up in front (`PADDING`) give the logits that they give alone.

    Compared on the longest and the most filled up prompt, also with places that the model does see, which must differ
    far more; again for longer prompts. A HookedTransformer is replayed from tables that all its prompts share, and
    takes none.
    """
    bridge = model.model
    if model.model_class != "TransformerBridge" or not bridge_takes(bridge, "attention_mask"):
        return False
    n_filled = (tokens == PADDING).sum(1)
    if not bool(n_filled.any()):
        return True
    known, kind = _padded.setdefault(bridge, {}), (str(model.dtype), str(model.device))
    if kind not in known or known[kind][0] < tokens.shape[1].bit_length():
        rows = tokens[[int(n_filled.argmin()), int(n_filled.argmax())]]
        try:
            together, seen = model.logits(rows), model.logits(rows.clamp(min=0))
            alone = torch.cat([model.logits(row[row != PADDING][None]) for row in rows])
        except Exception:  # noqa: BLE001 - whatever a model says to a mask that it does not expect
            is_exact = False
        else:
            difference, of_seen = _largest(together - alone), _largest(seen - alone)
            is_exact = difference <= noise_floor(alone, model.dtype) and _FAR_MORE * difference <= of_seen
        known[kind] = tokens.shape[1].bit_length(), is_exact
    return known[kind][1]


def noise_floor(logits: Float[Tensor, "prompt d_vocab"], dtype: torch.dtype) -> float:
    """Largest change of a logit that counts as rounding: 32 eps of `dtype` times the largest logit (at least 1)."""
    return _ROUNDINGS * torch.finfo(dtype).eps * max(1.0, _largest(logits))


def _put(value: Tensor, *, positions: slice = slice(None)) -> Edit:
    def edit(current: Tensor) -> Tensor:
        current = current.clone()
        current[:, positions] = value[:, positions]
        return current

    return edit


def _largest(values: Tensor) -> float:
    return float(values.abs().max())


def _check_pair(clean: Tensor, corrupted: Tensor) -> None:
    if len(clean) != len(corrupted):
        raise DataError(f"Expected as many corrupted as clean prompts, {len(clean)}; got {len(corrupted)}.")
    if torch.equal(clean, corrupted.to(clean.device)):
        raise DataError("Clean and corrupted prompts have the same tokens: there is no effect to measure.")


def _check_projections(model: HookedModel) -> None:
    """Zeroing a head of each layer through its hook must zero its columns of what the output projection reads.

    Which columns follows from the configured number of heads. Where no module is called there (HookedTransformer,
    use_attn_result), the weight must give what the layer writes.
    """
    chosen = {layer: n // 2 for layer, n in model.n_heads.items()}
    given, passed, written = dict[int, Tensor](), dict[int, Tensor](), dict[int, Tensor]()

    def zero(layer: int, z: Tensor) -> Tensor:
        given[layer] = z.detach().flatten(2).clone()
        z = z.clone()
        z[:, :, chosen[layer]] = 0
        return z

    def keep_input(layer: int, module: nn.Module, args: tuple[Tensor, ...]) -> None:
        keeping(passed, layer)(args[0])

    def keep_output(layer: int, module: nn.Module, args: Any, output: Tensor) -> None:
        keeping(written, layer)(output if isinstance(output, Tensor) else output[0])

    with model.lock, unnoticed(model.device), ExitStack() as handles:
        for layer in chosen:
            attention, projection = model.model.blocks[layer].attn, output_projection(model.model, layer)
            handles.enter_context(attention.register_forward_hook(partial(keep_output, layer)))
            if projection is not None:  # before what the user may have attached there
                hook = projection.register_forward_pre_hook(partial(keep_input, layer), prepend=True)
                handles.enter_context(hook)
        model.logits(_few_tokens(model)[:1], edits={layer: partial(zero, layer) for layer in chosen})
    for layer, head in chosen.items():
        n_heads, expected = model.n_heads[layer], given[layer]
        size, limit = expected.shape[2] // n_heads, 0.0
        expected[:, :, head * size : (head + 1) * size] = 0
        if (found := passed.get(layer)) is None:
            attention = model.model.blocks[layer].attn
            if attention.W_O.ndim != 3:
                continue  # quantised
            found, expected = written[layer], expected @ attention.W_O.detach().flatten(0, 1)
            expected = expected if attention.b_O is None else expected + attention.b_O.detach()
            limit = max(1e-3 * _largest(expected), noise_floor(expected, model.dtype))
        if not torch.allclose(found.to(expected), expected, rtol=0, atol=limit, equal_nan=True):
            raise ModelError(
                f"Zeroing head {head} of layer {layer} of model {model.name!r} through its hook does not zero its "
                f"{size} columns of what the output projection reads, and these alone: TransformerLens shows other "
                "head outputs than the model computes with, so no head of it can be scored."
            )


def _active_dropout(model: nn.Module) -> Iterator[str]:
    """Names of modules in train mode with dropout, as a module or as a rate that attention passes to a function."""
    for name, module in model.named_modules():
        if module.training:
            rates: dict[str, Any] = {key: value for key, value in vars(module).items() if "drop" in key}
            if isinstance(module, nn.modules.dropout._DropoutNd):
                rates["p"] = module.p
            if any(isinstance(rate, float) and rate > 0 for rate in rates.values()):
                yield name


def _is_deterministic(model: HookedModel) -> bool:
    tokens = _few_tokens(model)
    with unnoticed(model.device):
        return torch.equal(model.logits(tokens), model.logits(tokens))


def _check_offloaded(model: HookedModel) -> None:
    advice = "Load it without offloading to memory or disk."
    with unnoticed(model.device), MixedOperations() as operations:
        model.logits(_few_tokens(model))
    if operations.names:
        raise ModelError(
            f"TransformerLens reads some offloaded weights of model {model.name!r} where they are not (in "
            f"{', '.join(dict.fromkeys(operations.names))}), so its numbers are whatever lies in memory. {advice}"
        )
    if not _is_deterministic(model):
        raise ModelError(f"Model {model.name!r}, offloaded, gives other numbers on every run. {advice}")


def _few_tokens(model: HookedModel) -> Int[Tensor, "prompt pos"]:
    return torch.zeros((4, min(4, model.n_ctx)), dtype=torch.long)


def _check_quantisation(model: HookedModel) -> None:
    config = getattr(getattr(model.model, "original_model", None), "config", None)
    quantisation = getattr(config, "quantization_config", None)
    if getattr(quantisation, "load_in_8bit", False) and getattr(quantisation, "llm_int8_threshold", 0.0) > 0:
        raise ModelError(
            f"Model {model.name!r} is quantised by LLM.int8 with a threshold of outliers, which are looked for in the "
            f"whole batch: the numbers of a prompt would depend on what it is run with. Load it with --load-in 8bit, "
            f"or with llm_int8_threshold=0.0 in its BitsAndBytesConfig."
        )


def _is_causal(model: HookedModel) -> bool:
    # Tested rather than read from the config: transformer-lens 3.9 calls BERT causal.
    tokens = torch.zeros((1, min(4, model.n_ctx)), dtype=torch.long)
    changed = tokens.clone()
    changed[:, -1] = model.d_vocab - 1
    with unnoticed(model.device):
        (_, before), (_, after) = model.capture(tokens), model.capture(changed)
    limit = _ROUNDINGS * torch.finfo(model.dtype).eps
    return all(
        bool(((after[layer] - z)[:, :-1].abs() <= limit * max(1.0, _largest(z))).all()) for layer, z in before.items()
    )
