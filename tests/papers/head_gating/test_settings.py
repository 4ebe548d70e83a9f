"""Every constant as the paper has it (methods.md, section 3)."""

from dataclasses import asdict

import pytest

from headcats.base.errors import OptionError
from headcats.papers.head_gating.settings import PRESETS, STAGES, GatingSettings

PAPER = {
    "batch": 64,
    "updates": 500,
    "first_rates": (0.1, 0.01),
    "later_rates": (0.5, 0.1),
    "push": 0.1,
    "clamp": 4.0,
    "max_norm": 1.0,
    "n_texts": 2048,
    "held_out": 0.125,
}


def test_the_papers_constants() -> None:
    assert asdict(PRESETS["chg2025"]) == PAPER
    assert next(iter(PRESETS)) == "chg2025"


def test_the_small_preset_differs_in_batch_and_updates_alone() -> None:
    assert asdict(PRESETS["chg-mini"]) == {**PAPER, "batch": 32, "updates": 150}


def test_stages_push_nowhere_then_up_then_down() -> None:
    stages = GatingSettings().stages
    assert [tuple(stage) for stage in stages] == [
        ("g0", 0.0, (0.1, 0.01)), ("g_plus", 0.1, (0.5, 0.1)), ("g_minus", -0.1, (0.5, 0.1)),
    ]  # fmt: skip
    assert tuple(stage.name for stage in stages) == STAGES


def test_learning_rates_fall_along_a_line() -> None:
    settings = GatingSettings()
    assert settings.rate(0, (0.1, 0.01)) == 0.1
    assert settings.rate(499, (0.1, 0.01)) == pytest.approx(0.01)
    assert settings.rate(250, (0.5, 0.1)) == pytest.approx(0.5 - 0.4 * 250 / 499)
    assert GatingSettings(updates=1).rate(0, (0.5, 0.1)) == 0.5


def test_constants_that_no_fit_can_be_made_with() -> None:
    nan, inf = float("nan"), float("inf")
    for name, values in {
        "batch": (0,), "updates": (0,), "n_texts": (0,), "held_out": (1.0,), "push": (0.0, nan),
        "max_norm": (nan, inf), "clamp": (inf,), "first_rates": ((0.1, -0.1), (inf, 1.0)), "later_rates": ((0.5, nan),),
    }.items():  # fmt: skip
        for value in values:
            with pytest.raises(OptionError, match="must be"):
                GatingSettings(**{name: value})
