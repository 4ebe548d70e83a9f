"""Which column of a table means what."""

from collections.abc import Mapping, Sequence

from headcats.base.errors import DataError

# The first name is preferred where several are there; the order of the others says nothing.
INPUT = ("input", "x", "source", "question", "prompt", "subject", "word")
# Of last resort: it may be anything beside the input.
TEXT = "text"
OUTPUT = ("output", "y", "target", "answer", "completion", "object")
CLEAN = ("clean", "clean_prompt", "prompt")
CORRUPTED = ("corrupted", "corrupt", "corrupted_prompt", "corrupt_prompt", "counterfactual")
ANSWER = ("answer", "answers", "correct", "correct_answer", "clean_answer", "clean_label", "label", "target")
WRONG = (
    "wrong",
    "distractor",
    "wrong_answer",
    "wrong_answers",
    "incorrect",
    "incorrect_answer",
    "corrupted_answer",
    "corrupt_answer",
    "corrupted_label",
    "counterfactual_answer",
)
ITEM = ("item",)


def by_meaning(columns: Sequence[str], *, file: str) -> dict[str, str]:
    """Name without case and surrounding space -> name in the file."""
    names: dict[str, str] = {}
    for column in columns:
        bare = str(column).strip().casefold().replace(" ", "_")
        if bare in names and bare:
            raise DataError(f"{file} has the column {bare!r} twice: rename or remove one of them.")
        names[bare] = column
    return names


def find(names: Mapping[str, str], synonyms: Sequence[str], *, file: str) -> str | None:
    """The column with one of these meanings; None without any."""
    candidates = [name for name in synonyms if name in names]
    if len(candidates) > 1 and candidates[0] != synonyms[0]:
        raise DataError(
            f"{file}: the columns {' and '.join(map(repr, candidates))} could each be the {synonyms[0]!r}; give that "
            "name to the one you mean."
        )
    return names[candidates[0]] if candidates else None
