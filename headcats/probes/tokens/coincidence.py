"""Which token roles of a map are the same token in many of its answers, and which lie in the question, in words."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from headcats.formatting import pluralize
from headcats.probes.tokens.roles import AnswerShape
from headcats.probes.tokens.settings import LAST_Q

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
    said = []
    in_question = {}
    if "in_question" in block:
        shares = dict(zip(roles, block["in_question"].values.tolist(), strict=True))
        in_question = {role: share for role, share in shares.items() if role != LAST_Q and share > 0}
    if in_question:
        (first, share), *others = sorted(in_question.items(), key=lambda one: -one[1])
        more = "".join(f", {role} in {_percent(share)}" for role, share in others)
        said.append(f"{first} lies in the question in {_percent(share)} of the answers{more}")
    if "same_position" in block and block["same_position"].dims == _AXES:
        same = block["same_position"]
        # A role that lies in the question is said to do so above, whether or not it is its last token.
        pairs = {
            (one, other): share
            for place, one in enumerate(roles)
            for other in roles[place + 1 :]
            if other in same["other_role"].values
            and (share := float(same.sel(role=one, other_role=other))) > 0
            and not (one == LAST_Q and other in in_question)
        }
        named = sorted(pairs.items(), key=lambda one: -one[1])
        listed = [f"{one} is {other} in {_percent(share)}" for (one, other), share in named[:at_most]]
        if listed:
            of = "" if in_question else " of the answers"
            left = f", and {pluralize(len(named) - at_most, 'more pair')}" if len(named) > at_most else ""
            said.append(f"the same token: {listed[0]}{of}" + "".join(f", {one}" for one in listed[1:]) + left)
    return said


def _percent(share: float) -> str:
    percent = 100 * share
    return "under 1 %" if percent < 0.5 else f"{percent:.0f} %"
