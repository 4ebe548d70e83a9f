"""Hook names shared by TransformerLens' two classes, what both lack (checks, locks) and where they differ."""

import functools
import inspect
import re
import threading
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Literal

import torch
from torch import Tensor, nn

from headcats.base.errors import ModelError
from headcats.models.continued import PADDING

ModelClass = Literal["HookedTransformer", "TransformerBridge"]
Edit = Callable[[Tensor], Tensor]
"""Takes the value at a hook and returns the new value, of the same shape, dtype and device."""

# Lists in configurations of models whose layers differ (Laguna; OpenELM; DeciLM and others).
_HEADS_BY_LAYER = ("num_attention_heads_per_layer", "num_query_heads", "num_attention_heads")
_HOOK_Z = re.compile(r"blocks\.(\d+)\.attn\.hook_z")

# Class names, not isinstance: importing HookedTransformer fails on 4.x, and the bridge's module moved between versions.
_CLASSES: dict[str, ModelClass] = {
    "HookedTransformer": "HookedTransformer",
    "TransformerBridge": "TransformerBridge",
    "BridgeCore": "TransformerBridge",
}

# Neither model class is thread-safe: forwards of one thread pick up the hooks of another. One lock per wrapped model,
# shared by every adapter of it.
_locks: weakref.WeakKeyDictionary[nn.Module, AbstractContextManager[Any]] = weakref.WeakKeyDictionary()
_locks_guard = threading.Lock()


def model_class(model: Any) -> ModelClass:
    """The TransformerLens class of `model`; anything else is a ModelError."""
    for cls in type(model).__mro__:
        if cls.__name__ in _CLASSES and cls.__module__.split(".")[0] == "transformer_lens":
            return _CLASSES[cls.__name__]
    raise ModelError(
        f"Expected a HookedTransformer or a TransformerBridge of TransformerLens, or what hc.load_model returns; got "
        f"{type(model).__module__}.{type(model).__qualname__}. A plain transformers model: "
        f"hc.load_model(model, tokenizer=tokenizer)."
    )


def hook_z(layer: int) -> str:
    """Name of the hook at the head outputs of `layer`, before the output projection."""
    return hook_at(layer, "z")


def hook_at(layer: int, what: str) -> str:
    """Name of the hook at a part of the heads of `layer`: "z", "q", "k", "v" or "pattern"."""
    return f"blocks.{layer}.attn.hook_{what}"


def by_position(value: Tensor, what: str) -> Tensor:
    """A part of heads as `[prompt, pos, head, ...]`: a pattern `[prompt, head, pos, key]` is turned, or turned back."""
    return value.transpose(1, 2) if what == "pattern" else value


def hook_before(layer: int) -> str:
    """Name of the hook at the residual stream `[prompt, pos, d_model]` that the block `layer` reads."""
    return f"blocks.{layer}.hook_resid_pre"


def hook_after(layer: int) -> str:
    """Name of the hook at the residual stream `[prompt, pos, d_model]` after the block `layer`."""
    return f"blocks.{layer}.hook_resid_post"


def hook_v(layer: int) -> str:
    """Name of the hook at the values `[prompt, pos, head or group, d_head]` of a layer."""
    return hook_z(layer).replace("hook_z", "hook_v")


def layers_with_heads(model: Any, *, name: str) -> tuple[int, ...]:
    """Numbers of the layers that have a hook at their head outputs; a ModelError if none has, or two layers are one."""
    matches = (_HOOK_Z.fullmatch(hook) for hook in model.hook_dict)
    if layers := tuple(sorted(int(match[1]) for match in matches if match)):
        first: dict[int, int] = {}
        for layer in layers:
            attention = model.blocks[layer].attn
            while (inner := getattr(attention, "original_component", None)) is not None:
                attention = inner  # one module that is in two layers is wrapped twice
            if (same := first.setdefault(id(attention), layer)) != layer:
                raise ModelError(
                    f"Layers {same} and {layer} of model {name!r} are one module that runs twice: its hooks fire twice "
                    "in a forward pass, so heads of one layer cannot be told from those of the other."
                )
        return layers
    raise ModelError(
        f"Model {name!r} has no attention heads to intervene on: none of its hooks is named "
        f"'blocks.<layer>.attn.hook_z'. Use a decoder-only (causal) transformer."
    )


