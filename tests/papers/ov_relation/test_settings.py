"""Constants of the paper, pinned."""

from dataclasses import asdict

import pytest

from headcats.base.errors import OptionError
from headcats.papers.ov_relation.settings import PRESETS, RelationSettings, settings_of

PAPER = {
    "k": 10,
    "copying_k": 1,
    "first_mlp": True,
    "min_pairs": 30,
    "threshold": 0.15,
    "permutations": 200,
    "null_percentile": 99.9,
    "templates": (
        "No <X> means no",
        "The story of <X> contains",
        "This is a document about <X>",
        "When I think about <X> I think about",
    ),
}


def test_presets_hold_the_numbers_of_the_paper():
    assert list(PRESETS) == ["maps2025", "maps2025-llama3", "maps2025-llama3-70b"]
    assert asdict(PRESETS["maps2025"]) == PAPER
    assert asdict(PRESETS["maps2025-llama3"]) == PAPER | {"k": 25, "copying_k": 3}
    assert asdict(PRESETS["maps2025-llama3-70b"]) == PAPER | {"k": 25, "copying_k": 3, "first_mlp": False}


def test_the_first_mlp_can_be_switched():
    assert settings_of("maps2025", first_mlp="off") == RelationSettings(first_mlp=False)
    assert settings_of("maps2025-llama3-70b", first_mlp="on").first_mlp
    assert not settings_of("maps2025-llama3-70b").first_mlp
    assert settings_of(RelationSettings(k=3)).k == 3


def test_what_does_not_exist_is_refused():
    with pytest.raises(OptionError, match=r"k must .* got 0"):
        RelationSettings(k=0)
    with pytest.raises(OptionError, match="threshold"):
        RelationSettings(threshold=0.0)
