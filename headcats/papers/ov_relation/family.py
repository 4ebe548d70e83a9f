"""Which preset a model's family takes in the paper, and a warning where another one runs."""

import re
import warnings

from headcats.base.errors import ModelWarning
from headcats.models.adapter import HookedModel
from headcats.papers.ov_relation.settings import PRESETS, USUAL, RelationSettings

LLAMA_3_VOCABULARY = range(128_256, 128_512)
"""Tokens of the vocabulary, with room for a few that a fine-tune has added; no other Llama has as many."""
LLAMA_3_70B = (80, 8192)
"""Blocks and width, of Llama 3, 3.1 and 3.3 alike."""
_NAME = re.compile(r"llama-?3", re.IGNORECASE)


def family_preset(model: HookedModel) -> str:
    """The preset that the paper's code takes for a model of this family; "" if the family is not known.

    The paper goes by the model's name. Here the architecture and the size of the vocabulary decide, which a local
    folder and both classes of TransformerLens have; the name only where no architecture is recorded.
    """
    config = model.model.cfg
    recorded = (getattr(config, name, None) for name in ("architecture", "original_architecture"))
    architecture = next((str(name) for name in recorded if name), "")
    if architecture:
        is_llama_3 = architecture.startswith("Llama") and model.d_vocab in LLAMA_3_VOCABULARY
    elif not (is_llama_3 := bool(_NAME.search(model.name))):
        return ""
    if not is_llama_3:
        return USUAL
    return "maps2025-llama3-70b" if (model.n_layers, model.d_model) == LLAMA_3_70B else "maps2025-llama3"


def warn_of_other_family(
    model: HookedModel, preset: str | RelationSettings, *, first_mlp: str = "preset", stacklevel: int = 2
) -> None:
    """A ModelWarning if a preset by name has other constants than the paper takes for this family.

    Settings of one's own, and a first MLP that was chosen, are what the caller wants.
    """
    usual = family_preset(model)
    if not usual or not isinstance(preset, str):
        return
    names = {"k": "k", "copying_k": "k of copying relations"}
    names |= {"first_mlp": "first MLP"} if first_mlp == "preset" else {}
    used, papers = PRESETS[preset], PRESETS[usual]
    differing = [
        f"{name} {_shown(getattr(used, field))}, not {_shown(getattr(papers, field))}"
        for field, name in names.items()
        if getattr(used, field) != getattr(papers, field)
    ]
    if differing:
        warnings.warn(
            f"Preset {preset!r} is not what MAPS takes for a model like {model.name!r}: {', '.join(differing)}. "
            f"For the paper's numbers: preset={usual!r} (--preset {usual}, or --methods ov_relation:preset={usual}).",
            ModelWarning,
            stacklevel=stacklevel + 1,
        )


def _shown(value: int | bool) -> str:
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)
