"""What the numbers say, in words. The rule was declared before any number was seen and has no knob.

A category stands if its tested heads are more specific than random sets, one-sided p <= .05 among at least 19 controls
(with fewer, no p could be that small), and if their specificity is above 0 itself: heads that matter for everything
differ between any two groups of prompts by more than random heads that matter for nothing. Otherwise the category does
not stand, or it cannot be decided.
"""

import numpy as np
import xarray as xr

ALPHA = 0.05
LEAST_CONTROLS = 19
STANDS, FALLS, OPEN = "stands", "does not stand", "cannot be decided"


def verdict(table: xr.Dataset) -> str:
    """Whether one category stands.

    Args:
        table: A row of what `headcats.evidence.specificity.specificity` returns (one category selected).
    """
    if not np.isfinite(table["specificity"].item()) or table["specificity_n_controls"].item() < LEAST_CONTROLS:
        return OPEN
    return STANDS if table["specificity_p"].item() <= ALPHA and table["specificity_low"].item() > 0 else FALLS


def verdicts(table: xr.Dataset) -> xr.DataArray:
    """The verdict of every category, text along `category`."""
    return xr.DataArray(
        np.array([verdict(table.sel(category=name)) for name in table["category"].values], dtype=str),
        dims="category",
        coords={"category": table["category"].values},
    )


def sentences(table: xr.Dataset, *, asked: int, exclusive: bool = False) -> list[str]:
    """One sentence per category.

    Args:
        table: What `specificity` returns.
        asked: How many control sets were asked for.
        exclusive: Whether only heads of no other category were tested.
    """
    return [_sentence(table.sel(category=name), name, asked, exclusive) for name in table["category"].values.tolist()]


def contrast_sentences(table: xr.Dataset) -> list[str]:
    """One sentence per pair of categories on shared words, and one that lists the pairs without any.

    Args:
        table: What `headcats.evidence.contrasts.contrasts` returns.
    """
    names = table["category"].values.tolist()
    if not (table["own_prompts"].values > 0).any():
        return ["No contrast on shared words: no corrupted prompt shows a task of another category (shuffled labels?)."]
    cells = [table.sel(category=name, other=other) for name in names for other in names if name != other]
    said = [_contrast(cell) for cell in cells if np.isfinite(cell["difference"].item())]
    said += [
        _interaction(table.sel(category=name, other=other))
        for place, name in enumerate(names)
        for other in names[place + 1 :]
        if np.isfinite(table["interaction"].sel(category=name, other=other).item())
    ]
    strangers = sorted(
        {
            " and ".join(sorted((cell["category"].item(), cell["other"].item())))
            for cell in cells
            if not (cell["own_prompts"].item() and cell["other_prompts"].item())
        }
    )
    if strangers:
        said.append(
            f"No contrast on shared words between {'; '.join(strangers)}: no held-out prompt of the one shows a task "
            "of the other."
        )
    for cell in cells:
        if cell["own_prompts"].item() and cell["other_prompts"].item() and cell["note"].item():
            said.append(
                f"No contrast on shared words for {cell['category'].item()} against {cell['other'].item()}: "
                f"{cell['note'].item()}."
            )
    return said


def _interaction(cell: xr.Dataset) -> str:
    name, other, both = cell["category"].item(), cell["other"].item(), cell["interaction"].item()
    return (
        f"{name} and {other} on shared words, both differences added: {_share(both)} of the gap (0: heads of the one "
        "do there what heads of the other do, however fragile the tasks are)."
    )


def _contrast(cell: xr.Dataset) -> str:
    name, other, n = cell["category"].item(), cell["other"].item(), int(cell["n_controls"])
    told = (
        f"On words that {name} and {other} share, heads of {name} damage {name} by {_share(cell['own'].item())} and "
        f"{other} by {_share(cell['elsewhere'].item())} of the gap ({cell['own_prompts'].item()} and "
        f"{cell['other_prompts'].item()} prompts)"
    )
    if n < LEAST_CONTROLS:
        return f"{told}; {n} random sets are too few to judge the difference."
    p = cell["p"].item()
    return (
        f"{told}, {'more' if p <= ALPHA else 'not more'} specific than random heads of the same layers: "
        f"{round(p * (n + 1)) - 1} of {n} sets differ as much (p = {p:.2g})."
    )


def _sentence(row: xr.Dataset, name: str, asked: int, exclusive: bool) -> str:
    heads = "its own heads (in no other category)" if exclusive else "its heads"
    found = verdict(row)
    n = int(row["specificity_n_controls"])
    if not np.isfinite(row["specificity"].item()):
        return f"{name} {OPEN}{' by ' + heads if exclusive else ''}: {row['why'].item()}."
    own = row["damage"].sel(target=name).item()
    elsewhere = own - row["specificity"].item()
    told = (
        f"{heads} damage its tasks by {_share(own)} of the gap and those of other categories by {_share(elsewhere)}, a "
        f"difference of {_share(row['specificity'].item())}"
    )
    few = "" if n >= asked else f"; only {n} of the {asked} sets asked for exist{_limit(row)}"
    if found == OPEN:
        said = f"{name} {OPEN}: {told}, but with {n} random sets of the same layers p cannot fall to {ALPHA}{few}."
        return f"{said}{_rival(row, own)}{_shared(row)}"
    p, low, high = (row[f"specificity_{part}"].item() for part in ("p", "low", "high"))
    kind = "layers" if row["matched"].item() == "layers" else "thirds of the layers (no others exist for some sets)"
    unclear = f", but the difference is not clearly above 0 (95 % interval {_share(low)} to {_share(high)})"
    return (
        f"{name} {found}: {told}; {round(p * (n + 1)) - 1} of {n} random sets of the same {kind} are at least as "
        f"specific (p = {p:.2g}{few}){unclear if p <= ALPHA and not low > 0 else ''}.{_rival(row, own)}{_shared(row)}"
    )


def _rival(row: xr.Dataset, own: float) -> str:
    """How the heads of other categories do on these tasks, as a sentence."""
    more, low, high = (row[part].item() for part in ("advantage", "advantage_low", "advantage_high"))
    if not np.isfinite(more):
        return ""
    return (
        f" Heads of {row['rival'].item()} damage these tasks by {_share(own - more)}; its own do {_share(more)} more "
        f"({_share(low)} to {_share(high)})."
    )


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


def _share(value: float) -> str:
    # Adding 0 takes the sign off a -0.00.
    return f"{round(value, 2) + 0.0:.2f}"
