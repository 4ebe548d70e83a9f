from dataclasses import asdict

import pytest

from headcats.base.errors import OptionError
from headcats.papers.function_probe.settings import PRESETS, FunctionProbeSettings


def test_the_paper_preset_holds_the_constants_of_the_specification() -> None:
    # Linear(2d -> 64) shared by heads, Linear(512), ReLU, Dropout .3, AdamW 1e-4, 100 epochs; batch 32 is ours.
    assert asdict(PRESETS["cogmirrors2025"]) == {
        "at": "predicting",
        "top_tokens": 5,
        "projection": 64,
        "hidden": 512,
        "dropout": 0.3,
        "learning_rate": 1e-4,
        "weight_decay": 0.01,
        "epochs": 100,
        "batch_size": 32,
        "folds": 5,
        "least_items": 10,
        "left_out_seeds": 1,
    }


def test_impossible_settings_are_refused() -> None:
    nan = float("nan")
    for name, values in {
        "epochs": (0,), "dropout": (1.0,), "top_tokens": (-1,), "folds": (1,), "least_items": (4,), "at": ("last",),
        "learning_rate": (-1.0, 0.0, nan, float("inf")), "weight_decay": (-0.1, nan),
    }.items():  # fmt: skip
        for value in values:
            with pytest.raises(OptionError, match=name):
                FunctionProbeSettings(**{name: value})
