"""Verdicts on categories, and the sentences that state them. One rule for every study, without options.

A category is supported if

- its tested heads are more specific than their relabellings within layers: exact one-sided p <= .05 among at least 19
  of them (with fewer no p could be that small, and the test is inconclusive);
- the 95 % interval of their specificity is above 0: heads that matter for everything differ between any two groups of
  prompts by more than random heads that matter for nothing;
- p <= .05 also among random sets without the tested heads, where at least 19 exist. Alone, this condition would call
  11 to 17 % of exchangeable sets at 8 heads per layer, because these sets all come from one small pool.

One relabelling in n keeps a given head in a layer of n heads. Where one head does all of the damage the exact p is
about 1 / n, so no model with fewer than 20 heads per layer could support the category. If the exact p alone stays above
.05, while at most 1 in 20 of at least 19 sets without its heads is as specific, the test is inconclusive. In all other
cases the category is not supported.

Verdicts are not corrected for their number. Contrasts on shared words are descriptive: their p are among disjoint
controls and enter no verdict.
"""

import numpy as np
import xarray as xr

from headcats.errors import pluralize

ALPHA = 0.05
LEAST_CONTROLS = 19
# Descriptive cut-offs, no test: joint damage differs from the sum of single ones by a factor of FAR, and any two
# damages differ by NOTABLE of the gap.
FAR, NOTABLE = 1.5, 0.02
SUPPORTED, NOT_SUPPORTED, INCONCLUSIVE = "supported", "not supported", "inconclusive"
_FORMER = {"cannot be decided": INCONCLUSIVE, "does not stand": NOT_SUPPORTED, "stands": SUPPORTED}


def verdict(table: xr.Dataset) -> str:
    """Whether one category is supported.

    Args:
        table: A row of what `headcats.evidence.specificity.specificity` returns (one category selected).
    """
    if not np.isfinite(table["specificity"].item()) or table["n_relabelled"].item() < LEAST_CONTROLS:
        return INCONCLUSIVE
    enough_sets = table["specificity_n_controls"].item() >= LEAST_CONTROLS
    if not table["specificity_low"].item() > 0 or (enough_sets and table["specificity_p"].item() > ALPHA):
        return NOT_SUPPORTED
    if table["specificity_exact_p"].item() <= ALPHA:
        return SUPPORTED
    return INCONCLUSIVE if enough_sets else NOT_SUPPORTED


def verdicts(table: xr.Dataset) -> xr.DataArray:
    """The verdict of every category, text along `category`."""
    names = table["category"].values
    texts = np.array([verdict(table.sel(category=name)) for name in names], dtype=str)
    return xr.DataArray(texts, dims="category", coords={"category": names})


def in_current_words(table: xr.Dataset) -> xr.Dataset:
    """A saved table of evidence; with `verdict` and `reading` of older files in the words used now."""
    if "verdict" in table:
        texts = [_FORMER.get(text, text) for text in table["verdict"].values.tolist()]
        table = table.assign(verdict=("category", np.array(texts, dtype=str)))
    reading = table.attrs.get("reading", "")
    for former, word in _FORMER.items():
        reading = reading.replace(f" {former}", f": {word}").replace(f"`{former}`", f"`{word}`")
    return table.assign_attrs(reading=reading) if "reading" in table.attrs else table


def sentences(
    table: xr.Dataset, *, n_asked: int, exclusive: bool = False, beside: xr.Dataset | None = None
) -> list[str]:
    """One line per category; one for all categories that could not be tested for the same reason.

    Args:
        table: What `specificity` returns.
        n_asked: How many control sets were asked for.
        exclusive: Whether only heads of no other category were tested.
        beside: The table with all heads, if its sentences come first: reasons given there are not repeated.
    """
    lines: dict[str, str] = {}
    untested: dict[str, list[str]] = {}
    for name in table["category"].values.tolist():
        row = table.sel(category=name)
        first = None if beside is None else beside.sel(category=name)
        if first is not None and (row["heads"] != "").any() and (row["heads"].values == first["heads"].values).all():
            lines[name] = f"{name}: none of its tested heads is in another category, so the same holds for these."
        elif np.isfinite(row["specificity"].item()):
            lines[name] = f"{name}: {verdict(row)}. {_result(row, name, n_asked, exclusive)}"
        elif first is None or first["why"].item() != row["why"].item():
            untested.setdefault(row["why"].item(), []).append(name)
    for reason, names in untested.items():
        categories = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
        by_exclusive = " by heads in no other category" if exclusive else ""
        each = ", each" if len(names) > 1 else ""
        lines[names[0]] = f"{categories}: {INCONCLUSIVE}{by_exclusive}{each} because {reason}."
    return [lines[name] for name in table["category"].values.tolist() if name in lines]


