"""What a token probe is made of: roles of tokens, representations, and every constant of a preset."""

from dataclasses import dataclass

LAST_Q, FIRST_ANSWER, SECOND_ANSWER = "last_q", "first_answer", "second_answer"
BEFORE, FIRST, LAST, AFTER = (
    "exact_answer_before_first",
    "exact_answer_first",
    "exact_answer_last",
    "exact_answer_after_last",
)
EXACT_ROLES = (BEFORE, FIRST, LAST, AFTER)
NAMED_ROLES = (LAST_Q, FIRST_ANSWER, SECOND_ANSWER, *EXACT_ROLES)
FROM_THE_END = tuple(str(place) for place in range(-8, 0))

REPRESENTATIONS = {
    "mlp_post": "mlp.hook_post",
    "mlp_out": "hook_mlp_out",
    "resid_post": "hook_resid_post",
    "head_z": "attn.hook_z",
}
"""Short name -> hook inside a block: what the MLP feeds its down projection (the default), what it adds to the residual
stream, the residual stream after the block, and the outputs of all heads of the layer side by side.

Both model classes have all four, with the same values."""


@dataclass(frozen=True)
class TokenProbeSettings:
    """Every constant of a token probe. The first four are the paper's; it leaves the others open."""

    roles: tuple[str, ...] = (*NAMED_ROLES, *FROM_THE_END)
    """Token roles in the order of the map; "-8" is the eighth token from the end."""
    test_share: float = 0.2
    """Share of the query items that are held out."""
    min_answer_tokens: int = 5
    """Shorter answers are left out: roles would coincide."""
    min_exact_tokens: int = 2
    """Likewise for the exact answer, which must also stand inside: a token of the answer before it and one after it."""
    penalty_strength: float = 1.0
    """Inverse strength of the probe's L2 penalty on standardised features (scikit-learn's `C` and its default)."""
    max_iter: int = 1000
    """Steps of the solver (lbfgs) after which a probe counts as not converged."""
    max_new_tokens: int = 64
    """Longest answer; one that is cut there, or where the model's context ends, is kept and counted."""
    min_class: int = 20
    """With fewer right or fewer wrong answers there is nothing to predict."""
    resamples: int = 2000
    """Bootstrap draws of test items behind every interval."""


PRESETS = {"orgad2025": TokenProbeSettings()}
"""`orgad2025`: Orgad et al. (2025), arXiv 2410.02707."""
