"""A rule as it is written on the command line: `name:option=value,option=value`."""

import inspect
import json
from typing import Any

from headcats.errors import OptionError, UnknownNameError
from headcats.registry import lookup, unknown_name_message
from headcats.rules.rule import Rule


def rule_text(rule: Rule) -> str:
    """A rule as it is written on the command line."""
    options = ",".join(f"{name}={value}" for name, value in rule.options.items())
    return f"{rule.name}:{options}" if options else rule.name


def parse_rule(text: str | Rule) -> Rule:
    """`fdr:alpha=0.05,min_effect=0.1` as a rule; a rule comes back unchanged.

    Raises:
        UnknownNameError: Unknown rule or option.
        OptionError: A value that is no number, or an option missing.
    """
    if isinstance(text, Rule):
        return text
    name, _, listed = text.partition(":")
    make = lookup("rule", name.strip())
    known = inspect.signature(make).parameters
    options: dict[str, Any] = {}
    for part in filter(None, listed.split(",")):
        key, _, value = (word.strip() for word in part.partition("="))
        if key not in known:
            raise UnknownNameError(unknown_name_message(f"option of rule {name}", key, known))
        try:
            options[key] = json.loads(value)
            if isinstance(options[key], bool) or not isinstance(options[key], int | float):
                raise ValueError(value)
        except ValueError:
            raise OptionError(
                f"Option {key} of rule {name} must be a number, got {value!r}: write {name}:{key}=0.05."
            ) from None
    try:
        made: Rule = make(**options)
    except TypeError as error:
        raise OptionError(f"Rule {text!r}: {error}. Options: {', '.join(known) or 'none'}.") from None
    return made
