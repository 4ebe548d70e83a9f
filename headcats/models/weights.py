"""A model's weights: where they are, whether they are numbers, their hash, and what was done to them before.

An offloaded weight is on the meta device, without values, except while its module runs.
"""

import hashlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Literal

import torch
from accelerate.utils import align_module_device, has_offloaded_params
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode, is_traceable_wrapper_subclass
from torch.utils._pytree import tree_leaves

from headcats.base.errors import ModelError

WeightProcessing = Literal["none", "processed", "unknown"]
_HASH_BYTES = 16
# Centring leaves a mean of rounding size; that of untouched weights is about std / sqrt(d_vocab), 1000 times larger.
_CENTRED = 1e-5


def check_finite(model: nn.Module, *, name: str) -> None:
    """Refuse a model with NaN or infinity, or without values, in a weight that it uses."""
    alibi = getattr(getattr(model, "cfg", None), "positional_embedding_type", None) == "alibi"
    # Under ALiBi, HookedTransformer has positions, never fills them and never reads them.
    unused = "pos_embed.W_pos" if alibi else None
    for weight_name, weight in parameters_in_place(model):
        if weight.is_meta:
            raise ModelError(
                f"Weight {readable(weight_name)!r} of model {name!r} has no values (it is on the meta device): load "
                f"the model with its weights."
            )
        # A quantised weight holds whole numbers, whatever dtype it shows.
        is_looked_at = weight_name != unused and not is_traceable_wrapper_subclass(weight)
        if is_looked_at and weight.is_floating_point() and not bool(torch.isfinite(weight).all()):
            values = "NaN" if bool(torch.isnan(weight).any()) else "infinite values"
            raise ModelError(
                f"Weight {readable(weight_name)!r} of model {name!r} holds {values}: load the model again."
            )


@contextmanager
def reading_weights(*modules: Any, model: str) -> Iterator[None]:
    """Weights of these modules can be read inside, offloaded ones too; a ModelError for quantised ones."""
    try:
        with in_place(*modules):
            yield
    except NotImplementedError:  # TransformerLens' own check
        raise ModelError(
            f"The weights of model {model!r} are quantised, and this method reads them: load it without quantisation, "
            f"or use a causal method, which only runs it."
        ) from None


def readable(name: str) -> str:
    """The name of a weight or module as transformers has it: the bridge wraps every module in one of its own."""
    return name.replace("_original_component.", "").removesuffix("._original_component")


