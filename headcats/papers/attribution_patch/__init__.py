"""Attribution patching: a first-order approximation of denoising patches, from one backward pass."""

from headcats.methods.lazy import declare
from headcats.results.declaration import Declaration, Strength

attribution_patch = declare(
    Declaration(
        name="attribution_patch",
        strength=Strength(),
        caution="an approximation: estimates, no patched effects; name the method to compare it",
        paper="Nanda (2023), Attribution Patching; Kramar et al. (2024), AtP*, arXiv 2403.00745",
        cost="one backward pass per metric and batch",
    ),
    code="headcats.papers.attribution_patch.estimate:AttributionPatch",
)
