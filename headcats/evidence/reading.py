"""What the numbers say, in words. The rule is the same for every study and has no knob.

A category stands if its tested heads are more specific than their relabellings within layers, exact one-sided p <= .05
among at least 19 of them (with fewer, no p could be that small: it cannot be decided); if the 95 % interval of their
specificity is above 0, as heads that matter for everything differ between any two groups of prompts by more than
random heads that matter for nothing; and, where at least 19 random sets without the tested heads exist, if p <= .05
among these too. The last condition alone would call 11 to 17 % of exchangeable sets at 8 heads per layer, because these
controls all come from one small pool.

One relabelling in n keeps a given head, n heads in its layer: where one head does all of the damage, the exact p is
about 1 / n, and no model with fewer than 20 heads per layer could tell. So a category whose exact p alone stays above
.05, while no more than 1 in 20 of at least 19 sets without its heads is as specific, cannot be decided either. In all
other cases it does not stand.

Verdicts are not corrected for their number. The p of contrasts on shared words are among disjoint controls: they
describe and decide nothing.
"""

import numpy as np
import xarray as xr

from headcats.formatting import pluralize

ALPHA = 0.05
LEAST_CONTROLS = 19
# Joint and summed single damages that differ by less than this factor, or any damages by less than this share of the
# gap, are about the same. A description, no test.
FAR, NOTABLE = 1.5, 0.02
STANDS, FALLS, OPEN = "stands", "does not stand", "cannot be decided"


def verdict(table: xr.Dataset) -> str:
    """Whether one category stands.

    Args:
        table: A row of what `headcats.evidence.specificity.specificity` returns (one category selected).
    """
    if not np.isfinite(table["specificity"].item()) or table["n_relabelled"].item() < LEAST_CONTROLS:
        return OPEN
    enough, beaten = (
        table["specificity_n_controls"].item() >= LEAST_CONTROLS,
        table["specificity_p"].item() <= ALPHA,
    )
    if not table["specificity_low"].item() > 0 or (enough and not beaten):
        return FALLS
    if table["specificity_exact_p"].item() <= ALPHA:
        return STANDS
    return OPEN if enough else FALLS


def verdicts(table: xr.Dataset) -> xr.DataArray:
    """The verdict of every category, text along `category`."""
    return xr.DataArray(
        np.array([verdict(table.sel(category=name)) for name in table["category"].values], dtype=str),
        dims="category",
        coords={"category": table["category"].values},
    )


def sentences(table: xr.Dataset, *, asked: int, exclusive: bool = False, beside: xr.Dataset | None = None) -> list[str]:
    """One sentence per category; one for all that could not be tested for the same reason.

    Args:
        table: What `specificity` returns.
        asked: How many control sets were asked for.
        exclusive: Whether only heads of no other category were tested.
        beside: The table with all heads, where the sentences follow those on it: what could not be tested there for
            the same reason is not said again.
    """
    said: dict[str, str] = {}
    alike: dict[str, list[str]] = {}
    for name in table["category"].values.tolist():
        row = table.sel(category=name)
        if beside is not None and (row["heads"] != "").any() and _same_heads(row, beside.sel(category=name)):
            said[name] = f"{name}: none of its tested heads is in another category, so the same holds for these."
            continue
        if np.isfinite(row["specificity"].item()):
            said[name] = _sentence(row, name, asked, exclusive)
            continue
        why = row["why"].item()
        if beside is None or beside["why"].sel(category=name).item() != why:
            alike.setdefault(why, []).append(name)
    for why, names in alike.items():
        listed = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
        by = f" by {'its' if len(names) == 1 else 'their'} own heads (in no other category)" if exclusive else ""
        said[names[0]] = f"{listed} {OPEN}{by}{', each for the same reason' if len(names) > 1 else ''}: {why}."
    return [said[name] for name in table["category"].values.tolist() if name in said]


def _same_heads(row: xr.Dataset, other: xr.Dataset) -> bool:
    return row["heads"].values.tolist() == other["heads"].values.tolist()


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


def of_tasks(table: xr.Dataset, target: str) -> str:
    """On how many of a category's tested tasks there were heads, as "k of n tasks"; "" where on all of them.

    Args:
        table: A row of what `specificity` returns.
        target: The category of the tasks.
    """
    n, known = int((table["task_category"] == target).sum()), int(table["n_tasks"].sel(target=target))
    return f"{known} of {n} tasks" if known < n else ""


def multiplicity_sentences(*tables: xr.Dataset) -> list[str]:
    """How many verdicts were made, in one sentence or none.

    Args:
        tables: What `specificity` returns, with `verdict`.
    """
    n = sum(int((table["verdict"] != OPEN).sum()) for table in tables)
    if not n:
        return []
    made = pluralize(n, "verdict was", "verdicts were")
    caution = "not corrected for their number: of heads that are like all others, one in twenty would stand by chance"
    return [f"{made} made (`{STANDS}` or `{FALLS}`) at {ALPHA} each, {caution}."]


