"""Small pictures of the counting model, whose head L0H0 gives every token it sees the same weight."""

import base64

import numpy as np
from reports.attention.test_examples import HEADS, prompts

from headcats.models.adapter import HookedModel
from headcats.reports.attention.examples import examples
from headcats.reports.attention.thumbnails import thumbnails


def test_a_thumbnail_holds_the_pattern_and_where_the_last_token_looks(model: HookedModel) -> None:
    (example,) = examples(model, [prompts(["w40"])], HEADS, n=1)
    small = thumbnails(example, HEADS)
    assert list(small) == ["L0H0", "L1H3"]
    about = small["L0H0"]
    assert (about["task"], about["item"]) == ("always_a", example.item)
    for side, shown in ((example.clean, about["clean"]), (example.corrupted, about["corrupted"])):
        n = len(side.tokens)
        shades = np.frombuffer(base64.b64decode(shown["shades"]), np.uint8).reshape(n, n)
        assert shown["n"] == n
        assert (np.triu(shades, 1) == 0).all()
        assert shades[0, 0] == 255
        # Eleven tokens with the same weight: the first three of them, each with a rounded eleventh.
        assert shown["from"] == side.tokens[-1]
        assert shown["looks"] == [
            [f"{token} ({role})", 0.09] for token, role in list(zip(side.tokens, side.roles, strict=True))[:3]
        ]
