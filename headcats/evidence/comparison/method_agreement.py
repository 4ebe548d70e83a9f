"""How far methods agree on the heads of a group: by the order of all heads, and by the heads on top."""

import numpy as np
import pandas as pd
import xarray as xr
from jaxtyping import Bool, Float, Int
from scipy import stats

from headcats.errors import DataError, OptionError, pluralize
from headcats.statistics.agreement import chance_jaccard, jaccard, rank_correlation
from headcats.statistics.multiplicity import benjamini_hochberg
from headcats.statistics.random_streams import stream

LEVEL = 0.05
DRAWS = 4_999
LEAST_TOP = 4
_DIMS = ("method", "group", "layer", "head")
_ROUNDING = 1e-9  # of correlations that are the same
_AT_A_TIME = 2**22  # numbers


def method_agreement(strength: xr.Dataset, *, top: int | None = None, draws: int = DRAWS, seed: int = 0) -> xr.Dataset:
    """Rank correlation and overlap of the strongest heads between methods, group by group.

    `rank_correlation` is Spearman's, over the heads that have a number in both methods; the sign of a strength counts,
    so a head that hurts stands below one that does nothing. Methods that both favour some layers agree without knowing
    a single head: `layer_correlation` is the mean correlation when the heads of each layer are permuted, and `p_value`
    says how rarely such a permutation is as far above (or below) it, two-sided. Heads are not drawn from any
    population, so there is no interval.

    The top set of a method are its `top` largest strengths above 0, with all heads that tie with the last of them.
    `top_overlap = |A and B| / |A or B|`; `top_chance` is its mean over random sets of the same sizes (hypergeometric),
    drawn from all heads whatever their layer.

    Args:
        strength: What `hc.evidence.method_scores` returns: `strength (method, group, layer, head)`.
        top: Size of the top sets; None takes a tenth of the heads, at least 4.
        draws: Permutations.
        seed: Seed of the permutations.

    Returns:
        `rank_correlation, layer_correlation, p_value, q_value, top_overlap, top_chance, n_heads (group, method,
        other)`: NaN where a method has no number in the group or is constant there, q by Benjamini-Hochberg over groups
        x pairs. `top_size (group, method)`; `in_top` and `rank (group, method, layer, head)`, 1 for the strongest, ties
        sharing their mean; `spread (group, layer, head)`: largest minus smallest rank of a head, NaN below two methods.
        Coordinates and attributes of `strength`, with `top`, `draws`, `reading` (sentences, one a line).

    Raises:
        DataError: No strengths, or fewer than two methods.
        OptionError: `top` outside 1 to the number of heads, or no draws.

    Example:
        >>> import headcats as hc
        >>> agreement = hc.evidence.method_agreement(hc.evidence.method_scores(hc.load("results/mini-icl")), draws=99)
        >>> agreement.rank_correlation.dims
        ('group', 'method', 'other')
        >>> bool((abs(agreement.rank_correlation) <= 1.0001).all())
        True

    References:
        Spearman (1904), Am. J. Psychol. 15, 72-101; permutations within strata as in Good (2005), Permutation,
        Parametric, and Bootstrap Tests of Hypotheses.
    """
    values, shape, top = _checked(strength, top, draws)
    methods, groups = ([str(name) for name in strength[axis].values] for axis in ("method", "group"))
    layer_of = np.repeat(np.arange(shape[0]), shape[1])
    pairs = (len(groups), len(methods), len(methods))
    comparison = {
        name: np.full(pairs, np.nan)
        for name in ("rank_correlation", "layer_correlation", "p_value", "top_overlap", "top_chance")
    }
    counts = np.zeros(pairs, dtype=np.int64)
    in_top = np.zeros((len(groups), len(methods), values.shape[2]), dtype=bool)
    for row, group in enumerate(groups):
        strengths = values[:, row]
        finite = np.isfinite(strengths)
        in_top[row] = [_top(of_method, top) for of_method in strengths]
        for i in range(len(methods)):
            for j in range(i + 1):
                pair, both = (row, [i, j], [j, i]), finite[i] & finite[j]
                counts[pair] = both.sum()
                comparison["rank_correlation"][pair] = rank_correlation(strengths[i][both], strengths[j][both])
                if finite[i].any() and finite[j].any():
                    sizes = int(in_top[row, i].sum()), int(in_top[row, j].sum())
                    comparison["top_overlap"][pair] = jaccard(in_top[row, i], in_top[row, j])
                    comparison["top_chance"][pair] = chance_jaccard(*sizes, heads=int((finite[i] | finite[j]).sum()))
                if i != j and np.isfinite(comparison["rank_correlation"][row, i, j]):
                    # By name, so that the order of the methods does not matter.
                    first, second = sorted((i, j), key=methods.__getitem__)
                    rng = stream(seed, "method agreement", group, methods[first], methods[second])
                    comparison["layer_correlation"][pair], comparison["p_value"][pair] = _within_layers(
                        strengths[first][both], strengths[second][both], layer_of[both], draws=draws, rng=rng
                    )
    table = xr.Dataset(
        {name: (("group", "method", "other"), numbers) for name, numbers in comparison.items()},
        coords={"group": groups, "method": methods, "other": methods},
    )
    # Every pair is in the table twice, which changes no q.
    table["q_value"] = table["p_value"].copy(data=benjamini_hochberg(comparison["p_value"]))
    table["n_heads"] = (("group", "method", "other"), counts)
    ranks = stats.rankdata(-values.transpose(1, 0, 2), nan_policy="omit", axis=-1)
    grid = {"layer": strength["layer"].values, "head": strength["head"].values}
    per_head = ("group", "method", "layer", "head")
    table = table.assign_coords(grid)
    table["top_size"] = (per_head[:2], in_top.sum(-1))
    table["in_top"] = (per_head, in_top.reshape(*in_top.shape[:2], *shape))
    table["rank"] = (per_head, ranks.reshape(*ranks.shape[:2], *shape))
    table["spread"] = (("group", "layer", "head"), _spread(ranks).reshape(len(groups), *shape))
    along = {name: strength[name] for name in strength.coords if strength[name].dims == ("method",)}
    table = table.assign_coords({name: value for name, value in along.items() if name != "method"})
    table.attrs = {**strength.attrs, "top": top, "draws": draws}
    return table.assign_attrs(reading="\n".join(_sentences(table, disagreements(table, n=2))))