def redundancy_sentences(table: xr.Dataset) -> list[str]:
    """Whether a category's heads stand in for each other, one sentence per category with at least two heads.

    Args:
        table: What `headcats.evidence.self_repair.self_repair` returns.
    """
    said = []
    for name in table["category"].values.tolist():
        row = table.sel(category=name)
        joint, summed = row["joint"].item(), row["sum_of_single"].item()
        if not np.isfinite(joint) or (row["head"] != "").sum() < 2:
            continue
        found = "joint damage is about the sum"
        if joint - summed > NOTABLE and joint > FAR * abs(summed):
            found = "joint damage is far larger, a sign that its heads stand in for each other"
        elif summed - joint > NOTABLE and summed > FAR * abs(joint):
            found = "joint damage is far smaller, a sign that its heads depend on each other"
        told = f"single damages of its heads sum to {share(summed)} of the gap, all at once cost {share(joint)}"
        said.append(f"{name}: {told}; {found}.")
    return said


def _sentence(row: xr.Dataset, name: str, asked: int, exclusive: bool) -> str:
    heads = "its own heads (in no other category)" if exclusive else "its heads"
    found = verdict(row)
    own = row["damage"].sel(target=name).item()
    elsewhere = own - row["specificity"].item()
    others = ", ".join(
        f"{target} {part}"
        for target in row["target"].values.tolist()
        if target != name and (part := of_tasks(row, target))
    )
    here = of_tasks(row, name)
    told = (
        f"{heads} damage its tasks{f' (known on {here})' if here else ''} by {share(own)} of the gap and those of "
        f"other categories{f' ({others})' if others else ''} by {share(elsewhere)}, a difference of "
        f"{share(row['specificity'].item())}"
    )
    after = f"{_elsewhere(row, name)}{_rival(row)}{_shared(row)}"
    exact, n = row["specificity_exact_p"].item(), int(row["n_relabelled"])
    few = "" if n >= asked else f"; only {n} of the {asked} asked for exist"
    if found == OPEN and n < LEAST_CONTROLS:
        known = pluralize(n, "relabelling")
        return f"{name} {OPEN}: {told}, but with {known} within layers p cannot fall to {ALPHA}{few}.{after}"
    low, high = row["specificity_low"].item(), row["specificity_high"].item()
    unclear = ""
    if exact <= ALPHA and not low > 0:
        unclear = f", but the difference is not clearly above 0 (95 % interval {share(low)} to {share(high)})"
    if found == OPEN:
        unclear = _why_open(row)
    reaching = int(row["n_reaching"])
    relabelled = f"{reaching} of {n} relabellings within layers {'is' if reaching == 1 else 'are'} at least as specific"
    return (
        f"{name} {found}: {told}; {relabelled} (exact p = {exact:.2g}{few}), and "
        f"{_disjoint(row, asked)}{unclear}.{after}"
    )


def _elsewhere(row: xr.Dataset, name: str) -> str:
    """The category that the heads damage more than their own, as a sentence: the mean over the others can hide it."""
    told = [f"{target} ({share(row['damage'].sel(target=target).item())})" for target in damaged_more(row, name)]
    return f" They damage {' and '.join(told)} more than {name} itself." if told else ""


def _why_open(row: xr.Dataset) -> str:
    """What the two tests disagree about, as a clause: no set without the heads does as much, relabellings do."""
    reaching, apart, lost = (int(row[name]) for name in ("n_reaching", "n_apart", "n_reaching_apart"))
    if not apart:
        return "; every relabelling keeps some of its heads: few heads per layer may be all that raises p"
    told = f"; of the {apart} relabellings without any of its heads {lost} reach as much"
    if lost > ALPHA * apart:
        return f"{told}, so the two tests contradict each other"
    kept = reaching - lost
    return f"{told}, of those that keep some {kept}: few heads per layer may be all that raises p"


def _disjoint(row: xr.Dataset, asked: int) -> str:
    """What random sets without the tested heads say, as a clause."""
    p, n = row["specificity_p"].item(), int(row["specificity_n_controls"])
    if not n:
        return "no random set without them exists"
    kind = "layers" if row["matched"].item() == "layers" else "thirds of the layers (no others exist for some sets)"
    few = "" if n >= asked else f"; only {n} of the {asked} asked for exist{_limit(row)}"
    unused = "" if n >= LEAST_CONTROLS else ", too few to count"
    return f"{round(p * (n + 1)) - 1} of {n} random sets of the same {kind} without them (p = {p:.2g}{few}){unused}"


def _rival(row: xr.Dataset) -> str:
    """How the heads of other categories do on these tasks, as a sentence."""
    names = ("advantage", "advantage_low", "advantage_high", "rival_damage")
    more, low, high, rival = (row[part].item() for part in names)
    if not np.isfinite(more):
        return ""
    by = f"{share(more)} more ({share(low)} to {share(high)})"
    if more < 0:
        by = f"{share(-more)} less ({share(-high)} to {share(-low)})"
    n, of = int(row["rival_n_tasks"]), int((row["task_category"] == row["category"]).sum())
    where = "these tasks" if n == of else f"{n} of these {of} tasks"
    return f" No part of the verdict: heads of {row['rival'].item()} damage {where} by {share(rival)}, its own by {by}."


def _shared(row: xr.Dataset) -> str:
    """How many of the tested heads belong to other categories too, as a sentence."""
    counts = [(int(n), len(heads.split())) for n, heads in zip(row["shared"].values, row["heads"].values, strict=True)]
    shared, tested = max(counts)
    return f" {shared} of its {tested} tested heads are in other categories too." if shared else ""


def _limit(row: xr.Dataset) -> str:
    return (
        ", for the heads left when one of its tasks is put aside"
        if row["n_controls"].max() > row["specificity_n_controls"]
        else ""
    )
