"""Refusals of what the installed TransformerLens cannot hold, before it boots anything, and whose limit it is."""

import importlib.metadata
from typing import Any

from headcats.base.errors import ModelError, first_line
from headcats.models.source import TEXT_ONLY

_LONG = 160


def check_bridged(hf_model: Any, *, name: str) -> None:
    """Refuse a model that TransformerLens has no bridge for, or whose bridge would install packages.

    For an architecture with images TransformerLens loads a processor, and installs torchvision with pip where that
    fails. It looks at the architecture that is named, whatever else the configuration says.
    """
    from transformer_lens.factories.architecture_adapter_factory import ArchitectureAdapterFactory
    from transformer_lens.model_bridge.sources import build_bridge_config_from_hf

    architecture = _bridged_as(hf_model.config)
    if architecture is None:
        raise ModelError(
            f"transformer-lens {version()} has no TransformerBridge for {type(hf_model).__name__}. This is its limit, "
            f"not one of headcats: try a later version, or use another model."
        )
    try:
        config = build_bridge_config_from_hf(hf_model.config, architecture, name, hf_model.dtype)
        adapter = ArchitectureAdapterFactory.select_architecture_adapter(config)
        reads_images = getattr(adapter.cfg, "is_multimodal", False)
    except ImportError as error:
        raise ModelError(
            f"The TransformerBridge of {architecture} needs a package that is not installed "
            f"({shortened(first_line(error))}). Install it, or use another model."
        ) from error
    except Exception as error:
        raise cannot_bridge(hf_model, error) from error
    if reads_images:
        raise ModelError(f"TransformerLens takes model {name!r} for one with images ({architecture}). {TEXT_ONLY}")


def cannot_bridge(hf_model: Any, error: Exception) -> ModelError:
    """For a model whose architecture has a bridge, which fails on its configuration."""
    # What TransformerLens refuses in words of its own; other errors are its code running into something.
    says = isinstance(error, NotImplementedError | ValueError)
    words = f" ({shortened(first_line(error))})" if says else ""
    return ModelError(
        f"The TransformerBridge of transformer-lens {version()} does not hold this kind of {type(hf_model).__name__}"
        f"{words}. This is its limit, not one of headcats: {other_ways(hf_model.config, built='TransformerBridge')}."
    )


def other_ways(config: Any, *, built: str) -> str:
    """Advice on what may hold a model of this configuration where a class of TransformerLens does not."""
    if built == "HookedTransformer":
        other = "backend='bridge', or " if _bridged_as(config) else ""
    else:
        other = f"backend='hooked'{' of transformer-lens 3.x' if is_bridge_only() else ''}, or "
    return f"try {other}a later version of transformer-lens"


def is_bridge_only() -> bool:
    """True if the installed TransformerLens has no HookedTransformer, which 4.0 removed."""
    return int(version().split(".")[0]) >= 4


def version() -> str:
    """Version of the installed TransformerLens."""
    return importlib.metadata.version("transformer-lens")


def shortened(text: str) -> str:
    """A foreign sentence, cut where it is long."""
    return text if len(text) <= _LONG else f"{text[:_LONG]} ..."


def _bridged_as(config: Any) -> str | None:
    """The architecture that TransformerLens takes a model for; None if it has no bridge for it."""
    from transformer_lens.model_bridge.sources.transformers import determine_architecture_from_hf_config

    try:
        return str(determine_architecture_from_hf_config(config))
    except ValueError:
        return None
