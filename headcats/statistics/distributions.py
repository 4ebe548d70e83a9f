"""Quantiles and tails of t and the normal distribution, by `scipy.special`.

`scipy.stats` computes them with the same functions, and takes longer to import than most commands to run.
"""

from typing import Any

from scipy import special


def t_quantile(p_above: Any, freedom: Any) -> Any:
    """What t with so many degrees of freedom exceeds with probability `p_above`."""
    return -special.stdtrit(freedom, p_above)


def t_above(value: Any, freedom: Any) -> Any:
    """Probability that t exceeds a value."""
    return special.stdtr(freedom, -value)


def normal_quantile(p_above: Any) -> Any:
    """What a standard normal variable exceeds with probability `p_above`."""
    return -special.ndtri(p_above)


def normal_above(value: Any) -> Any:
    """Probability that a standard normal variable exceeds a value."""
    return special.ndtr(-value)
