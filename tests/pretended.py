"""Devices that are not there: tensors that hold their numbers on the CPU and answer for another device.

As on real devices, an operation on tensors of two of them is an error, and `to` is the only way between them. Numbers
are those of the CPU to the bit, so that a model on several devices can be compared with itself on one.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

KIND = "lazy"
"""A kind of device that torch knows by name, asks nothing of and has no kernels for."""
CPU = torch.device("cpu")
_aten = torch.ops.aten
_MOVES = (_aten._to_copy.default, _aten.copy_.default)
# An index may be on the CPU.
_INDEXES = (_aten.index, _aten.index_put_, _aten._index_put_impl_)


class OnDevice(Tensor):
    """A tensor of the CPU that answers for another device."""

    held: Tensor

    @staticmethod
    def __new__(cls, held: Tensor, device: torch.device) -> "OnDevice":
        return Tensor._make_wrapper_subclass(
            cls, held.size(), strides=held.stride(), dtype=held.dtype, device=device, requires_grad=held.requires_grad
        )

    def __init__(self, held: Tensor, device: torch.device) -> None:
        self.held = held

    def __repr__(self) -> str:  # type: ignore[override]
        return f"OnDevice({self.held!r}, {self.device})"

    def __tensor_flatten__(self) -> tuple[list[str], Any]:
        return ["held"], self.device

    @staticmethod
    def __tensor_unflatten__(parts: dict[str, Tensor], device: Any, *_: Any) -> "OnDevice":
        return OnDevice(parts["held"], device)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _dispatched(func, args, kwargs or {})


class _NewTensors(TorchDispatchMode):
    """Kernels that make a tensor on such a device, or move one there."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _dispatched(func, args, kwargs or {})


class _TensorsOfNumbers(TorchFunctionMode):
    """`torch.tensor`, which asks no kernel that could be replaced."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        device = kwargs.get("device")
        if func is torch.tensor and device is not None and torch.device(device).type == KIND:
            return func(*args, **kwargs | {"device": CPU}).to(device)
        return func(*args, **kwargs)


def _dispatched(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    given = [value for value in tree_flatten((args, kwargs))[0] if isinstance(value, Tensor)]
    pretended = {value.device for value in given if value.device.type == KIND}
    target = kwargs.get("device")
    makes = target is not None and torch.device(target).type == KIND
    if not pretended and not makes:
        return func(*args, **kwargs)
    # Numbers in tensors without axes may stand beside any device.
    devices = {value.device for value in given if value.ndim}
    apart = devices - {CPU} if func.overloadpacket in _INDEXES else devices
    if len(apart) > 1 and func not in _MOVES:
        raise RuntimeError(f"{func} got tensors on {' and '.join(sorted(map(str, devices)))}")
    device = next(iter(pretended), CPU)
    if target is not None:
        device, kwargs = torch.device(target), kwargs | {"device": CPU}
    if func is _aten.copy_.default:
        device = args[0].device
    result = func(*tree_map(_held, args), **tree_map(_held, kwargs))
    given_as = {id(_held(value)): value for value in given}  # what works in place gives back what it got
    return tree_map(lambda value: given_as[id(value)] if id(value) in given_as else _wrapped(value, device), result)


def _held(value: Any) -> Any:
    return value.held if isinstance(value, OnDevice) else value


def _wrapped(value: Any, device: torch.device) -> Any:
    if not isinstance(value, Tensor) or device.type != KIND:
        return value
    if device in _room:
        _room[device].take(value)
    return OnDevice(value, device)


@dataclass
class Room:
    """Memory of a device that is not there: tensors above a limit are refused, however many there are."""

    limit: int | None = None
    """Bytes of one tensor; None for any."""
    largest: int = 0
    """Bytes of the largest tensor that was asked for."""
    refused: int = 0
    """How many tensors were."""

    def take(self, value: Tensor) -> None:
        """Count a new tensor; a torch.OutOfMemoryError if it is too large."""
        self.largest = max(self.largest, value.nbytes)
        if self.limit is not None and value.nbytes > self.limit:
            self.refused += 1
            raise torch.OutOfMemoryError(f"out of memory. Tried to allocate {value.nbytes} bytes.")


_room: dict[torch.device, Room] = {}


@contextmanager
def room_on(device: str, limit: int | None = None) -> Iterator[Room]:
    """The memory of a device that is not there, counted and limited."""
    place = torch.device(device)
    _room[place] = Room(limit)
    try:
        yield _room[place]
    finally:
        del _room[place]


def move(module: nn.Module, device: str) -> None:
    """Move the weights and buffers of a module to a device that is not there."""
    place = torch.device(device)
    for part in module.modules():
        for name, parameter in part._parameters.items():
            if parameter is not None:
                part._parameters[name] = nn.Parameter(OnDevice(parameter.detach(), place), requires_grad=False)
        for name, buffer in part._buffers.items():
            if buffer is not None:
                part._buffers[name] = OnDevice(buffer, place)


@contextmanager
def pretended_devices() -> Iterator[None]:
    """Tensors can be made on devices that are not there, and moved there."""
    with _NewTensors(), _TensorsOfNumbers():
        yield
