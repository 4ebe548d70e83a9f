"""Rows of choices: constants are those that run."""

from dataclasses import asdict

from headcats import registry
from headcats.methods.head_gating.choices import CHOICES, SMALL_CHOICES, choices
from headcats.methods.head_gating.settings import GatingSettings


def test_every_constant_of_the_settings_is_in_a_row() -> None:
    """Each changed by itself changes the rows."""
    other = {"first_rates": (0.2, 0.1), "later_rates": (0.2, 0.1), "held_out": 0.3}
    for name, value in asdict(GatingSettings()).items():
        changed = GatingSettings(**{name: other.get(name, 2 * value)})
        assert [row.ours for row in choices(changed)] != [row.ours for row in CHOICES], name


def test_the_small_preset_differs_in_batches_and_updates_alone() -> None:
    differing = [small.what for small, row in zip(SMALL_CHOICES, CHOICES, strict=True) if small.ours != row.ours]
    assert len(differing) == 4
    assert all("per update" in what or "updates" in what for what in differing)
    assert "texts per update: 32, not 64" in registry.lookup("preset", "chg-mini").__doc__
    assert "texts per update:" not in registry.lookup("preset", "chg2025").__doc__