def text_config(model: Any) -> Any:
    """Configuration of the language model by transformers; of a model without one, that of TransformerLens."""
    config = getattr(getattr(model, "original_model", None), "config", None)
    return model.cfg if config is None else config.get_text_config()


def configured_heads(model: Any, layer: int) -> int:
    """Number of query heads of a layer by the configuration: its own, where layers differ, or that of all."""
    sizes = vars(text_config(model))
    of_layers = next((sizes[name] for name in _HEADS_BY_LAYER if isinstance(sizes.get(name), list | tuple)), None)
    if of_layers is None:
        return int(model.cfg.n_heads)
    if not isinstance(heads := dict(enumerate(of_layers)).get(layer), int):
        raise ModelError(
            f"The configuration tells of {list(of_layers)!r:.80} heads by layer; expected a number for layer {layer}."
        )
    return heads


def value_splits(model: Any, layers: Collection[int]) -> dict[str, tuple[int, int]]:
    """Hook at z -> heads and d_head, of layers whose values have a size of their own (multi-head latent attention).

    A bridge splits z by the `d_head` of its configuration, which is another size there: four heads look like eight.
    """
    splits = {}
    for layer in layers:
        n_heads = configured_heads(model, layer)
        size = getattr(getattr(model.blocks[layer].attn, "original_component", None), "v_head_dim", None)
        if size and n_heads * size == getattr(output_projection(model, layer), "in_features", None):
            splits[hook_z(layer)] = (n_heads, size)
    return splits


def output_projection(model: Any, layer: int) -> nn.Module | None:
    """The module of transformers that reads the heads' outputs of a layer, side by side; None if there is none."""
    return getattr(getattr(model.blocks[layer].attn, "o", None), "original_component", None)


def attached_hook(model: Any) -> str:
    """Name of the user's first hook, "" for none; a bridge has permanent ones of its own (OPT). Hold the lock."""
    permanent = model_class(model) != "TransformerBridge"
    for name, point in model.hook_dict.items():
        if any(permanent or not hook.is_permanent for hook in (*point.fwd_hooks, *point.bwd_hooks)):
            return name
    return ""


def z_shape(z: Tensor, hook: str, *, n_heads: int, model: str) -> torch.Size:
    """The shape of a captured z, which must be `[prompt, pos, head, d_head]` with as many heads as are configured."""
    if z.ndim != 4:
        raise ModelError(
            f"Hook {hook!r} of model {model!r} gives shape {tuple(z.shape)}; expected [prompt, pos, head, d_head]. "
            "This architecture has no head outputs that can be replaced."
        )
    if z.shape[2] != n_heads:
        raise ModelError(
            f"Hook {hook!r} of model {model!r} gives {z.shape[2]} heads, and the configuration says {n_heads}: "
            "TransformerLens does not split the head outputs of this architecture as the model does, so no head of it "
            "can be scored."
        )
    return z.shape


def lock_of(model: nn.Module) -> AbstractContextManager[Any]:
    """The re-entrant lock of `model`: hold it around every forward pass."""
    with _locks_guard:
        return _locks.setdefault(model, threading.RLock())


def unnoticed(device: torch.device) -> AbstractContextManager[Any]:
    """Restore the random state of the CPU and of `device`: a model in train mode draws dropout masks."""
    return torch.random.fork_rng(devices=[device] if device.type == "cuda" else [])


def checked_edit(name: str, edit: Edit, value: Tensor) -> Tensor:
    """`edit(value)`, checked: TransformerLens treats None as "unchanged" and broadcasts a batch of one."""
    before = (tuple(value.shape), value.dtype, value.device)
    edited = edit(value)
    if not isinstance(edited, Tensor):
        raise ModelError(
            f"The edit at {name!r} returned {type(edited).__name__}; expected a tensor shaped {before[0]}."
        )
    after = (tuple(edited.shape), edited.dtype, edited.device)
    if after != before:
        raise ModelError(
            f"The edit at {name!r} returned shape {after[0]}, {after[1]}, on {after[2]}; expected {before[0]}, "
            f"{before[1]}, on {before[2]}."
        )
    return edited


