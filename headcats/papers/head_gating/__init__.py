"""Causal Head Gating: gates on all heads at once, fitted to predict the targets of a data set."""

from headcats.base.registry import public_names
from headcats.methods.lazy import declare
from headcats.methods.presets import add_preset
from headcats.results.declaration import Declaration, Selection, Strength

__getattr__, __all__, __dir__ = public_names(__name__, __file__)

head_gating = declare(
    Declaration(
        name="head_gating",
        kind="joint",
        strength=Strength("facilitation", "seed", "dataset", "mean", "gates", "facilitation, mean over seeds"),
        selection=Selection(
            "facilitation",
            over="seed",
            group="dataset",
            reduce="min",
            rule="threshold:value=0.5",
            suppressing="interference",
            text="least facilitation over seeds",
        ),
        figure="always_any",
        figure_heads="layer-head",
        reader="hc.categorize",
        paper="Nam et al. (2025), Causal Head Gating, arXiv 2505.13737",
        cost="1,500 updates of 64 texts per seed and category",
    ),
    code="headcats.papers.head_gating.fit:HeadGating",
    summary="headcats.papers.head_gating.over_seeds:summary",
    figure="headcats.papers.head_gating.figure:always_any",
)

_DIFFERS = (
    "data sets are the suite's categories, texts are drawn anew for every update, numbers are those of the model, and "
    "fits that diverge are left out"
)
add_preset("chg2025", head_gating.declaration.paper, {"methods": (head_gating.name,)}, differs=_DIFFERS)
add_preset(
    "chg-mini",
    "Nam et al. (2025) with smaller batches and fewer updates, for small models",
    {"methods": (f"{head_gating.name}:preset=chg-mini",)},
    differs=f"32 texts per update, not 64; 150 updates per stage, not 500; {_DIFFERS}",
)
