"""One recording for either model class."""

from jaxtyping import Int
from torch import Tensor

from headcats.models.adapter import HookedModel
from headcats.models.replay.recording import Recording
from headcats.models.replay.unreplayable import check_replayable


def record(model: HookedModel, tokens: Int[Tensor, "prompt pos"], *, first: int) -> Recording:
    """Run prompts once and keep what is needed to run blocks again at positions `first` and later.

    Whether the numbers of a replay are right is not known before they were compared with a hooked run: a block may get
    something that depends on the whole prompt in a way that no signature shows.

    Raises:
        Unreplayable: The blocks cannot be run again on their own; the text is the reason.
    """
    check_replayable(model)
    if model.model_class == "TransformerBridge":
        from headcats.models.replay.bridge import record_bridge

        return record_bridge(model, tokens, first=first)
    from headcats.models.replay.hooked_transformer import record_hooked_transformer

    return record_hooked_transformer(model, tokens, first=first)
