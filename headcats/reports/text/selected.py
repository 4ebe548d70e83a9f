"""The map that options choose among the methods of a run."""

from dataclasses import replace
from pathlib import Path

from headcats.categories.map_result import MapResult
from headcats.categories.map_spec import MapSpec, refuse_unused
from headcats.categories.run_maps import agreed_map, joint_map, judged_map, scored_map
from headcats.reports.text.suggestions import check_scored, sorting_label
from headcats.results.label import Label
from headcats.results.run_results import RunResults


def read_map(run: RunResults, spec: MapSpec, *, other: str | None = None, jobs: int = 1) -> MapResult:
    """The map of a run: by scores of tasks, by a joint method, or of the heads that two methods agree on.

    Args:
        run: Results.
        spec: Method, metric, rule and sign; of two methods, one that scores tasks is judged by it, and a joint one by
            the rule of its paper.
        other: Second method.
        jobs: Threads for scoring.

    Raises:
        OptionError: A method that sorts no heads, options that are not read, or one method twice.
        UnknownNameError: A method that does not exist.
    """
    if other is None:
        label = _joint_label(run, spec)
        return scored_map(run, spec, jobs=jobs) if label is None else joint_map(run, label, spec)
    first, second = (_half(run, each) for each in (spec, replace(spec, label=Label.parse(other))))
    if first.block is not None and second.block is not None:
        unread = spec.options.keys() & {"rule", "min-tasks", "metric", "effect", "positions"}
        refuse_unused(unread, by="A map of two joint methods, each by the rule of its paper,")
    return agreed_map(run, first, second)


def _half(run: RunResults, spec: MapSpec) -> MapResult:
    label = _joint_label(run, spec)
    return (
        judged_map(run, spec) if label is None else joint_map(run, label, MapSpec(Label.parse(label), sign=spec.sign))
    )


def _joint_label(run: RunResults, spec: MapSpec) -> str | None:
    """The joint method that is named, or is there alone; None for methods that score tasks."""
    method = str(spec.label) if spec.label.name else None
    place = run.place or Path("results")
    label = sorting_label(run, place, method)
    if label is None:
        check_scored(run, place, method, by="A map")
    return label
