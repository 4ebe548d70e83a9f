"""Every protocol in saved results, judged by one rule: what a category may depend on."""

import itertools
import json
import logging
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import xarray as xr

from headcats.base.errors import (
    DataError,
    HeadcatsError,
    StatisticsWarning,
    UnknownNameError,
    pluralize,
    unknown_name_message,
)
from headcats.categories.argument_checks import RESULTS, check_named, check_rule
from headcats.categories.map_spec import MapSpec
from headcats.categories.map_tables import judge_scores, read_scores
from headcats.evidence.comparison.method_grid import IS_CONTROL
from headcats.evidence.comparison.runs import TASKS, Runs, judge_each, named_runs
from headcats.results.declaration import approximation_label
from headcats.results.finding import line
from headcats.results.head_axes import HEAD
from headcats.results.label import Label
from headcats.results.run_results import RunResults
from headcats.rules.discovery_rate import fdr
from headcats.rules.rule import Rule
from headcats.scores.controls import control_blocks
from headcats.scores.table import without_draws

_log = logging.getLogger("headcats")

# Differences that change how numbers are made; the others (name, revision, device) only say where.
_MODEL_PARTS = ("model model_class", "model weight_processing", "model dtype")
# Values that need no name; other parts are written with theirs: "seed 1".
_UNNAMED = ("suite", "template", "corruption", "revision")


class JudgedProtocols(NamedTuple):
    """Memberships by protocol, and the protocols that could not be judged."""

    members: dict[str, xr.Dataset]
    """Protocol -> what `hc.categorize` returns, with the attribute `plan`: JSON, the parts of the plan that differ from
    the first results -> their value (`tasks`: those with numbers); "" where none does."""
    left_out: dict[str, str]
    """Protocol -> why it is not among the members."""


class _Protocol(NamedTuple):
    name: str
    folder: str
    label: Label
    metric: str
    effect: str
    control: bool


