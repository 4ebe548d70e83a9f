"""A map of layers and token roles in words: its quantities, title and caption."""

import html
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
import xarray as xr

from headcats.errors import pluralize
from headcats.methods.token_probe.settings import EXACT_ROLES, LAST_Q
from headcats.methods.token_probe.summary import coincidences, probe_name
from headcats.prompts.role_meanings import explained_prompt_roles

EXACT = "exact_answer_"


@dataclass(frozen=True)
class Quantity:
    """How a variable is shown."""

    label: str
    """Along the colour bar."""
    title: str
    """Of a map without another one."""
    scale: str
    """"auc": Blues from .5 to 1; "signed": red below 0, blue above; "rising": Blues from 0."""
    interval: tuple[str, str] = ("", "")
    """Variables that hold its interval."""
    control: str = ""
    """Variable that holds the same for shuffled labels."""

    @property
    def chance(self) -> float:
        """What its interval is compared with."""
        return 0.5 if self.scale == "auc" else 0.0


_PROBE = "Probe for wrong answers"
_WITHIN, _SHUFFLED = ("within_low", "within_high"), ("shuffled_low", "shuffled_high")
QUANTITIES = {
    "auc": Quantity("ROC-AUC", _PROBE, "auc", ("low", "high"), "shuffled"),
    "within_task": Quantity("ROC-AUC within tasks", f"{_PROBE}, within tasks", "auc", _WITHIN, "shuffled_within"),
    "shuffled": Quantity("ROC-AUC, shuffled labels", f"{_PROBE}, shuffled labels", "auc", _SHUFFLED),
    "effect": Quantity("effect (share of the gap)", "Effect of patching", "signed", ("low", "high")),
    "attention": Quantity("mean attention", "Mean attention from the last token", "rising"),
}


def map_title(token_map: xr.Dataset, name: str) -> str:
    """What a map of that variable shows, what was patched, and the task and model, as far as the table says so."""
    patched = str(token_map.attrs.get("quantity", "")) if name == "effect" else ""
    task, model = (str(token_map.attrs.get(key, "")) for key in ("task", "model"))
    parts = [QUANTITIES[name].title + (f" ({patched})" if patched else ""), task, f"model {model}" if model else ""]
    return html.escape(", ".join(filter(None, parts)), quote=False)


def caption(token_map: xr.Dataset, frame: pd.DataFrame, name: str, *, inside: Sequence[str]) -> list[str]:
    """Parts of the caption of `layer_token`, whose numbers are in `frame`, with the roles `inside` the rectangle."""
    quantity, roles = QUANTITIES[name], [str(role) for role in token_map["role"].values]
    parts = []
    if "n" in token_map and not token_map["n"].ndim:
        n = int(token_map["n"])
        texts = f"mean over heads and {pluralize(n, 'text')}" if name == "attention" else pluralize(n, "prompt")
        wrong = f"{pluralize(n, 'answer')}, {int(token_map['n_wrong'])} wrong" if "n_wrong" in token_map else ""
        parts.append(wrong or texts)
    if quantity.scale == "auc":
        parts.append("AUC: how well a probe tells wrong answers from right ones (0.5 not at all, 1 always)")
    if name == "auc" and "task_baseline" in token_map and not math.isnan(baseline := float(token_map["task_baseline"])):
        ends = [float(token_map[f"task_baseline_{end}"]) for end in ("low", "high") if "task_baseline_low" in token_map]
        parts.append(
            f"knowing the task alone: AUC {baseline:.3f}" + (" [{:.3f}, {:.3f}]".format(*ends) if ends else "")
        )
    if "shuffled" in frame and frame["shuffled"].notna().any():
        parts.append(f"shuffled labels: AUC {frame['shuffled'].min():.3f} to {frame['shuffled'].max():.3f}")
    for mark, symbol in (("above", "●"), ("below", "▼")):
        if (frame["mark"] == mark).any():
            parts.append(f"{symbol} interval {mark} {quantity.chance:g}")
    parts += ["○ largest"] + ([f"rectangle: {_boxed(inside)}"] if inside else [])
    parts += [f"{LAST_Q}: last token of the question"] if LAST_Q in roles else []
    if from_the_end := [role for role in roles if re.fullmatch(r"-[1-9]\d*", role)]:
        span = " … ".join(dict.fromkeys((from_the_end[0], from_the_end[-1])))
        parts.append(f"{span}: tokens counted from the end of the text, -1 is the last")
    parts += [*explained_prompt_roles(roles), *coincidences(token_map, at_most=3)]
    failed = set(str(token_map.attrs.get("not_converged", "")).splitlines())
    empty = frame[frame["value"].isna()] if quantity.scale == "auc" else frame[:0]
    names = {probe_name(row.layer, row.role, shuffled=name == "shuffled") for row in empty.itertuples()}
    if failed & names:
        cells = f"{len(failed & names)} of {pluralize(len(frame), 'cell')}"
        parts.append(f"× no value: in {cells} because the probe did not converge")
    return parts


def _boxed(inside: Sequence[str]) -> str:
    if not all(role.startswith(EXACT) for role in inside):
        return html.escape(", ".join(inside), quote=False)
    neighbours = {EXACT_ROLES[0]: "the token before it", EXACT_ROLES[-1]: "the token after it"}
    beside = [phrase for role, phrase in neighbours.items() if role in inside]
    return "exact answer" + (f" with {' and '.join(beside)}" if beside else "")
