"""One adapter over TransformerLens' two model classes; the rest of headcats does not depend on which it holds.

`HookedTransformer` and `TransformerBridge` share hook names, shapes and values: `blocks.{layer}.attn.hook_z` is
`[prompt, pos, head, d_head]` on both, without compatibility mode (which folds value biases and so changes zero
ablation).
"""

import functools
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headcats.base.errors import DataError, ModelError
from headcats.models.continued import PADDING
from headcats.models.geometry import one_token_geometry
from headcats.models.head import Head
from headcats.models.hooks import (
    Edit,
    ModelClass,
    capturing_z,
    firing_once,
    forward_options,
    hook_z,
    layers_with_heads,
    lock_of,
    model_class,
    output_projection,
    unembedding_last,
    value_splits,
)
from headcats.models.origin import Origin
from headcats.models.weights import (
    WeightProcessing,
    addresses,
    devices_of,
    is_offloaded,
    reading_weights,
    weight_processing,
    weights_hash,
)

_NO_EDITS: Mapping[Any, Edit] = MappingProxyType({})


class HookedModel:
    """A model whose head outputs can be read and replaced; `hc.load_model` makes one.

    The wrapped model is never moved, cast, changed, or switched between train and eval mode.

    Attributes:
        model: TransformerLens' model, untouched; `model_class` is "HookedTransformer" or "TransformerBridge".
        name, tokenizer, origin: As given, or those of the model; a tokenizer may be None.
        layers: Numbers of the layers with attention heads; `n_layers` counts blocks without any, too.
        splits: Hook at z -> heads and d_head, where TransformerLens splits z otherwise than the model does.
        d_model, d_vocab, n_ctx: Width of the residual stream, size of the input vocabulary, context length in tokens.
        lock: Held during a forward pass: hooks belong to the model, so two threads take turns.

    Raises:
        ModelError: Another kind of object, or a model without attention heads.

    Example:
        >>> import headcats as hc
        >>> import torch
        >>> model = hc.load_model("mini")
        >>> logits, z = model.capture(torch.tensor([[0, 10, 3, 11]]), layers=[2])
        >>> logits.shape, z[2].shape  # [prompt, d_vocab]; [prompt, pos, head, d_head]
        (torch.Size([1, 3265]), torch.Size([1, 4, 8, 16]))
    """

    def __init__(
        self, model: Any, *, name: str | None = None, tokenizer: Any | None = None, origin: Origin | None = None
    ) -> None:
        self.model_class: ModelClass = model_class(model)
        self.name: str = name or str(getattr(model.cfg, "model_name", None) or "custom")
        self.tokenizer: Any | None = tokenizer if tokenizer is not None else getattr(model, "tokenizer", None)
        self.model, self.origin = model, origin or Origin()
        sizes = (int(getattr(model.cfg, name)) for name in ("n_layers", "d_model", "d_vocab", "n_ctx"))
        self.n_layers, self.d_model, self.d_vocab, self.n_ctx = sizes
        self.lock = lock_of(model)
        self.layers: tuple[int, ...] = layers_with_heads(model, name=self.name)
        self.splits: Mapping[str, tuple[int, int]] = value_splits(model, self.layers)

    def __repr__(self) -> str:
        return f"HookedModel({self.name!r}, {self.model_class}, {len(self.layers)} attention layers, {self.placement})"

    _geometry = functools.cached_property(one_token_geometry)

    @property
    def n_heads(self) -> Mapping[int, int]:
        """Layer -> number of query heads; keys are `layers`."""
        return self._geometry.n_heads

    @property
    def n_kv_heads(self) -> Mapping[int, int]:
        """Layer -> number of key-value heads, each read by neighbouring query heads; `n_heads` where none is shared."""
        return self._geometry.n_kv_heads

    @property
    def max_heads(self) -> int:
        """Largest number of heads in a layer: the size of the `head` axis of results."""
        return max(self.n_heads.values())

    @property
    def axes(self) -> dict[str, Any]:
        """Coordinates of results over heads: `layer`, `head`, and `kv_head (layer, head)` where heads share keys."""
        return self._geometry.axes

    @property
    def heads(self) -> tuple[Head, ...]:
        """All heads, by layer."""
        return tuple(Head(layer, head) for layer in self.layers for head in range(self.n_heads[layer]))

    def find_head(self, head: Any) -> Head:
        """A head of the model in any form that `Head.parse` takes."""
        parsed = Head.parse(head)
        if not 0 <= parsed.head < self.n_heads.get(parsed.layer, 0):
            raise DataError(
                f"Model {self.name!r} has no head {parsed}: its layers {self.layers[0]} to {self.layers[-1]} have up "
                f"to {self.max_heads} heads, counted from 0."
            )
        return parsed

    @property
    def d_head(self) -> Mapping[int, int]:
        """Layer -> size of one head's output; keys are `layers`."""
        return self._geometry.d_head

    @property
    def device(self) -> torch.device:
        """Device of the first parameter; tokens are moved there. Of an offloaded one, where it is used."""
        return next(devices_of(self.model))

    @property
    def devices(self) -> tuple[torch.device, ...]:
        """All devices that the model computes on, that of the first parameter first."""
        return tuple(dict.fromkeys(devices_of(self.model)))

    @property
    def placement(self) -> str:
        """Where the weights are, as text: `cpu`, `cuda:0, cuda:1` or `cpu, offloaded`."""
        return ", ".join([*map(str, self.devices), *(["offloaded"] if is_offloaded(self.model) else [])])

    @property
    def dtype(self) -> torch.dtype:
        """Dtype of the first floating-point parameter."""
        return next(p.dtype for p in self.model.parameters() if p.is_floating_point())

    @property
    def text_tokenizer(self) -> Any:
        """The tokenizer; a ModelError if there is none."""
        if self.tokenizer is None:
            advice = "pass hc.load_model(model, tokenizer=...)."
            raise ModelError(f"Model {self.name!r} has no tokenizer, so texts cannot be written as tokens: {advice}")
        return self.tokenizer

    @property
    def weight_processing(self) -> WeightProcessing:
        """Record of what was folded into the weights: LayerNorm, means, value biases."""
        return weight_processing(self.model)

    def weights_hash(self) -> str:
        """Hash of names, dtypes, shapes and bytes of the state dict; cached until a weight changes."""
        parameters = addresses(self.model)
        if self.__dict__.get("_hashed", (None, ""))[0] != parameters:
            self._hashed = (parameters, weights_hash(self.model))
        return self._hashed[1]

    def W_O(self, layer: int) -> Float[Tensor, "head d_head d_model"]:
        """Output projection of one layer, per query head: `z @ W_O` is what the head adds to the residual stream."""
        self._check_layers([layer])
        attention, split = self.model.blocks[layer].attn, self.splits.get(hook_z(layer))
        with reading_weights(attention, model=self.name):
            if split is None:
                return attention.W_O.detach()
            weight: Any = getattr(output_projection(self.model, layer), "weight", None)
            if weight.element_size() < 2:
                raise NotImplementedError  # as TransformerLens has it of a quantised weight
            return weight.detach().T.unflatten(0, split)

    def _check_layers(self, layers: Iterable[int]) -> None:
        if without := [layer for layer in layers if layer not in self.layers]:
            known = f"layers with heads: {', '.join(map(str, self.layers))}"
            raise ModelError(f"Layer {without[0]} of model {self.name!r} has no attention heads; {known}.")

    def check_tokens(self, tokens: Tensor) -> None:
        """Raise a DataError for tokens that the model cannot take: their dtype, shape, length or ids."""
        if tokens.ndim != 2 or 0 in tokens.shape or tokens.is_floating_point() or tokens.dtype == torch.bool:
            raise DataError(
                f"Expected integer token ids of shape [prompt, pos], at least one of each; got dtype {tokens.dtype}, "
                f"shape {tuple(tokens.shape)}."
            )
        if tokens.shape[1] > self.n_ctx:
            raise DataError(
                f"Prompts have {tokens.shape[1]} tokens and model {self.name!r} takes at most {self.n_ctx}: use "
                "shorter prompts or a model with a longer context."
            )
        if int(tokens.min()) < 0 or int(tokens.max()) >= self.d_vocab:
            unknown = ((tokens < 0) & (tokens != PADDING)) | (tokens >= self.d_vocab)
            if not bool(unknown.any()):
                return
            prompt, pos = (int(i) for i in unknown.nonzero()[0])
            raise DataError(
                f"Prompt {prompt} has token id {int(tokens[prompt, pos])} at position {pos}; model {self.name!r} knows "
                f"ids 0 to {self.d_vocab - 1}. Tokenise with the model's own tokenizer."
            )

    def logits(
        self, tokens: Int[Tensor, "prompt pos"], *, edits: Mapping[int, Edit] = _NO_EDITS
    ) -> Float[Tensor, "prompt d_vocab"]:
        """Last-position logits in fp32, with `z` of some layers replaced by what an edit of it returns."""
        self._check_layers(edits)
        return self.run(tokens, hooks={hook_z(layer): edit for layer, edit in edits.items()})

    def capture(
        self, tokens: Int[Tensor, "prompt pos"], *, layers: Iterable[int] | None = None, first: int = 0
    ) -> tuple[Float[Tensor, "prompt d_vocab"], dict[int, Float[Tensor, "prompt kept head d_head"]]]:
        """Last-position logits in fp32, and layer -> `z`, detached, from position `first` on."""
        capturing = self.layers if layers is None else tuple(layers)
        self._check_layers(capturing)
        hooks, captured = capturing_z(capturing, first=first)
        return self.run(tokens, hooks=hooks), {layer: captured[layer] for layer in capturing}

    @torch.no_grad()
    def run(self, tokens: Int[Tensor, "prompt pos"], *, hooks: Mapping[str, Edit]) -> Float[Tensor, "prompt d_vocab"]:
        """Last-position logits in fp32, with edits at any hook, such as `blocks.0.hook_resid_pre`."""
        # Sliced before the cast, and copied: fp32 logits of every position can be larger than the model.
        return self.last_logits(tokens, 1, hooks=hooks)[:, 0].to(torch.float32, copy=True)

    def forward_last(
        self, tokens: Int[Tensor, "prompt pos"], last: int, *, hooks: Mapping[str, Edit]
    ) -> Float[Tensor, "prompt last d_vocab"]:
        """Logits of the `last` few positions in fp32, in the caller's gradient mode."""
        return self.last_logits(tokens, last, hooks=hooks).to(torch.float32, copy=True)

    def last_logits(
        self, tokens: Int[Tensor, "prompt pos"], last: int, *, hooks: Mapping[str, Edit]
    ) -> Float[Tensor, "prompt last d_vocab"]:
        """Logits as the model gives them: in its dtype, and maybe a part of those of all positions.

        In the caller's gradient mode; hold `lock` until the backward pass is over.
        """
        self.check_tokens(tokens)
        known = self.model.hook_dict  # a bridge gathers it from all its modules whenever it is asked
        if unknown := [name for name in hooks if name not in known]:
            raise ModelError(f"Model {self.name!r} has no hook named {unknown[0]!r}.")
        tokens = tokens.to(self.device)
        options = forward_options(self.model, tokens, last=last)
        with (
            self.lock,
            unembedding_last(self.model, last),
            firing_once(hooks, splits=self.splits, model=self.name) as fwd_hooks,
        ):
            rows = tokens.clamp(min=0)  # whatever stands where nothing is seen
            logits = self.model.run_with_hooks(rows, fwd_hooks=fwd_hooks, return_type="logits", **options)
        return logits[:, -last:]


def adapt(model: Any) -> HookedModel:
    """A HookedTransformer or TransformerBridge (else a ModelError) as a HookedModel, which is returned unchanged."""
    return model if isinstance(model, HookedModel) else HookedModel(model)
