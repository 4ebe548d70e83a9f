"""Every protocol that saved results hold, judged by one rule: what a verdict on heads may depend on."""

import itertools
import json
import logging
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import xarray as xr

from headcats.categories import categorize
from headcats.categories.argument_checks import RESULTS, check_named, check_rule
from headcats.errors import DataError, HeadcatsError, StatisticsWarning, UnknownNameError
from headcats.formatting import pluralize
from headcats.registry import unknown_name_message
from headcats.results import Label, scored_labels, task_nodes
from headcats.rules import Rule, fdr
from headcats.scores import CONTROLS, PATCH, WRONG_TASK, score, screen_label

_log = logging.getLogger("headcats")

# Differences that change how numbers are made; the others (name, revision, device) only say where.
_MODEL_PARTS = ("model_class", "weight_processing", "dtype")
# Values that speak for themselves; the others are named with their part: "seed 1".
_SPEAKING = ("suite", "template", "corruption")


class JudgedProtocols(NamedTuple):
    """Memberships by protocol, and what could not be judged."""

    members: dict[str, xr.Dataset]
    """Protocol -> what `hc.categorize` returns, with the attribute `plan`: JSON, part of the plan -> value, of what
    differs from the first results (`tasks`: those that have numbers); "" where nothing does."""
    left_out: dict[str, str]
    """Protocol -> why it is not among the members."""


class _Protocol(NamedTuple):
    name: str
    folder: str
    label: Label
    metric: str
    effect: str


def judge_protocols(
    results: Mapping[str, xr.DataTree],
    *,
    rule: Rule | None = None,
    min_tasks: int | str = "half",
    method: str | None = None,
    positions: str | None = None,
    metric: str | None = None,
) -> JudgedProtocols:
    """Categories under every protocol that some results of one model hold: each method@positions with each metric.

    A protocol is called `denoising_patch@last, logit_diff`, followed by what its plan has that the first results do not
    have: `, shuffled_labels` (the corruption), `, seed 1`, `, 20 tasks`. Where a denoising patch has its second
    corruption beside it, the task-specific effect is a protocol of its own (`, task_specific`). A protocol that cannot
    be judged (too few items for the rule, no task with a gap in that metric) is listed with the reason, and the others
    go on.

    Controls (`second_corruption_patch`, `other_item_patch`) are left out. Screens are marked in their name, and left
    out where at least two exact protocols remain: they are compared where `method` names one or nothing else is there.

    Args:
        results: Name (a folder) -> results, as `hc.load` returns them; of one model.
        rule: As in `hc.categorize`.
        min_tasks: As in `hc.categorize`.
        method: Only this method, with or without `@positions`.
        positions: Only these positions.
        metric: Only this metric.

    Returns:
        `members`: name of a protocol -> what `hc.categorize` returns, dims `(category, layer, head)`; `left_out`: name
        -> why it could not be judged.

    Raises:
        UnknownNameError: No results hold the method, positions or metric asked for.
        OptionError: A rule without its options, or its name.
        DataError: Something else than results by name, results of different models, or no protocol that can be judged;
            with every reason.

    Warns:
        StatisticsWarning: What scoring and categorizing warn of, once, with the protocols it is true of.

    Example:
        >>> import headcats as hc
        >>> judged = hc.judge_protocols({"mini-icl": hc.load("results/mini-icl")})
        >>> for name in judged.members:
        ...     print(name)
        denoising_patch@last, logit_diff
        denoising_patch@last, logit_diff, task_specific
        mean_ablation@all, logit_diff
        >>> judged.members["denoising_patch@last, logit_diff"].member.dims
        ('category', 'layer', 'head')

    References:
        Zhang & Nanda (2024), arXiv 2309.16042: metrics and corruptions change which heads are found.
    """
    check_named(results, RESULTS, by="hc.judge_protocols", of="run")
    check_rule(rule, by="hc.judge_protocols")
    if not results:
        raise DataError("hc.judge_protocols needs the results of at least one run.")
    rule = fdr() if rule is None else rule
    _check_one_model(results)
    plans = _plan_differences(results)
    chosen = [
        one
        for one in _protocols(results, plans)
        if method in (None, one.label.method, str(one.label))
        and positions in (None, one.label.positions)
        and metric in (None, one.metric)
    ]
    if not chosen:
        raise _nothing_chosen(list(_protocols(results, plans)), method=method, positions=positions, metric=metric)
    count = sum(not _is_control(one) for one in chosen)
    _log.info("Judging %s.", pluralize(count, "protocol"))
    members: dict[str, xr.Dataset] = {}
    left_out: dict[str, str] = {}
    said: dict[str, dict[str, None]] = {}
    for one in chosen:
        if _is_control(one):
            left_out[one.name] = "a control: it says what an effect is made of, not which heads serve a task"
            continue
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", StatisticsWarning)
            try:
                scores = score(
                    results[one.folder],
                    method=one.label.method,
                    metric=one.metric,
                    positions=one.label.positions,
                    effect=one.effect,
                    alpha=rule.options.get("alpha", 0.05),
                )
                # Agreement needs no resamples, and no data without effects.
                judged = categorize(scores.drop_vars(["resampled", "flipped"]), rule=rule, min_tasks=min_tasks)
            except DataError as error:
                left_out[one.name] = str(error)
                continue
            finally:
                for warned in caught:
                    said.setdefault(str(warned.message), {})[one.name] = None
        screen = screen_label(judged)
        name = f"{one.name}, {screen}" if screen else one.name
        members[name] = judged.assign_attrs(
            plan=json.dumps(plans[one.folder], ensure_ascii=False) if plans[one.folder] else ""
        )
        said = {text: {name if n == one.name else n: None for n in names} for text, names in said.items()}
    left_out |= _screens_beside_exact(members, named=method)
    for message, names in said.items():
        where = f" ({_where(list(names), len(members))})" if set(names) != set(members) else ""
        warnings.warn(message + where, StatisticsWarning, stacklevel=2)
    kept = {name: judged for name, judged in members.items() if name not in left_out}
    if not kept:
        raise DataError("No protocol can be judged:" + "".join(f"\n- {name}: {why}" for name, why in left_out.items()))
    return JudgedProtocols(kept, left_out)


