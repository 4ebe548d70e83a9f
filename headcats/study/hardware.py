"""What a device can do: by its data sheet, or measured on this machine on a slice of the model."""

import math
import time
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.resources import files

import torch

from headcats.errors import OptionError, UnknownNameError
from headcats.models.placement import computing_devices
from headcats.models.random_weights import N_CTX, random_hooked_model
from headcats.models.shape import ModelShape
from headcats.prompts.batch import PromptBatch
from headcats.registry import unknown_name_message
from headcats.results.declaration import default_methods
from headcats.sweeps import flops
from headcats.sweeps.batch_sweep import sweep
from headcats.sweeps.free_memory import free_memory
from headcats.sweeps.memory import readable_bytes

MEASURED = "measured"
_TABLE = "hardware.toml"
# The slice: the width of the model, fewer layers and words. Nothing per layer or per prompt changes with these.
_LAYERS, _WORDS, _REPEATS = 4, 2_000, 3
# Positions -> prompts, so that both sweeps are long enough for the rows of all prompts to be computed together.
_SWEPT = {"last": 64, "all": 16}


@dataclass(frozen=True)
class Hardware:
    """What one device can do.

    Attributes:
        name: Name in tables and messages.
        memory: Bytes of memory, or of what is free of it on this machine.
        bandwidth: Bytes per second between memory and processor; infinite where it is part of a measured rate.
        rate: Operations per second that sweeps reach, in the dtype that was asked for.
        source: Where the numbers are from, as a sentence of the output.
        on_cpu: Whether the device is a CPU.
    """

    name: str
    memory: int
    bandwidth: float
    rate: float
    source: str
    on_cpu: bool = False


def find_hardware(name: str, dtype: str) -> Hardware:
    """A device of `hardware.toml`, for numbers of one type.

    Raises:
        UnknownNameError: There is no such device; the message lists near matches.
        OptionError: The table has no rate for that type.
    """
    table = tomllib.loads((files("headcats") / "study" / _TABLE).read_text(encoding="utf-8"))
    if name not in table:
        raise UnknownNameError(unknown_name_message("hardware", name, [*table, MEASURED]))
    device = table[name]
    if dtype not in device["rates"]:
        known = ", ".join(device["rates"])
        raise OptionError(f"The rate of {name} is known for {known}; got dtype {dtype!r}.")
    share, rate = device["share"], device["rates"][dtype]
    source = f"{device['source']}; sweeps reach {share:.0%} of {rate / 1e12:g} TFLOP/s, which is an assumption"
    return Hardware(device["title"], int(device["memory"]), device["bandwidth"], share * rate, source)


def measured_hardware(
    shape: ModelShape, dtype: str, *, length: int, clock: Callable[[], float] = time.perf_counter
) -> Hardware:
    """This machine, by short sweeps of a random model of the same width with four layers.

    Everything that takes time in proportion to the work is in the rate: products, activations, memory, and the start
    of operations. It holds for that width and is carried over to other numbers of layers, prompts and tokens.

    Args:
        shape: The model to plan for.
        dtype: Type of its weights and activations.
        length: Tokens of a prompt; sweeps are measured on prompts of that length, and of 512 tokens at most.
        clock: Function that gives seconds.

    Raises:
        OptionError: Not even the slice fits into what memory is free.
    """
    device = "cuda" if torch.cuda.is_available() else "cpu"
    small = replace(shape, n_layers=min(_LAYERS, shape.n_layers), d_vocab=min(_WORDS, shape.d_vocab))
    _check_room(small, "cpu", itemsize=4)  # it is made there, in fp32
    number, free = getattr(torch, dtype), free_memory(torch.device(device))
    _check_room(small, device, itemsize=number.itemsize)
    model = random_hooked_model(small, "bridge", device=device, dtype=number)
    operations = seconds = 0.0
    for positions, prompts in _SWEPT.items():
        sizes = {"prompts": prompts, "length": min(length, N_CTX)}
        batch = _random_batch(small.d_vocab, **sizes)
        took = math.inf
        for _ in range(1 + _REPEATS):  # the first one checks the path, too, and is never the shortest
            started = clock()
            sweep(model, batch, default_methods()[0], positions=positions)
            took = min(took, clock() - started)
        first = 0 if positions == "all" else sizes["length"] - 1
        operations += 2 * flops.unpatched(small, **sizes, whole_vocabulary=True)
        operations += flops.suffix(small, **sizes, first=first, whole_vocabulary=False)
        operations += flops.fresh_rows(small, **sizes, first=first)
        operations += flops.unread_queries(small, **sizes, first=first)
        seconds += took
    rate, place = operations / seconds, computing_devices(model.model)[0]
    source = f"sweeps of {small.n_layers} of its layers with random weights reach {rate / 1e9:.3g} GFLOP/s here"
    return Hardware(f"this machine ({place})", free, math.inf, rate, source, on_cpu=device == "cpu")


def _check_room(small: ModelShape, device: str, *, itemsize: int) -> None:
    """Refuse a slice for which a device has no room: for its weights, and as much for copies and what sweeps take."""
    needed, free = 2 * itemsize * small.weights, free_memory(torch.device(device))
    if needed > free:
        raise OptionError(
            f"{small.n_layers} layers of {small.name or 'the model'} take {readable_bytes(needed)} of {device} memory "
            f"while they are measured, and {readable_bytes(free)} are free here: name the hardware that the study will "
            "run on."
        )


def _random_batch(d_vocab: int, *, prompts: int, length: int) -> PromptBatch:
    """Prompts that share no token."""
    draws = torch.Generator().manual_seed(0)
    clean = torch.randint(1, d_vocab, (prompts, length), generator=draws)
    answers = torch.ones(prompts, dtype=torch.long)
    return PromptBatch.from_tokens(clean, 1 + clean % (d_vocab - 1), answers, answers + 1)