def disagreements(agreement: xr.Dataset, *, n: int = 5) -> pd.DataFrame:
    """The heads that methods rank most differently, group by group.

    Args:
        agreement: What `hc.evidence.method_agreement` returns.
        n: Heads per group.

    Returns:
        Columns `group, head` ("L1H2"), `spread, high, high_rank, low, low_rank`: the methods that rank it highest and
        lowest, and where. Heads with the largest spread first, those of lower layers where it is the same; groups with
        fewer than two methods have none.

    Example:
        >>> import headcats as hc
        >>> agreement = hc.evidence.method_agreement(hc.evidence.method_scores(hc.load("results/mini-icl")), draws=99)
        >>> table = hc.evidence.disagreements(agreement, n=2)
        >>> list(table.columns), len(table)
        (['group', 'head', 'spread', 'high', 'high_rank', 'low', 'low_rank'], 8)

    References:
        headcats' own: where two published methods disagree, neither paper says which of them is right.
    """
    rows = []
    methods = agreement["method"].values
    for group in agreement["group"].values:
        spread = agreement["spread"].sel(group=group).transpose("layer", "head")
        ranks = agreement["rank"].sel(group=group).transpose("method", "layer", "head").values
        flat = np.where(np.isfinite(spread.values), spread.values, -1.0).ravel()
        for place in np.argsort(-flat, kind="stable")[:n]:
            if flat[place] < 0:
                continue
            layer, head = np.unravel_index(place, spread.shape)
            places = ranks[:, layer, head]
            high, low = int(np.nanargmin(places)), int(np.nanargmax(places))
            name = f"L{spread['layer'].values[layer]}H{spread['head'].values[head]}"
            rows.append(
                (str(group), name, flat[place], str(methods[high]), places[high], str(methods[low]), places[low])
            )
    return pd.DataFrame(rows, columns=["group", "head", "spread", "high", "high_rank", "low", "low_rank"])


