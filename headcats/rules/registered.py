"""Is a rule one that comes with headcats, unchanged?"""

import inspect
from types import FunctionType
from typing import Any

from headcats.base.errors import HeadcatsError
from headcats.base.guard import is_built_in
from headcats.base.registry import lookup
from headcats.rules.rule import Rule, parse_rule, rule_text


def is_registered(rule: Rule) -> bool:
    """True if a rule is what headcats registers under its name, so that its name and options say all that it does."""
    try:
        registered = parse_rule(rule_text(rule))
    except HeadcatsError:
        return False
    made_here = is_built_in(lookup("rule", rule.name))
    codes = ((rule.judge, registered.judge), (rule.cutoffs_of, registered.cutoffs_of))
    return made_here and rule == registered and all(_does_the_same(*pair) for pair in codes)


def _does_the_same(code: Any, other: Any) -> bool:
    """True if two functions were made by the same lines of code with equal values around them."""
    code, other = inspect.unwrap(code), inspect.unwrap(other)
    if not isinstance(code, FunctionType) or not isinstance(other, FunctionType):
        return bool(code == other)
    cells = zip(code.__closure__ or (), other.__closure__ or (), strict=False)
    return code.__code__ is other.__code__ and all(
        _does_the_same(cell.cell_contents, of_other.cell_contents) for cell, of_other in cells
    )
