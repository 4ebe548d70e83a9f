"""Maps of a run, by scores of tasks or by a joint method, and their tables: scores, members, what categories share."""

import json
import warnings
from collections.abc import Mapping
from dataclasses import replace

import xarray as xr

from headcats.base.errors import HeadcatsError, OptionError, StatisticsWarning, TooFewItemsError
from headcats.categories.by_block import checked_selection, members_of
from headcats.categories.differences import effect_differences
from headcats.categories.map_result import SPECIFIC, MapResult, block_title, criteria
from headcats.categories.map_spec import MapSpec, refuse_unused
from headcats.categories.membership import categorize
from headcats.categories.shared import overlap, sharing
from headcats.results.block_files import slug
from headcats.results.cached_tables import cached_tables
from headcats.results.declaration import controls_of
from headcats.results.descriptors import DESCRIPTORS
from headcats.results.head_axes import HEAD, noun, unit_of
from headcats.results.label import Label
from headcats.results.run_results import RunResults
from headcats.results.tables import as_written
from headcats.rules.rule import Rule, is_registered
from headcats.scores.scoring import score
from headcats.scores.table import without_draws

_UNDECIDED = Rule(lambda scores: xr.zeros_like(scores["effect"], dtype=int), name="undecided")
_TABLES = {
    "scores": ("scores",),
    "overlap": ("scores", "members", "overlap"),
    "tests": ("scores", "members", "overlap", "differences", "sharing"),
}


def read_scores(run: RunResults, reading: MapSpec, *, seed: int = 0) -> xr.Dataset:
    """`hc.score` of a reading."""
    reading = reading.resolve(run)
    return score(
        run,
        method=reading.label.method,
        metric=reading.metric,
        positions=reading.label.positions or None,
        effect=reading.effect,
        seed=seed,
    )


def map_tables(run: RunResults, reading: MapSpec) -> dict[str, xr.Dataset]:
    """`scores`, `members` and `overlap` of a reading, the last with descriptors of heads.

    Where the items are too few for the rule, all heads are undecided, and `not_judged` of the members says why.
    """
    return _described(_judged(run, reading), run)


def _judged(run: RunResults, reading: MapSpec) -> dict[str, xr.Dataset]:
    scores = read_scores(run, reading)
    try:
        members = categorize(scores, rule=reading.rule, min_tasks=reading.min_tasks)
    except TooFewItemsError as error:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StatisticsWarning)  # the first call has given them
            members = categorize(scores, rule=_UNDECIDED, min_tasks=reading.min_tasks)
        if "size_expected" in members:
            members["size_expected"] = members["size_expected"] * float("nan")
        members.attrs |= {"rule": repr(reading.rule), "not_judged": str(error)}
    return {"scores": scores, "members": members, "overlap": overlap(members, sign=reading.sign)}


def _described(tables: dict[str, xr.Dataset], run: RunResults) -> dict[str, xr.Dataset]:
    scores = tables["scores"]
    gap = scores["gap"] if scores.attrs["metric"] == "logit_diff" else None  # else not in logits
    return tables | {"overlap": with_descriptors(tables["overlap"], run.descriptors, gap=gap)}


def with_descriptors(
    overlap: xr.Dataset, descriptors: xr.Dataset | None, *, gap: xr.DataArray | None = None
) -> xr.Dataset:
    """Add the descriptors of a run; `direct_logit` is the mean over a category's tasks. Groups of heads have none.

    With the gap of each task in logits, `direct_share (category, layer, head)` is the mean of direct logits as shares.
    """
    if descriptors is None or unit_of(overlap) != HEAD:
        return overlap
    of_heads = {name: descriptors[name] for name in DESCRIPTORS if name in descriptors and name != "direct_logit"}
    overlap = overlap.assign(of_heads)
    if "category" not in descriptors.coords or not descriptors.sizes["task"]:
        return overlap
    direct = {"direct_logit": descriptors["direct_logit"]}
    if gap is not None:
        direct["direct_share"] = direct["direct_logit"] / gap.drop_vars("category", errors="ignore")
    means = {name: values.groupby("category").mean(keep_attrs=True) for name, values in direct.items()}
    return overlap.assign({name: of.reindex(category=overlap["category"].values) for name, of in means.items()})


def with_tests(tables: Mapping[str, xr.Dataset], reading: MapSpec) -> dict[str, xr.Dataset]:
    """Add to the tables of a map its tests over sources, `differences` and `sharing`."""
    rule = _UNDECIDED if "not_judged" in tables["members"].attrs else reading.rule
    shared = sharing(tables["scores"], rule=rule, min_tasks=reading.min_tasks, sign=reading.sign)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsWarning)  # of few sources, which the findings say
        return {**tables, "differences": effect_differences(tables["scores"]), "sharing": shared}


def kept_tables(run: RunResults, reading: MapSpec, *, upto: str = "tests") -> dict[str, xr.Dataset]:
    """Tables of a reading without draws, as far as `upto`: "scores", "overlap" or "tests".

    See `read_scores`, `map_tables` and `with_tests`. They are kept if the results lie in a folder, and the rule's name
    says all that it does.
    """

    def compute() -> dict[str, xr.Dataset]:
        tables = {"scores": read_scores(run, reading)} if upto == "scores" else _judged(run, reading)
        if upto == "tests":
            tables = with_tests(tables, reading)
        return {name: without_draws(table) for name, table in tables.items()}

    tables = cached_tables(run, repr(reading), _TABLES[upto], compute) if is_registered(reading.rule) else compute()
    return tables if upto == "scores" else _described(tables, run)


