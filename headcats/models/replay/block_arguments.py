"""Arguments of a TransformerBridge block, recorded in one run and adapted to rows of another shape."""

import inspect
from typing import Any

import torch
from torch import Tensor

from headcats.models.replay.recording import Unreplayable

_POSITIONS = ("position_ids", "cache_position")
_PER_PROMPT = ("attention_mask", "position_embeddings", *_POSITIONS)


class Stop(Exception):
    """Ends a block early, carrying the tensors that it was run for; not an error."""

    def __init__(self, *tensors: Tensor) -> None:
        super().__init__()
        self.tensors = tensors


class FixedPrefix:
    """Stands in for a key-value cache: always the same earlier keys and values, and nothing is stored.

    Keys and values are `[prompt, kv_head, pos, d_head]`; each prompt has `rows` rows, next to each other in the batch.
    """

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
    """What one block got beside the residual stream in a run of `shape` (prompts, positions); `cache` is among it."""

    def __init__(
        self, block: Any, args: tuple[Any, ...], kwargs: dict[str, Any], *, cache: Any, shape: tuple[int, int]
    ) -> None:
        self._block, self._cache, self._by_position = block, cache, bool(args)
        self._prompts, self._length = shape
        names = list(inspect.signature(block.original_component.forward).parameters)
        self._named = {name: self._shared(name, value) for name, value in zip(names[1:], args[1:], strict=False)}
        self._kwargs = {name: self._shared(name, value) for name, value in kwargs.items() if name != "hidden_states"}
        self.residual: Tensor = args[0] if args else kwargs["hidden_states"]
        mask = self._named.get("attention_mask", self._kwargs.get("attention_mask"))
        self._mask = mask if isinstance(mask, Tensor) else None
        if self._mask is not None and (self._mask.ndim != 4 or self._mask.shape[-2:] != (self._length, self._length)):
            raise Unreplayable(f"its blocks get an attention mask shaped {tuple(self._mask.shape)}")

    def call(self, residual: Tensor, *, prefix: FixedPrefix, positions: slice, one_sequence: bool) -> Tensor:
        """Run the block on rows that stand at `positions` of the recorded run, after the keys and values of `prefix`.

        `residual` is `[prompt * row, pos, d_model]`, or with `one_sequence` `[prompt, row, d_model]`: rows that all
        stand at one position and do not see each other. So is what comes back.
        """
        args, kwargs = self.adapted(residual, prefix=prefix, positions=positions, one_sequence=one_sequence)
        output = self._block(*args, **kwargs)
        return output[0] if isinstance(output, tuple) else output

    def adapted(
        self, residual: Tensor, *, prefix: FixedPrefix, positions: slice, one_sequence: bool
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """What the block is called with in `call`: positional and keyword arguments."""
        # Copies in the batch: only what differs between prompts is repeated for them.
        copies = 1 if one_sequence else len(residual) // self._prompts
        width = residual.shape[1] if one_sequence else None
        mask = self._row_mask(residual, positions) if one_sequence else self._position_mask(residual, positions, copies)

        def adapted(name: str, value: Any) -> Any:
            if value is self._cache:
                return prefix
            if name == "attention_mask":
                return mask
            return self._at(name, value, positions, width, copies)

        args = tuple(adapted(name, value) for name, value in self._named.items())
        kwargs = {name: adapted(name, value) for name, value in self._kwargs.items()}
        return ((residual, *args), kwargs) if self._by_position else ((), {"hidden_states": residual, **kwargs})

    def keys_and_values(self, residual: Tensor, *, prefix: FixedPrefix, positions: slice) -> tuple[Tensor, Tensor]:
        """Keys and values of `residual` `[prompt * row, pos, d_model]`; the rest of the block is not run."""
        stopping = FixedPrefix(prefix.keys, prefix.values, stop=True)
        try:
            self.call(residual, prefix=stopping, positions=positions, one_sequence=False)
        except Stop as stop:
            keys, values = stop.tensors
            return keys, values
        raise Unreplayable("its blocks do not use the key-value cache")

    def _shared(self, name: str, value: Any) -> Any:
        """Masks and positions that are the same for every prompt, once for all of them: nothing is padded."""
        if isinstance(value, tuple | list):
            return type(value)(self._shared(name, part) for part in value)
        if name not in _PER_PROMPT or not isinstance(value, Tensor) or value.ndim < 2 or len(value) != self._prompts:
            return value
        return value[:1] if bool((value == value[:1]).all()) else value

    def _at(self, name: str, value: Any, positions: slice, width: int | None, copies: int) -> Any:
        if name == "position_embeddings" and isinstance(value, tuple | list):
            return type(value)(self._spread(part[..., positions, :], -2, width, copies) for part in value)
        if not isinstance(value, Tensor):
            return value
        if name in _POSITIONS:
            return self._spread(value[..., positions], -1, width, copies if value.ndim > 1 else 1)
        # Anything else is taken to be the same for all positions and prompts; the self-check shows where it is not.
        return value

    def _spread(self, value: Tensor, axis: int, width: int | None, copies: int) -> Tensor:
        if width is not None:
            shape = list(value.shape)
            shape[axis] = width
            value = value.expand(shape)
        return value.repeat_interleave(copies, 0) if copies > 1 and len(value) == self._prompts > 1 else value

    def _position_mask(self, residual: Tensor, positions: slice, copies: int) -> Tensor:
        end = self._length if positions.stop is None else positions.stop
        if self._mask is not None:
            mask = self._mask[..., positions, :end].to(residual.device)
            return mask.repeat_interleave(copies, 0) if len(mask) == self._prompts > 1 else mask
        visible = torch.ones(self._length, self._length, dtype=torch.bool, device=residual.device).tril()
        return _additive(visible[positions, :end][None, None], residual)

    def _row_mask(self, residual: Tensor, positions: slice) -> Tensor:
        """Every row sees the earlier positions that the recorded token saw, and itself."""
        rows, start = residual.shape[1], self._length - 1
        itself = torch.eye(rows, dtype=torch.bool, device=residual.device)
        if self._mask is None:
            earlier = torch.ones(1, 1, 1, start, dtype=torch.bool, device=residual.device)
        else:
            earlier = self._mask[..., positions, :start].to(residual.device)
        if earlier.dtype == torch.bool:
            earlier = _additive(earlier, residual)
        own_mask = _additive(itself, residual).expand(*earlier.shape[:2], rows, rows)
        return torch.cat([earlier.expand(*earlier.shape[:2], rows, start).to(own_mask.dtype), own_mask], -1)


def _additive(visible: Tensor, like: Tensor) -> Tensor:
    mask = torch.zeros(visible.shape, dtype=like.dtype, device=like.device)
    return mask.masked_fill_(~visible, torch.finfo(like.dtype).min)