def weights_hash(model: nn.Module) -> str:
    """blake2b over names, dtypes, shapes and bytes of the state dict, in name order, wherever they are."""
    digest = hashlib.blake2b(digest_size=_HASH_BYTES)
    for name, value in state_in_place(model):
        for part_name, part in plain_parts(name, value):
            digest.update(f"{part_name}|{part.dtype}|{tuple(part.shape)}|".encode())
            # numpy knows no bfloat16, hence the bytes; reshape first because a 0-d tensor has no byte view.
            digest.update(part.cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def weight_processing(model: Any) -> WeightProcessing:
    """Record of what was folded into the weights: LayerNorm, means, value biases.

    Signs looked for: a `...Pre` normalisation, the flag that the bridge sets, an unembedding centred over the
    vocabulary, value biases that are all zero where key and query biases are not.
    """
    cfg = model.cfg
    if str(getattr(cfg, "normalization_type", "")).endswith("Pre") or getattr(cfg, "layer_norm_folding", False):
        return "processed"
    try:
        with in_place(model.unembed):
            unembedding = model.W_U.detach().float()
        attentions = [block.attn for block in model.blocks if hasattr(block, "attn")]
        biases = {name: [_has_bias(attention, name) for attention in attentions] for name in ("b_Q", "b_K", "b_V")}
    except (AttributeError, RuntimeError, NotImplementedError, ValueError):
        return "unknown"
    if unembedding.mean(dim=-1).abs().max() < _CENTRED * unembedding.std():
        return "processed"
    has_bias = {name: any(biases[name]) for name in biases}
    exists = None not in biases["b_V"]
    is_folded = exists and not has_bias["b_V"] and (has_bias["b_Q"] or has_bias["b_K"])
    return "processed" if is_folded else "none"


def _has_bias(attention: nn.Module, name: str) -> bool | None:
    """True if a bias is other than zero; None for a projection without one."""
    # Where there is none, the bridge raises or gives None.
    try:
        with in_place(attention):
            value = getattr(attention, name)
            return bool(value.any()) if isinstance(value, Tensor) else None
    except (AttributeError, ValueError, RuntimeError):
        return None


def is_offloaded(model: nn.Module) -> bool:
    """True if any weights have no values until they are used."""
    return any(parameter.is_meta for parameter in model.parameters())


def largest_offloaded(model: nn.Module) -> int:
    """Bytes of the module with the most offloaded weights: they are loaded one module at a time."""
    offloaded = (module for module in model.modules() if has_offloaded_params(module))
    sizes = (sum(own.nbytes for own in module.parameters(recurse=False)) for module in offloaded)
    return max(sizes, default=0)


@contextmanager
def in_place(*modules: Any) -> Iterator[None]:
    """Weights of modules, and of those within them, have their values inside; a tensor read here keeps them."""
    with ExitStack() as stack:
        for module in modules:
            for part in module.modules():
                stack.enter_context(align_module_device(part))
        yield


def parameters_in_place(model: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Names and parameters, each with its values while it is looked at."""
    for prefix, module in model.named_modules():
        with align_module_device(module):
            for name, parameter in module.named_parameters(recurse=False):
                yield f"{prefix}.{name}" if prefix else name, parameter


def state_in_place(model: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Names and tensors of the state dict, in name order, each with its values while it is looked at."""
    homes: dict[int, tuple[nn.Module, str]] = {}
    for module in model.modules():
        if has_offloaded_params(module):
            homes |= {id(own): (module, name) for name, own in module.named_parameters(recurse=False)}
    for name, value in sorted(model.state_dict(keep_vars=True).items()):
        if not isinstance(value, Tensor):
            continue
        if id(value) not in homes:
            yield name, value.detach()
            continue
        module, own_name = homes[id(value)]
        with align_module_device(module):
            yield name, module.get_parameter(own_name).detach()


def plain_parts(name: str, value: Tensor) -> Iterator[tuple[str, Tensor]]:
    """The tensor itself; of a quantised one of torchao, its whole numbers and scales."""
    if not is_traceable_wrapper_subclass(value):
        yield name, value
        return
    for part in value.__tensor_flatten__()[0]:
        yield from plain_parts(f"{name}.{part}", getattr(value, part))


class MixedOperations(TorchDispatchMode):
    """Inside, names the operations between tensors with and without values: they give whatever lies in memory.

    TransformerLens has them where it reads an offloaded weight outside of the module that accelerate fills.
    """

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        without = {leaf.is_meta for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)}
        if len(without) == 2:
            self.names.append(str(func))
        return func(*args, **(kwargs or {}))


def resident_bytes(model: nn.Module) -> int:
    """Bytes of the parameters and buffers that have values all the time; tied weights count once."""
    parts = (part for value in (*model.parameters(), *model.buffers()) for _, part in plain_parts("", value))
    storages = (part.untyped_storage() for part in parts if not part.is_meta)
    return sum({storage.data_ptr(): storage.nbytes() for storage in storages}.values())


def addresses(model: nn.Module) -> tuple[tuple[int, int], ...]:
    """Where each parameter is in memory, and how often it was changed in place."""
    parts = (part for parameter in model.parameters() for _, part in plain_parts("", parameter))
    return tuple((part.data_ptr(), part._version) for part in parts)


def devices_of(model: nn.Module) -> Iterator[torch.device]:
    """Device of each module with weights; of offloaded ones, where the module computes."""
    for module in model.modules():
        hook: Any = getattr(module, "_hf_hook", None)
        if (own := next(module.parameters(recurse=False), None)) is not None:
            yield torch.device(hook.execution_device) if has_offloaded_params(module) else own.device
