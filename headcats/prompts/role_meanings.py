"""What the token roles of prompts mean, in words."""

import re
from collections.abc import Sequence

# Kind of a role, with the number of its demonstration cut off -> what it is.
_OF_DEMONSTRATIONS = {
    "before": "text in front of a demonstration",
    "x": "input of a demonstration",
    "between": "text between its input and output",
    "y": "output of a demonstration",
    "after": "text behind it",
}
_OF_THE_QUERY = {
    "before_query": "text in front of the query",
    "x_query": "the query, whose output is asked for",
    "between_query": "text behind the query, where the answer is read",
}
_OTHERS = {"bos": "start of the text", "other": "text of no role"}
_MEANINGS = _OF_DEMONSTRATIONS | _OF_THE_QUERY | _OTHERS
_NUMBERED = re.compile(rf"({'|'.join(_OF_DEMONSTRATIONS)})(\d+)(\[\d+/\d+\])?")


def explained_prompt_roles(roles: Sequence[str]) -> list[str]:
    """One part of a caption for every kind of role that is there, in the order of the roles.

    Only where a role of a demonstration or of the query is among them: other prompts have roles of their own, and
    names such as `other` may mean something else there.

    Example:
        >>> explained_prompt_roles(["x1", "y1", "x2", "y2"])
        ['x1, x2: input of a demonstration', 'y1, y2: output of a demonstration']
    """
    kinds: dict[str, list[str]] = {}
    for role in roles:
        name, numbered = role.split("[")[0], _NUMBERED.fullmatch(role)
        kind = numbered[1] if numbered else name
        if numbered or kind in _OF_THE_QUERY | _OTHERS:
            names = kinds.setdefault(kind, [])
            names += [name] if name not in names else []
    if not set(kinds) - set(_OTHERS):
        return []
    return [f"{_span(names)}: {_MEANINGS[kind]}" for kind, names in kinds.items()]


def _span(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) < 3 else f"{names[0]} … {names[-1]}"
