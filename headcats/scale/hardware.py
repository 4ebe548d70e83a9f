"""Memory and speed of devices, by their data sheets."""

from dataclasses import dataclass

from headcats.base.errors import UnknownNameError
from headcats.base.registry import unknown_name_message

# Of the peak rate, what sweeps reach: the lower end of the 38 to 43 % that training Llama 3 405B reached on H100s in
# bfloat16 (arXiv 2407.21783, section 3.3.2). An assumption: nobody has run headcats on models of that size.
_SHARE = 0.38
# Title, bytes, and rates of dense matrix products in operations per second (a multiply-add is two; sparsity halved): in
# 16 bits, and in float32 without TF32, as torch computes it unless told otherwise.
_SHEETS = {
    "h100": ("NVIDIA H100 SXM, 80 GB", 80e9, 989e12, 67e12),
    "h200": ("NVIDIA H200 SXM, 141 GB", 141e9, 989e12, 67e12),
    "a100": ("NVIDIA A100 SXM, 80 GB", 80e9, 312e12, 19.5e12),
}


@dataclass(frozen=True)
class Hardware:
    """Memory and speed of one device.

    Attributes:
        name: Name in tables and messages.
        memory: Bytes.
        rate: Operations per second that sweeps reach, in the dtype that was asked for.
        source: Origin of the numbers, as a part of a sentence.
    """

    name: str
    memory: int
    rate: float
    source: str


def find_hardware(name: str, dtype: str) -> Hardware:
    """A device by its name, for numbers of one type; an UnknownNameError lists near matches."""
    if name not in _SHEETS:
        raise UnknownNameError(unknown_name_message("hardware", name, _SHEETS))
    title, memory, half, single = _SHEETS[name]
    peak = single if dtype == "float32" else half
    source = f"data sheet of {title}; sweeps reach {_SHARE:.0%} of {peak / 1e12:g} TFLOP/s, which is an assumption"
    return Hardware(title, int(memory), _SHARE * peak, source)
