"""The function probe: which heads a classifier of functions reads."""

from headcats.methods.declaration import Declaration, Strength
from headcats.methods.lazy import declare
from headcats.presets import add_preset
from headcats.probes.functions.names import SAYING_NOTHING

function_probe = declare(
    Declaration(
        name="function_probe",
        kind="joint",
        strength=Strength(
            "importance",
            "seed",
            "function",
            "mean_abs",
            "probe",
            "absolute importance, mean over seeds",
            void=SAYING_NOTHING,
        ),
        figure="importance_grid",
        figure_heads="head-layer",
        reader="hc.importance_effects",
        needs="two categories",
        suite="cognitive",
        paper="Ma et al. (2025), Cognitive Mirrors, arXiv 2512.10978",
        cost="one forward pass per text; 100 epochs per seed",
    ),
    code="headcats.methods.function_probe.fit:FunctionProbe",
    summary="headcats.methods.function_probe.summary:summary",
)

add_preset(
    "cogmirrors2025",
    function_probe.declaration.paper,
    {"suite": "cognitive", "methods": (function_probe.name,)},
    differs="tasks are ours, with the paper's eight functions; items are shuffled, standardised, in batches of 32",
)
