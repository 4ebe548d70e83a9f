"""Record a run of either model class, unless a replay of the model would be wrong."""

from headcats.models.adapter import HookedModel
from headcats.models.continued import Continued
from headcats.models.hooks import attached_hook, text_config
from headcats.models.replay.recording import Recording, Unreplayable


def record(model: HookedModel, continued: Continued, *, first: int) -> Recording:
    """Run prompts and what follows them once and record them, to replay blocks at positions `first` and later.

    Compare a replay with a hooked run before trusting it: a block may depend on the whole prompt unseen.
    """
    check_replayable(model)
    if model.model_class == "TransformerBridge":
        from headcats.models.replay.bridge import record_bridge

        return record_bridge(model, continued, first=first)
    from headcats.models.replay.hooked_transformer import record_hooked_transformer

    return record_hooked_transformer(model, continued, first=first)


def is_replayable(model: HookedModel) -> bool:
    """True if `record` takes the model."""
    try:
        check_replayable(model)
    except Unreplayable:
        return False
    return True


def check_replayable(model: HookedModel) -> None:
    """Raise Unreplayable for models that a replay is known to get wrong."""
    # Another thread's hooks for its forward pass are gone once it releases the lock.
    with model.lock:
        if any(module.training for module in model.model.modules()):
            raise Unreplayable("it is in train mode (call its .eval())")
        if hooked := attached_hook(model.model):
            raise Unreplayable(f"it has hooks of its own, for example at {hooked!r}")
        if without := model.n_layers - len(model.layers):
            raise Unreplayable(f"{without} of its {model.n_layers} blocks have no attention heads")
        config = text_config(model.model)
        if getattr(config, "is_encoder_decoder", False):
            raise Unreplayable("it has an encoder")
        if getattr(config, "num_kv_shared_layers", 0):
            raise Unreplayable("some of its layers use the keys and values of other layers")
        if model.splits or getattr(config, "kv_lora_rank", None):
            raise Unreplayable("its keys and values are compressed (multi-head latent attention)")
