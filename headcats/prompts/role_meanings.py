"""What the token roles of prompts mean, in words."""

from collections.abc import Sequence

# In roles, the number of the demonstration follows.
_OF_DEMONSTRATIONS = {
    "before": "text in front of a demonstration",
    "x": "input of a demonstration",
    "between": "text between its input and output",
    "y": "output of a demonstration",
    "after": "text behind it",
}
_BOUNDARIES = {"bos": "start of the text", "other": "text of no role"}
_WITHOUT_NUMBER = {
    "before_query": "text in front of the query",
    "x_query": "the query, whose output is asked for",
    "between_query": "text behind the query, where the answer is read",
    **_BOUNDARIES,
}


def explained_prompt_roles(roles: Sequence[str]) -> list[str]:
    """One part of a caption for every kind of role that is there, in the order of the roles.

    Only where a role of a demonstration or of the query is among them: other prompts have roles of their own, and
    names such as `other` may mean something else there.

    Example:
        >>> explained_prompt_roles(["x1", "y1", "x2", "y2"])
        ['x1, x2: input of a demonstration', 'y1, y2: output of a demonstration']
    """
    kinds: dict[str, list[str]] = {}
    for name in dict.fromkeys(role.split("[")[0] for role in roles):
        kind = name.rstrip("0123456789")
        if kind in (_WITHOUT_NUMBER if kind == name else _OF_DEMONSTRATIONS):
            kinds.setdefault(kind, []).append(name)
    if kinds.keys() <= _BOUNDARIES.keys():
        return []
    meanings = _OF_DEMONSTRATIONS | _WITHOUT_NUMBER
    spans = {kind: ", ".join(names) if len(names) < 3 else f"{names[0]} … {names[-1]}" for kind, names in kinds.items()}
    return [f"{span}: {meanings[kind]}" for kind, span in spans.items()]
