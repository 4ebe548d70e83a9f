"""What a token map says, in sentences."""

import json
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import pandas as pd
import xarray as xr

from headcats.base.errors import pluralize
from headcats.papers.token_probe.settings import KEEP, LAST_Q

RAISE_MAX_ITER = "Raise max_iter above {} (token_probe:max_iter=..., or max_iter= in a call)."
# Roles of prompts of a template, without the number of the demonstration.
_OF_DEMONSTRATIONS = {
    "before": "text in front of a demonstration",
    "x": "input of a demonstration",
    "between": "text between its input and output",
    "y": "output of a demonstration",
    "after": "text behind it",
}
_BOUNDARIES = {
    "bos": "start of the text",
    "start": "text in front of a conversation, such as a system message",
    "other": "text of no role",
}
_WITHOUT_NUMBER = {
    "before_query": "text in front of the query",
    "x_query": "the query, whose output is asked for",
    "between_query": "text behind the query, where the answer is read",
    "answer_start": "tokens with which answer and distractor both begin",
    **_BOUNDARIES,
}


def summary(block: xr.Dataset) -> list[str]:
    """Sentences on what `token_probe` returns: best cell, what the task alone gives, controls, what was left out."""
    n, n_test, attrs = int(block.n), int(block.n_test), block.attrs
    judged_on = f"probed on {attrs['hook']}, judged on {n_test} answers to other items"
    sentences = [f"{n} answers, {100 * int(block.n_wrong) / n:.0f} % of them wrong; {judged_on}."]
    shares = pd.Series(block.wrong.values).groupby(block.task.values.astype(str), sort=False).mean()
    if len(shares) > 1:
        sentences.append(
            f"Wrong by task: {', '.join(f'{task} {100 * share:.0f} %' for task, share in shares.items())}."
        )
    if np.isfinite(block.auc.values).any():
        sentences += [_best(block), *_controls(block)]
    if int(block.n_left_out):
        sentences.append(f"Questions: {attrs['left_out']}.")
    if skipped := str(attrs.get("tasks_without_exact", "")):
        sentences.append(f"Tasks that do not say how the exact answer is found: {', '.join(skipped.splitlines())}.")
    if one_class := str(attrs["tasks_of_one_class"]):
        sentences.append(f"Held-out answers all right or all wrong, so no pairs: {', '.join(one_class.splitlines())}.")
    if int(block.n_cut):
        sentences.append(f"Answers cut at the limit: {int(block.n_cut)}.")
    sentences += [f"{phrase[0].upper()}{phrase[1:]}." for phrase in coincidences(block, at_most=8)]
    return [*sentences, *filter(None, [not_converged(block)])]


def coincidences(block: xr.Dataset, *, at_most: int) -> list[str]:
    """Roles that lie in the question, and pairs of roles at the same token, most often first, if the map says so."""
    roles, phrases = [str(role) for role in block["role"].values], []
    early: dict[str, float] = {}
    if "in_question" in block:
        shares = dict(zip(roles, block["in_question"].values.tolist(), strict=True))
        early = {role: share for role, share in shares.items() if role != LAST_Q and share > 0}
        phrases += _ranked("in the question", early, at_most=len(early))
    if "same_position" in block and set(block["same_position"].dims) == {"role", "other_role"}:
        same = block["same_position"]
        # A role in the question is named above, whether or not it is its last token.
        pairs = {
            f"{first} is {second}": float(same.sel(role=first, other_role=second))
            for first, second in combinations(roles, 2)
            if second in same["other_role"].values and not (first == LAST_Q and second in early)
        }
        phrases += _ranked("the same token", {pair: share for pair, share in pairs.items() if share}, at_most=at_most)
    return phrases


def _ranked(title: str, shares: Mapping[str, float], *, at_most: int) -> list[str]:
    """One phrase with the largest shares of answers, or none."""
    ranked = sorted(shares.items(), key=lambda entry: -entry[1])
    percents = ["under 1 %" if share < 0.005 else f"{100 * share:.0f} %" for _, share in ranked]
    parts = [f"{name} in {percent}" for (name, _), percent in zip(ranked, percents, strict=True)][:at_most]
    parts[:1] = [f"{parts[0]} of the answers"] if parts else []
    parts += [f"and {pluralize(len(ranked) - at_most, 'more pair')}"] if len(ranked) > at_most else []
    return [f"{title}: {', '.join(parts)}"] if parts else []


