"""Lists of heads in the forms in which papers publish them, and files that are none."""

import json
from pathlib import Path

import pytest
from for_each import for_each

import headcats as hc
from headcats.base.errors import DataError, HeadcatsError, OptionError
from headcats.models.head import Head

LISTS = {
    "names.txt": "L9H6\n10.0, L9H9\n",
    "scores.txt": "L9H6 0.9\nL9H9 0.1\nL10H0 0.5\n",
    "names.json": ["L9H6", [10, 0], "9.9"],
    "vectors.json": [[9, 6, 0.9], [10, 0, 0.8], [9, 9, 0.7]],
    "retrieval.json": {"9-6": [1.0, 0.8], "10-0": [0.8], "9-9": [0.7]},
    "graph.json": {
        "nodes": {
            "a9.h6": {"score": 3}, "m0": {"score": 9}, "a10.h0": {"score": 2}, "a9.h9": {"score": 1, "in_graph": True},
            "a0.h0": {"score": 8, "in_graph": False},
        },
        "edges": {},
    },
    "mine.json": {"model": "gpt2", "heads": {"L9H6": 0.9, "L10H0": 0.8, "9.9": 0.7}},
    "table.csv": "layer,head,score\n9,9,0.1\n9,6,0.9\n10,0,0.5\n",
}  # fmt: skip


@for_each("name", list(LISTS))
def test_published_lists_of_heads(tmp_path: Path, name: str) -> None:
    content = LISTS[name]
    (tmp_path / name).write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    assert list(map(str, hc.heads(tmp_path / name))) == ["L9H6", "L10H0", "L9H9"]
    assert hc.heads(tmp_path / name, n=1) == [Head(9, 6)]
    if name not in ("names.txt", "names.json"):
        assert len(hc.heads(tmp_path / name, least=0.5)) in (2, 3)
        assert len(hc.heads(tmp_path / name, least=99)) == 0


@for_each(
    "content,message",
    [
        ("[]", "holds no head"),
        ('{"a": 1}', "holds no head"),
        ('["L9H6", "9.6"]', "L9H6 is named twice"),
        ('["head"]', "Expected a head"),
        ("", "holds no head"),
        ("layer,head,score\n9,6,high\n", "a number"),
        ('{"0-1": [0.5], "0-2": [NaN]}', "a number"),
        ('{"0-1": [[0.5]]}', "a number"),
    ],
)
def test_a_file_without_heads_is_refused(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "a.json").write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        hc.heads(tmp_path / "a.json")
    with pytest.raises(HeadcatsError):
        hc.heads(tmp_path / "none.json")
    (tmp_path / "names.json").write_text('["L9H6"]', encoding="utf-8")
    with pytest.raises(OptionError, match="no scores"):
        hc.heads(tmp_path / "names.json", least=1)
    with pytest.raises(OptionError, match="n must"):
        hc.heads(tmp_path / "names.json", n=0)
