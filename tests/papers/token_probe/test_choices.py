"""Choices of the preset of the authors' code; those of the other one are in tests/methods/test_choices.py."""

from headcats.papers.token_probe.choices import _IN_CODE, CHOICES, CODE_CHOICES
from headcats.papers.token_probe.settings import KEEP, PRESETS


def test_the_preset_of_the_code_has_what_the_code_has() -> None:
    code = PRESETS["orgad2025-code"]
    for choice, of_code in zip(CHOICES, CODE_CHOICES, strict=True):
        assert of_code.paper == choice.paper
        assert bool(of_code.why) != of_code.same
        assert not choice.why.endswith(_IN_CODE) or (choice.field and of_code.same), choice.what
        if choice.field:
            held = getattr(code, choice.field)
            assert of_code.ours == ("kept" if held == KEEP else held)
        else:
            assert of_code == choice
