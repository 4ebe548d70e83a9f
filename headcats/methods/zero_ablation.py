"""Zero ablation: what is lost when a head adds nothing. Opt-in: zero is often far from any value the head takes."""

from headcats.methods.causal import Sources, Tensor, causal_method
from headcats.results.declaration import Declaration


@causal_method(
    base="clean",
    positions="all",
    declares=Declaration(
        unprocessed=True, paper="Michel et al. (2019), arXiv 1905.10650; Miller et al. (2024), arXiv 2407.08734"
    ),
)
def zero_ablation(sources: Sources) -> Tensor:
    """In the clean run, set z of one head to 0.

    Effect = (clean - patched) / gap, averaged over prompts. Unlike the other causal methods, it depends on whether
    value biases were folded into the weights (up to 0.45 nats between a processed and a raw GPT-2-like model).

    Example:
        >>> import headcats as hc
        >>> batch = hc.PromptBatch.from_tokens([[0, 10, 3, 11]], [[0, 10, 3, 12]], [20], [21])
        >>> ds = hc.methods.zero_ablation(hc.load_model("mini"), batch)
        >>> ds.patched.dims, ds.attrs["base"], ds.attrs["positions"]
        (('metric', 'prompt', 'layer', 'head'), 'clean', 'all')

    References:
        Michel et al. (2019), arXiv 1905.10650; Miller et al. (2024), arXiv 2407.08734.
    """
    return sources.clean.new_zeros(sources.clean.shape)
