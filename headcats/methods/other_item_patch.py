"""Other-item patch: how much of a denoising effect is about the task, whatever the query. A control."""

from headcats.methods.causal import Sources, Tensor, causal_method
from headcats.results.declaration import CONTROL_CAUTION, Declaration


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
        >>> gap = (ds.clean - ds.corrupted).mean("prompt")
        >>> effect = (ds.patched - ds.corrupted).mean("prompt") / gap  # positive: the head helps
        >>> effect.dims, ds.attrs["positions"]
        (('metric', 'layer', 'head'), 'last')

    References:
        Hendel et al. (2023), arXiv 2310.15916, and Todd et al. (2024), arXiv 2310.15213, who move a task between
        queries.
    """
    return sources.other_item
