"""Agreement of several memberships of the same heads: heads in both, and rank correlation of all heads."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from jaxtyping import Bool, Float
from scipy import stats

from headcats.categories.argument_checks import MEMBERS, check_named
from headcats.errors import DataError, OptionError
from headcats.results.declaration import approximation_label

SIGNS = {"helping": ("member", "effect"), "suppressing": ("suppressing", "suppressing_effect")}
# Parts of a protocol that memberships may name in their attributes.
PARTS = ("method", "positions", "metric", "effect", "rule", "plan")


def agreement(members: Mapping[str, xr.Dataset], *, sign: str = "helping") -> xr.Dataset:
    """Jaccard index and rank correlation between several memberships of the same heads, category by category.

    `jaccard = |A and B| / |A or B|` over the heads that are `in`; undecided heads are in neither. `spearman` is over
    the category effects of the heads with a number in both, so it also sees agreement below the threshold. `expected`
    is the mean Jaccard index of two random sets of the same sizes, drawn from all heads whatever their layer: a high
    index of two sets that hold most heads says little.

    Args:
        members: Name of a protocol -> what `hc.categorize` returns, or `hc.overlap` of that sign. Categories are
            matched by name.
        sign: "helping" or "suppressing" heads; the two are never merged.

    Returns:
        Dims `category, protocol, other`: `jaccard`, `expected`, `spearman`, `both` (heads in both) and `n_heads` (heads
        with a number in both); `size, n_tasks (category, protocol)`: heads in, and tasks with numbers.
        `jaccard` is NaN where both are empty or one protocol has no numbers in the category, `spearman` where fewer
        than 3 heads have numbers in both or one of the effects is constant. Coordinates along `protocol`:
        `approximation` ("" where effects are exact), and those of `method, positions, metric, effect, rule, plan` that
        the memberships name (`plan` as `hc.evidence.judge_protocols` gives it: JSON, part of the plan -> value).

    Raises:
        OptionError: Another `sign`, or memberships of suppressing heads alone where helping ones are compared.
        DataError: No memberships, memberships of different heads, or no common category.

    Example:
        >>> import headcats as hc
        >>> judged = hc.evidence.judge_protocols({"mini-icl": hc.load("results/mini-icl")}).members
        >>> table = hc.evidence.agreement(judged)
        >>> table.jaccard.dims
        ('category', 'protocol', 'other')
        >>> bool(table.jaccard.max() <= 1)
        True

    References:
        Jaccard (1901), Bull. Soc. Vaud. Sci. Nat. 37, 547-579; Spearman (1904), Am. J. Psychol. 15, 72-101.
    """
    if sign not in SIGNS:
        raise OptionError(f"sign is 'helping' or 'suppressing'; got {sign!r}.")
    check_named(members, MEMBERS, by="hc.evidence.agreement", of="protocol")
    columns = {name: _columns(name, table, sign) for name, table in members.items()}
    categories = _common(members)
    names, shape = list(members), (len(categories), len(members), len(members))
    values = {name: np.full(shape, np.nan) for name in ("jaccard", "expected", "spearman")}
    counts = {name: np.zeros(shape, dtype=np.int64) for name in ("both", "n_heads")}
    sizes = np.zeros(shape[:2], dtype=np.int64)
    for row, category in enumerate(categories):
        tables = [table.sel(category=category).transpose("layer", "head", ...) for table in members.values()]
        selected = [
            (table[member], table[effect]) for table, (member, effect) in zip(tables, columns.values(), strict=True)
        ]
        inside = [(member == 1).values.ravel() for member, _ in selected]
        effects = [effect.values.ravel().astype(np.float64) for _, effect in selected]
        finite = [np.isfinite(effect) for effect in effects]
        for i in range(len(names)):
            sizes[row, i] = inside[i].sum()
            for j in range(i + 1):
                pair = (row, [i, j], [j, i])
                shared = finite[i] & finite[j]
                counts["both"][pair] = (inside[i] & inside[j]).sum()
                counts["n_heads"][pair] = shared.sum()
                values["spearman"][pair] = rank_correlation(effects[i][shared], effects[j][shared])
                if finite[i].any() and finite[j].any():
                    values["jaccard"][pair] = jaccard(inside[i], inside[j])
                    either = int((finite[i] | finite[j]).sum())
                    values["expected"][pair] = chance_jaccard(int(inside[i].sum()), int(inside[j].sum()), heads=either)
    dims = ("category", "protocol", "other")
    table = xr.Dataset(
        {name: (dims, numbers) for name, numbers in (values | counts).items()},
        coords={"category": categories, "protocol": names, "other": names},
        attrs={"sign": sign},
    )
    table["size"] = (dims[:2], sizes)
    if all("n_tasks" in judged for judged in members.values()):
        n_tasks = [judged["n_tasks"].sel(category=categories) for judged in members.values()]
        table["n_tasks"] = (dims[:2], np.stack(n_tasks, 1))
    parts = {part: [str(judged.attrs.get(part, "")) for judged in members.values()] for part in PARTS}
    parts = {"approximation": [approximation_label(judged) for judged in members.values()]} | {
        part: texts for part, texts in parts.items() if any(texts)
    }
    return table.assign_coords({part: ("protocol", texts) for part, texts in parts.items()})


def pairs(agreement: xr.Dataset) -> pd.DataFrame:
    """One row per category and pair of protocols.

    Columns: `category, sign, first, second, differ_in, heads_first, heads_second, both, jaccard, expected, spearman,
    n_heads`. `differ_in` names the parts of the protocols that are not the same: "metric", "positions",
    "corruption", "seed", "tasks"; "" where no part differs. `heads_first`, `heads_second` and `both` are
    missing where a protocol has no number in the category.
    """
    parts = [part for part in PARTS if part in agreement.coords]
    names = [str(name) for name in agreement["protocol"].values]
    rows = []
    for category in agreement["category"].values:
        for i in range(len(names)):
            for j in range(i + 1, len(names)):
                cell = agreement.sel(category=category).isel(protocol=i, other=j)
                texts_by_part = [agreement[part].values for part in parts]
                sizes = agreement["size"].sel(category=category).values
                heads = np.diagonal(agreement["n_heads"].sel(category=category).values)
                n_in = {place: int(sizes[place]) if heads[place] else None for place in (i, j)}
                rows.append(
                    {
                        "category": str(category),
                        "sign": agreement.attrs["sign"],
                        "first": names[i],
                        "second": names[j],
                        "differ_in": ", ".join(
                            difference
                            for part, texts in zip(parts, texts_by_part, strict=True)
                            if texts[i] != texts[j]
                            for difference in _differences(part, str(texts[i]), str(texts[j]))
                        ),
                        "heads_first": n_in[i],
                        "heads_second": n_in[j],
                        "both": None if None in n_in.values() else cell["both"].item(),
                        **{name: cell[name].item() for name in ("jaccard", "expected", "spearman", "n_heads")},
                    }
                )
    columns = ["category", "sign", "first", "second", "differ_in", "heads_first", "heads_second"]
    frame = pd.DataFrame(rows, columns=[*columns, "both", "jaccard", "expected", "spearman", "n_heads"])
    return frame.astype(dict.fromkeys(("heads_first", "heads_second", "both"), "Int64"))


def jaccard(first: Bool[np.ndarray, " head"], second: Bool[np.ndarray, " head"]) -> float:
    """Intersection over union, in [0, 1]; NaN where both are empty."""
    either = int((first | second).sum())
    return float((first & second).sum() / either) if either else float("nan")


def chance_jaccard(first: int, second: int, *, heads: int) -> float:
    """Mean Jaccard index of two random sets of `first` and `second` among `heads` heads; NaN where both are empty.

    The intersection of such sets is hypergeometric: `E[k / (first + second - k)]`.
    """
    if first + second == 0:
        return float("nan")
    shared = np.arange(max(0, first + second - heads), min(first, second) + 1)
    return float(stats.hypergeom.pmf(shared, heads, first, second) @ (shared / (first + second - shared)))


def rank_correlation(first: Float[np.ndarray, " head"], second: Float[np.ndarray, " head"]) -> float:
    """Spearman's correlation, tied values sharing their mean rank; NaN below 3 heads or where one is constant."""
    if len(first) < 3 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return float("nan")
    return float(np.corrcoef(stats.rankdata(first), stats.rankdata(second))[0, 1])