def share(value: float) -> str:
    """A share of the gap: two decimals, three where two would leave nothing."""
    digits = 2 if round(abs(value), 3) >= 0.1 else 3
    # Adding 0 takes the sign off a -0.00.
    return f"{round(value, digits) + 0.0:.{digits}f}"


def damaged_more(table: xr.Dataset, category: str) -> list[str]:
    """Categories whose tasks a category's heads damage notably more than its own.

    Args:
        table: What `specificity` returns, or the row of this category.
        category: Whose heads.
    """
    row = table["damage"].sel(category=category) if "category" in table["damage"].dims else table["damage"]
    least = max(row.sel(target=category).item() + NOTABLE, NOTABLE)
    return [target for target in row["target"].values.tolist() if row.sel(target=target).item() > least]


def tasks_with_heads(table: xr.Dataset, target: str) -> str:
    """On how many of a category's tested tasks there were heads, as "k of n tasks"; "" where on all of them.

    Args:
        table: A row of what `specificity` returns.
        target: The category of the tasks.
    """
    n, with_heads = int((table["task_category"] == target).sum()), int(table["n_tasks"].sel(target=target))
    return f"{with_heads} of {n} tasks" if with_heads < n else ""


def multiplicity_sentences(*tables: xr.Dataset) -> list[str]:
    """How many verdicts were reached, in one sentence or none.

    Args:
        tables: What `specificity` returns, with `verdict`.
    """
    n = sum(int((table["verdict"] != INCONCLUSIVE).sum()) for table in tables)
    if not n:
        return []
    caution = "of categories whose heads are like all others, one in twenty would be supported by chance"
    count = f"{pluralize(n, 'verdict')} (`{SUPPORTED}` or `{NOT_SUPPORTED}`) at {ALPHA} each"
    return [f"{count}, not corrected for their number: {caution}."]


def redundancy_sentences(table: xr.Dataset) -> list[str]:
    """Whether a category's heads stand in for each other, one sentence per category with at least two heads.

    Args:
        table: What `headcats.evidence.self_repair.self_repair` returns.
    """
    lines = []
    for name in table["category"].values.tolist():
        row = table.sel(category=name)
        joint, summed = row["joint"].item(), row["sum_of_single"].item()
        if not np.isfinite(joint) or (row["head"] != "").sum() < 2:
            continue
        comparison = "about the sum"
        if joint - summed > NOTABLE and joint > FAR * abs(summed):
            comparison = "far more, a sign that they stand in for each other"
        elif summed - joint > NOTABLE and summed > FAR * abs(joint):
            comparison = "far less, a sign that they depend on each other"
        lines.append(
            f"{name}: ablating its heads one at a time costs {share(summed)} of the gap in sum, all at once "
            f"{share(joint)}: {comparison}."
        )
    return lines


def _result(row: xr.Dataset, name: str, n_asked: int, exclusive: bool) -> str:
    """Damage here and elsewhere, both tests, and remarks."""
    heads = "Its own heads (in no other category)" if exclusive else "Its heads"
    cost, difference = row["damage"].sel(target=name).item(), row["specificity"].item()
    targets = [target for target in row["target"].values.tolist() if target != name]
    own_tasks = f" (known on {part})" if (part := tasks_with_heads(row, name)) else ""
    counts = ", ".join(f"{target} {part}" for target in targets if (part := tasks_with_heads(row, target)))
    other_tasks = f" ({counts})" if counts else ""
    damage = (
        f"{heads} damage its tasks{own_tasks} by {share(cost)} of the gap and those of other categories{other_tasks} "
        f"by {share(cost - difference)}, a difference of {share(difference)}"
    )
    return f"{damage}; {_tests(row, n_asked)}.{_damaged_more(row, name)}{_rival(row)}{_shared(row)}"


