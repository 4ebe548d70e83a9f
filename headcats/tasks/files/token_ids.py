"""Answers as token ids, `correct_idx` and `incorrect_idx` (EAP-IG): text by the tokenizer that they are ids of."""

from collections.abc import Iterator, Sequence
from typing import Any

from headcats.base.errors import DataError, first_line
from headcats.tasks.files.columns import by_meaning
from headcats.tasks.files.records import ABSENT, Records, absent

COLUMNS = {"correct_idx": "answer", "incorrect_idx": "wrong"}


def with_answers(records: Records, *, tokenizer: str) -> Records:
    """The records with the text of the ids in columns `answer` and `wrong`; as they are, if they hold no such ids."""
    names = by_meaning(records.columns, file=records.file)
    if not COLUMNS.keys() <= names.keys() or set(COLUMNS.values()) <= names.keys():
        return records
    if not tokenizer:
        raise DataError(
            f"{records.file}: the columns 'correct_idx' and 'incorrect_idx' hold token ids, which only their tokenizer "
            'can read: name it in a suite.toml beside the file ([files."'
            f"{records.file}\"] tokenizer = \"...\"), or write the text in columns 'answer' and 'wrong'."
        )
    loaded = _load(tokenizer)
    chosen = [records.columns.index(names[name]) for name in COLUMNS]

    def read() -> Iterator[tuple[int, Sequence[Any]]]:
        texts: dict[Any, str] = {}
        for number, cells in records.read():
            ids = [cells[index] for index in chosen] if cells else []
            if ABSENT in ids:
                raise DataError(absent(records.place(number), records.columns[chosen[ids.index(ABSENT)]]))
            for token in ids:
                if token not in texts:
                    texts[token] = _text(loaded, token, records.place(number))
            yield number, [*cells, *(texts[token] for token in ids)]

    return Records(records.file, (*records.columns, *COLUMNS.values()), read, records.unit)


def _load(tokenizer: str) -> Any:
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(tokenizer, trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise DataError(f"The tokenizer {tokenizer!r} cannot be loaded: {first_line(error)}.") from None


def _text(tokenizer: Any, token: Any, place: str) -> str:
    """The text of a token within a text: decoders leave out the space of a first token."""
    if not str(token).strip().isdecimal() or int(token) >= len(tokenizer):
        raise DataError(f"{place}: expected the id of a token, below {len(tokenizer)}; got {token!r:.40}.")
    before = tokenizer.encode("a", add_special_tokens=False)
    text = tokenizer.decode([*before, int(token)], clean_up_tokenization_spaces=False)
    return text.removeprefix(tokenizer.decode(before, clean_up_tokenization_spaces=False))
