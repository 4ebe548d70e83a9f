"""Quantiles and tails of t and the normal distribution, by `scipy.special`.

`scipy.stats` computes them with the same functions, and takes longer to import than most commands to run. Arguments are
numbers or arrays that broadcast; NaN gives NaN.
"""

from typing import Any

from scipy import special


def t_quantile(p_above: Any, freedom: Any) -> Any:
    """Upper-tail quantile of Student's t: exceeded with probability `p_above`, in (0, 1); `freedom` above 0."""
    return -special.stdtrit(freedom, p_above)


def normal_quantile(p_above: Any) -> Any:
    """Upper-tail quantile of the standard normal distribution; infinite for a `p_above` of 0 or 1."""
    return -special.ndtri(p_above)


def normal_above(value: Any) -> Any:
    """Upper tail of the standard normal distribution: the probability of more than `value`."""
    return special.ndtr(-value)
