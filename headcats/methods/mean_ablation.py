"""Mean ablation: what is lost when a head says the same thing on every prompt."""

from torch import Tensor

from headcats.methods.causal import causal_method
from headcats.sweeps.intervention import Sources


@causal_method(base="clean", positions="all", references=("suite", "task", "corrupted"))
def mean_ablation(sources: Sources) -> Tensor:
    """In the clean run, set z of one head to its mean over held-out reference prompts, token role by token role.

    Effect = (clean - patched) / gap, averaged over prompts. Which mean decides what is measured: `reference="suite"`
    (all tasks of the suite, equal weight) removes what the head says about the task; `"task"` (this task's clean
    prompts) removes only what it says about the item, and is blind to task recognition; `"corrupted"` takes this task's
    corrupted prompts.

    References:
        Wang et al. (2022), arXiv 2211.00593; Miller et al. (2024), arXiv 2407.08734.
    """
    return sources.mean
