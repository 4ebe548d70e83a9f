"""Findings of a category map: its heads, how sure they are, what categories share, and controls."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pandas as pd
import xarray as xr

from headcats.base.errors import pluralize
from headcats.categories.differences import LEAST_SOURCES
from headcats.categories.map_result import MapResult
from headcats.categories.membership import SETTLED, head_table
from headcats.reports.text.answer import roles, shared_pairs
from headcats.results.declaration import approximation_label, controls_of
from headcats.results.finding import Finding, first_names, line, note, number_text, paragraph, table, with_interval
from headcats.results.head_axes import HEAD, cell_name, noun, unit_of

_CONTROLS = {
    "task_share": ("the right task", "the other wrong task"),
    "item_share": ("the right query item", "the other item"),
}
_NAMED = 3


def map_findings(result: MapResult) -> Iterator[Finding]:
    """The head list of a map by scores, shared heads, overlap with intervals, and caveats."""
    yield from not_judged(result)
    yield from unit_note(result.tables["members"])
    yield from head_findings(result)
    yield from roles(result)
    yield from shared_findings(result)


def shared_findings(result: MapResult) -> Iterator[Finding]:
    """Findings of `map_findings` behind the head list; none where no head is judged."""
    if result.not_judged:
        return
    if sum(category.judged for category in result.categories) > 1:
        yield from count_findings(result.overlap)
        yield from shared_pairs(result, most_p=1)
        yield from _jaccard(result.overlap)
    else:
        yield paragraph("map.single_category")
    yield from _caveats(result.tables["scores"], result.spec.sign)
    yield from difference_table(result.tables["differences"])


def not_judged(result: MapResult) -> list[Finding]:
    """A note where the rule could judge no head, with its reason; none otherwise."""
    return [note("map.not_judged", reason=result.not_judged)] if result.not_judged else []


def unit_note(members: xr.Dataset) -> list[Finding]:
    """Explain a cell on a map of groups that share keys and values; none otherwise."""
    if (unit := unit_of(members)) == HEAD:
        return []
    layer = members["layer"].values[-1].item()
    return [line("map.groups", name=cell_name(layer, 0, unit), number=0, layer=layer)]


def head_findings(result: MapResult) -> Iterator[Finding]:
    """The heads of every category, and which of them the data do not settle."""
    members, kind = result.tables["members"], result.spec.sign
    plural = f"{noun(unit_of(members))}s"
    heads, counted = head_table(members), f"suppressing {plural}" if kind == "suppressing" else plural
    rows = []
    for category in result.categories:
        cells = ["-"] * 5
        if category.judged:
            counts = [str(category.size), number_text(category.expected, 1)]
            cells = [*counts, *head_names(heads, category.name), str(category.n_undecided)]
        rows.append([category.name, f"{category.min_tasks} of {category.n_tasks}", *cells])
    numeric = [counted, "without effect", "undecided"]
    columns = ["category", "tasks needed", *numeric[:2], "helping (largest effect first)", "suppressing", "undecided"]
    yield table("map.heads", columns, rows, numeric=numeric, reading=result.spec.title)
    if not all(category.judged for category in result.categories):
        yield line("map.category_not_judged")
    yield line("map.without_effect")
    if "doubtful" in heads and len(doubtful := heads[(heads["kind"] == kind) & heads["doubtful"].astype(bool)]):
        yield line("map.doubtful", names=[f"{row.head} {row.category}" for row in doubtful.itertuples()])
    if "probability" in heads:
        of_kind = heads[heads["kind"] == kind]
        loose = of_kind[of_kind["probability"] < SETTLED]
        if len(loose):
            names = [f"{row.head} {row.category} ({row.probability:.2f})" for row in loose.itertuples()]
            yield line("map.loose", names=names, share=SETTLED)
        elif of_kind["probability"].notna().any():
            yield line("map.settled", kind=kind, share=SETTLED)


def head_names(heads: pd.DataFrame, category: str) -> list[str]:
    """Names of the helping and of the suppressing heads of a category, from what `hc.categories.head_table` returns."""
    of_category = heads[heads["category"] == category]
    return [" ".join(of_category[of_category["kind"] == kind]["head"]) or "none" for kind in ("helping", "suppressing")]


def count_findings(shared: xr.Dataset) -> Iterator[Finding]:
    """Count heads in exactly k categories."""
    if not int(shared["observed"].sum()):
        undecided = int(shared["undecided"].any("category").sum())
        yield paragraph("map.nothing_shared", kind=shared.attrs.get("sign", "helping"), undecided=undecided)
        return
    counts = zip(shared["k"].values.tolist(), shared["observed"].values.tolist(), strict=True)
    rows = [[pluralize(k, "category", "categories"), str(n)] for k, n in counts]
    yield table("map.counts", ["in exactly", "heads"], rows, numeric=["heads"])
    if shared["undecided"].any():
        yield line("map.undecided_out", n=int(shared["undecided"].sum()))


def _jaccard(shared: xr.Dataset) -> Iterator[Finding]:
    names = shared["category"].values.tolist()
    if len(names) > 1 and shared["jaccard"].notnull().any():
        columns, rows = pairwise(shared, "category", names, lambda pair: with_interval(pair, "jaccard"))
        yield table("map.jaccard", columns, rows, numeric=names)


def pairwise(
    pairs: xr.Dataset, dim: str, names: Sequence[str], cell: Callable[[xr.Dataset], str]
) -> tuple[list[str], list[list[str]]]:
    """Columns and rows of a table of what `cell` says of pairs along `dim` and `other`, each pair once."""
    n = len(names)
    rows = [
        [names[i], *(cell(pairs.isel({dim: i, "other": j})) for j in range(i)), *[""] * (n - 1 - i)]
        for i in range(1, n)
    ]
    return ["", *names[:-1]], rows


def _caveats(scores: xr.Dataset, sign: str) -> Iterator[Finding]:
    if approximation := approximation_label(scores):
        yield paragraph("map.approximation", kind=approximation)
    if "below_noise" in scores:
        n_effects = int(scores["effect"].notnull().sum())
        yield paragraph("map.below_noise", n=int(scores["below_noise"].sum()), effects=n_effects)
    if sign != "suppressing":
        yield from _controls(scores)


def _controls(scores: xr.Dataset) -> Iterator[Finding]:
    if not (controls := controls_of(scores.attrs["method"])) or scores.attrs.get("effect") == "task_specific":
        return
    shares = [_share(scores[name].values, *texts) for name, texts in _CONTROLS.items() if name in scores]
    if shares:
        option = line("map.task_specific_option") if "task_share" in scores else None
        yield paragraph("map.shares", first=shares[0], second=shares[1] if len(shares) > 1 else None, option=option)
    else:
        yield paragraph("map.no_controls", controls=list(controls.values()))


def _share(shares: np.ndarray, needed: str, control: str) -> Finding:
    """Median share of the effects, over tasks, that a control without `needed` does not bring back."""
    percent = 100 * shares[np.isfinite(shares)]
    if not len(percent):
        return line("map.share_unknown", needed=needed)
    median, least, most = (round(value) for value in (np.median(percent), percent.min(), percent.max()))
    negative = line("map.share_negative", control=control) if least < 0 else None
    return line("map.share", needed=needed, median=median, least=least, most=most, negative=negative)


def difference_table(tested: xr.Dataset) -> Iterator[Finding]:
    """For every pair of categories the number of heads that differ, and the largest differences by name."""
    if tested["n_different"].notnull().any():
        names, alpha = tested["category"].values.tolist(), tested.attrs["alpha"]
        yield table("map.differences", *pairwise(tested, "category", names, lambda pair: _cell(pair, alpha)))
        yield line("map.differences_meaning", alpha=alpha, needed=LEAST_SOURCES)


def _cell(pair: xr.Dataset, alpha: float) -> str:
    """Such as "4: L1H2 +0.312, L0H3 -0.201, L2H2 +0.113 and 1 more"; "-" where nothing can be tested."""
    if pair["n_different"].isnull():
        return "-"
    differences = pair[["difference"]].where(pair["p_value"] <= alpha).to_dataframe()["difference"].dropna()
    largest = differences.reindex(differences.abs().sort_values(ascending=False).index)
    unit = unit_of(pair)
    heads = [f"{cell_name(layer, head, unit)} {value:+.3f}" for (layer, head), value in largest.items()]
    return f"{len(heads)}: {first_names(heads, _NAMED)}" if heads else "0"
