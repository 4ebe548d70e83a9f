"""What stands in words above a map of layers and token roles: its title, its marks, and what its roles are."""

import html
import math
import re
from collections.abc import Sequence

import pandas as pd
import xarray as xr

from headcats.figures.layer_token_scale import QUANTITIES
from headcats.probes.tokens.settings import AFTER, BEFORE, LAST_Q

EXACT = "exact_answer_"
_FROM_THE_END = re.compile(r"-[1-9]\d*")


def title_of(token_map: xr.Dataset, name: str) -> str:
    """What a map of that variable shows; of patches also what was patched, where the table says so."""
    patched = str(token_map.attrs.get("quantity", "")) if name == "effect" else ""
    return QUANTITIES[name].title + (f" ({html.escape(patched, quote=False)})" if patched else "")


def caption(token_map: xr.Dataset, frame: pd.DataFrame, name: str, *, inside: Sequence[str]) -> list[str]:
    """Parts of the caption.

    Args:
        token_map: As `layer_token` takes it.
        frame: The numbers behind the map.
        name: The variable shown.
        inside: Roles inside the rectangle.
    """
    parts = _texts(token_map, name)
    if QUANTITIES[name].scale == "auc":
        parts.append("AUC: how well a probe tells wrong answers from right ones (0.5 not at all, 1 always)")
    if name == "auc" and "task_baseline" in token_map and token_map["task_baseline"].ndim == 0:
        parts.append(f"knowing the task alone: AUC {_with_interval(token_map, 'task_baseline')}")
    if "shuffled" in frame and frame["shuffled"].notna().any():
        parts.append(f"shuffled labels: AUC {frame['shuffled'].min():.3f} to {frame['shuffled'].max():.3f}")
    against = f"{QUANTITIES[name].chance:g}"
    for mark, said in (("above", f"● interval above {against}"), ("below", f"▼ interval below {against}")):
        if (frame["mark"] == mark).any():
            parts.append(said)
    parts += ["○ largest"] + ([f"black rectangle: {_boxed(inside)}"] if inside else [])
    parts += _explained([str(role) for role in token_map["role"].values])
    if frame["value"].isna().any():
        parts.append("× no value")
    return parts


def _texts(token_map: xr.Dataset, name: str) -> list[str]:
    """How many texts the map is made of."""
    if "n" not in token_map or token_map["n"].ndim:
        return []
    n = int(token_map["n"])
    if "n_wrong" in token_map:
        return [f"{n} answers, {int(token_map['n_wrong'])} wrong"]
    return [f"mean over heads and {n} texts"] if name == "attention" else [f"{n} prompts"]


def _boxed(inside: Sequence[str]) -> str:
    if not all(role.startswith(EXACT) for role in inside):
        return html.escape(", ".join(inside), quote=False)
    beside = [said for role, said in ((BEFORE, "the token before it"), (AFTER, "the token after it")) if role in inside]
    return "exact answer" + (f" with {' and '.join(beside)}" if beside else "")


def _explained(roles: Sequence[str]) -> list[str]:
    """What roles mean whose names do not say it."""
    parts = [f"{LAST_Q}: last token of the question"] if LAST_Q in roles else []
    counted = [role for role in roles if _FROM_THE_END.fullmatch(role)]
    if counted:
        named = counted[0] if len(counted) == 1 else f"{counted[0]} … {counted[-1]}"
        parts.append(f"{named}: tokens of the answer counted from its end, -1 is the last")
    return parts


def _with_interval(token_map: xr.Dataset, name: str) -> str:
    low, high = (float(token_map[end]) if end in token_map else math.nan for end in (f"{name}_low", f"{name}_high"))
    interval = "" if math.isnan(low) else f" [{low:.3f}, {high:.3f}]"
    return f"{float(token_map[name]):.3f}{interval}"
