"""Denoising patch: which heads are sufficient to bring the clean answer back."""

from headcats.methods.causal import Sources, Tensor, causal_method
from headcats.results.declaration import Declaration


@causal_method(
    base="corrupted",
    positions="last",
    keeps_agreement=True,
    declares=Declaration(
        default=1, paper="Zhang & Nanda (2024), arXiv 2309.16042; Heimersheim & Nanda (2024), arXiv 2404.15255"
    ),
)
def denoising_patch(sources: Sources) -> Tensor:
    """In the corrupted run, set z of one head to its clean value.

    Effect = (patched - corrupted) / gap, averaged over prompts: 1 where the head alone restores the clean answer, 0
    where it does nothing, below 0 where its clean value hurts.

    Example:
        >>> import headcats as hc
        >>> two = ["country_capital", "country_language"]
        >>> (batch,) = hc.task_prompts("mini", "country_capital", suite=two, n_prompts=4)
        >>> ds = hc.methods.denoising_patch(hc.load_model("mini"), batch)
        >>> gap = (ds.clean - ds.corrupted).mean("prompt")
        >>> effect = (ds.patched - ds.corrupted).mean("prompt") / gap  # positive: the head helps
        >>> effect.dims, ds.attrs["positions"]
        (('metric', 'layer', 'head'), 'last')

    References:
        Heimersheim & Nanda (2024), arXiv 2404.15255; Zhang & Nanda (2024), arXiv 2309.16042.
    """
    return sources.clean
