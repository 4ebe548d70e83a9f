"""What the test of the categories shows, as findings."""

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from headcats.evidence.verdicts import (
    ALPHA,
    FAR,
    INCONCLUSIVE,
    LEAST_CONTROLS,
    NOT_SUPPORTED,
    NOTABLE,
    SUPPORTED,
    damaged_more,
    tasks_with_heads,
    verdict,
)
from headcats.results.finding import Finding, by_category, line


def verdict_findings(
    table: xr.Dataset, *, n_requested: int, exclusive: bool = False, beside: xr.Dataset | None = None
) -> list[Finding]:
    """One finding per category; one for all categories that could not be tested for the same reason.

    `exclusive`: only heads of no other category were tested; reasons given `beside`, for all heads, are not repeated.
    """
    findings: dict[str, Finding] = {}
    untested: dict[str, list[str]] = {}
    for name, row in by_category(table):
        first = None if beside is None else beside.sel(category=name)
        if first is not None and (row["heads"] != "").any() and (row["heads"].values == first["heads"].values).all():
            findings[name] = line("evidence.same_heads", category=name)
        elif np.isfinite(row["specificity"].item()):
            findings[name] = _tested(row, name, n_requested, exclusive)
        elif first is None or first["why"].item() != row["why"].item():
            untested.setdefault(row["why"].item(), []).append(name)
    for reason, names in untested.items():
        findings[names[0]] = line(
            "evidence.untested",
            categories=names,
            verdict=INCONCLUSIVE,
            exclusive=line("evidence.by_exclusive") if exclusive else None,
            reason=reason,
        )
    return [findings[name] for name in table["category"].values.tolist() if name in findings]


def multiplicity_findings(*tables: xr.Dataset) -> list[Finding]:
    """How many verdicts were reached; nothing if none was."""
    n = sum(int((table["verdict"] != INCONCLUSIVE).sum()) for table in tables)
    return [line("evidence.multiplicity", n=n, yes=SUPPORTED, no=NOT_SUPPORTED, alpha=ALPHA)] if n else []


def redundancy_findings(table: xr.Dataset) -> list[Finding]:
    """Whether a category's heads stand in for each other, for each category with at least two heads."""
    findings = []
    for name, row in by_category(table):
        joint, summed = row["joint"].item(), row["sum_of_single"].item()
        if not np.isfinite(joint) or (row["head"] != "").sum() < 2:
            continue
        comparison = line("evidence.about_the_sum")
        if joint - summed > NOTABLE and joint > FAR * abs(summed):
            comparison = line("evidence.far_more")
        elif summed - joint > NOTABLE and summed > FAR * abs(joint):
            comparison = line("evidence.far_less")
        findings.append(line("evidence.redundancy", category=name, summed=summed, joint=joint, comparison=comparison))
    return findings


def contrast_findings(table: xr.Dataset) -> list[Finding]:
    """One finding per pair of categories with shared words, and one on the pairs without; they enter no verdict."""
    if not (table["own_prompts"].values > 0).any():
        return [line("evidence.no_contrast", why=table.attrs["why"])]
    names = table["category"].values.tolist()
    cells = [
        {str(part): values.values.item() for part, values in table.sel(category=name, other=rival).variables.items()}
        for name, rival in itertools.permutations(names, 2)
    ]
    # Where both categories have heads, one finding holds both differences.
    pairs = set(itertools.combinations(names, 2))
    one_sided = [cell for cell in cells if np.isfinite(cell["difference"]) and np.isnan(cell["interaction"])]
    both_sided = [
        cell for cell in cells if np.isfinite(cell["interaction"]) and (cell["category"], cell["other"]) in pairs
    ]
    findings = [*map(_difference, one_sided), *map(_interaction, both_sided)]
    if findings:
        has_p = any(cell["n_controls"] >= LEAST_CONTROLS for cell in one_sided)
        findings.append(line("evidence.descriptive", caution=line("evidence.p_too_small") if has_p else None))
    strangers: set[str] = set()
    untested: dict[tuple[str, str], list[str]] = {}
    for cell in cells:
        if not (cell["own_prompts"] and cell["other_prompts"]):
            strangers.add(" and ".join(sorted((cell["category"], cell["other"]))))
        elif cell["note"]:
            untested.setdefault((cell["category"], cell["note"]), []).append(cell["other"])
    if strangers:
        findings.append(line("evidence.no_shared_words", pairs=sorted(strangers)))
    return findings + [
        line("evidence.contrast_untested", category=name, others=others, note=note)
        for (name, note), others in untested.items()
    ]


