"""Noising patch: which heads are necessary for the clean answer."""

from headcats.methods.causal import Sources, Tensor, causal_method
from headcats.results.declaration import Declaration


@causal_method(
    base="clean",
    positions="last",
    keeps_agreement=True,
    declares=Declaration(paper="Heimersheim & Nanda (2024), arXiv 2404.15255"),
)
def noising_patch(sources: Sources) -> Tensor:
    """In the clean run, set z of one head to its corrupted value.

    Effect = (clean - patched) / gap, averaged over prompts: 1 where the head alone destroys the clean answer. Other
    heads can compensate for a replaced one (Rushing & Nanda 2024, arXiv 2402.15390), so a small effect does not mean
    that the head is unused.

    Example:
        >>> import headcats as hc
        >>> batch = hc.PromptBatch.from_tokens([[0, 10, 3, 11]], [[0, 10, 3, 12]], [20], [21])
        >>> ds = hc.methods.noising_patch(hc.load_model("mini"), batch)
        >>> ds.patched.dims, ds.attrs["base"], ds.attrs["positions"]
        (('metric', 'prompt', 'layer', 'head'), 'clean', 'last')

    References:
        Heimersheim & Nanda (2024), arXiv 2404.15255.
    """
    return sources.corrupted
