"""Models whose blocks cannot be replayed."""

from typing import Any

from headcats.errors import ModelError
from headcats.models.adapter import HookedModel


class Unreplayable(ModelError):
    """Blocks of this model cannot be replayed, so callers use the hooked path. The text is the reason, as a clause."""


def check_replayable(model: HookedModel) -> None:
    """Refuse models that a replay is known to get wrong.

    Raises:
        Unreplayable: Hooks of the user, train mode, blocks without attention, or blocks that depend on each other by
            more than the residual stream and their own keys and values.
    """
    # Another thread's hooks for its forward pass are gone once it releases the lock.
    with model.lock:
        if any(module.training for module in model.model.modules()):
            raise Unreplayable("it is in train mode (call its .eval())")
        # The bridge has permanent hooks of its own on some architectures (OPT), which act in a replay too.
        is_bridge = model.model_class == "TransformerBridge"
        hooked = [
            name
            for name, point in model.model.hook_dict.items()
            if any(not (is_bridge and hook.is_permanent) for hook in (*point.fwd_hooks, *point.bwd_hooks))
        ]
        if hooked:
            raise Unreplayable(f"it has hooks of its own, for example at {hooked[0]!r}")
        if len(model.layers) != model.n_layers:
            without = model.n_layers - len(model.layers)
            raise Unreplayable(f"{without} of its {model.n_layers} blocks have no attention heads")
        config = _config(model)
        if getattr(config, "is_encoder_decoder", False):
            raise Unreplayable("it has an encoder")
        if getattr(config, "num_kv_shared_layers", 0):
            raise Unreplayable("some of its layers use the keys and values of other layers")
        if getattr(config, "kv_lora_rank", None):
            raise Unreplayable("its keys and values are compressed (multi-head latent attention)")


def _config(model: HookedModel) -> Any:
    config = getattr(getattr(model.model, "original_model", None), "config", None)
    return model.model.cfg if config is None else config.get_text_config()
