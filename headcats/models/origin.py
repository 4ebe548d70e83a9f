"""Where a model came from, so that results can say how to load it again."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# A folder of this machine, which says nothing of the model.
_NOT_RECORDED = ("offload_folder",)


@dataclass(frozen=True)
class Origin:
    """What `hc.load_model` was given.

    Attributes:
        source: A bundled name, a name on the hub or the path of a folder; "" for a model that the program made.
        revision: Branch, tag or commit on the hub.
        loader: Further arguments of the loader, such as `device_map`.
        tokenizer: Name or folder of the tokenizer, as `source`; "" for the model's own, or one that the program made.
    """

    source: str = ""
    revision: str | None = None
    loader: Mapping[str, Any] = field(default_factory=dict)
    tokenizer: str = ""

    def recorded_loader(self) -> dict[str, Any]:
        """The loader's arguments as they are in a manifest: those that JSON can hold, with names as keys."""
        recorded = {}
        for name, value in self.loader.items():
            plain = value.to_dict() if hasattr(value, "to_dict") else value
            try:
                text = json.dumps(plain, default=str if name == "device_map" else None)
            except (TypeError, ValueError):
                continue
            if value is not None and name not in _NOT_RECORDED:
                recorded[name] = json.loads(text)
        return recorded


def restored_loader(recorded: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of the loader as `recorded_loader` kept them; devices that are numbers are numbers again."""
    restored = dict(recorded)
    if isinstance(limits := restored.get("max_memory"), Mapping):
        restored["max_memory"] = {int(key) if key.isdigit() else key: limit for key, limit in limits.items()}
    return restored
