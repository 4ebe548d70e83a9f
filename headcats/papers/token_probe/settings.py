"""Settings of the token probe: token roles, representations, and the constants of a preset."""

import re
from dataclasses import dataclass

from headcats.base.errors import OptionError, UnknownNameError, unknown_name_message
from headcats.papers.settings import check_at_least

LAST_Q = "last_q"
EXACT_ROLES = ("exact_answer_before_first", "exact_answer_first", "exact_answer_last", "exact_answer_after_last")
NAMED_ROLES = (LAST_Q, "first_answer", "second_answer", *EXACT_ROLES)
FROM_THE_END = tuple(str(place) for place in range(-8, 0))

REPRESENTATIONS = {
    "mlp_post": "mlp.hook_post",
    "mlp_out": "hook_mlp_out",
    "resid_post": "hook_resid_post",
    "head_z": "attn.hook_z",
}
"""Short name -> hook inside a block: MLP activations before the down projection (the default), what the MLP adds to the
residual stream, the residual stream after the block, and the outputs of all heads of the layer."""

FEATURES = ("standardised", "raw")
LEAVE_OUT, KEEP = "leave_out", "keep"
KEEP_OR_NOT = (LEAVE_OUT, KEEP)


@dataclass(frozen=True)
class TokenProbeSettings:
    """Every constant of a token probe; docs/papers.toml has each beside the paper's.

    Attributes:
        roles: Token roles in the order of the map; "-8" is the eighth token from the end.
        test_share: Share of the query items that are held out, in (0, 1).
        min_answer_tokens: Answers with fewer tokens are left out, because their roles would coincide.
        min_exact_tokens: Likewise for the exact answer, which must also have a token of the answer on either side.
        coinciding: "leave_out": answers that are too short for that; "keep": all in which every role has a token.
        stop_token: "leave_out": the text ends with the answer; "keep": with the token that ended it, such as end of
            text, so that -1 is that token.
        features: "standardised" by mean and spread of the training answers, or "raw": activations as they are.
        penalty_strength: Inverse strength of the L2 penalty on the features (scikit-learn's `C`, its default).
        max_iter: Steps of the solver (lbfgs) after which a probe counts as not converged.
        unconverged: "leave_out": such a probe has no value; "keep": it is judged as it is, and named all the same.
        max_new_tokens: Limit of an answer; one that is cut there, or at the end of the context, is kept and counted.
        min_class: Right answers, and wrong ones, that a probe needs at least.
        resamples: Bootstrap draws of test items behind every interval.

    Raises:
        OptionError: No role, a role twice, or a number out of range.
        UnknownNameError: A role that does not exist, or another name for one of the named options.

    Example:
        >>> import headcats as hc
        >>> roles = ("last_q", "exact_answer_last", "-1")
        >>> hc.papers.token_probe.TokenProbeSettings(roles=roles, resamples=200).test_share
        0.2

    References:
        Orgad et al. (2025), LLMs Know More Than They Show, arXiv 2410.02707.
    """

    roles: tuple[str, ...] = (*NAMED_ROLES, *FROM_THE_END)
    test_share: float = 0.2
    min_answer_tokens: int = 5
    min_exact_tokens: int = 2
    coinciding: str = LEAVE_OUT
    stop_token: str = LEAVE_OUT
    features: str = "standardised"
    penalty_strength: float = 1.0
    max_iter: int = 1000
    unconverged: str = LEAVE_OUT
    max_new_tokens: int = 64
    min_class: int = 20
    resamples: int = 2000

    def __post_init__(self) -> None:
        if not self.roles or len(set(self.roles)) < len(self.roles):
            raise OptionError(f"roles of the token probe must be at least one, each named once; got {self.roles}.")
        for role in self.roles:
            if role not in NAMED_ROLES and not re.fullmatch(r"-[1-9]\d*", str(role)):
                raise UnknownNameError(unknown_name_message("token role", str(role), (*NAMED_ROLES, *FROM_THE_END)))
        named = {"coinciding": KEEP_OR_NOT, "stop_token": KEEP_OR_NOT, "unconverged": KEEP_OR_NOT, "features": FEATURES}
        for name, known in named.items():
            if getattr(self, name) not in known:
                raise UnknownNameError(unknown_name_message(f"{name} of the token probe", getattr(self, name), known))
        if not 0 < self.test_share < 1 or not self.penalty_strength > 0:
            raise OptionError(
                "test_share of the token probe must be between 0 and 1, and penalty_strength above 0; got "
                f"{self.test_share} and {self.penalty_strength}."
            )
        counts = ("min_answer_tokens", "min_exact_tokens", "max_iter", "max_new_tokens", "min_class", "resamples")
        check_at_least(1, self, *counts, of="the token probe")


PRESETS = {
    "orgad2025": TokenProbeSettings(),
    "orgad2025-code": TokenProbeSettings(
        min_answer_tokens=1,
        min_exact_tokens=1,
        coinciding=KEEP,
        stop_token=KEEP,
        features="raw",
        max_iter=100,
        unconverged=KEEP,
        max_new_tokens=100,
    ),
}
"""`orgad2025`: Orgad et al. (2025), arXiv 2410.02707, where roles are apart and probes converge; `orgad2025-code`: all
answers and probes, as the authors' code has them."""
