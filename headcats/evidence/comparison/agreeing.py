"""How far several verdicts on the same heads agree: by the same heads called, and by the same order of all heads."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from jaxtyping import Bool, Float, Shaped
from scipy import stats

from headcats.categories.argument_checks import MEMBERS, check_named
from headcats.errors import DataError, OptionError
from headcats.scores import screen_label

SIGNS = {"helping": ("member", "effect"), "suppressing": ("suppressing", "suppressing_effect")}
# What a protocol is made of; where `members` say so, pairs can be sorted by what they differ in.
PARTS = ("method", "positions", "metric", "effect", "rule", "plan")


def agreement(members: Mapping[str, xr.Dataset], *, sign: str = "helping") -> xr.Dataset:
    """Jaccard index and rank correlation between several memberships of the same heads, category by category.

    `jaccard = |A and B| / |A or B|` over the heads that are `in`; undecided heads are in neither. `spearman`: of the
    category effects over the heads that have a number in both, so it also sees agreement below the threshold.
    `expected` is the mean Jaccard index of two random sets of the same sizes: a high index of two sets that hold most
    heads says little. Random sets are drawn from all heads, so heads that share a layer are no evidence here.

    Args:
        members: Name of a protocol -> what `hc.categorize` returns, or `hc.overlap` of that sign. Categories are
            matched by name.
        sign: "helping" or "suppressing" heads; the two are never merged.

    Returns:
        Dims `category, protocol, other`: `jaccard`, `expected`, `spearman`, `both` (heads in both) and `n_heads` (heads
        with a number in both); `size, n_tasks (category, protocol)`: heads in, and tasks behind the verdict.
        `jaccard` is NaN where both are empty or one protocol has no numbers in the category, `spearman` where fewer
        than 3 heads have numbers in both or one of the effects is constant. Coordinates along `protocol`: `screen` (""
        where effects are exact), and those of `method, positions, metric, effect, rule, plan` that the memberships
        name (`plan` as `hc.judge_protocols` gives it: JSON, part of the plan -> value).

    Raises:
        OptionError: Another `sign`, or memberships that hold suppressing heads only where helping ones are compared.
        DataError: No membership, something else than memberships, memberships of different heads, or no category that
            all have in common.

    Example:
        >>> import headcats as hc
        >>> judged = hc.judge_protocols({"mini-icl": hc.load("results/mini-icl")}).members
        >>> table = hc.agreement(judged)
        >>> table.jaccard.dims
        ('category', 'protocol', 'other')
        >>> bool(table.jaccard.max() <= 1)
        True

    References:
        Jaccard (1901), Bull. Soc. Vaud. Sci. Nat. 37, 547-579; Spearman (1904), Am. J. Psychol. 15, 72-101.
    """
    if sign not in SIGNS:
        raise OptionError(f"sign is 'helping' or 'suppressing'; got {sign!r}.")
    check_named(members, MEMBERS, by="hc.agreement", of="protocol")
    columns = {name: _columns(name, one, sign) for name, one in members.items()}
    categories = _common(members)
    names, shape = list(members), (len(categories), len(members), len(members))
    found = {name: np.full(shape, np.nan) for name in ("jaccard", "expected", "spearman")}
    counts = {name: np.zeros(shape, dtype=np.int64) for name in ("both", "n_heads")}
    sizes = np.zeros(shape[:2], dtype=np.int64)
    for row, category in enumerate(categories):
        tables = [one.sel(category=category).transpose("layer", "head", ...) for one in members.values()]
        named = list(zip(tables, columns.values(), strict=True))
        inside = [(table[outcome] == 1).values.ravel() for table, (outcome, _) in named]
        effects = [table[effect].values.ravel().astype(np.float64) for table, (_, effect) in named]
        known = [np.isfinite(values) for values in effects]
        for i in range(len(names)):
            sizes[row, i] = inside[i].sum()
            for j in range(i + 1):
                pair = (row, [i, j], [j, i])
                shared = known[i] & known[j]
                counts["both"][pair] = (inside[i] & inside[j]).sum()
                counts["n_heads"][pair] = shared.sum()
                found["spearman"][pair] = rank_correlation(effects[i][shared], effects[j][shared])
                if known[i].any() and known[j].any():
                    found["jaccard"][pair] = jaccard(inside[i], inside[j])
                    either = int((known[i] | known[j]).sum())
                    found["expected"][pair] = chance_jaccard(int(inside[i].sum()), int(inside[j].sum()), heads=either)
    dims = ("category", "protocol", "other")
    table = xr.Dataset(
        {name: (dims, values) for name, values in (found | counts).items()},
        coords={"category": categories, "protocol": names, "other": names},
        attrs={"sign": sign},
    )
    table["size"] = (dims[:2], sizes)
    if all("n_tasks" in one for one in members.values()):
        table["n_tasks"] = (
            dims[:2],
            np.stack([one["n_tasks"].sel(category=categories) for one in members.values()], 1),
        )
    said = {"screen": [screen_label(one) for one in members.values()]}
    said |= {part: [str(one.attrs.get(part, "")) for one in members.values()] for part in PARTS}
    return table.assign_coords(
        {part: ("protocol", texts) for part, texts in said.items() if part == "screen" or any(texts)}
    )


def pairs(agreement: xr.Dataset) -> pd.DataFrame:
    """One row per category and pair of protocols.

    Columns: `category, sign, first, second, differ_in, heads_first, heads_second, both, jaccard, expected, spearman,
    n_heads`. `differ_in` names the parts of the protocols that are not the same: "metric", "positions",
    "corruption", "seed", "tasks"; "" where nothing that is known differs. `heads_first`, `heads_second` and `both` are
    missing where a protocol has no number in the category.
    """
    parts = [part for part in PARTS if part in agreement.coords]
    names = [str(name) for name in agreement["protocol"].values]
    rows = []
    for category in agreement["category"].values:
        for i in range(len(names)):
            for j in range(i + 1, len(names)):
                cell = agreement.sel(category=category).isel(protocol=i, other=j)
                said = [agreement[part].values for part in parts]
                sizes = agreement["size"].sel(category=category).values
                heads = np.diagonal(agreement["n_heads"].sel(category=category).values)
                known = {place: int(sizes[place]) if heads[place] else None for place in (i, j)}
                rows.append(
                    {
                        "category": str(category),
                        "sign": agreement.attrs["sign"],
                        "first": names[i],
                        "second": names[j],
                        "differ_in": ", ".join(
                            difference
                            for part, texts in zip(parts, said, strict=True)
                            if texts[i] != texts[j]
                            for difference in _differences(part, str(texts[i]), str(texts[j]))
                        ),
                        "heads_first": known[i],
                        "heads_second": known[j],
                        "both": None if None in known.values() else cell["both"].item(),
                        **{name: cell[name].item() for name in ("jaccard", "expected", "spearman", "n_heads")},
                    }
                )
    columns = ["category", "sign", "first", "second", "differ_in", "heads_first", "heads_second"]
    listed = pd.DataFrame(rows, columns=[*columns, "both", "jaccard", "expected", "spearman", "n_heads"])
    return listed.astype(dict.fromkeys(("heads_first", "heads_second", "both"), "Int64"))


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
    """Where a table holds the verdicts and effects of one sign."""
    if table.attrs.get("sign") != "suppressing":
        return SIGNS[sign]
    if sign != "suppressing":
        raise OptionError(
            f"{name} holds suppressing heads (hc.overlap with sign='suppressing'), not helping ones: pass "
            "sign='suppressing', or what hc.categorize returns."
        )
    # hc.overlap has put them in the place of the helping ones.
    return SIGNS["helping"]


def _differences(part: str, first: str, second: str) -> list[str]:
    """A part of the protocol that differs; of a plan, the parts of it that do."""
    if part != "plan":
        return [part]
    # What a plan does not name is as in the first results.
    mine, theirs = _plan(first), _plan(second)
    return sorted(key for key in mine | theirs if mine.get(key) != theirs.get(key))


def _plan(text: str) -> dict[str, Any]:
    try:
        stored = json.loads(text or "{}")
    except ValueError:
        stored = text
    return stored if isinstance(stored, dict) else {"plan": stored}


def _common(members: Mapping[str, xr.Dataset]) -> list[str]:
    if not members:
        raise DataError("There is no protocol to compare.")
    (name, first), *others = members.items()
    common = [str(category) for category in first["category"].values]
    for other, table in others:
        for axis in ("layer", "head"):
            mine, theirs = first[axis].values, table[axis].values
            if not _same(mine, theirs):
                raise DataError(
                    f"The protocols have different {axis}s ({len(mine)} in {name}, {len(theirs)} in {other}); heads "
                    "cannot be compared."
                )
        held = table["category"].values.tolist()
        common = [category for category in common if category in held]
    if not common:
        raise DataError(f"The protocols {', '.join(members)} have no category in common.")
    return common


def _same(first: Shaped[np.ndarray, " a"], second: Shaped[np.ndarray, " b"]) -> bool:
    return first.tolist() == second.tolist()
