"""Sets of categories that heads are in, and how alike two categories are."""

import itertools

import numpy as np
import xarray as xr
from jaxtyping import Bool

from headcats.base.errors import DataError, OptionError
from headcats.categories.argument_checks import MEMBERS, check_is
from headcats.statistics.agreement import jaccards

# Name of a variable of helping heads -> that of suppressing ones.
_EFFECTS = ("effect", "low", "high", "specific_effect", "specific_low", "specific_high")
_SUPPRESSING = {"member": "suppressing", "resampled_member": "resampled_suppressing"}
_OTHERS = ("p_value", "p_below", "q_value", "doubtful", "tasks", "size", "probability")
_SUPPRESSING |= {name: f"suppressing_{name}" for name in (*_EFFECTS, *_OTHERS)}


def overlap(members: xr.Dataset, *, sign: str = "helping") -> xr.Dataset:
    """Exact set of categories per head, and how many heads are in exactly k categories.

    Counts take undecided heads as out. "In here, undecided there" is no difference:
    `hc.categories.effect_differences` tests one, and `hc.categories.sharing` whether categories share fewer or more
    heads than the same tasks under other labels.

    Args:
        members: What `hc.categorize` returns.
        sign: "helping" or "suppressing" heads. For the latter, `member, effect, low, high, p_value, q_value, tasks,
            size, probability` of the result are those of suppressing heads, effects negative.

    Returns:
        The variables of `members`, and: `undecided (category, layer, head)`; `n_categories` and `set (layer, head)`,
        such as "Knowledge (3 undecided)"; `observed (k)`, heads in exactly k = 1..n categories; `jaccard (category,
        other)`, NaN if both are empty or one has no numbers; if the memberships were resampled, the 95 % percentile
        interval `jaccard_low, jaccard_high` (both empty counts as 0), which adds the noise of the data once more and
        can lie below a large overlap. See docs/schema.md.

    Raises:
        OptionError: Another sign.
        DataError: No memberships, or memberships without heads of this sign.

    Example:
        >>> import headcats as hc
        >>> scores = hc.score(hc.load("results/mini-icl"), method="denoising_patch", metric="logit_diff")
        >>> shared = hc.overlap(hc.categorize(scores))
        >>> shared.n_categories.dims, shared.observed.dims, shared.jaccard.dims
        (('layer', 'head'), ('k',), ('category', 'other'))
        >>> int(shared.observed.sum()) == int((shared.n_categories > 0).sum())
        True

    References:
        Jaccard (1912), New Phytol. 11, 37-50.
    """
    check_is(members, MEMBERS, by="hc.overlap")
    members = _of_sign(members, sign)
    order = ("category", "layer", "head")
    outcome = members["member"].transpose(*order).values
    has_number = members["effect"].transpose(*order).notnull().values
    exists, with_numbers = has_number.any(axis=0), np.asarray(has_number.any(axis=(1, 2)))
    names = [str(name) for name in members["category"].values]
    member = outcome == 1
    undecided = (outcome == 0) & with_numbers[:, None, None] & exists
    count = member.sum(axis=0)
    ks = np.arange(1, len(names) + 1)

    result = members.assign_coords(k=ks, other=names)
    result["undecided"] = (order, undecided)
    result["n_categories"] = (order[1:], count.astype(np.int8))
    cells, open_cells = (rows.reshape(len(names), -1) for rows in (member, undecided))
    sets = [_set_text(names, *cell) for cell in zip(cells.T, open_cells.T, strict=True)]
    result["set"] = (order[1:], np.array(sets, dtype=str).reshape(count.shape))
    result["observed"] = ("k", [(count == k).sum() for k in ks])
    pairs = ("category", "other")
    judged = np.outer(with_numbers, with_numbers)
    result["jaccard"] = (pairs, np.where(judged, jaccards(cells), np.nan))
    if "resampled_member" in members:
        resampled = members["resampled_member"].transpose("resample", *order).values
        spread = np.nan_to_num(jaccards(resampled.reshape(len(resampled), len(names), -1)), nan=0.0)
        drawable = members["probability"].notnull().any(order[1:]).values
        unknown = np.isnan(result["jaccard"].values) | ~np.outer(drawable, drawable)
        for name, quantile in (("jaccard_low", 0.025), ("jaccard_high", 0.975)):
            bound = np.quantile(spread, quantile, axis=0, method="inverted_cdf")
            result[name] = (pairs, np.where(unknown, np.nan, bound))
    return result


def _set_text(names: list[str], inside: Bool[np.ndarray, " category"], undecided: Bool[np.ndarray, " category"]) -> str:
    n = int(undecided.sum())
    return " ".join(filter(None, ["+".join(itertools.compress(names, inside)), f"({n} undecided)" if n else ""]))


def _of_sign(members: xr.Dataset, sign: str) -> xr.Dataset:
    if sign not in ("helping", "suppressing"):
        raise OptionError(f"sign must be 'helping' or 'suppressing', got {sign!r}.")
    if sign == "helping":
        if members.attrs.get("sign") == "suppressing":
            raise DataError("This overlap holds suppressing heads alone; take what hc.categorize returns.")
        return members.assign_attrs(sign=sign)
    if "suppressing" not in members:
        raise DataError("These memberships hold no suppressing heads; take what hc.categorize returns.")
    renamed = {suppressing: name for name, suppressing in _SUPPRESSING.items() if suppressing in members}
    return members.drop_vars(list(renamed.values()), errors="ignore").rename(renamed).assign_attrs(sign=sign)