def judge_protocols(
    results: Mapping[str, xr.DataTree] | Runs,
    *,
    rule: Rule | None = None,
    min_tasks: int | str = "half",
    method: str | None = None,
    positions: str | None = None,
    metric: str | None = None,
) -> JudgedProtocols:
    """Categories under every protocol in results of one model: each method@positions with each metric.

    A protocol is named `denoising_patch@last, logit_diff`, followed by the parts of its plan that differ from the first
    results: `, shuffled_labels` (the corruption), `, seed 1`, `, 20 tasks`; task-specific effects are a protocol of
    their own (`, task_specific`). Left out are controls, effects of groups of heads beside those of single ones, and,
    unless `method` names one, approximations beside at least two exact protocols.

    Args:
        results: Name (a folder) -> results of one model, as `hc.load` returns them.
        rule: As in `hc.categorize`.
        min_tasks: As in `hc.categorize`.
        method: Only this method, with or without `@positions`.
        positions: Only these positions.
        metric: Only this metric.

    Returns:
        `members`: name of a protocol -> what `hc.categorize` returns, dims `(category, layer, head)`; `left_out`: name
        -> why it could not be judged.

    Raises:
        UnknownNameError: No results hold that method, these positions or that metric.
        OptionError: A rule without its options, or its name.
        DataError: No results by name, results of different models, or no protocol that can be judged, with every
            reason.

    Warns:
        StatisticsWarning: The warnings of scoring and categorizing, once each, with their protocols.

    Example:
        >>> import headcats as hc
        >>> judged = hc.evidence.judge_protocols({"mini-icl": hc.load("results/mini-icl")})
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
    if isinstance(results, Runs):
        runs = results
    else:
        check_named(results, RESULTS, by="hc.evidence.judge_protocols", of="run")
        runs = named_runs({folder: RunResults(tree) for folder, tree in results.items()})
    check_rule(rule, by="hc.evidence.judge_protocols")
    if not runs:
        raise DataError("hc.evidence.judge_protocols needs the results of at least one run.")
    if not runs.corresponds:
        raise DataError(
            f"{' and '.join(runs)} hold results of different models: their heads need not correspond. Put their "
            "maps side by side instead (headcats report)."
        )
    plans = _plan_differences(runs)
    protocols = list(_protocols(runs, plans))
    selected = {
        protocol.name: protocol
        for protocol in protocols
        if method in (None, protocol.label.method, str(protocol.label))
        and positions in (None, protocol.label.positions)
        and metric in (None, protocol.metric)
    }
    if not selected:
        raise _no_such_protocol(protocols, method=method, positions=positions, metric=metric)
    effects = [protocol for protocol in selected.values() if not protocol.control]
    _log.info("Judging %s.", pluralize(len(effects), "protocol"))
    has_heads = any(protocol.label.unit == HEAD for protocol in effects)

    def judge(name: str) -> xr.Dataset:
        protocol = selected[name]
        if protocol.control:
            raise DataError(IS_CONTROL)
        if protocol.label.unit != HEAD and has_heads:
            raise DataError("its effects are of groups of heads, those of the others of single heads")
        reading = MapSpec(protocol.label, protocol.metric, protocol.effect, rule or fdr(), min_tasks)
        # Agreement needs no resamples, and no data without effects.
        table = judge_scores(without_draws(read_scores(runs[protocol.folder], reading)), reading)
        plan = plans[protocol.folder]
        return table.assign_attrs(plan=json.dumps(plan, ensure_ascii=False) if plan else "")

    members, not_judged, messages = judge_each(selected, judge)
    copies = {name: str(line("several.copy", first=first)) for name, first in runs.copies.items()}
    left_out = copies | not_judged | _approximations_beside_exact(members, method)
    for message, names in messages.items():
        protocols_warned = f" ({_summarized(names, len(members))})" if set(names) != set(members) else ""
        warnings.warn(message + protocols_warned, StatisticsWarning, stacklevel=2)
    members = {name: table for name, table in members.items() if name not in left_out}
    if not members:
        reasons = "".join(f"\n- {name}: {reason}" for name, reason in left_out.items())
        raise DataError(f"No protocol can be judged:{reasons}")
    return JudgedProtocols(members, left_out)


def _protocols(runs: Runs, plans: Mapping[str, dict[str, Any]]) -> Iterator[_Protocol]:
    taken: set[str] = set()
    for folder, run in runs.items():
        metrics: dict[str, dict[str, None]] = {}
        for task, labels in run.tasks.items():
            for key in labels:
                if "metric" in (block := run.block(task, key)).coords:
                    metrics.setdefault(key, {}).update(dict.fromkeys(map(str, block.coords["metric"].values)))
        for label in run.scored:
            approximation = approximation_label(run.approximation(label))
            effects = ["total"]
            if "task" in control_blocks(run, [], method=label.method, positions=label.positions):
                effects.append("task_specific")
            for metric, effect in itertools.product(metrics.get(str(label), ()), effects):
                marks = (str(label), metric, effect if effect != "total" else "", _in_words(plans[folder]))
                name = ", ".join(filter(None, marks))
                # The same plan in two folders: only the folder tells them apart.
                name = f"{name}, {folder}" if name in taken else name
                taken.add(name)
                name = f"{name}, {approximation}" if approximation else name
                yield _Protocol(name, folder, label, metric, effect, bool(run.declarations[str(label)].control_of))


def _plan_differences(runs: Runs) -> dict[str, dict[str, Any]]:
    """Parts of each run's plan, its tasks among them, that differ from the first one's."""
    differing = {
        part.partition(" ")[2] or part: values
        for part, values in runs.differences.items()
        if part in (*_MODEL_PARTS, TASKS) or (part.startswith("plan ") and part != "plan metrics")
    }
    return {
        folder: {part: values[number] for part, values in differing.items() if values[number] != values[0]}
        | ({"revision": folder} if runs.is_training else {})
        for number, folder in enumerate(runs)
    }


def _in_words(plan: Mapping[str, Any]) -> str:
    return ", ".join(
        pluralize(len(value), "task") if key == "tasks" else str(value) if key in _UNNAMED else f"{key} {value}"
        for key, value in plan.items()
    )


def _approximations_beside_exact(members: Mapping[str, xr.Dataset], method: str | None) -> dict[str, str]:
    approximate = [name for name, table in members.items() if approximation_label(table)]
    if method is not None or len(members) - len(approximate) < 2:
        return {}
    return dict.fromkeys(approximate, "estimates, not patched effects: name the method to compare an approximation")


def _summarized(names: list[str], n_judged: int) -> str:
    """Name the protocols of a warning, without listing dozens."""
    return "; ".join(names) if len(names) <= 3 else f"{len(names)} protocols, such as {names[0]}; {n_judged} are judged"


def _no_such_protocol(
    protocols: list[_Protocol], *, method: str | None, positions: str | None, metric: str | None
) -> HeadcatsError:
    if not protocols:
        return DataError("These results hold no scored task yet.")
    labels = [protocol.label for protocol in protocols]
    names = {
        "method": (method, [*(label.method for label in labels), *map(str, labels)]),
        "metric": (metric, [protocol.metric for protocol in protocols]),
        "positions": (positions, [label.positions for label in labels]),
    }
    for part, (name, present) in names.items():
        if name is not None and name not in present:
            choices = list(dict.fromkeys(present))
            return UnknownNameError(unknown_name_message(f"{part} of these results", name, choices))
    parts = ", ".join(name for name, _ in names.values() if name is not None)
    return DataError(f"No protocol is {parts}; there are {'; '.join(protocol.name for protocol in protocols)}.")