def keeping(captured: dict[Any, Tensor], key: Any, part: Callable[[Tensor], Tensor] = torch.clone) -> Edit:
    """An edit that changes nothing and stores under `key` a copy of the value, or what `part` copies of it."""

    def keep(value: Tensor) -> Tensor:
        captured[key] = part(value.detach())
        return value

    return keep


def capturing_z(layers: Iterable[int], *, first: int, what: str = "z") -> tuple[dict[str, Edit], dict[int, Tensor]]:
    """Hooks that keep z of some layers, or another part of their heads, from position `first` on, in the dictionary."""
    captured: dict[int, Tensor] = {}

    def keep(layer: int, value: Tensor) -> Tensor:
        z = by_position(value, what)
        captured[layer] = z.detach() if first == 0 else z.detach()[:, first:].clone()
        return value

    return {hook_at(layer, what): functools.partial(keep, layer) for layer in layers}, captured


@contextmanager
def firing_once(
    edits: Mapping[str, Edit], *, splits: Mapping[str, tuple[int, int]], model: str
) -> Iterator[list[tuple[str, Callable[..., Tensor]]]]:
    """Hooks for one forward pass, each of which must fire exactly once; edits of `splits` get z split that way."""
    fired = dict.fromkeys(edits, 0)

    # Keyed by our own name: inside a hook_z hook of the bridge, `hook.name` is 'blocks.0.attn.o.hook_in'.
    def counting(name: str, edit: Edit) -> Callable[..., Tensor]:
        def hook_function(value: Tensor, hook: Any) -> Tensor:
            fired[name] += 1
            if name not in splits:
                return checked_edit(name, edit, value)
            return checked_edit(name, edit, value.reshape(*value.shape[:2], *splits[name])).reshape(value.shape)

        return hook_function

    yield [(name, counting(name, edit)) for name, edit in edits.items()]
    for name, times in fired.items():
        if times != 1:
            raise ModelError(
                f"Hook {name!r} of model {model!r} {'did not fire' if times == 0 else f'fired {times} times'} in one "
                f"forward pass; expected exactly once: its head outputs cannot be replaced reliably."
            )


def forward_options(model: Any, tokens: Tensor, *, last: int = 1) -> dict[str, Any]:
    """Keyword arguments of a forward pass on prompts, in a bridge filled up in front, whose last logits are needed."""
    if model_class(model) == "TransformerBridge":
        # Honoured by most architectures; for the rest, only the last positions are used anyway.
        options: dict[str, Any] = {"logits_to_keep": last} if bridge_takes(model, "logits_to_keep") else {}
        if bool((seen := tokens != PADDING).all()):
            return options
        options["attention_mask"] = seen.long()
        if bridge_takes(model, "position_ids"):
            options["position_ids"] = (seen.long().cumsum(1) - 1).clamp(min=0)
        return options
    # If the tokenizer pads on the left, HookedTransformer masks its pad id: an answer token or BOS with that id would
    # vanish. Our prompts have no padding.
    pads_left = getattr(getattr(model, "tokenizer", None), "padding_side", "right") == "left"
    return {"attention_mask": torch.ones_like(tokens)} if pads_left else {}


def bridge_takes(bridge: Any, name: str) -> bool:
    """True if the transformers model in a bridge has an argument of that name."""
    forward = getattr(type(getattr(bridge, "original_model", None)), "forward", None)
    return forward is not None and name in _parameters(forward)


@functools.cache
def _parameters(function: Callable[..., Any]) -> frozenset[str]:
    return frozenset(inspect.signature(function).parameters)


@contextmanager
def unembedding_last(model: Any, positions: int) -> Iterator[None]:
    """Make a HookedTransformer unembed its last positions only (a bridge takes `logits_to_keep`); hold the lock."""
    if model_class(model) == "TransformerBridge":
        yield
        return
    handle = model.unembed.register_forward_pre_hook(lambda module, args: (args[0][:, -positions:], *args[1:]))
    try:
        yield
    finally:
        handle.remove()
