"""What a sweep replaces at a time: one query head, or all query heads that share keys and values."""

from dataclasses import dataclass
from typing import Any

from headcats.base.errors import OptionError, UnknownNameError
from headcats.base.registry import unknown_name_message
from headcats.models.adapter import HookedModel
from headcats.models.head import Head
from headcats.results.head_axes import HEAD, KV_GROUP, UNITS
from headcats.sweeps.tree import HeadSet


@dataclass(frozen=True)
class Swept:
    """The sets of heads that a sweep replaces, in the order of their heads, and where their numbers stand."""

    sets: list[HeadSet]
    rows: list[int]
    columns: list[int]
    """Places along `layer` and `head`; along `head`, groups are numbered by their key-value head."""
    axes: dict[str, Any]
    """Coordinates of the table."""

    @property
    def shape(self) -> tuple[int, int]:
        """Size along `layer` and `head`."""
        return len(self.axes["layer"]), len(self.axes["head"])


def swept_sets(model: HookedModel, unit: str) -> Swept:
    """All heads of a model one at a time, or for the unit "kv_group" all heads of a group at once.

    An UnknownNameError for another unit; an OptionError for groups of a model whose heads share nothing. Layers without
    sharing have groups of one head.
    """
    if unit not in UNITS:
        raise UnknownNameError(unknown_name_message("unit", unit, UNITS))
    if unit == HEAD:
        sets: list[HeadSet] = [(head,) for head in model.heads]
        return Swept(sets, *_places(model, list(model.heads)), model.axes)
    if model.n_kv_heads == model.n_heads:
        raise OptionError(
            f"Every head of model {model.name!r} has keys and values of its own, so there are no groups of heads that "
            f"share them: use unit={HEAD!r}, the default, in place of unit={KV_GROUP!r}."
        )
    groups = {
        Head(layer, group): tuple(Head(layer, group * size + place) for place in range(size))
        for layer, n in model.n_kv_heads.items()
        for size in [model.n_heads[layer] // n]
        for group in range(n)
    }
    axes = {"layer": list(model.layers), "head": list(range(max(model.n_kv_heads.values())))}
    return Swept(list(groups.values()), *_places(model, list(groups)), axes)


def _places(model: HookedModel, cells: list[Head]) -> tuple[list[int], list[int]]:
    row_of = {layer: row for row, layer in enumerate(model.layers)}
    return [row_of[cell.layer] for cell in cells], [cell.head for cell in cells]
