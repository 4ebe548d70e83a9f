"""What stands in words above a map of layers and token roles: its title, its marks, and what its roles are."""

import html
import math
import re
from collections.abc import Sequence

import pandas as pd
import xarray as xr

from headcats.errors import pluralize
from headcats.figures.prompt_roles import explained_prompt_roles
from headcats.methods.token_probe.coincidence import coincidences
from headcats.methods.token_probe.convergence import Probe
from headcats.methods.token_probe.figure_scale import QUANTITIES
from headcats.methods.token_probe.settings import AFTER, BEFORE, LAST_Q

EXACT = "exact_answer_"
# Pairs of roles that the caption names where they are the same token.
_PAIRS = 3
_FROM_THE_END = re.compile(r"-[1-9]\d*")


def title_of(token_map: xr.Dataset, name: str) -> str:
    """What a map of that variable shows, of patches also what was patched, and of which task and model it is.

    Each where the table says so.
    """
    patched = str(token_map.attrs.get("quantity", "")) if name == "effect" else ""
    task, model = (str(token_map.attrs.get(key, "")) for key in ("task", "model"))
    title = QUANTITIES[name].title + (f" ({patched})" if patched else "")
    title += (f", {task}" if task else "") + (f", model {model}" if model else "")
    return html.escape(title, quote=False)


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
    if name == "auc" and "task_baseline" in token_map and _is_number(token_map["task_baseline"]):
        parts.append(f"knowing the task alone: AUC {_with_interval(token_map, 'task_baseline')}")
    if "shuffled" in frame and frame["shuffled"].notna().any():
        parts.append(f"shuffled labels: AUC {frame['shuffled'].min():.3f} to {frame['shuffled'].max():.3f}")
    against = f"{QUANTITIES[name].chance:g}"
    for mark, phrase in (("above", f"● interval above {against}"), ("below", f"▼ interval below {against}")):
        if (frame["mark"] == mark).any():
            parts.append(phrase)
    parts += ["○ largest"] + ([f"rectangle: {_boxed(inside)}"] if inside else [])
    roles = [str(role) for role in token_map["role"].values]
    parts += [*_explained(roles), *explained_prompt_roles(roles)]
    parts += coincidences(token_map, at_most=_PAIRS)
    if frame["value"].isna().any():
        parts.append(_without_value(token_map, frame, name))
    return parts


def _without_value(token_map: xr.Dataset, frame: pd.DataFrame, name: str) -> str:
    failed = set(str(token_map.attrs.get("not_converged", "")).splitlines())
    empty = frame[frame["value"].isna()]
    names = (str(Probe(row.layer, row.role, name.startswith("shuffled"))) for row in empty.itertuples())
    stopped = sum(probe in failed for probe in names) if QUANTITIES[name].scale == "auc" else 0
    if not stopped:
        return "× no value"
    return f"× no value: in {stopped} of {pluralize(len(frame), 'cell')} because the probe did not converge"


def _texts(token_map: xr.Dataset, name: str) -> list[str]:
    """How many texts the map is made of."""
    if "n" not in token_map or token_map["n"].ndim:
        return []
    n = int(token_map["n"])
    if "n_wrong" in token_map:
        return [f"{pluralize(n, 'answer')}, {int(token_map['n_wrong'])} wrong"]
    return [f"mean over heads and {pluralize(n, 'text')}" if name == "attention" else pluralize(n, "prompt")]


def _boxed(inside: Sequence[str]) -> str:
    if not all(role.startswith(EXACT) for role in inside):
        return html.escape(", ".join(inside), quote=False)
    beside = [
        phrase for role, phrase in ((BEFORE, "the token before it"), (AFTER, "the token after it")) if role in inside
    ]
    return "exact answer" + (f" with {' and '.join(beside)}" if beside else "")


def _explained(roles: Sequence[str]) -> list[str]:
    """What roles mean whose names do not say it."""
    parts = [f"{LAST_Q}: last token of the question"] if LAST_Q in roles else []
    last = [role for role in roles if _FROM_THE_END.fullmatch(role)]
    if last:
        span = last[0] if len(last) == 1 else f"{last[0]} … {last[-1]}"
        parts.append(f"{span}: tokens counted from the end of the text, -1 is the last")
    return parts


def _is_number(value: xr.DataArray) -> bool:
    return value.ndim == 0 and bool(value.notnull())


def _with_interval(token_map: xr.Dataset, name: str) -> str:
    low, high = (float(token_map[end]) if end in token_map else math.nan for end in (f"{name}_low", f"{name}_high"))
    interval = "" if math.isnan(low) else f" [{low:.3f}, {high:.3f}]"
    return f"{float(token_map[name]):.3f}{interval}"
