"""Where a model's weights are: on one device, on several, or offloaded to memory or disk until they are used.

`device_map` of transformers places them through accelerate. An offloaded weight is on the meta device, without values,
except while its module runs; a model on several devices moves what its modules take and give by itself.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from accelerate.utils import align_module_device, has_offloaded_params
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode, is_traceable_wrapper_subclass
from torch.utils._pytree import tree_leaves


def device_of_tokens(model: nn.Module) -> torch.device:
    """Device of the first parameter; of an offloaded one, where its module computes."""
    module = next(module for module in model.modules() if next(module.parameters(recurse=False), None) is not None)
    return _device(module)


def computing_devices(model: nn.Module) -> tuple[torch.device, ...]:
    """All devices that hold weights while they are used, that of the first parameter first."""
    modules = (module for module in model.modules() if next(module.parameters(recurse=False), None) is not None)
    return tuple(dict.fromkeys(map(_device, modules)))


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

    TransformerLens has them where it reads an offloaded weight outside of the module that accelerate fills. Running
    such a model twice can give the same numbers, so runs are no test of it.
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


def _device(module: nn.Module) -> torch.device:
    hook: Any = getattr(module, "_hf_hook", None)
    if has_offloaded_params(module):
        return torch.device(hook.execution_device)
    return next(module.parameters(recurse=False)).device