def _checked(
    strength: xr.Dataset, top: int | None, draws: int
) -> tuple[Float[np.ndarray, "method group place"], tuple[int, int], int]:
    """Strengths `[method, group, layer x head]`, the shape of the grid, and the size of the top sets."""
    if not isinstance(strength, xr.Dataset) or set(getattr(strength.get("strength"), "dims", ())) != set(_DIMS):
        raise DataError(
            f"hc.evidence.method_agreement takes a Dataset with `strength` over {', '.join(_DIMS)}; got a "
            f"{type(strength).__name__}. Pass hc.evidence.method_scores(results)."
        )
    values = strength["strength"].transpose(*_DIMS)
    if values.sizes["method"] < 2:
        raise DataError(
            f"Agreement needs at least two methods; there is {', '.join(map(str, values['method'].values)) or 'none'}. "
            "Run another method on the same model, into the same results."
        )
    n_heads = values.sizes["layer"] * values.sizes["head"]
    top = min(max(LEAST_TOP, n_heads // 10), n_heads) if top is None else top
    if not isinstance(top, int) or isinstance(top, bool) or not 1 <= top <= n_heads:
        raise OptionError(f"top must be a whole number from 1 to {n_heads}, the number of heads; got {top!r}.")
    if draws < 1:
        raise OptionError(f"draws must be at least 1; got {draws}.")
    shape = (values.sizes["layer"], values.sizes["head"])
    return values.values.reshape(*values.shape[:2], -1).astype(np.float64), shape, top


def _top(strengths: Float[np.ndarray, " place"], top: int) -> Bool[np.ndarray, " place"]:
    helping = strengths[strengths > 0]
    if not len(helping):
        return np.zeros(len(strengths), dtype=bool)
    return strengths >= np.sort(helping)[-min(top, len(helping))]


def _spread(ranks: Float[np.ndarray, "group method place"]) -> Float[np.ndarray, "group place"]:
    ranked = np.isfinite(ranks)
    largest = np.where(ranked, ranks, -np.inf).max(axis=1)
    smallest = np.where(ranked, ranks, np.inf).min(axis=1)
    return np.where(ranked.sum(axis=1) >= 2, largest - smallest, np.nan)


def _within_layers(
    first: Float[np.ndarray, " place"],
    second: Float[np.ndarray, " place"],
    layer: Int[np.ndarray, " place"],
    *,
    draws: int,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Mean rank correlation when the heads of each layer are permuted, and the two-sided p of the one there is."""
    first_ranks, second_ranks = (_standard(stats.rankdata(values)) for values in (first, second))
    permuted, observed = np.empty(draws), first_ranks @ second_ranks
    for part in np.array_split(np.arange(draws), 1 + draws * len(layer) // _AT_A_TIME):
        # Places stand layer by layer, so sorting layer + noise moves each place within its layer.
        order = np.argsort(layer + rng.random((len(part), len(layer))), axis=1)
        permuted[part] = first_ranks[order] @ second_ranks
    above, below = (permuted >= observed - _ROUNDING).sum(), (permuted <= observed + _ROUNDING).sum()
    return float(permuted.mean()), float(min(1.0, 2 * (1 + min(above, below)) / (1 + draws)))


def _standard(ranks: Float[np.ndarray, " place"]) -> Float[np.ndarray, " place"]:
    centred = ranks - ranks.mean()
    return centred / np.sqrt((centred**2).sum())


def _sentences(table: xr.Dataset, differing: pd.DataFrame) -> list[str]:
    """What agreement and the heads that methods rank most differently show; no sentence says more than its numbers."""
    methods, groups = ([str(name) for name in table[axis].values] for axis in ("method", "group"))
    size = f"{len(methods)} methods on {int(table['n_heads'].max())} heads, in {pluralize(len(groups), 'group')}"
    measures = f"rank correlation over all heads (median over groups), overlap of the top {table.attrs['top']}"
    lines = [f"{size}: {measures}."]
    pairs = [(i, j) for i in range(len(methods)) for j in range(i)]
    by_pair = {pair: _finite(table["rank_correlation"].values[:, *pair]) for pair in pairs}
    ordered = sorted((pair for pair in pairs if len(by_pair[pair])), key=lambda pair: -float(np.median(by_pair[pair])))
    if ordered:
        lines.append(f"{'Most alike: ' if len(ordered) > 1 else ''}{_pair(table, ordered[0])}.")
        lines += [f"Least alike: {_pair(table, ordered[-1])}."] if len(ordered) > 1 else []
        lines.append(_beyond_layers(table, pairs))
    if len(ordered) < len(pairs):
        lines.append(f"{len(pairs) - len(ordered)} of {len(pairs)} pairs have no group in which both order heads.")
    has_numbers = np.diagonal(table["n_heads"].transpose("group", "method", "other").values, axis1=1, axis2=2) > 0
    for method, present in zip(methods, has_numbers.T, strict=True):
        if not present.all():
            lines.append(f"{method} says nothing of {', '.join(np.array(groups)[~present])}.")
    for group in groups:
        heads = [
            f"{row.head} (place {row.high_rank:g} for {row.high}, {row.low_rank:g} for {row.low})"
            for row in differing[differing["group"] == group].itertuples()
        ]
        lines += [f"{group}: the methods differ most on {' and '.join(heads)}."] if heads else []
    lines.append(
        "The methods measure different things in different units: agreement makes neither right, and a head low in one "
        "of them is not shown to be unused."
    )
    return lines


def _pair(table: xr.Dataset, pair: tuple[int, int]) -> str:
    values, overlap, chance = (
        _finite(table[name].values[:, *pair]) for name in ("rank_correlation", "top_overlap", "top_chance")
    )
    first, second = (table["method"].values[place] for place in reversed(pair))
    span = f" ({values.min():.2f} to {values.max():.2f})" if len(values) > 1 else ""
    top = f", top overlap {np.median(overlap):.2f} where chance gives {np.median(chance):.2f}" if len(overlap) else ""
    return f"{first} and {second}, {np.median(values):.2f}{span}{top}"


def _beyond_layers(table: xr.Dataset, pairs: list[tuple[int, int]]) -> str:
    correlation, layers, q_value = (
        np.array([table[name].values[:, *pair] for pair in pairs])
        for name in ("rank_correlation", "layer_correlation", "q_value")
    )
    more, less = (int((q_value[sign * (correlation - layers) > 0] <= LEVEL).sum()) for sign in (1, -1))
    total = int(np.isfinite(q_value).sum())
    test = f"(q <= {LEVEL:g}, heads permuted within layers)"
    if not more and not less:
        return (
            f"In no comparison ({total} of pair x group) is the order of heads told from what layers alone give {test}."
        )
    opposite = f", in {less} less" if less else ""
    return (
        f"In {more} of {total} comparisons (pair x group) heads are ordered more alike than their layers alone "
        f"give{opposite} {test}."
    )


def _finite(values: np.ndarray) -> np.ndarray:
    return values[np.isfinite(values)]
