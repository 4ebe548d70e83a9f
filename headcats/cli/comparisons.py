"""The parts of `headcats compare`: protocols, halves, methods on one grid, models."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headcats.cli.as_json import Answer
from headcats.cli.console import warn
from headcats.errors import DataError, StorageError

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from headcats.categories.reading import Reading
    from headcats.reports.text.robustness import Robustness


def protocols(
    results: Mapping[str, "xr.DataTree"], reading: "Reading", answer: Answer, *, halves: int, folder: Path
) -> "pd.DataFrame":
    """Agreement of all protocols, the heads that they share, and halves of the prompts of a single folder."""
    from headcats.evidence.comparison.agreement import agreement, pairs
    from headcats.evidence.comparison.protocols import judge_protocols
    from headcats.reports.text.agreement import agreement_findings, replicate_findings
    from headcats.reports.text.replicates import replicates
    from headcats.reports.text.robustness import Robustness

    judged = judge_protocols(
        results,
        rule=reading.rule,
        min_tasks=reading.min_tasks,
        method=reading.label.method or None,
        positions=reading.label.positions or None,
        metric=reading.metric or None,
    )
    table = agreement(judged.members, sign=reading.sign)
    compared = pairs(table)
    answer.say(agreement_findings(table, judged.left_out))
    answer.say(replicate_findings(judged.members, sign=reading.sign))
    if answer.as_json:
        answer.numbers |= {
            "protocols": _sizes(table),
            "left_out": judged.left_out,
            "pairs": compared,
            "replicated": [
                {"category": category.category, "judged_by": category.judged, **category.heads}
                for category in replicates(judged.members, sign=reading.sign)
            ],
        }
    if len(results) == 1 and halves:
        split = _halves(next(iter(results.values())), reading, answer, splits=halves)
        if not reading.options.keys() & {"method", "positions", "metric"}:
            _save(Robustness(table, judged.members, judged.left_out, split), reading, folder, answer)
    return compared


def _sizes(agreement: "xr.Dataset") -> list[dict[str, Any]]:
    from headcats.reports.text.agreement import scored

    has_numbers = scored(agreement)
    sizes = agreement["size"].transpose("protocol", "category").values
    categories = agreement["category"].values.tolist()
    return [
        {
            "protocol": str(name),
            "heads": {
                category: int(size) if is_scored else None
                for category, size, is_scored in zip(categories, sizes[row], has_numbers[row], strict=True)
            },
        }
        for row, name in enumerate(agreement["protocol"].values)
    ]


def _save(robustness: "Robustness", reading: "Reading", folder: Path, answer: Answer) -> None:
    from headcats.reports.text.robustness import robustness_folder, save_robustness

    subfolder = robustness_folder(reading)
    try:
        save_robustness(folder, subfolder, robustness)
    except StorageError as error:
        warn(f"Not saved for the report: {error}")  # the numbers are printed all the same
        return
    answer.wrote("saved", folder / subfolder, f"Saved in {folder / subfolder}; `headcats report {folder}` shows it.")


def methods(results: "xr.DataTree", metric: str | None, answer: Answer) -> "pd.DataFrame":
    """All methods on one grid of heads."""
    from headcats.evidence.comparison.method_agreement import method_agreement
    from headcats.evidence.comparison.method_grid import method_scores
    from headcats.reports.text.methods import method_findings

    agreement = method_agreement(method_scores(results, metric=metric))
    answer.say(method_findings(agreement))
    pairs = agreement[["rank_correlation", "layer_correlation", "p_value", "q_value", "top_overlap", "top_chance"]]
    table = pairs.reset_coords(drop=True).to_dataframe().reset_index()
    answer.numbers["methods"] = table
    return table


def methods_alone(results: "xr.DataTree", folder: Path, metric: str | None, answer: Answer) -> "pd.DataFrame":
    """The same of results without a scored task; where nothing can be compared, the message says what to look at."""
    from headcats.reports.text.suggestions import quoted_figure_commands

    try:
        return methods(results, metric, answer)
    except DataError as error:
        drawn = quoted_figure_commands(results, folder)
        raise DataError(f"{error} To look at what there is: {drawn}." if drawn else str(error)) from None


def _halves(results: "xr.DataTree", reading: "Reading", answer: Answer, *, splits: int) -> "xr.Dataset":
    from headcats.categories.reading import judge_scores, read_scores
    from headcats.evidence.comparison.agreement import half_agreement
    from headcats.reports.text.agreement import half_findings

    reading = reading.resolve(results)
    title = f"{reading.label.method} at {reading.label.positions}, {reading.metric}"

    def members(half: "xr.DataTree") -> "xr.Dataset":
        return judge_scores(read_scores(half, reading), reading)

    halves = half_agreement(results, members, splits=splits, sign=reading.sign).assign_attrs(title=title)
    answer.say(half_findings(halves, title=title))
    of_category = [name for name in halves.data_vars if halves[name].dims == ("category",)]
    answer.numbers["halves"] = {
        "title": title,
        "splits": splits,
        "categories": halves[of_category].to_dataframe().reset_index(),
        "not_judged": [reason for reason in halves["reason"].values.tolist() if reason],
    }
    return halves


def structure(results: Mapping[str, "xr.DataTree"], reading: "Reading", answer: Answer) -> "pd.DataFrame":
    """Categories of different models."""
    from headcats.categories.reading import judge_scores, read_scores
    from headcats.categories.shared import overlap
    from headcats.evidence.comparison.models import category_structure
    from headcats.reports.text.structure import structure_findings

    members = {name: judge_scores(read_scores(tree, reading), reading) for name, tree in results.items()}
    models = category_structure({name: overlap(table, sign=reading.sign) for name, table in members.items()})
    answer.say(structure_findings(models))
    answer.numbers["models"] = models
    return models[["size", "share", "mean_layer", "depth"]].to_dataframe().reset_index()
