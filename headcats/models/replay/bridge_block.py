"""One block of a TransformerBridge, called with the arguments of a recorded run, adapted to rows of another shape."""

import inspect
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers.activations import FastGELUActivation, NewGELUActivation

from headcats.models.continued import Continued, Standing
from headcats.models.replay.recording import Unreplayable

_POSITIONS = ("position_ids", "cache_position")
_PER_PROMPT = ("attention_mask", "position_embeddings", *_POSITIONS)
# Formulas of many passes, a tenth of a replay of GPT-2.
_WRITTEN_OUT = (NewGELUActivation, FastGELUActivation)


class Stop(Exception):
    """Ends a block early, carrying the tensors that it was run for; not an error."""

    def __init__(self, *tensors: Tensor) -> None:
        super().__init__()
        self.tensors = tensors


class FixedPrefix:
    """Stands in for a key-value cache: always the same ones, of `rows` rows of each prompt; nothing is stored."""

    is_compileable = False

    def __init__(self, keys: Tensor, values: Tensor, *, rows: int = 1, stop: bool = False) -> None:
        self.keys, self.values, self.rows, self.stop = keys, values, rows, stop

    def update(self, keys: Tensor, values: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        """The block's keys and values with the earlier ones before them."""
        if self.stop:
            raise Stop(keys, values)
        return self._join(self.keys, keys), self._join(self.values, values)

    def get_seq_length(self, *_: Any, **__: Any) -> int:
        """Number of earlier positions."""
        return self.keys.shape[-2]

    def _join(self, earlier: Tensor, later: Tensor) -> Tensor:
        if not earlier.shape[-2]:
            return later
        later = later.to(torch.promote_types(earlier.dtype, later.dtype))
        if len(earlier) == len(later):
            return torch.cat([earlier, later], -2)
        # One copy instead of two: expanding the prefix to all rows and joining it would each make one.
        start = earlier.shape[-2]
        joined = later.new_empty(len(earlier), self.rows, later.shape[1], start + later.shape[2], later.shape[3])
        joined[..., :start, :] = earlier[:, None]
        joined[..., start:, :] = later.unflatten(0, (len(earlier), self.rows))
        return joined.flatten(0, 1)


class BlockArguments:
    """Arguments of one block beside the residual stream in a run of rows; `cache` is among them."""

    def __init__(
        self, block: Any, args: tuple[Any, ...], kwargs: dict[str, Any], *, cache: Any, continued: Continued
    ) -> None:
        self._block, self._cache, self._by_position = block, cache, bool(args)
        # Residual streams come as in the recorded run, branch by branch; else the rows of a prompt follow each other.
        self.of_rows = False
        self._prompts, (self._rows, self._length) = len(continued), continued.rows.shape
        names = list(inspect.signature(block.original_component.forward).parameters)
        self._named = {name: self._shared(name, value) for name, value in zip(names[1:], args[1:], strict=False)}
        self._kwargs = {name: self._shared(name, value) for name, value in kwargs.items() if name != "hidden_states"}
        self.residual: Tensor = args[0] if args else kwargs["hidden_states"]
        mask = self._named.get("attention_mask", self._kwargs.get("attention_mask"))
        self._mask = mask if isinstance(mask, Tensor) else None
        if self._mask is not None and (self._mask.ndim != 4 or self._mask.shape[-2:] != (self._length, self._length)):
            raise Unreplayable(f"its blocks get an attention mask shaped {tuple(self._mask.shape)}")

    def call(
        self,
        residual: Tensor,
        *,
        prefix: FixedPrefix,
        at: Standing,
        one_sequence: bool,
        attending: Tensor | None = None,
    ) -> Tensor:
        """Run the block on rows that stand `at` positions of the recorded run, after the keys and values of `prefix`.

        `residual`, like the result, is `[prompt * row, pos, d_model]`, or with `one_sequence` `[prompt, row * pos,
        d_model]`, of rows that do not see each other. The attention gets `attending` of them (see
        `RowLayout.attending`), None for all.
        """
        like = residual if attending is None else attending
        args, kwargs = self.adapted(like, prefix=prefix, at=at, one_sequence=one_sequence)
        args, kwargs = ((residual, *args[1:]), kwargs) if args else ((), kwargs | {"hidden_states": residual})
        output = self._block(*args, **kwargs)
        return output[0] if isinstance(output, tuple) else output

    def adapted(
        self, residual: Tensor, *, prefix: FixedPrefix, at: Standing, one_sequence: bool
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Positional and keyword arguments that the block is called with in `call`."""
        # Copies in the batch: only what differs between prompts is repeated for them.
        copies = 1 if one_sequence else len(residual) // self._prompts
        rows = residual.shape[1] // len(at.places) if one_sequence else None
        places = at.places if rows is None else at.places.repeat(rows)
        mask = self._visible(residual, at, prefix.get_seq_length(), rows)
        mask = self._spread(mask, copies)

        def adapted(name: str, value: Any) -> Any:
            if value is self._cache:
                return prefix
            if name == "attention_mask":
                return mask
            return self._at(name, value, places, copies)

        args = tuple(adapted(name, value) for name, value in self._named.items())
        kwargs = {name: adapted(name, value) for name, value in self._kwargs.items()}
        return ((residual, *args), kwargs) if self._by_position else ((), {"hidden_states": residual, **kwargs})

    def keys_and_values(self, residual: Tensor, *, prefix: FixedPrefix, at: Standing) -> tuple[Tensor, Tensor]:
        """Keys and values of `residual` `[prompt * row, pos, d_model]`; the rest of the block is not run."""
        stopping = FixedPrefix(prefix.keys, prefix.values, stop=True)
        try:
            self.call(residual, prefix=stopping, at=at, one_sequence=False)
        except Stop as stop:
            keys, values = stop.tensors
            return keys, values
        raise Unreplayable("its blocks do not use the key-value cache")

    def _shared(self, name: str, value: Any) -> Any:
        """Masks and positions once for all prompts if they are the same, else once for each: branches share them."""
        if isinstance(value, tuple | list):
            return type(value)(self._shared(name, part) for part in value)
        if name not in _PER_PROMPT or not isinstance(value, Tensor) or value.ndim < 2 or len(value) != self._rows:
            return value
        if bool((value == value[:1]).all()):
            return value[:1]
        of_prompts = value[: self._prompts]
        if not bool((value.unflatten(0, (-1, self._prompts)) == of_prompts).all()):
            raise Unreplayable(f"its blocks get another {name} for each answer")
        return of_prompts

    def _at(self, name: str, value: Any, places: Tensor, copies: int) -> Any:
        if name == "position_embeddings" and isinstance(value, tuple | list):
            return type(value)(self._spread(part[..., places.to(part.device), :], copies) for part in value)
        if not isinstance(value, Tensor):
            return value
        if name in _POSITIONS:
            at_places = value[..., places.to(value.device)]
            return self._spread(at_places, copies) if value.ndim > 1 else at_places
        # Anything else is taken to be the same for all positions and prompts; the self-check shows where it is not.
        return value

    def _spread(self, value: Tensor, copies: int) -> Tensor:
        if copies == 1 or not len(value) == self._prompts > 1:
            return value
        by_branch = (copies, *[1] * (value.ndim - 1))
        return value.repeat(by_branch) if self.of_rows else value.repeat_interleave(copies, 0)

    def _visible(self, residual: Tensor, at: Standing, start: int, rows: int | None) -> Tensor:
        """The mask of positions that stand after `start` earlier ones; of several rows, each sees itself alone."""
        places, sees = at.places.to(residual.device), at.sees.to(residual.device)
        if self._mask is None:
            earlier = _additive(sees.new_ones(1, 1, len(places), start), residual)
            itself = _additive(sees[None, None], residual)
        else:
            recorded = self._mask.to(residual.device)
            earlier, itself = recorded[..., places, :start], recorded[..., places[:, None], places]
            if rows is not None and recorded.dtype == torch.bool:
                earlier, itself = _additive(earlier, residual), _additive(itself, residual)
            hidden = False if itself.dtype == torch.bool else torch.finfo(itself.dtype).min
            itself = itself.masked_fill(~sees, hidden)
        if rows is None:
            return torch.cat([earlier, itself], -1)
        width = len(places)
        own = itself.new_full((*itself.shape[:2], rows, width, rows, width), torch.finfo(itself.dtype).min)
        each = torch.arange(rows, device=own.device)
        own[:, :, each, :, each] = itself
        return torch.cat([earlier.repeat(1, 1, rows, 1), own.flatten(4, 5).flatten(2, 3)], -1)


def _additive(visible: Tensor, like: Tensor) -> Tensor:
    mask = torch.zeros(visible.shape, dtype=like.dtype, device=like.device)
    return mask.masked_fill_(~visible, torch.finfo(like.dtype).min)


@dataclass(frozen=True)
class RowLayout:
    """Rows of `prompts` prompts, of `width` positions each: in the batch, or one after the other in one sequence."""

    prompts: int
    width: int
    one_sequence: bool

    def spread(self, value: Tensor) -> Tensor:
        """`[prompt, row, pos, ...]` of what a block gets or gives."""
        if self.one_sequence:
            return value.unflatten(1, (-1, self.width))
        return value.unflatten(0, (self.prompts, -1))

    def gather(self, value: Tensor) -> Tensor:
        """The reverse of `spread`."""
        return value.flatten(1, 2) if self.one_sequence else value.flatten(0, 1)

    @contextmanager
    def attending(self, attention: nn.Module, rows: int, *, of: Tensor) -> Iterator[None]:
        """Run an attention on the first `rows` rows alone of a residual stream `of` `[prompt, row, pos, d_model]`.

        The block goes on with all of them, so a hook at z has to append the head outputs of the others.
        """
        if rows == of.shape[1]:
            yield
            return
        stream = self.gather(of).shape[:2]

        def narrowed(value: Any) -> Any:
            if isinstance(value, Tensor) and value.ndim == 3 and value.shape[:2] == stream:
                # Contiguous, or each of the projections would copy it.
                return self.gather(self.spread(value)[:, :rows]).contiguous()
            return value

        def before(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            return tuple(map(narrowed, args)), {name: narrowed(value) for name, value in kwargs.items()}

        handle = attention.register_forward_pre_hook(before, with_kwargs=True)
        try:
            yield
        finally:
            handle.remove()


def with_fresh(value: Tensor, unpatched: Tensor, fresh: int) -> Tensor:
    """Rows `[prompt, row, pos, ...]`, of which those after the changed ones are `fresh` copies of the unpatched run."""
    return torch.cat([value, unpatched[:, None].expand(-1, fresh, *unpatched.shape[1:])], 1) if fresh else value


def written_out(block: nn.Module) -> list[nn.Module]:
    """Modules of a block that `fused` can replace; none whose `forward` is already replaced."""
    return [module for module in block.modules() if type(module) in _WRITTEN_OUT and "forward" not in vars(module)]


@contextmanager
def fused(activations: Iterable[nn.Module]) -> Iterator[None]:
    """Compute modules of `written_out` in one pass, in fp32 alone, with their hooks; hold the model's lock."""
    replaced: list[Any] = [module for module in activations if "forward" not in vars(module)]
    try:
        for module in replaced:
            module.forward = partial(_tanh_gelu, module)
        yield
    finally:
        for module in replaced:
            vars(module).pop("forward", None)


def _tanh_gelu(module: nn.Module, x: Tensor) -> Tensor:
    if x.dtype == torch.float32:
        return F.gelu(x, approximate="tanh")
    return type(module).forward(module, x)
