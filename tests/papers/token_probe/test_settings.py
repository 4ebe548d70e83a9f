"""Settings of the token probe: what is refused, and one's own in place of a preset."""

import pytest

from headcats.base.errors import OptionError, UnknownNameError
from headcats.papers.token_probe.settings import PRESETS, REPRESENTATIONS, TokenProbeSettings

PAPER = PRESETS["orgad2025"]


def test_settings_out_of_range() -> None:
    for name, value, message in (
        ("roles", (), "named once"),
        ("roles", ("last_q", "last_q"), "named once"),
        ("test_share", 1.0, "test_share"),
        ("penalty_strength", 0.0, "penalty_strength above 0"),
        ("min_exact_tokens", 0, "min_exact_tokens .* got 0"),
        ("resamples", 0, "resamples"),
    ):
        with pytest.raises(OptionError, match=message):
            TokenProbeSettings(**{name: value})
    for name in ("features", "coinciding", "stop_token", "unconverged"):
        with pytest.raises(UnknownNameError, match=f"{name} 'rav'"):
            TokenProbeSettings(**{name: "rav"})


def test_unknown_roles() -> None:
    for role in ("lastq", "0", "8", "-0", "exact_answer", 3):
        with pytest.raises(UnknownNameError, match=rf"role '?{role}"):
            TokenProbeSettings(roles=("last_q", role))
    assert TokenProbeSettings(roles=("-12",)).roles == ("-12",)


def test_the_paper_preset_is_the_one_of_the_method() -> None:
    # Section 5: roles, 80/20 split, answers of >= 5 tokens with an exact answer of >= 2 inside, MLP activations first.
    assert PAPER.roles == (
        "last_q", "first_answer", "second_answer", "exact_answer_before_first", "exact_answer_first",
        "exact_answer_last", "exact_answer_after_last", "-8", "-7", "-6", "-5", "-4", "-3", "-2", "-1",
    )  # fmt: skip
    assert (PAPER.test_share, PAPER.min_answer_tokens, PAPER.min_exact_tokens) == (0.2, 5, 2)
    assert next(iter(REPRESENTATIONS.items())) == ("mlp_post", "mlp.hook_post")
    assert set(REPRESENTATIONS.values()) == {"mlp.hook_post", "hook_mlp_out", "hook_resid_post", "attn.hook_z"}
    # What the paper leaves open, declared.
    rest = (PAPER.penalty_strength, PAPER.max_iter, PAPER.max_new_tokens, PAPER.min_class, PAPER.resamples)
    assert rest == (1.0, 1000, 64, 20, 2000)


def test_the_preset_of_the_code() -> None:
    code = PRESETS["orgad2025-code"]
    assert (code.min_answer_tokens, code.min_exact_tokens, code.coinciding, code.stop_token) == (1, 1, "keep", "keep")
    assert (code.features, code.penalty_strength, code.max_iter, code.unconverged) == ("raw", 1.0, 100, "keep")
    assert (code.max_new_tokens, code.test_share, code.roles) == (100, 0.2, PAPER.roles)
    assert (PAPER.features, PAPER.coinciding, PAPER.stop_token, PAPER.unconverged) == (
        "standardised", "leave_out", "leave_out", "leave_out",
    )  # fmt: skip