def _columns(name: str, table: xr.Dataset, sign: str) -> tuple[str, str]:
    """The variables of a table that hold the members and effects of one sign."""
    if table.attrs.get("sign") != "suppressing":
        return SIGNS[sign]
    if sign != "suppressing":
        raise OptionError(
            f"{name} holds suppressing heads (hc.overlap with sign='suppressing'), not helping ones: pass "
            "sign='suppressing', or what hc.categorize returns."
        )
    # hc.overlap stores them under the names of the helping ones.
    return SIGNS["helping"]


def _differences(part: str, first: str, second: str) -> list[str]:
    """The part of the protocol, or of its plan the parts that differ."""
    if part != "plan":
        return [part]
    # Parts that a plan leaves out are as in the first results.
    plans = _plan(first), _plan(second)
    return sorted(key for key in plans[0] | plans[1] if plans[0].get(key) != plans[1].get(key))


def _plan(text: str) -> dict[str, Any]:
    try:
        stored = json.loads(text or "{}")
    except ValueError:
        stored = text
    return stored if isinstance(stored, dict) else {"plan": stored}


def _common(members: Mapping[str, xr.Dataset]) -> list[str]:
    if not members:
        raise DataError("There is no protocol to compare.")
    first_name = next(iter(members))
    first = members[first_name]
    common = [str(category) for category in first["category"].values]
    for name, table in members.items():
        for axis in ("layer", "head"):
            if first[axis].values.tolist() != table[axis].values.tolist():
                counts = f"{first.sizes[axis]} in {first_name}, {table.sizes[axis]} in {name}"
                raise DataError(f"The protocols have different {axis}s ({counts}); heads cannot be compared.")
        common = [category for category in common if category in table["category"].values.tolist()]
    if not common:
        raise DataError(f"The protocols {', '.join(members)} have no category in common.")
    return common