def _tests(row: xr.Dataset, n_asked: int) -> str:
    """Relabellings and random sets, as a clause, and what keeps them from supporting the category."""
    exact, n, reaching = row["specificity_exact_p"].item(), int(row["n_relabelled"]), int(row["n_reaching"])
    missing = "" if n >= n_asked else f"; only {n} of the {n_asked} asked for exist"
    if n < LEAST_CONTROLS:
        return f"with {pluralize(n, 'relabelling')} within layers p cannot fall to {ALPHA}{missing}"
    limit = ""
    low, high = row["specificity_low"].item(), row["specificity_high"].item()
    if verdict(row) == INCONCLUSIVE:
        limit = _disagreement(row)
    elif exact <= ALPHA and not low > 0:
        limit = f", but the difference is not clearly above 0 (95 % interval {share(low)} to {share(high)})"
    verb = "is" if reaching == 1 else "are"
    relabelled = f"{reaching} of {n} relabellings within layers {verb} at least as specific"
    return f"{relabelled} (exact p = {exact:.2g}{missing}), and {_random_sets(row, n_asked)}{limit}"


def _damaged_more(row: xr.Dataset, name: str) -> str:
    """The categories that the heads damage more than their own, as a sentence: the mean over the others can hide it."""
    targets = [f"{target} ({share(row['damage'].sel(target=target).item())})" for target in damaged_more(row, name)]
    return f" They damage {' and '.join(targets)} more than {name} itself." if targets else ""


def _disagreement(row: xr.Dataset) -> str:
    """Why relabellings reach what random sets without the heads do not, as a clause."""
    few = "few heads per layer may be all that raises p"
    reaching, apart, reaching_apart = (int(row[name]) for name in ("n_reaching", "n_apart", "n_reaching_apart"))
    if not apart:
        return f"; every relabelling keeps some of its heads: {few}"
    clause = f"; of the {apart} relabellings without any of its heads {reaching_apart} reach as much"
    if reaching_apart > ALPHA * apart:
        return f"{clause}, so the two tests contradict each other"
    return f"{clause}, of those that keep some {reaching - reaching_apart}: {few}"


def _random_sets(row: xr.Dataset, n_asked: int) -> str:
    """How many random sets without the tested heads reach as much, as a clause."""
    p, n = row["specificity_p"].item(), int(row["specificity_n_controls"])
    if not n:
        return "no random set without them exists"
    missing = ""
    if n < n_asked:
        left_out = ", for the heads left when one of its tasks is put aside"
        missing = f"; only {n} of the {n_asked} asked for exist{left_out if row['n_controls'].max() > n else ''}"
    layers = "layers" if row["matched"].item() == "layers" else "thirds of the layers (no others exist for some sets)"
    unused = "" if n >= LEAST_CONTROLS else ", too few to count"
    return (
        f"{round(p * (n + 1)) - 1} of {n} random sets of the same {layers} without them (p = {p:.2g}{missing}){unused}"
    )


def _rival(row: xr.Dataset) -> str:
    """How the heads of other categories do on these tasks, as a sentence."""
    names = ("advantage", "advantage_low", "advantage_high", "rival_damage")
    more, low, high, damage = (row[part].item() for part in names)
    if not np.isfinite(more):
        return ""
    by = f"{share(more)} more ({share(low)} to {share(high)})"
    if more < 0:
        by = f"{share(-more)} less ({share(-high)} to {share(-low)})"
    n, n_own = int(row["rival_n_tasks"]), int((row["task_category"] == row["category"]).sum())
    tasks = "these tasks" if n == n_own else f"{n} of these {n_own} tasks"
    return (
        f" No part of the verdict: heads of {row['rival'].item()} damage {tasks} by {share(damage)}, its own by {by}."
    )


def _shared(row: xr.Dataset) -> str:
    """How many of the tested heads belong to other categories too, as a sentence."""
    shared, tested = max(
        (int(n), len(heads.split())) for n, heads in zip(row["shared"].values, row["heads"].values, strict=True)
    )
    return f" {shared} of its {tested} tested heads are in other categories too." if shared else ""