def _tested(row: xr.Dataset, name: str, n_requested: int, exclusive: bool) -> Finding:
    """Damage here and elsewhere, both tests, and remarks."""
    cost, difference = row["damage"].sel(target=name).item(), row["specificity"].item()
    tasks = tasks_with_heads(row, name)
    counts = [
        f"{target} {part}"
        for target in row["target"].values.tolist()
        if target != name and (part := tasks_with_heads(row, target))
    ]
    targets = [
        line("evidence.target", target=target, damage=row["damage"].sel(target=target).item())
        for target in damaged_more(row, name)
    ]
    shared, tested = max(
        (int(n), len(heads.split())) for n, heads in zip(row["shared"].values, row["heads"].values, strict=True)
    )
    return line(
        "evidence.tested_category",
        category=name,
        verdict=verdict(row),
        heads=line("evidence.exclusive_heads" if exclusive else "evidence.its_heads"),
        tasks=line("evidence.known_on", tasks=tasks) if tasks else None,
        cost=cost,
        others=line("evidence.known_elsewhere", counts=counts) if counts else None,
        elsewhere=cost - difference,
        difference=difference,
        tests=_tests(row, n_requested),
        more=line("evidence.damage_more", targets=targets, category=name) if targets else None,
        rival=_rival(row),
        shared=line("evidence.shared_heads", n=shared, tested=tested) if shared else None,
    )


def _tests(row: xr.Dataset, n_requested: int) -> Finding:
    """Relabellings and random sets, and what keeps them from supporting the category."""
    exact, n, reaching = row["specificity_exact_p"].item(), int(row["n_relabelled"]), int(row["n_reaching"])
    missing = line("evidence.only", n=n, n_requested=n_requested, heads=None) if n < n_requested else None
    if n < LEAST_CONTROLS:
        return line("evidence.few_relabellings", n=n, alpha=ALPHA, missing=missing)
    limit = None
    low, high = row["specificity_low"].item(), row["specificity_high"].item()
    if verdict(row) == INCONCLUSIVE:
        limit = _disagreement(row)
    elif exact <= ALPHA and not low > 0:
        limit = line("evidence.not_above_zero", low=low, high=high)
    sets = _random_sets(row, n_requested)
    return line("evidence.tests", n=n, reaching=reaching, exact=exact, missing=missing, sets=sets, limit=limit)


def _disagreement(row: xr.Dataset) -> Finding:
    """Why relabellings reach what random sets without the heads do not."""
    reaching, apart, reaching_apart = (int(row[name]) for name in ("n_reaching", "n_apart", "n_reaching_apart"))
    if not apart:
        return line("evidence.all_keep_heads")
    if reaching_apart > ALPHA * apart:
        return line("evidence.contradiction", apart=apart, reaching=reaching_apart)
    return line("evidence.some_keep_heads", apart=apart, reaching=reaching_apart, keeping=reaching - reaching_apart)


def _random_sets(row: xr.Dataset, n_requested: int) -> Finding:
    """How many random sets without the tested heads reach as much."""
    p, n = row["specificity_p"].item(), int(row["specificity_n_controls"])
    if not n:
        return line("evidence.no_sets")
    heads = line("evidence.heads_left") if row["n_controls"].max() > n else None
    return line(
        "evidence.sets",
        reaching=round(p * (n + 1)) - 1,
        n=n,
        matched=line("evidence.layers" if row["matched"].item() == "layers" else "evidence.thirds_of_layers"),
        p=p,
        missing=line("evidence.only", n=n, n_requested=n_requested, heads=heads) if n < n_requested else None,
        few=None if n >= LEAST_CONTROLS else line("evidence.too_few"),
    )


def _rival(row: xr.Dataset) -> Finding | None:
    """How the heads of other categories do on these tasks."""
    names = ("advantage", "advantage_low", "advantage_high", "rival_damage")
    more, low, high, damage = (row[name].item() for name in names)
    if not np.isfinite(more):
        return None
    n, n_own = int(row["rival_n_tasks"]), int((row["task_category"] == row["category"]).sum())
    return line(
        "evidence.rival",
        rival=row["rival"].item(),
        tasks=line("evidence.these_tasks") if n == n_own else line("evidence.some_tasks", n=n, n_own=n_own),
        damage=damage,
        amount=_amount(more),
        low=-high if more < 0 else low,
        high=-low if more < 0 else high,
    )


def _interaction(cell: Mapping[str, Any]) -> Finding:
    return line(
        "evidence.interaction",
        first=cell["category"],
        second=cell["other"],
        by_first=_amount(cell["difference"]),
        by_second=_amount(cell["interaction"] - cell["difference"]),
        both=cell["interaction"],
        n_first=cell["own_prompts"],
        n_second=cell["other_prompts"],
    )


def _amount(difference: float) -> Finding:
    return line("evidence.less" if difference < 0 else "evidence.more", amount=abs(difference))


def _difference(cell: Mapping[str, Any]) -> Finding:
    n, p = cell["n_controls"], cell["p"]
    test = line("evidence.few_sets", n=n)
    if n >= LEAST_CONTROLS:
        test = line("evidence.contrast_sets", reaching=round(p * (n + 1)) - 1, n=n, p=p)
    return line(
        "evidence.difference",
        category=cell["category"],
        other=cell["other"],
        damage=cell["own"],
        elsewhere=cell["elsewhere"],
        n_first=cell["own_prompts"],
        n_second=cell["other_prompts"],
        test=test,
    )