def scored_map(run: RunResults, spec: MapSpec) -> MapResult:
    """The map by a method that scores tasks, with its tests, and others of its metric and rule that may contradict it.

    Warnings of the requested map are given, and are its `cautions`. Approximations and controls are no maps.
    """
    spec = spec.resolve(run)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", StatisticsWarning)
        mapped = _scored(run, spec, kept_tables(run, spec))
    for warning in caught:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    cautions = dict.fromkeys(str(each.message) for each in caught if issubclass(each.category, StatisticsWarning))
    candidates = [replace(spec, effect="task_specific")] if spec.effect == "total" else []
    exact = [label for label in run.scored if not run.declarations[str(label)].control_of and label != spec.label]
    candidates += [
        replace(spec, label=label, effect="total").resolve(run) for label in exact if not run.approximation(label)
    ]
    maps, left_out = list[MapResult](), dict[str, str]()
    for candidate in candidates:
        name = _name(run, candidate)
        if candidate.label.unit != spec.label.unit:
            left_out[name] = f"its effects are of one {noun(candidate.label.unit)} at a time"
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", StatisticsWarning)  # those of the requested map have been given
                maps.append(_scored(run, candidate, kept_tables(run, candidate, upto="overlap")))
        except HeadcatsError as error:  # no controls, or measured in other metrics alone
            left_out[name] = _skipped_control(run, candidate) or str(error)
    specific = next((each for each in maps if each.spec.effect == "task_specific"), None)
    return replace(
        mapped,
        task_specific=specific,
        others=tuple(each for each in maps if each is not specific),
        left_out=left_out,
        cautions=tuple(cautions),
        longest_list=_longest_list(run),
    )


def judged_map(run: RunResults, spec: MapSpec) -> MapResult:
    """The map by a method that scores tasks, without tests and other maps."""
    spec = spec.resolve(run)
    return _scored(run, spec, kept_tables(run, spec, upto="overlap"))


def _scored(run: RunResults, spec: MapSpec, tables: Mapping[str, xr.Dataset]) -> MapResult:
    options = spec.options_for(run)
    return MapResult(spec, tables, _name(run, spec), str(spec.label), spec.title, spec.file_suffix(run), options)


def joint_map(run: RunResults, label: str, spec: MapSpec) -> MapResult:
    """The map by a joint method, by its own rule and number of tasks where the spec names none."""
    refuse_unused(spec.options.keys() & {"positions", "metric", "effect"}, by=f"The map of {label}")
    block = run.joint_blocks[label]
    with as_written(f"The block of {label}", again="The same `headcats run`"):
        tables = _joint_tables(run, block, spec)
    suffix = f"-{slug(label)}{MapSpec(rule=spec.rule, sign=spec.sign).judging_suffix}"
    if spec.named_min_tasks not in (None, 1):  # one is what no number means here
        suffix += f"-min_tasks={spec.min_tasks}"
    is_only_one = not run.tasks and run.sorting_methods == [label]
    named = sorted(spec.named | (spec.options.keys() & {"sign"}))
    options = ({} if is_only_one else {"method": label}) | {name: spec.flags[name] for name in named}
    sign = ", suppressing heads" if spec.sign == "suppressing" else ""
    title = f"{block_title(block)}{sign}{criteria(tables['members'])}"
    return MapResult(spec, tables, label, label, title, suffix, options, block, run.tried_categories(label))


def _joint_tables(run: RunResults, block: xr.Dataset, spec: MapSpec) -> dict[str, xr.Dataset]:
    selection, label = checked_selection(block), block.attrs["label"]
    if spec.sign == "suppressing" and not selection.suppressing:
        raise OptionError(f"{label} ranks heads by {selection.text}, so none is suppressing: leave out --sign.")
    groups = set(block[selection.group].values.astype(str).tolist())
    if "categories" in block.attrs:  # the others would stand empty
        entries = [entry for entry in json.loads(block.attrs["categories"]) if entry["name"] in groups]
        block = block.assign_attrs(categories=json.dumps(entries, ensure_ascii=False))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsWarning)  # the finding "saturates" says the same
        members = members_of(block, selection, rule=spec.named_rule, min_tasks=spec.named_min_tasks)
    return {"members": members, "overlap": with_descriptors(overlap(members, sign=spec.sign), run.descriptors)}


def _longest_list(run: RunResults) -> int | None:
    tasks = run.manifest_or_empty.tasks
    records = [tasks[name] for name in run.scored_tasks if name in tasks]
    rows = [record.rows.kept for record in records if record.word_pairs.kept is None]
    counts = [n for n in rows if n is not None]
    return max(counts) if counts and len(counts) == len(records) else None


def _skipped_control(run: RunResults, reading: MapSpec) -> str:
    """Why a run skipped the control that task-specific effects are made with; "" where it did not, or they are none."""
    control = controls_of(reading.label.name).get("task") if reading.effect == "task_specific" else None
    cells = run.manifest_or_empty.cells()
    refusals = [record.refusal for _, label, record in cells if Label.parse(label).name == control and record.refusal]
    return f"{control} was skipped: {refusals[0]}" if refusals else ""


def _name(run: RunResults, reading: MapSpec) -> str:
    """The method in words; with options and positions where the run has the method in several ways."""
    label = reading.label
    alike = [scored for scored in run.scored if scored.name == label.name]
    name = str(label) if len(alike) > 1 else label.name.replace("_", " ")
    return f"{name}{SPECIFIC}" if reading.effect == "task_specific" else name
