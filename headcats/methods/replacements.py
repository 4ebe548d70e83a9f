"""Methods that replace z of one head: patches from the other run, ablations, and the two controls of denoising.

Denoising asks which heads suffice to bring the clean answer back, noising which are necessary for it; ablations ask
what is lost when a head writes its mean, a sample of another task, or nothing.
"""

from headcats.methods.causal import Sources, Tensor, causal_method
from headcats.results.declaration import CONTROL_CAUTION, Declaration


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


@causal_method(
    base="clean",
    positions="all",
    references=("suite", "task", "corrupted"),
    declares=Declaration(
        default=4, paper="Wang et al. (2022), IOI, arXiv 2211.00593; Miller et al. (2024), arXiv 2407.08734"
    ),
)
def mean_ablation(sources: Sources) -> Tensor:
    """In the clean run, set z of one head to its mean over held-out reference prompts, token role by token role.

    Effect = (clean - patched) / gap, averaged over prompts. The reference decides what is removed: `"suite"` (all tasks
    of the suite, equal weight) removes what the head says about the task; `"task"` (this task's clean prompts) only
    what it says about the item, so it is blind to task recognition; `"corrupted"` takes this task's corrupted prompts.
    At the last position it is the mean over their last tokens, whatever their lengths and roles.

    Example:
        >>> import headcats as hc
        >>> two = ["country_capital", "country_language"]
        >>> (batch,) = hc.task_prompts("mini", "country_capital", suite=two, n_prompts=4)
        >>> ds = hc.methods.mean_ablation(hc.load_model("mini"), batch)
        >>> gap = (ds.clean - ds.corrupted).mean("prompt")
        >>> effect = (ds.clean - ds.patched).mean("prompt") / gap  # positive: the head helps
        >>> effect.dims, ds.attrs["positions"]
        (('metric', 'layer', 'head'), 'all')

    References:
        Wang et al. (2022), arXiv 2211.00593; Miller et al. (2024), arXiv 2407.08734.
    """
    return sources.mean


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


@causal_method(
    base="corrupted",
    positions="last",
    references=("other_items",),
    declares=Declaration(
        default=3,
        control_of="denoising_patch",
        control="item",
        caution=CONTROL_CAUTION,
        paper="Hendel et al. (2023), arXiv 2310.15916; Todd et al. (2024), Function Vectors, arXiv 2310.15213",
    ),
)
def other_item_patch(sources: Sources) -> Tensor:
    """In the corrupted run, set z of one head to its value in a clean prompt of the same task with another query.

    Effect = (patched - corrupted) / gap, averaged over prompts. The donor is a seeded held-out prompt of the task with
    another query item, read at its last token, at other positions at the same token roles; on tokens of a script,
    another prompt of the batch. It shares the task and not the item: the effect that remains (positive = helps) is not
    about the item, and denoising_patch minus this is the part that is.

    A control of denoising_patch, not a null: it carries the task, so its map closely resembles that of denoising where
    heads identify the task. A head that moves the answer itself gets a negative part, because the donor has another
    answer. Prompts that no donor matches are left out and counted (`dropped`).

    Example:
        >>> import headcats as hc
        >>> two = ["country_capital", "country_language"]
        >>> (batch,) = hc.task_prompts("mini", "country_capital", suite=two, n_prompts=4)
        >>> ds = hc.methods.other_item_patch(hc.load_model("mini"), batch)
        >>> ds.patched.dims, ds.attrs["positions"]
        (('metric', 'prompt', 'layer', 'head'), 'last')

    References:
        Hendel et al. (2023), arXiv 2310.15916, and Todd et al. (2024), arXiv 2310.15213, who move a task between
        queries.
    """
    return sources.other_item


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
        >>> ds.patched.dims, ds.attrs["positions"]
        (('metric', 'prompt', 'layer', 'head'), 'all')

    References:
        Chan et al. (2022), Causal scrubbing; Miller et al. (2024), arXiv 2407.08734.
    """
    return sources.resampled


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
