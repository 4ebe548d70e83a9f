"""The role of every token of a prompt, from the spans of the roles in its text."""

from collections.abc import Mapping, Sequence

from headcats.prompts.packing import Labels
from headcats.prompts.pair import Span
from headcats.prompts.token_ids import number_roles

ANSWER_START = "answer_start"
"""Role of the tokens at the end of a prompt with which answer and distractor both begin."""


def token_labels(ends: Sequence[int], spans: Mapping[str, Span], *, n_bos: int, n_shared: int) -> Labels:
    """The role of each token, which is that of its last character: `role`, or `role[i/n]` if n > 1 tokens have it.

    BOS has the role "bos", text outside every role "other". No labels at all for a prompt without roles.
    """
    if not spans:
        return ()
    of_character = ["other"] * (max(ends, default=0) + 1)  # the last one is that of a token without characters, end 0
    for role, (start, stop) in reversed(list(spans.items())):  # of spans that overlap the first counts
        stop = min(stop, len(of_character) - 1)
        of_character[start:stop] = [role] * max(0, stop - start)
    roles = [of_character[end - 1] for end in ends]
    roles += [ANSWER_START] * n_shared
    return ("bos",) * n_bos + number_roles(roles)
