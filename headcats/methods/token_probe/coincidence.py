"""Which token roles of a map are the same token in many of its answers, and which lie in the question, in words."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from headcats.errors import pluralize
from headcats.methods.token_probe.roles import AnswerShape
from headcats.methods.token_probe.settings import LAST_Q

_AXES = ("role", "other_role")


def role_places(shapes: Sequence[AnswerShape], roles: Sequence[str]) -> dict[str, tuple[tuple[str, ...], np.ndarray]]:
    """Variables of a map that say where its roles fall together.

    Returns:
        `same_position (role, other_role)`: share of the answers in which two roles are one token. `in_question (role)`:
        share of the answers in which the role is a token of the question, last_q included.
    """
    places = np.array([[shape.position(role) for role in roles] for shape in shapes])
    q_lens = np.array([shape.q_len for shape in shapes])
    return {
        "same_position": (_AXES, (places[:, :, None] == places[:, None, :]).mean(0)),
        "in_question": (("role",), (places < q_lens[:, None]).mean(0)),
    }


def coincidences(block: xr.Dataset, *, at_most: int) -> list[str]:
    """Sentences without an end: roles that lie in the question, and roles that are the same token, most often first.

    Args:
        block: A map over token roles; one that does not say where they are gives nothing.
        at_most: Pairs of roles to name; the others are counted.
    """
    roles = [str(role) for role in block["role"].values]
    sentences = []
    in_question = {}
    if "in_question" in block:
        shares = dict(zip(roles, block["in_question"].values.tolist(), strict=True))
        in_question = {role: share for role, share in shares.items() if role != LAST_Q and share > 0}
    if in_question:
        (first, share), *rest = sorted(in_question.items(), key=lambda entry: -entry[1])
        more = "".join(f", {role} in {_percent(share)}" for role, share in rest)
        sentences.append(f"{first} lies in the question in {_percent(share)} of the answers{more}")
    if "same_position" in block and block["same_position"].dims == _AXES:
        same = block["same_position"]
        # A role that lies in the question is said to do so above, whether or not it is its last token.
        pairs = {
            (role, second_role): share
            for place, role in enumerate(roles)
            for second_role in roles[place + 1 :]
            if second_role in same["other_role"].values
            and (share := float(same.sel(role=role, other_role=second_role))) > 0
            and not (role == LAST_Q and second_role in in_question)
        }
        ranked = sorted(pairs.items(), key=lambda entry: -entry[1])
        phrases = [f"{role} is {second_role} in {_percent(share)}" for (role, second_role), share in ranked[:at_most]]
        if phrases:
            of = "" if in_question else " of the answers"
            left = f", and {pluralize(len(ranked) - at_most, 'more pair')}" if len(ranked) > at_most else ""
            sentences.append(
                f"the same token: {phrases[0]}{of}" + "".join(f", {phrase}" for phrase in phrases[1:]) + left
            )
    return sentences


def _percent(share: float) -> str:
    percent = 100 * share
    return "under 1 %" if percent < 0.5 else f"{percent:.0f} %"
