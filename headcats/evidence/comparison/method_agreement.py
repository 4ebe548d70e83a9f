"""How far methods agree on the heads of a group: by the order of all heads, and by the heads on top."""

import itertools

import numpy as np
import scipy
import xarray as xr
from jaxtyping import Bool, Float, Int

from headcats.base.errors import DataError, check_count
from headcats.results.finding import Finding, line
from headcats.results.head_axes import head_coords
from headcats.statistics.agreement import pairwise
from headcats.statistics.multiplicity import benjamini_hochberg
from headcats.statistics.random_streams import stream

LEVEL = 0.05
DRAWS = 4_999
LEAST_TOP = 4
_DIMS = ("method", "group", "layer", "head")
_ROUNDING = 1e-9  # of correlations that are the same
_AT_A_TIME = 2**22  # numbers


def method_agreement(strength: xr.Dataset, *, draws: int = DRAWS, seed: int = 0) -> xr.Dataset:
    """Rank correlation and overlap of the strongest heads between methods, group by group.

    `rank_correlation` is Spearman's over the heads with a number in both; a head that hurts ranks below one that does
    nothing. Methods that merely favour the same layers agree too: `layer_correlation` is the mean correlation when the
    heads of each layer are permuted, and `p_value` (two-sided) says how rarely a permutation is as far from it. Heads
    are no sample, so there is no interval.

    The top set of a method are its largest strengths above 0, as many as a tenth of the heads (at least 4), with ties.
    `top_overlap = |A and B| / |A or B|`; `top_chance` is its mean over random sets of the same sizes (hypergeometric),
    whatever their layer.

    Args:
        strength: What `hc.evidence.method_scores` returns: `strength (method, group, layer, head)`.
        draws: Permutations.
        seed: Seed of the permutations.

    Returns:
        `rank_correlation, layer_correlation, p_value, q_value, top_overlap, top_chance, n_heads (group, method,
        other)`: NaN where a method has no number in the group or is constant there, q by Benjamini-Hochberg over groups
        x pairs. `rank (group, method, layer, head)`, 1 for the strongest, ties sharing their mean. Coordinates and
        attributes of `strength`, with `top`, `draws`, `reading` (sentences, one a line).

    Raises:
        DataError: No strengths, or fewer than two methods.
        OptionError: No draws.

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
    values, shape, top = _checked(strength, draws)
    methods, groups = ([str(name) for name in strength[axis].values] for axis in ("method", "group"))
    layer_of = np.repeat(np.arange(shape[0]), shape[1])
    shape_of_pairs = (len(groups), len(methods), len(methods))
    within_layers = {name: np.full(shape_of_pairs, np.nan) for name in ("layer_correlation", "p_value")}
    in_top = np.array([[_top(strengths, top) for strengths in of_group] for of_group in values.swapaxes(0, 1)])
    by_group = [pairwise(in_top[row], values[:, row]) for row in range(len(groups))]
    compared = {name: np.stack([of_group[name] for of_group in by_group]) for name in by_group[0]}
    # By name, so that the order of the methods does not matter.
    by_name = sorted(range(len(methods)), key=methods.__getitem__)
    for (row, group), (first, second) in itertools.product(enumerate(groups), itertools.combinations(by_name, 2)):
        if np.isfinite(compared["correlation"][row, first, second]):
            strengths, other_strengths = values[[first, second], row]
            both = np.isfinite(strengths) & np.isfinite(other_strengths)
            rng = stream(seed, "method agreement", group, methods[first], methods[second])
            numbers = _within_layers(strengths[both], other_strengths[both], layer_of[both], draws=draws, rng=rng)
            for name, number in zip(within_layers, numbers, strict=True):
                within_layers[name][row, [first, second], [second, first]] = number
    variables = {
        "rank_correlation": compared["correlation"],
        **within_layers,
        "top_overlap": compared["jaccard"],
        "top_chance": compared["expected"],
        # Every pair is in the table twice, which changes no q.
        "q_value": benjamini_hochberg(within_layers["p_value"]),
        "n_heads": compared["n_heads"],
    }
    table = xr.Dataset(
        {name: (("group", "method", "other"), numbers) for name, numbers in variables.items()},
        coords={"group": groups, "method": methods, "other": methods},
    )
    ranks = scipy.stats.rankdata(-values.transpose(1, 0, 2), nan_policy="omit", axis=-1)
    table = table.assign_coords(head_coords(strength))
    table["rank"] = (("group", "method", "layer", "head"), ranks.reshape(*ranks.shape[:2], *shape))
    along = [name for name in strength.coords if name != "method" and strength[name].dims == ("method",)]
    table = table.assign_coords({name: strength[name] for name in along})
    table.attrs = {**strength.attrs, "top": top, "draws": draws}
    return table.assign_attrs(reading="\n".join(map(str, _findings(table))))


def _checked(strength: xr.Dataset, draws: int) -> tuple[Float[np.ndarray, "method group place"], tuple[int, int], int]:
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
    top = min(max(LEAST_TOP, n_heads // 10), n_heads)
    check_count("draws", draws)
    shape = (values.sizes["layer"], values.sizes["head"])
    return values.values.reshape(*values.shape[:2], -1).astype(np.float64), shape, top


def _top(strengths: Float[np.ndarray, " place"], top: int) -> Bool[np.ndarray, " place"]:
    helping = strengths[strengths > 0]
    if not len(helping):
        return np.zeros(len(strengths), dtype=bool)
    return strengths >= np.sort(helping)[-min(top, len(helping))]


def _within_layers(
    first: Float[np.ndarray, " place"],
    second: Float[np.ndarray, " place"],
    layer: Int[np.ndarray, " place"],
    *,
    draws: int,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Mean rank correlation when the heads of each layer are permuted, and the two-sided p of the one there is."""
    first_ranks, second_ranks = (_standard(scipy.stats.rankdata(values)) for values in (first, second))
    permuted, observed = np.empty(draws), first_ranks @ second_ranks
    for part in np.array_split(np.arange(draws), 1 + draws * len(layer) // _AT_A_TIME):
        # Places stand layer by layer, so sorting layer + noise moves each place within its layer.
        order = np.argsort(layer + rng.random((len(part), len(layer))), axis=1)
        permuted[part] = first_ranks[order] @ second_ranks
    above, below = (permuted >= observed - _ROUNDING).sum(), (permuted <= observed + _ROUNDING).sum()
    return float(permuted.mean()), float(min(1.0, 2 * (1 + min(above, below)) / (1 + draws)))


def _findings(table: xr.Dataset) -> list[Finding]:
    """Findings on agreement; none says more than its numbers."""
    methods, groups = ([str(name) for name in table[axis].values] for axis in ("method", "group"))
    n_heads = int(table["n_heads"].max())
    findings = [
        line("method_agreement.grid", methods=len(methods), heads=n_heads, groups=len(groups), top=table.attrs["top"])
    ]
    pairs = [(i, j) for i in range(len(methods)) for j in range(i)]
    by_pair = {pair: _finite(table["rank_correlation"].values[:, *pair]) for pair in pairs}
    ordered = sorted((pair for pair in pairs if len(by_pair[pair])), key=lambda pair: -float(np.median(by_pair[pair])))
    if len(ordered) == 1:
        findings.append(line("method_agreement.only", pair=_pair(table, ordered[0])))
    elif ordered:
        findings.append(line("method_agreement.most_alike", pair=_pair(table, ordered[0])))
        findings.append(line("method_agreement.least_alike", pair=_pair(table, ordered[-1])))
    if ordered:
        findings.append(_beyond_layers(table, pairs))
    if len(ordered) < len(pairs):
        findings.append(line("method_agreement.unordered", n=len(pairs) - len(ordered), pairs=len(pairs)))
    has_numbers = np.diagonal(table["n_heads"].transpose("group", "method", "other").values, axis1=1, axis2=2) > 0
    for method, present in zip(methods, has_numbers.T, strict=True):
        if not present.all():
            findings.append(line("method_agreement.silent", method=method, groups=np.array(groups)[~present].tolist()))
    return [*findings, line("method_agreement.caution")]


def _pair(table: xr.Dataset, pair: tuple[int, int]) -> Finding:
    values, overlap, chance = (
        _finite(table[name].values[:, *pair]) for name in ("rank_correlation", "top_overlap", "top_chance")
    )
    first, second = (str(table["method"].values[place]) for place in reversed(pair))
    span = line("method_agreement.span", low=values.min(), high=values.max()) if len(values) > 1 else None
    top = line("method_agreement.top", overlap=np.median(overlap), chance=np.median(chance)) if len(overlap) else None
    return line("method_agreement.pair", first=first, second=second, correlation=np.median(values), span=span, top=top)


def _beyond_layers(table: xr.Dataset, pairs: list[tuple[int, int]]) -> Finding:
    correlation, layers, q_value = (
        np.array([table[name].values[:, *pair] for pair in pairs])
        for name in ("rank_correlation", "layer_correlation", "q_value")
    )
    more, less = (int((q_value[sign * (correlation - layers) > 0] <= LEVEL).sum()) for sign in (1, -1))
    total = int(np.isfinite(q_value).sum())
    if not more and not less:
        return line("method_agreement.layers_alone", total=total, level=LEVEL)
    opposite = line("method_agreement.less_alike", n=less) if less else None
    return line("method_agreement.beyond_layers", n=more, total=total, opposite=opposite, level=LEVEL)


def _finite(values: np.ndarray) -> np.ndarray:
    return values[np.isfinite(values)]


def _standard(ranks: Float[np.ndarray, " place"]) -> Float[np.ndarray, " place"]:
    centred = ranks - ranks.mean()
    return centred / np.sqrt((centred**2).sum())
