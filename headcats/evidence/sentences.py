"""What the test of the categories shows, in sentences."""

import itertools

import numpy as np
import xarray as xr

from headcats.errors import pluralize
from headcats.evidence.verdicts import (
    ALPHA,
    FAR,
    INCONCLUSIVE,
    LEAST_CONTROLS,
    NOT_SUPPORTED,
    NOTABLE,
    SUPPORTED,
    damaged_more,
    share,
    tasks_with_heads,
    verdict,
)


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


def multiplicity_sentences(*tables: xr.Dataset) -> list[str]:
    """How many verdicts were reached, in one sentence or none."""
    n = sum(int((table["verdict"] != INCONCLUSIVE).sum()) for table in tables)
    if not n:
        return []
    caution = "of categories whose heads are like all others, one in twenty would be supported by chance"
    count = f"{pluralize(n, 'verdict')} (`{SUPPORTED}` or `{NOT_SUPPORTED}`) at {ALPHA} each"
    return [f"{count}, not corrected for their number: {caution}."]


def redundancy_sentences(table: xr.Dataset) -> list[str]:
    """Whether a category's heads stand in for each other, one sentence per category with at least two heads."""
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


def contrast_sentences(table: xr.Dataset) -> list[str]:
    """One sentence per pair of categories with shared words, and one on the pairs without; they enter no verdict."""
    if not (table["own_prompts"].values > 0).any():
        return [f"No contrast on shared words: {table.attrs.get('why', 'no corrupted prompt shows another category')}."]
    names = table["category"].values.tolist()
    cells = [table.sel(category=name, other=rival) for name, rival in itertools.permutations(names, 2)]
    # Where both categories have heads, one sentence holds both differences.
    one_sided = [
        cell for cell in cells if np.isfinite(cell["difference"].item()) and not np.isfinite(cell["interaction"].item())
    ]
    lines = [_difference(cell) for cell in one_sided]
    lines += [
        _interaction(cell)
        for cell in cells
        if names.index(cell["category"].item()) < names.index(cell["other"].item())
        and np.isfinite(cell["interaction"].item())
    ]
    if lines:
        has_p = any(cell["n_controls"].item() >= LEAST_CONTROLS for cell in one_sided)
        caution = ": random sets without the tested heads are too much alike, so their p are too small"
        lines.append(f"Contrasts on shared words are descriptive and enter no verdict{caution if has_p else ''}.")
    strangers: set[str] = set()
    untested: dict[tuple[str, str], list[str]] = {}
    for cell in cells:
        name, rival, note = (cell[part].item() for part in ("category", "other", "note"))
        if not (cell["own_prompts"].item() and cell["other_prompts"].item()):
            strangers.add(" and ".join(sorted((name, rival))))
        elif note:
            untested.setdefault((name, note), []).append(rival)
    if strangers:
        lines.append(
            f"No contrast on shared words between {'; '.join(sorted(strangers))}: no held-out prompt of the one shows "
            "a task of the other."
        )
    lines += [
        f"No contrast on shared words for {name} against {', '.join(targets)}: {note}."
        for (name, note), targets in untested.items()
    ]
    return lines


def _interaction(cell: xr.Dataset) -> str:
    name, rival = cell["category"].item(), cell["other"].item()
    difference, both = cell["difference"].item(), cell["interaction"].item()
    return (
        f"On words that {name} and {rival} share, heads of {name} do {_more(difference)} damage to {name} than to "
        f"{rival}, and those of {rival} {_more(both - difference)} to {rival} than to {name}: {share(both)} of the gap "
        f"together ({_prompts(cell)}; above 0: each category's heads do more for it than the other's do; 0: the same; "
        "below 0: less)."
    )


def _more(difference: float) -> str:
    return f"{share(abs(difference))} {'less' if difference < 0 else 'more'}"


def _prompts(cell: xr.Dataset) -> str:
    return f"{cell['own_prompts'].item()} and {cell['other_prompts'].item()} prompts"


def _difference(cell: xr.Dataset) -> str:
    name, rival, n, p = (cell[part].item() for part in ("category", "other", "n_controls", "p"))
    damage = (
        f"On words that {name} and {rival} share, heads of {name} damage {name} by {share(cell['own'].item())} and "
        f"{rival} by {share(cell['elsewhere'].item())} of the gap ({_prompts(cell)})"
    )
    if n < LEAST_CONTROLS:
        return f"{damage}; too few random sets ({n}) to judge the difference."
    reaching = f"{round(p * (n + 1)) - 1} of {n} random sets of the same layers"
    return f"{damage}; {reaching} differ as much (descriptive p = {p:.2g})."
