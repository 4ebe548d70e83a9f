"""The parts of `headcats compare`: protocols, halves, methods on one grid, models."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headcats.cli.as_json import Answer
from headcats.cli.console import warn
from headcats.errors import DataError, StorageError

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from headcats.rules import Rule


@dataclass(frozen=True)
class Choice:
    """What is compared."""

    method: str | None
    positions: str | None
    metric: str | None
    rule: "Rule"
    min_tasks: int | str
    sign: str

    @property
    def everything(self) -> bool:
        """Whether no protocol is left out."""
        return self.method is self.positions is self.metric is None


def protocols(
    results: Mapping[str, "xr.DataTree"], choice: Choice, answer: Answer, *, halves: int, folder: Path
) -> "pd.DataFrame":
    """Agreement of all protocols, the heads that they share, and halves of the prompts of a single folder."""
    from headcats.evidence import agreement, judge_protocols
    from headcats.evidence.comparison.agreeing import pairs
    from headcats.findings.agreement import agreement_findings, replicate_findings
    from headcats.findings.replicates import replicates
    from headcats.findings.robustness import Robustness

    judged = judge_protocols(
        results,
        rule=choice.rule,
        min_tasks=choice.min_tasks,
        method=choice.method,
        positions=choice.positions,
        metric=choice.metric,
    )
    table = agreement(judged.members, sign=choice.sign)
    listed = pairs(table)
    answer.say(agreement_findings(table, judged.left_out))
    answer.say(replicate_findings(judged.members, sign=choice.sign))
    if answer.as_json:
        answer.numbers |= {
            "protocols": _sizes(table),
            "left_out": judged.left_out,
            "pairs": listed,
            "replicated": [
                {"category": one.category, "judged_by": one.judged, **one.heads}
                for one in replicates(judged.members, sign=choice.sign)
            ],
        }
    if len(results) == 1 and halves:
        split = _halves(next(iter(results.values())), choice, answer, splits=halves)
        if choice.everything:
            _save(Robustness(table, judged.members, judged.left_out, split), choice, folder, answer)
    return listed


def _sizes(agreement: "xr.Dataset") -> list[dict[str, Any]]:
    from headcats.findings.agreement import scored

    there = scored(agreement)
    sizes = agreement["size"].transpose("protocol", "category").values
    categories = agreement["category"].values.tolist()
    return [
        {
            "protocol": str(name),
            "heads": {
                category: int(size) if known else None
                for category, size, known in zip(categories, sizes[row], there[row], strict=True)
            },
        }
        for row, name in enumerate(agreement["protocol"].values)
    ]


def _save(found: Any, choice: Choice, folder: Path, answer: Answer) -> None:
    from headcats.findings.robustness import robustness_folder, save_robustness

    where = robustness_folder(rule=choice.rule, min_tasks=choice.min_tasks, sign=choice.sign)
    try:
        save_robustness(folder, where, found)
    except StorageError as error:
        warn(f"Not saved for the report: {error}")  # what was computed is told all the same
        return
    answer.wrote("saved", folder / where, f"Saved in {folder / where}; `headcats report {folder}` shows it.")


def methods(results: "xr.DataTree", metric: str | None, answer: Answer) -> "pd.DataFrame":
    """All methods on one grid of heads."""
    from headcats.evidence import method_agreement, method_scores
    from headcats.findings.methods import method_findings

    found = method_agreement(method_scores(results, metric=metric))
    answer.say(method_findings(found))
    pairs = found[["rank_correlation", "layer_correlation", "p_value", "q_value", "top_overlap", "top_chance"]]
    listed = pairs.reset_coords(drop=True).to_dataframe().reset_index()
    answer.numbers["methods"] = listed
    return listed


def methods_alone(results: "xr.DataTree", folder: Path, metric: str | None, answer: Answer) -> "pd.DataFrame":
    """The same of results without a scored task; where nothing can be compared, the message says what to look at."""
    from headcats.findings.instead import drawn_by

    try:
        return methods(results, metric, answer)
    except DataError as error:
        drawn = drawn_by(results, folder)
        raise DataError(f"{error} To look at what there is: {drawn}." if drawn else str(error)) from None


def _halves(results: "xr.DataTree", choice: Choice, answer: Answer, *, splits: int) -> "xr.Dataset":
    from headcats.categories import categorize
    from headcats.evidence import half_agreement
    from headcats.findings.agreement import half_findings
    from headcats.findings.mapping import default_label
    from headcats.results import Label, manifest_of
    from headcats.scores import score

    label = default_label(results) if choice.method is None else Label.parse(choice.method)
    method, positions = label.method, choice.positions or label.positions or None
    metric = choice.metric or manifest_of(results).plan.metrics[0]

    def members(half: "xr.DataTree") -> "xr.Dataset":
        alpha = choice.rule.options.get("alpha", 0.05)
        scores = score(half, method=method, metric=metric, positions=positions, alpha=alpha)
        return categorize(scores, rule=choice.rule, min_tasks=choice.min_tasks)

    title = f"{method}{f' at {positions}' if positions else ''}, {metric}"
    found = half_agreement(results, members, splits=splits, sign=choice.sign).assign_attrs(title=title)
    answer.say(half_findings(found, title=title))
    of_category = [name for name in found.data_vars if found[name].dims == ("category",)]
    answer.numbers["halves"] = {
        "title": title,
        "splits": splits,
        "categories": found[of_category].to_dataframe().reset_index(),
        "not_judged": [reason for reason in found["reason"].values.tolist() if reason],
    }
    return found


def structure(results: Mapping[str, "xr.DataTree"], choice: Choice, answer: Answer) -> "pd.DataFrame":
    """Categories of different models."""
    from headcats.evidence import category_structure
    from headcats.findings.mapping import tables
    from headcats.findings.structure import structure_findings

    overlaps = {
        label: tables(
            one,
            method=choice.method,
            positions=choice.positions,
            metric=choice.metric,
            rule=choice.rule,
            min_tasks=choice.min_tasks,
            sign=choice.sign,
        )["overlap"]
        for label, one in results.items()
    }
    found = category_structure(overlaps)
    answer.say(structure_findings(found))
    answer.numbers["models"] = found
    return found[["size", "share", "mean_layer", "depth"]].to_dataframe().reset_index()
