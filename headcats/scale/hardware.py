"""Memory and speed of devices, by their data sheets."""

import tomllib
from dataclasses import dataclass
from importlib.resources import files

from headcats.errors import OptionError, UnknownNameError
from headcats.registry import unknown_name_message


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
    """A device of `hardware.toml`, for numbers of one type.

    Raises:
        UnknownNameError: There is no such device; the message lists near matches.
        OptionError: The table has no rate for that type.
    """
    table = tomllib.loads((files("headcats") / "scale" / "hardware.toml").read_text(encoding="utf-8"))
    if name not in table:
        raise UnknownNameError(unknown_name_message("hardware", name, table))
    device = table[name]
    if dtype not in device["rates"]:
        raise OptionError(f"The rate of {name} is known for {', '.join(device['rates'])}; got dtype {dtype!r}.")
    share, rate = device["share"], device["rates"][dtype]
    source = f"{device['source']}; sweeps reach {share:.0%} of {rate / 1e12:g} TFLOP/s, which is an assumption"
    return Hardware(device["title"], int(device["memory"]), share * rate, source)
