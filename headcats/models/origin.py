"""Where a model came from, so that results can say how to load it again."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headcats.base.errors import OptionError

# What results may ask of the loader. Others change the model, or name code or places of whoever made the results.
_RESTORED = ("device_map", "max_memory", "n_devices", "offload_state_dict", "quantization_config")
# A folder of this machine, which says nothing of the model.
_NOT_RECORDED = ("offload_folder",)


@dataclass(frozen=True)
class Origin:
    """Arguments that `hc.load_model` was given; an empty `source` or `tokenizer` is one that the program made."""

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
    """Arguments of `recorded_loader`; an OptionError for any that neither place nor quantise by bitsandbytes."""
    quantisation = recorded.get("quantization_config") or {"quant_method": "bitsandbytes"}
    other = [name for name in recorded if name not in _RESTORED]
    if not isinstance(quantisation, Mapping) or quantisation.get("quant_method") != "bitsandbytes":
        other.append("quantization_config")
    if other:
        raise OptionError(
            f"The results say that their model was loaded with {', '.join(other)!r:.80}, and of a results folder only "
            f"{', '.join(_RESTORED)} (of bitsandbytes) are taken: load it yourself with hc.load_model, and pass it."
        )
    restored = dict(recorded)
    if isinstance(limits := restored.get("max_memory"), Mapping):
        restored["max_memory"] = {int(key) if key.isdigit() else key: limit for key, limit in limits.items()}
    return restored
