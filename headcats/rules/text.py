"""A rule as it is written on the command line: `name:option=value,option=value`."""

import inspect
import json
from typing import Any

from headcats.errors import OptionError, UnknownNameError
from headcats.registry import lookup, unknown_name_message
from headcats.results.label import format_call, parse_call
from headcats.rules.rule import Rule


def rule_text(rule: Rule) -> str:
    """A rule as it is written on the command line."""
    return format_call(rule.name, rule.options.items())


def parse_rule(text: str | Rule) -> Rule:
    """`fdr:alpha=0.05,min_effect=0.1` as a rule; a rule comes back unchanged.

    Raises:
        UnknownNameError: Unknown rule or option.
        OptionError: A value that is no number, an option missing or given twice.
    """
    if isinstance(text, Rule):
        return text
    name, assignments = parse_call(text)
    make = lookup("rule", name)
    parameters = inspect.signature(make).parameters
    options: dict[str, Any] = {}
    for key, value in assignments.items():
        if key not in parameters:
            raise UnknownNameError(unknown_name_message(f"option of rule {name}", key, parameters))
        try:
            options[key] = json.loads(value)
            if isinstance(options[key], bool) or not isinstance(options[key], int | float):
                raise ValueError(value)
        except ValueError:
            raise OptionError(
                f"Option {key} of rule {name} must be a number, got {value!r}: write {name}:{key}=0.05."
            ) from None
    try:
        rule: Rule = make(**options)
    except TypeError as error:
        raise OptionError(f"Rule {text!r}: {error}. Options: {', '.join(parameters) or 'none'}.") from None
    return rule
