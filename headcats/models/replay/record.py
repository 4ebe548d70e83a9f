"""One recording for either model class."""

from jaxtyping import Int
from torch import Tensor

from headcats.models.adapter import HookedModel
from headcats.models.replay.recording import Recording
from headcats.models.replay.unreplayable import check_replayable


def record(model: HookedModel, tokens: Int[Tensor, "prompt pos"], *, first: int) -> Recording:
    """Run prompts once and record them, to replay blocks at positions `first` and later.

    Compare a replay with a hooked run before trusting it: a block may depend on the whole prompt in a way that its
    signature does not show.

    Raises:
        Unreplayable: The blocks cannot be replayed.
    """
    check_replayable(model)
    if model.model_class == "TransformerBridge":
        from headcats.models.replay.bridge import record_bridge

        return record_bridge(model, tokens, first=first)
    from headcats.models.replay.hooked_transformer import record_hooked_transformer

    return record_hooked_transformer(model, tokens, first=first)
