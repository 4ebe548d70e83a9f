"""Any bytes in a file of any suffix give a suite whose tasks have pairs, or a DataError."""

import io
import json
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet
from tasks.files.layout_files import GREATER_THAN_CSV, IOI_CSV, RELATION

import headcats as hc
from headcats.base.errors import DataError
from headcats.tasks.files.content import SUFFIXES
from headcats.tasks.files.task_rows import CONTRADICTORY, DUPLICATE

FIELDS = (
    "input", "output", "clean", "corrupted", "answer", "wrong", "label", "answers", "samples", "subject", "object",
    "prompts", "prompt_templates", "properties", "question", "item", "correct_idx", "incorrect_idx",
)  # fmt: skip


def loads_or_refuses(name: str, content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        try:
            suite = hc.suite(path)
        except DataError:
            return
        for task in suite.tasks:
            pairs = task.pairs(50, seed=0)
            assert pairs
            assert task.drops is not None
            assert task.drops.kept


@pytest.mark.parametrize("suffix", SUFFIXES)
@given(content=st.binary(max_size=60))
def test_any_bytes(suffix: str, content: bytes) -> None:
    loads_or_refuses(f"fuzz{suffix}", content)


def parquet_bytes() -> bytes:
    buffer = io.BytesIO()
    parquet.write_table(pa.table({"input": ["France", "Italy"], "output": ["Paris", "Rome"]}), buffer)
    return buffer.getvalue()


KNOWN = {
    "relation.json": json.dumps(RELATION).encode(),
    "ioi.csv": IOI_CSV.encode(),
    "greater_than.csv": GREATER_THAN_CSV.encode(),
    "pairs.parquet": parquet_bytes(),
}


@pytest.mark.parametrize("name", KNOWN)
@given(data=st.data())
def test_a_known_file_with_damage(name: str, data: st.DataObject) -> None:
    loads_or_refuses(name, damaged(KNOWN[name], data))


def damaged(content: bytes, data: st.DataObject) -> bytes:
    start = data.draw(st.integers(0, len(content)))
    return content[:start] + data.draw(st.binary(max_size=6)) + content[start + data.draw(st.integers(0, 6)) :]


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | st.sampled_from(["a b {}", "1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=6),
    max_leaves=15,
)


@given(content=values)
def test_any_json(content: object) -> None:
    loads_or_refuses("fuzz.json", json.dumps(content).encode())


words = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=3)


@given(rows=st.lists(st.tuples(words, words), min_size=1, max_size=12))
def test_every_row_is_kept_or_dropped_for_the_right_reason(rows: list[tuple[str, str]]) -> None:
    stripped = [(word.strip(), output.strip()) for word, output in rows]
    whole = [pair for pair in stripped if all(pair)]
    outputs = {word: {output for other, output in whole if other == word} for word, _ in whole}
    expected = list(dict.fromkeys(pair for pair in whole if len(outputs[pair[0]]) == 1))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pairs.json"
        path.write_text(json.dumps(rows), encoding="utf-8")
        if not expected:
            with pytest.raises(DataError, match="no usable row"):
                hc.suite(path)
            return
        (task,) = hc.suite(path).tasks
    assert task.drops is not None
    assert task.pairs(100, seed=0) == expected
    assert task.drops.kept + sum(task.drops.dropped.values()) == len(rows)
    contradictory = sum(len(outputs[word]) > 1 for word, _ in whole)
    assert task.drops.dropped.get(CONTRADICTORY, 0) == contradictory
    assert task.drops.dropped.get(DUPLICATE, 0) == len(whole) - contradictory - len(expected)
