"""Second-corruption patch: how much of a denoising effect comes from removing the wrong task. A control."""

from headcats.methods.causal import Sources, Tensor, causal_method
from headcats.results.declaration import CONTROL_CAUTION, Declaration


@causal_method(
    base="corrupted",
    positions="last",
    keeps_agreement=True,
    uses_second=True,
    declares=Declaration(
        default=2,
        control_of="denoising_patch",
        control="task",
        caution=CONTROL_CAUTION,
        paper="headcats' own; after Zhang & Nanda (2024), arXiv 2309.16042, and Min et al. (2022), arXiv 2202.12837",
    ),
)
def second_corruption_patch(sources: Sources) -> Tensor:
    """In the corrupted run, set z of one head to its value in a second, independent corruption of the same query.

    Effect = (patched - corrupted) / gap, averaged over prompts; the gap is that of the task, as for denoising_patch.
    The donor shows another wrong task, or words that another task gives for other inputs (`second_task (prompt)` names
    it; see `headcats.prompts.corruption`), so it knows no more of the right answer than the corrupted prompt
    does. Any remaining effect comes from removing the first wrong task.

    A control of denoising_patch: denoising minus this, prompt by prompt, is the part that needs the right task. Two
    wrong tasks may share more with each other than with the right one, or the reverse, which makes that part uncertain:
    look at several `second_task`. If the study permutes labels, the donor is permuted too ("shuffled_labels") and still
    shows which words answer, so the part that needs the right task is a lower bound. Prompts without a second
    corruption are left out and counted (`dropped`); a task without any is skipped.

    Example:
        >>> import headcats as hc
        >>> tokens, corrupted, second = [[0, 10, 3, 11]], [[0, 10, 3, 12]], [[0, 10, 3, 13]]
        >>> batch = hc.PromptBatch.from_tokens(tokens, corrupted, [20], [21], second=second)
        >>> ds = hc.methods.second_corruption_patch(hc.load_model("mini"), batch)
        >>> ds.patched.dims, ds.attrs["base"], ds.attrs["positions"]
        (('metric', 'prompt', 'layer', 'head'), 'corrupted', 'last')

    References:
        Zhang & Nanda (2024), arXiv 2309.16042, on what the corrupted prompt puts in; Min et al. (2022), arXiv
        2202.12837, on what permuted labels leave. The control is this project's.
    """
    return sources.second