def explained_prompt_roles(roles: Sequence[str]) -> list[str]:
    """One part of a caption for every kind of role that is there, in the order of the roles.

    Only where a role of a demonstration or of the query is among them: other prompts have roles of their own, and
    names such as `other` may mean something else there.

    Example:
        >>> explained_prompt_roles(["x1", "y1", "x2", "y2"])
        ['x1, x2: input of a demonstration', 'y1, y2: output of a demonstration']
    """
    kinds: dict[str, list[str]] = {}
    for name in dict.fromkeys(role.split("[")[0] for role in roles):
        kind = name.rstrip("0123456789")
        if kind in (_WITHOUT_NUMBER if kind == name else _OF_DEMONSTRATIONS):
            kinds.setdefault(kind, []).append(name)
    if kinds.keys() <= _BOUNDARIES.keys():
        return []
    meanings = _OF_DEMONSTRATIONS | _WITHOUT_NUMBER
    spans = {kind: ", ".join(names) if len(names) < 3 else f"{names[0]} … {names[-1]}" for kind, names in kinds.items()}
    return [f"{span}: {meanings[kind]}" for kind, span in spans.items()]


def probe_name(layer: int, role: str, *, shuffled: bool = False) -> str:
    """Name of a probe in the attribute `not_converged`."""
    return f"layer {layer}, {role}{' (shuffled labels)' if shuffled else ''}"


def not_converged(block: xr.Dataset) -> str:
    """Number of probes of a map that did not converge, some of their names, and what that means; "" if all did."""
    names = str(block.attrs.get("not_converged", "")).splitlines()
    if not names:
        return ""
    more = f"; and {len(names) - 3} more" if len(names) > 3 else ""
    max_iter = json.loads(block.attrs["provenance"])["settings"]["max_iter"]
    if block.attrs.get("unconverged") == KEEP:
        cells = f"{pluralize(len(names), 'cell')} ({'; '.join(names[:3])}{more})"
        return f"Judged as they were after {max_iter} steps, without having converged: {cells}."
    return (
        f"Without a value, because the probe did not converge: {pluralize(len(names), 'cell')} ({'; '.join(names[:3])}"
        f"{more}). {RAISE_MAX_ITER.format(max_iter)}"
    )


def _best(block: xr.Dataset) -> str:
    cell = _largest(block, "auc")
    n = int(np.isfinite(block.auc.values).sum())
    sentence = f"Best of {n} cells: {_place(cell)}, AUC {_interval(cell, 'auc')}; the best of many flatters."
    if float(cell.low) <= float(block.task_baseline_high):
        sentence += (
            " Knowing the task alone does as well, so the AUC over all pairs shows the task: read `within_task`."
        )
    return sentence


def _controls(block: xr.Dataset) -> list[str]:
    sentences = [f"The task alone, without any activation: {_interval(block, 'task_baseline')}."]
    within, shuffled = np.isfinite(block.within_task), block.shuffled_within
    if within.any():
        cell = _largest(block, "within_task")
        sentences.append(f"Best within tasks: {_place(cell)}, AUC {_interval(cell, 'within_task')}.")
        if LAST_Q in block.role.values and within.sel(role=LAST_Q).any():
            before = _interval(_largest(block.sel(role=[LAST_Q]), "within_task"), "within_task")
            sentences[-1] += (
                f" Before the answer begins ({LAST_Q}) it is up to {before}: that much the question gives away."
            )
    if shuffled.notnull().any():
        n_outside = int(((block.shuffled_within_low > 0.5) | (block.shuffled_within_high < 0.5)).sum())
        sentences.append(
            f"Shuffled labels, within tasks: {float(shuffled.mean()):.2f} on average; the interval excludes .5 in "
            f"{n_outside} of {int(shuffled.count())} cells (one in 20 by chance, but all cells share the same shuffled "
            "labels and err together)."
        )
    return sentences


def _largest(block: xr.Dataset, name: str) -> xr.Dataset:
    """The cell where a variable is largest."""
    return block.isel(block[name].argmax(("layer", "role")))


def _place(cell: xr.Dataset) -> str:
    return f"layer {int(cell.layer)}, {cell.role.item()}"


def _interval(block: xr.Dataset, name: str) -> str:
    ends = {"auc": ("low", "high"), "within_task": ("within_low", "within_high")}
    low, high = ends.get(name, (f"{name}_low", f"{name}_high"))
    return f"{float(block[name]):.2f} [{float(block[low]):.2f}, {float(block[high]):.2f}]"
