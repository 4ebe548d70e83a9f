"""Function vectors: heads that carry a task, by what their mean output brings back."""

from headcats.base.registry import public_names
from headcats.methods.causal import Sources, Tensor, causal_method
from headcats.methods.presets import add_preset
from headcats.papers.function_vector.settings import PAPERS_RUN
from headcats.results.declaration import Declaration, Strength

__getattr__, __all__, __dir__ = public_names(__name__, __file__)


@causal_method(
    base="corrupted",
    positions="last",
    references=("task",),
    declares=Declaration(
        strength=Strength("raw", text="raw effect, mean over tasks", metric="prob"),
        paper="Todd et al. (2024), Function Vectors, arXiv 2310.15213",
    ),
)
def function_vector_patch(sources: Sources) -> Tensor:
    """In the corrupted run, set z of one head at the last position to its mean over clean prompts of the same task.

    The causal indirect effect of Todd et al.: `raw = P_patched(answer) - P_corrupted(answer)`, averaged over prompts,
    positive = the head helps. Theirs is the metric `prob` on prompts with shuffled labels, and the raw difference
    (`raw` in `hc.score`, not `effect`, the share of the gap); `function_vector.ranked_heads` ranks by its mean
    over tasks.

    Shuffled labels still show which words answer, so a head that carries no more than that has nothing to restore;
    prompts of another task (`corruption="other_task"`) do not show them.

    The mean is over held-out prompts of the task (100 in a study) whose last token has the role of the scored prompt's
    last token; it knows no item, so only the task can be restored (`other_item_patch` does that with a single prompt).
    On tokens of a script without a reference, it is over the batch's own clean prompts.

    References:
        Todd et al. (2024), Function vectors in large language models, arXiv 2310.15213.

    Example:
        >>> import headcats as hc
        >>> two = ["country_capital", "country_language"]
        >>> (batch,) = hc.task_prompts("mini", "country_capital", suite=two, n_prompts=4)
        >>> ds = hc.methods.function_vector_patch(hc.load_model("mini"), batch, metrics=["prob"])
        >>> raw = (ds.patched - ds.corrupted).mean("prompt")  # a difference of probabilities, positive: the head helps
        >>> raw.dims, ds.attrs["positions"]
        (('metric', 'layer', 'head'), 'last')
    """
    return sources.mean


add_preset(
    "todd2024",
    function_vector_patch.declaration.paper,
    PAPERS_RUN,
    differs="tasks are the suite's, queries answered wrongly count, and shuffling moves every label that it can",
)
