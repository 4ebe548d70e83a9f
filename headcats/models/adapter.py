"""One adapter over TransformerLens' two model classes; the rest of headcats does not depend on which it holds.

`HookedTransformer` (transformer-lens 3.x) and `TransformerBridge` (3.x and 4.x) share hook names, shapes and values
for head outputs: `blocks.{layer}.attn.hook_z` is `[prompt, pos, head, d_head]` on both, without compatibility mode
(which folds value biases and so changes zero ablation). What they lack or do differently: `headcats.models.hooks`.
"""

import functools
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headcats.base.errors import DataError, ModelError
from headcats.models.geometry import one_token_geometry
from headcats.models.head import Head, find_head
from headcats.models.hooks import (
    Edit,
    ModelClass,
    capturing_z,
    check_tokens,
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
from headcats.models.placement import addresses, computing_devices, device_of_tokens, is_offloaded
from headcats.models.weights import WeightProcessing, reading_weights, weight_processing, weights_hash

_NO_EDITS: Mapping[Any, Edit] = MappingProxyType({})


class HookedModel:
    """A model whose head outputs can be read and replaced; `hc.load_model` makes one.

    The wrapped model is never moved, cast, changed, or switched between train and eval mode. Sizes come from a captured
    `z` (`headcats.models.geometry`), whose heads must be as many as the config says, layer by layer: this covers
    grouped-query and latent attention, a `d_head` other than `d_model / n_heads`, sizes that vary by layer, and layers
    without attention.

    Args:
        model: A HookedTransformer or a TransformerBridge.
        name: Name in results; None takes that of the model's config.
        tokenizer: A Hugging Face tokenizer; None takes the model's own, which may be None too.
        origin: Where it was loaded from, for the results; None for a model that the program made.

    Attributes:
        model: TransformerLens' model, untouched.
        model_class: "HookedTransformer" or "TransformerBridge".
        name, tokenizer, origin: As given.
        layers: Numbers of the layers with attention heads.
        splits: Hook at z -> heads and d_head, where TransformerLens splits z otherwise than the model does.
        n_layers: Number of blocks, including those without attention heads.
        d_model: Width of the residual stream.
        d_vocab: Size of the input vocabulary.
        n_ctx: Context length, in tokens.
        lock: Held during a forward pass: hooks belong to the model, so two threads take turns.

    Raises:
        ModelError: Another kind of object, or a model without attention heads.

    Example:
        >>> import headcats as hc
        >>> import torch
        >>> model = hc.load_model("mini")
        >>> model.n_layers, model.max_heads, model.d_model
        (6, 8, 128)
        >>> tokens = torch.tensor([[0, 10, 3, 11]])
        >>> logits, z = model.capture(tokens, layers=[2])
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

    @property
    def revision(self) -> str | None:
        """Branch, tag or commit on the hub."""
        return self.origin.revision

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
        """A head in any form that `Head.parse` takes; a DataError if the model does not have it.

        Args:
            head: Its name, or a pair of layer and head.
        """
        return find_head(head, self.n_heads, model=self.name)

    @property
    def d_head(self) -> Mapping[int, int]:
        """Layer -> size of one head's output; keys are `layers`."""
        return self._geometry.d_head

    @property
    def device(self) -> torch.device:
        """Device of the first parameter; tokens are moved there. Of an offloaded one, where it is used."""
        return device_of_tokens(self.model)

    @property
    def devices(self) -> tuple[torch.device, ...]:
        """All devices that the model computes on."""
        return computing_devices(self.model)

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
        """Output projection of one layer, per query head: `z @ W_O` is what the head adds to the residual stream.

        Args:
            layer: A layer with heads.
        """
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
        """Raise a DataError for tokens that the model cannot take: their dtype, shape, length or ids.

        Args:
            tokens: Token ids `[prompt, pos]`.
        """
        check_tokens(tokens, n_ctx=self.n_ctx, d_vocab=self.d_vocab, model=self.name)

    def logits(
        self, tokens: Int[Tensor, "prompt pos"], *, edits: Mapping[int, Edit] = _NO_EDITS
    ) -> Float[Tensor, "prompt d_vocab"]:
        """Logits at the last position, in fp32, with the head outputs of some layers edited on the way.

        Args:
            tokens: Prompts of one length, without padding.
            edits: Layer -> function from `z` `[prompt, pos, head, d_head]` (in the model's dtype, on its device) to a
                tensor of the same shape, dtype and device. It may change `z` in place, but must return it.

        Raises:
            DataError: See `check_tokens`.
            ModelError: An edit returns anything else, a layer has no heads, or its hook did not fire exactly once.
        """
        self._check_layers(edits)
        return self.run(tokens, hooks={hook_z(layer): edit for layer, edit in edits.items()})

    def capture(
        self,
        tokens: Int[Tensor, "prompt pos"],
        *,
        layers: Iterable[int] | None = None,
        first: int = 0,
        edits: Mapping[int, Edit] = _NO_EDITS,
    ) -> tuple[Float[Tensor, "prompt d_vocab"], dict[int, Float[Tensor, "prompt kept head d_head"]]]:
        """Last-position logits in fp32, and layer -> `z` of one run, detached, each on the device of its layer.

        Args:
            tokens: Prompts of one length, without padding.
            layers: Layers to capture; None for all with heads.
            first: First position to keep, to save memory; -1 keeps the last only.
            edits: As in `logits`; of an edited layer, the edited value is captured.
        """
        capturing = self.layers if layers is None else tuple(layers)
        self._check_layers([*capturing, *edits])
        hooks, captured = capturing_z(capturing, first=first, edits=edits)
        return self.run(tokens, hooks=hooks), {layer: captured[layer] for layer in capturing}

    @torch.no_grad()
    def capture_last(
        self, tokens: Int[Tensor, "prompt pos"], last: int, *, first: int = 0
    ) -> tuple[Float[Tensor, "prompt last d_vocab"], dict[int, Float[Tensor, "prompt kept head d_head"]]]:
        """Capture z of all layers, with the logits of the last few positions.

        Args:
            tokens: As in `capture`.
            last: How many positions have logits.
            first: As in `capture`.
        """
        hooks, captured = capturing_z(self.layers, first=first, edits=_NO_EDITS)
        return self.forward_last(tokens, last, hooks=hooks), captured

    @torch.no_grad()
    def run(self, tokens: Int[Tensor, "prompt pos"], *, hooks: Mapping[str, Edit]) -> Float[Tensor, "prompt d_vocab"]:
        """Logits with edits at any hook of the model; a name that it does not have is a ModelError.

        Args:
            tokens: Prompts of one length, without padding.
            hooks: Name of a hook (for example `blocks.0.hook_resid_pre`) -> edit.
        """
        return self.forward(tokens, hooks=hooks)

    def forward(
        self, tokens: Int[Tensor, "prompt pos"], *, hooks: Mapping[str, Edit]
    ) -> Float[Tensor, "prompt d_vocab"]:
        """Run in the caller's gradient mode; hold `lock` until the backward pass is over.

        Args:
            tokens: As in `run`.
            hooks: As in `run`.
        """
        # Sliced before the cast, and copied: fp32 logits of every position can be larger than the model.
        return self._output(tokens, hooks, last=1)[:, 0].to(torch.float32, copy=True)

    def forward_last(
        self, tokens: Int[Tensor, "prompt pos"], last: int, *, hooks: Mapping[str, Edit]
    ) -> Float[Tensor, "prompt last d_vocab"]:
        """Run `forward` for the last few positions.

        Args:
            tokens: As in `run`.
            last: How many positions.
            hooks: As in `run`.
        """
        return self._output(tokens, hooks, last=last).to(torch.float32, copy=True)

    def forward_at(
        self, tokens: Int[Tensor, "prompt pos"], positions: Bool[Tensor, "prompt pos"], *, hooks: Mapping[str, Edit]
    ) -> Float[Tensor, "chosen d_vocab"]:
        """Run `forward` for selected positions: rows in the order of `positions.nonzero()`.

        Args:
            tokens: As in `run`.
            positions: True at the selected positions.
            hooks: As in `run`.
        """
        if not bool(positions.any()):
            raise DataError(f"forward_at needs at least one position of {tuple(positions.shape)}; all are False.")
        last = tokens.shape[1] - int(positions.any(0).nonzero()[0])
        output = self._output(tokens, hooks, last=last)
        return output[positions[:, -last:].to(output.device)].float()

    def _output(self, tokens: Tensor, hooks: Mapping[str, Edit], *, last: int) -> Tensor:
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
            logits = self.model.run_with_hooks(tokens, fwd_hooks=fwd_hooks, return_type="logits", **options)
        return logits[:, -last:]


def adapt(model: Any) -> HookedModel:
    """A HookedTransformer or TransformerBridge (else a ModelError) as a HookedModel, which is returned unchanged."""
    return model if isinstance(model, HookedModel) else HookedModel(model)
