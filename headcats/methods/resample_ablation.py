"""Resample ablation: what is lost when a head writes what it writes on a prompt of another task."""

from headcats.methods.causal import Sources, Tensor, causal_method
from headcats.results.declaration import Declaration


@causal_method(
    base="clean",
    positions="all",
    references=("other_tasks",),
    declares=Declaration(paper="Chan et al. (2022), Causal Scrubbing; Miller et al. (2024), arXiv 2407.08734"),
)
def resample_ablation(sources: Sources) -> Tensor:
    """In the clean run, set z of one head to its value on a seeded held-out prompt of another task, at the same token
    roles; at the last position, at its last token.

    Effect = (clean - patched) / gap, averaged over prompts. Unlike a mean, the replacement is a value the head takes.

    Example:
        >>> import headcats as hc
        >>> two = ["country_capital", "country_language"]
        >>> (batch,) = hc.task_prompts("mini", "country_capital", suite=two, n_prompts=4)
        >>> ds = hc.methods.resample_ablation(hc.load_model("mini"), batch)
        >>> gap = (ds.clean - ds.corrupted).mean("prompt")
        >>> effect = (ds.clean - ds.patched).mean("prompt") / gap  # positive: the head helps
        >>> effect.dims, ds.attrs["positions"]
        (('metric', 'layer', 'head'), 'all')

    References:
        Chan et al. (2022), Causal scrubbing; Miller et al. (2024), arXiv 2407.08734.
    """
    return sources.resampled