def _is_control(protocol: _Protocol) -> bool:
    return protocol.label.name in CONTROLS


def _protocols(results: Mapping[str, xr.DataTree], plans: Mapping[str, dict[str, Any]]) -> Iterator[_Protocol]:
    taken: set[str] = set()
    for folder, tree in results.items():
        metrics: dict[str, dict[str, None]] = {}
        for node in task_nodes(tree).values():
            for key, block in node.children.items():
                if "metric" in block.coords:
                    metrics.setdefault(key, {}).update(dict.fromkeys(map(str, block.coords["metric"].values)))
        for label in scored_labels(tree):
            effects = ["total"]
            if label.method == PATCH and str(Label(WRONG_TASK).at(label.positions)) in metrics:
                effects.append("task_specific")
            for metric, effect in itertools.product(metrics.get(str(label), ()), effects):
                marks = (str(label), metric, effect if effect != "total" else "", _in_words(plans[folder]))
                name = ", ".join(filter(None, marks))
                # The same plan in two folders: only the folder tells them apart.
                name = f"{name}, {folder}" if name in taken else name
                taken.add(name)
                yield _Protocol(name, folder, label, metric, effect)


def _plan_differences(results: Mapping[str, xr.DataTree]) -> dict[str, dict[str, Any]]:
    """What each results' plan has that the first one's does not have, and its tasks where they are others."""
    stored = {folder: json.loads(tree.attrs.get("manifest", "{}")) for folder, tree in results.items()}
    flat: dict[str, dict[str, Any]] = {
        folder: {key: value for key, value in one.get("plan", {}).items() if key != "metrics"}
        | {key: one.get("model", {}).get(key) for key in _MODEL_PARTS}
        | {"tasks": scored_tasks(results[folder])}
        for folder, one in stored.items()
    }
    first = next(iter(flat.values()), {})
    return {
        folder: {key: value for key, value in plan.items() if value != first.get(key)} for folder, plan in flat.items()
    }


def scored_tasks(results: xr.DataTree) -> list[str]:
    """The tasks that some results hold numbers of, in alphabetical order."""
    return sorted(task for task, node in task_nodes(results).items() if node.children)


def _in_words(plan: Mapping[str, Any]) -> str:
    return ", ".join(
        pluralize(len(value), "task") if key == "tasks" else str(value) if key in _SPEAKING else f"{key} {value}"
        for key, value in plan.items()
    )


def _check_one_model(results: Mapping[str, xr.DataTree]) -> None:
    hashes = {
        folder: json.loads(tree.attrs.get("manifest", "{}")).get("model", {}).get("weights_hash")
        for folder, tree in results.items()
    }
    if len(set(hashes.values())) > 1:
        raise DataError(
            f"{' and '.join(hashes)} hold results of different models: their heads do not correspond. Compare the "
            "structure of their categories instead (hc.category_structure)."
        )


def _screens_beside_exact(members: Mapping[str, xr.Dataset], *, named: str | None) -> dict[str, str]:
    screens = [name for name, judged in members.items() if screen_label(judged)]
    if named is not None or len(members) - len(screens) < 2:
        return {}
    return dict.fromkeys(screens, "estimates, no patched effects: name the method to compare a screen")


def _where(names: list[str], judged: int) -> str:
    """Which protocols a warning is about, without listing dozens."""
    return "; ".join(names) if len(names) <= 3 else f"{len(names)} protocols, such as {names[0]}; {judged} are judged"


def _nothing_chosen(
    held: list[_Protocol], *, method: str | None, positions: str | None, metric: str | None
) -> HeadcatsError:
    names = list(dict.fromkeys([*(one.label.method for one in held), *(str(one.label) for one in held)]))
    if method is not None and method not in names:
        return UnknownNameError(unknown_name_message("method of these results", method, names))
    metrics = list(dict.fromkeys(one.metric for one in held))
    if metric is not None and metric not in metrics:
        return UnknownNameError(unknown_name_message("metric of these results", metric, metrics))
    if not held:
        return DataError("These results hold no scored task yet.")
    where = list(dict.fromkeys(one.label.positions for one in held))
    if positions is not None and positions not in where:
        return UnknownNameError(unknown_name_message("positions of these results", positions, where))
    asked = ", ".join(str(one) for one in (method, positions, metric) if one is not None)
    return DataError(f"No protocol is {asked}; there are {'; '.join(one.name for one in held)}.")
