"""What the contrasts on shared words say, in words. They describe and decide nothing."""

import numpy as np
import xarray as xr

from headcats.evidence.reading import LEAST_CONTROLS, share


def contrast_sentences(table: xr.Dataset) -> list[str]:
    """One sentence per pair of categories on shared words, and one that lists the pairs without any.

    Args:
        table: What `headcats.evidence.contrasts.contrasts` returns.
    """
    names = table["category"].values.tolist()
    if not (table["own_prompts"].values > 0).any():
        return [f"No contrast on shared words: {table.attrs.get('why', 'no corrupted prompt shows another category')}."]
    cells = [table.sel(category=name, other=other) for name in names for other in names if name != other]
    # Where both categories have heads, their two differences are one sentence; else the one there is.
    known = [cell for cell in cells if np.isfinite(cell["difference"].item())]
    alone = [cell for cell in known if not np.isfinite(cell["interaction"].item())]
    said = [_contrast(cell) for cell in alone]
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
    if said:
        judged = any(cell["n_controls"].item() >= LEAST_CONTROLS for cell in alone)
        small = ": random sets without the tested heads are too much alike, so their p are too small"
        said.append(f"Contrasts on shared words describe and decide nothing{small if judged else ''}.")
    if strangers:
        said.append(
            f"No contrast on shared words between {'; '.join(strangers)}: no held-out prompt of the one shows a task "
            "of the other."
        )
    lacking: dict[tuple[str, str], list[str]] = {}
    for cell in cells:
        if cell["own_prompts"].item() and cell["other_prompts"].item() and cell["note"].item():
            lacking.setdefault((cell["category"].item(), cell["note"].item()), []).append(cell["other"].item())
    said += [
        f"No contrast on shared words for {name} against {', '.join(others)}: {note}."
        for (name, note), others in lacking.items()
    ]
    return said


def _interaction(cell: xr.Dataset) -> str:
    name, other = cell["category"].item(), cell["other"].item()
    here, both = cell["difference"].item(), cell["interaction"].item()
    return (
        f"On words that {name} and {other} share, heads of {name} do {_more(here)} damage to {name} than to "
        f"{other}, and those of {other} {_more(both - here)} to {other} than to {name}: {share(both)} of the gap "
        f"together ({cell['own_prompts'].item()} and {cell['other_prompts'].item()} prompts; above 0: each category's "
        "heads do more for it than the other's do; 0: the same; below 0: less)."
    )


def _more(difference: float) -> str:
    return f"{share(abs(difference))} {'less' if difference < 0 else 'more'}"


def _contrast(cell: xr.Dataset) -> str:
    name, other, n = cell["category"].item(), cell["other"].item(), int(cell["n_controls"])
    told = (
        f"On words that {name} and {other} share, heads of {name} damage {name} by {share(cell['own'].item())} and "
        f"{other} by {share(cell['elsewhere'].item())} of the gap ({cell['own_prompts'].item()} and "
        f"{cell['other_prompts'].item()} prompts)"
    )
    if n < LEAST_CONTROLS:
        return f"{told}; too few random sets ({n}) to judge the difference."
    p = cell["p"].item()
    reaching = f"{round(p * (n + 1)) - 1} of {n} random sets of the same layers"
    return f"{told}; {reaching} differ as much (descriptive p = {p:.2g})."
