"""Function probe: which heads a classifier of functions relies on."""

from headcats.base.registry import public_names
from headcats.methods.lazy import declare
from headcats.methods.presets import add_preset
from headcats.papers.function_probe.summary import SAYING_NOTHING
from headcats.results.declaration import Declaration, Selection, Strength

__getattr__, __all__, __dir__ = public_names(__name__, __file__)

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
        selection=Selection(
            "importance",
            over="seed",
            group="function",
            reduce="mean_abs",
            rule="elbow",
            text="absolute importance, mean over seeds",
        ),
        figure="importance_grid",
        figure_heads="layer-head",
        reader="hc.categorize",
        needs="two categories",
        paper="Ma et al. (2025), Cognitive Mirrors, arXiv 2512.10978",
        cost="one forward pass per text; 100 epochs per seed",
    ),
    code="headcats.papers.function_probe.fit:FunctionProbe",
    summary="headcats.papers.function_probe.summary:summary",
    figure="headcats.papers.function_probe.figure:importance_grid",
)

add_preset(
    "cogmirrors2025",
    function_probe.declaration.paper,
    {"suite": "cognitive", "methods": (function_probe.name,)},
    differs="tasks are ours, with the paper's eight functions; z is read where an answer token is predicted; "
    "features are standardised, texts shuffled in batches of 32, and the importance of five probes is averaged",
)
