"""Quantiles of Student's t, by `scipy.special`.

`scipy.stats` computes them with the same function, and takes longer to import than most commands to run. Arguments are
numbers or arrays that broadcast; NaN gives NaN.
"""

from typing import Any

from scipy import special


def t_quantile(p_above: Any, freedom: Any) -> Any:
    """Upper-tail quantile of Student's t: exceeded with probability `p_above`, in (0, 1); `freedom` above 0."""
    return -special.stdtrit(freedom, p_above)
