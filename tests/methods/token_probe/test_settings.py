"""Settings of the token probe: what is refused, and one's own in place of a preset."""

import pytest

from headcats.errors import OptionError, UnknownNameError
from headcats.methods.token_probe.settings import PRESETS, TokenProbeSettings, settings_of


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"roles": ()}, "at least one, each named once"),
        ({"roles": ("last_q", "last_q")}, "at least one, each named once"),
        ({"test_share": 1.0}, "test_share of the token probe must be between 0 and 1"),
        ({"penalty_strength": 0.0}, "penalty_strength above 0"),
        ({"min_exact_tokens": 0}, "min_exact_tokens of the token probe must be at least 1; got 0"),
        ({"resamples": 0}, "resamples of the token probe must be at least 1"),
    ],
)
def test_settings_out_of_range(options, message):
    with pytest.raises(OptionError, match=message):
        TokenProbeSettings(**options)


@pytest.mark.parametrize("role", ["lastq", "0", "8", "-0", "exact_answer"])
def test_unknown_roles(role):
    with pytest.raises(UnknownNameError, match="Unknown token role"):
        TokenProbeSettings(roles=("last_q", role))


def test_any_place_from_the_end_is_a_role():
    assert TokenProbeSettings(roles=("-12",)).roles == ("-12",)


def test_a_preset_or_settings_of_ones_own():
    own = TokenProbeSettings(min_class=5)
    assert settings_of(own) is own
    assert settings_of("orgad2025") is PRESETS["orgad2025"]
    with pytest.raises(UnknownNameError, match="orgad2025"):
        settings_of("orgad2024")
