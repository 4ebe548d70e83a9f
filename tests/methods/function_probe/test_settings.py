from dataclasses import asdict

import pytest

from headcats.errors import OptionError, UnknownNameError
from headcats.methods.function_probe.names import function_name, in_order
from headcats.methods.function_probe.settings import PRESETS, FunctionProbeSettings, settings_of
from headcats.tasks.cognitive import FUNCTIONS


def test_the_paper_preset_holds_the_constants_of_the_specification() -> None:
    # Linear(2d -> 64) shared by heads, Linear(512), ReLU, Dropout .3, AdamW 1e-4, 100 epochs; batch 32 is ours.
    assert asdict(PRESETS["cogmirrors2025"]) == {
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


def test_the_eight_functions_stand_in_the_order_of_the_figure() -> None:
    assert FUNCTIONS[:4] == ("Knowledge Recall", "Retrieval", "Logical Reasoning", "Decision-making")
    assert FUNCTIONS[4:] == ("Semantic Understanding", "Syntactic Understanding", "Inference", "Math Calculation")


@pytest.mark.parametrize("text", ["Decision-making", "decision making", " DECISION_MAKING ", "DecisionMaking"])
def test_case_spaces_hyphens_and_underscores_make_no_difference(text: str) -> None:
    assert function_name(text) == "Decision-making"


def test_an_unknown_skill_is_refused_with_its_near_matches() -> None:
    with pytest.raises(UnknownNameError, match="mean 'Math Calculation'"):
        function_name("Math Calculus")


def test_other_functions_come_after_those_of_the_scheme() -> None:
    assert in_order({"Translation", "Retrieval", "Knowledge Recall", "Algorithmic"}) == (
        "Knowledge Recall",
        "Retrieval",
        "Algorithmic",
        "Translation",
    )


def test_unknown_presets_and_impossible_settings_are_refused() -> None:
    own = FunctionProbeSettings(epochs=3)
    assert settings_of(own) is own
    with pytest.raises(UnknownNameError, match="cogmirrors2025"):
        settings_of("cogmirrors2024")
    for wrong in ({"epochs": 0}, {"dropout": 1.0}, {"top_tokens": -1}, {"folds": 1}, {"least_items": 4}):
        with pytest.raises(OptionError, match=next(iter(wrong))):
            FunctionProbeSettings(**wrong)
    for wrong in (
        {"learning_rate": -1.0},
        {"learning_rate": 0.0},
        {"learning_rate": float("nan")},
        {"learning_rate": float("inf")},
        {"weight_decay": -0.1},
        {"weight_decay": float("nan")},
    ):
        with pytest.raises(OptionError, match=f"{next(iter(wrong))} .*got"):
            FunctionProbeSettings(**wrong)
