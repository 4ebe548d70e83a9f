"""Probes of a map that did not converge: when too many did not, and what is said of the others."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import xarray as xr

from headcats.errors import DataError, pluralize

SHUFFLED = " (shuffled labels)"
# Cells that a sentence names; the others are counted.
_NAMED = 3


@dataclass(frozen=True)
class Probe:
    """One probe of a map.

    Attributes:
        layer: Layer that it reads.
        role: Token that it reads.
        shuffled: It was fitted to shuffled labels.
    """

    layer: int
    role: str
    shuffled: bool = False

    def __str__(self) -> str:
        return f"layer {self.layer}, {self.role}{SHUFFLED if self.shuffled else ''}"


def check_converged(failed: Sequence[Probe], n_cells: int, *, max_iter: int) -> None:
    """Refuse a map of which fewer than half of the cells have a value: it would pass for a finished result.

    Args:
        failed: Probes that did not converge.
        n_cells: Cells of the map; each has a probe, and another one for shuffled labels.
        max_iter: Steps after which a probe counted as not converged.

    Raises:
        DataError: The message says how many converged and what to do.
    """
    converged = n_cells - sum(not probe.shuffled for probe in failed)
    if 2 * converged >= n_cells:
        return
    which = "None" if not converged else f"Only {converged}"
    raise DataError(
        f"{which} of the {pluralize(n_cells, 'probe')} of the map converged after max_iter={max_iter} "
        f"{'iteration' if max_iter == 1 else 'iterations'}, and cells without a converged probe have no value. "
        f"{_advice(max_iter)}"
    )


def not_converged(block: xr.Dataset) -> str:
    """How many probes of a map did not converge, some of their names, and what to do; "" where all did."""
    names = str(block.attrs.get("not_converged", "")).splitlines()
    if not names:
        return ""
    max_iter = int(json.loads(block.attrs["provenance"])["settings"]["max_iter"])
    more = f"; and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return (
        f"{pluralize(len(names), 'probe')} did not converge and {'has' if len(names) == 1 else 'have'} no number: "
        f"{'; '.join(names[:_NAMED])}{more}. {_advice(max_iter)}"
    )


def _advice(max_iter: int) -> str:
    return f"Raise max_iter above {max_iter} (token_probe:max_iter=..., or max_iter= in a call)."
