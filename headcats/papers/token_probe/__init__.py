"""Token probe: where, by layer and token, a model's own activations tell that its answer is wrong."""

from headcats.base.registry import public_names
from headcats.methods.lazy import declare
from headcats.methods.presets import add_preset
from headcats.results.declaration import Declaration

__getattr__, __all__, __dir__ = public_names(__name__, __file__)

token_probe = declare(
    Declaration(
        name="token_probe",
        kind="joint",
        figure="layer_token",
        reader="hc.figures.layer_token",
        needs="exact answers",
        default_suite="sentences",
        paper="Orgad et al. (2025), LLMs Know More Than They Show, arXiv 2410.02707",
        cost="one generated answer per question; a logistic regression per layer and token role",
    ),
    code="headcats.papers.token_probe.fit:TokenProbe",
    summary="headcats.papers.token_probe.summary:summary",
    figure="headcats.papers.token_probe.figure:layer_token",
)

_OF_SUITE = {"suite": "sentences", "n_demos": 0}
_DIFFERS = "questions are the suite's, items are held out whole, and intervals are over items, not seeds"
add_preset(
    "orgad2025",
    token_probe.declaration.paper,
    _OF_SUITE | {"methods": (token_probe.name,)},
    differs=f"{_DIFFERS}; answers whose roles coincide and probes that do not converge are left out, and features are "
    "standardised",
)
add_preset(
    "orgad2025-code",
    f"{token_probe.declaration.paper}, as its code is",
    _OF_SUITE | {"methods": (f"{token_probe.name}:preset=orgad2025-code",)},
    differs=_DIFFERS,
)
