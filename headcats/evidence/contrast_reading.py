"""Sentences on the contrasts on shared words, which are descriptive and enter no verdict."""

import numpy as np
import xarray as xr

from headcats.evidence.reading import LEAST_CONTROLS, share


def contrast_sentences(table: xr.Dataset) -> list[str]:
    """One sentence per pair of categories with shared words, and one that lists the pairs without.

    Args:
        table: What `headcats.evidence.contrasts.contrasts` returns.
    """
    if not (table["own_prompts"].values > 0).any():
        return [f"No contrast on shared words: {table.attrs.get('why', 'no corrupted prompt shows another category')}."]
    names = table["category"].values.tolist()
    cells = [table.sel(category=name, other=other) for name in names for other in names if name != other]
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
        name, other, note = (cell[part].item() for part in ("category", "other", "note"))
        if not (cell["own_prompts"].item() and cell["other_prompts"].item()):
            strangers.add(" and ".join(sorted((name, other))))
        elif note:
            untested.setdefault((name, note), []).append(other)
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
    name, other = cell["category"].item(), cell["other"].item()
    difference, both = cell["difference"].item(), cell["interaction"].item()
    return (
        f"On words that {name} and {other} share, heads of {name} do {_more(difference)} damage to {name} than to "
        f"{other}, and those of {other} {_more(both - difference)} to {other} than to {name}: {share(both)} of the gap "
        f"together ({_prompts(cell)}; above 0: each category's heads do more for it than the other's do; 0: the same; "
        "below 0: less)."
    )


def _more(difference: float) -> str:
    return f"{share(abs(difference))} {'less' if difference < 0 else 'more'}"


def _prompts(cell: xr.Dataset) -> str:
    return f"{cell['own_prompts'].item()} and {cell['other_prompts'].item()} prompts"


def _difference(cell: xr.Dataset) -> str:
    name, other, n, p = (cell[part].item() for part in ("category", "other", "n_controls", "p"))
    damage = (
        f"On words that {name} and {other} share, heads of {name} damage {name} by {share(cell['own'].item())} and "
        f"{other} by {share(cell['elsewhere'].item())} of the gap ({_prompts(cell)})"
    )
    if n < LEAST_CONTROLS:
        return f"{damage}; too few random sets ({n}) to judge the difference."
    reaching = f"{round(p * (n + 1)) - 1} of {n} random sets of the same layers"
    return f"{damage}; {reaching} differ as much (descriptive p = {p:.2g})."
