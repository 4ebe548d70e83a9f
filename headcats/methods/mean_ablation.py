"""Mean ablation: what is lost when a head writes the same on every prompt."""

from headcats.methods.causal import Sources, Tensor, causal_method
from headcats.results.declaration import Declaration


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
