"""What is understood, what is dropped and counted, and what is refused with file, line and advice."""

import os
import pickle

import pytest
from for_each import for_each
from tasks.files.layout_files import FUNCTION_VECTORS, RELATION, write

import headcats as hc
from headcats.base.errors import DataError
from headcats.tasks.files.task_rows import CONTRADICTORY, DUPLICATE

EMPTY, SEVERAL = "nothing in column 'output'", "several values in column 'output'"
CSV = "input,output\nFrance,Paris\nItaly,Rome\n"


def only(path):
    (task,) = hc.suite(path).tasks
    return task


UNDERSTOOD = [
    ("windows.csv", CSV.replace("\n", "\r\n")),
    ("spaces.csv", CSV.replace("Paris", "  Paris ")),
    ("quoted.csv", CSV.replace("France", '"France"')),
    ("synonyms.csv", CSV.replace("input,output", "id,question,answer").replace("F", "1,F").replace("I", "2,I")),
    ("tabs.tsv", CSV.replace(",", "\t")),
    ("bom.json", "\ufeff" + '[["France", "Paris"], ["Italy", "Rome"]]'),
    ("lines.jsonl", '{"x": "France", "y": "Paris", "z": "a\u2028b"}\r\n{"x": "Italy", "y": ["Rome"]}\r\n'),
    ("lines.json", '["France", "Paris"]\n["Italy", "Rome"]\n'),
    ("notes.json", [FUNCTION_VECTORS[0] | {"note": "which no other has"}, FUNCTION_VECTORS[1]]),
]


@for_each("name", ["x.json", "x.csv", "x.parquet", "x.unknown", "x.py:suite"])
def test_a_pipe_is_not_waited_for(tmp_path, name):
    os.mkfifo(tmp_path / name.partition(":")[0])
    with pytest.raises(DataError, match="no regular file"):
        hc.suite(str(tmp_path / name))


@for_each("name,content", UNDERSTOOD)
def test_what_is_understood(tmp_path, name, content):
    task = only(write(tmp_path / name, content))
    assert task.pairs(10, seed=0) == [("France", "Paris"), ("Italy", "Rome")]
    assert (task.drops.kept, task.drops.dropped) == (2, {})


def test_every_dropped_row_is_counted(tmp_path):
    rows = [
        {"input": "France", "output": "Paris"},
        {"input": "France ", "output": " Paris"},
        {"input": "Bolivia", "output": "Sucre"},
        {"input": "Bolivia", "output": "La Paz"},
        {"input": "Bolivia", "output": "Sucre"},
        {"input": "Nauru", "output": ""},
        {"input": "Benin", "output": None},
        {"input": "Chad", "output": ["N'Djamena", "Fort-Lamy"]},
        None,
        {"input": "Italy", "output": "Rome"},
    ]
    task = only(write(tmp_path / "capitals.json", rows))
    assert task.pairs(10, seed=0) == [("France", "Paris"), ("Italy", "Rome")]
    assert task.drops.dropped == {EMPTY: 2, SEVERAL: 1, "empty row": 1, CONTRADICTORY: 3, DUPLICATE: 1}
    assert task.drops.kept + sum(task.drops.dropped.values()) == len(rows)
    assert task.drops.examples["empty row"] == "capitals.json, record 9"
    assert "record 3" in task.drops.examples[CONTRADICTORY]


def test_empty_lines_of_a_table_are_rows(tmp_path):
    drops = only(write(tmp_path / "a.csv", "input,output\nFrance,Paris\n\nItaly,Rome\n")).drops
    assert (drops.kept, drops.dropped, drops.examples) == (2, {"empty row": 1}, {"empty row": "a.csv, line 3"})


def test_prompts_that_contrast_nothing_are_dropped(tmp_path):
    rows = "clean,corrupted,answer,wrong\na,a, b, c\na,b, c, c\na,b, c, d\na,b, c, d\n"
    drops = only(write(tmp_path / "a.csv", rows)).drops
    assert drops.dropped == {"clean equals corrupted": 1, "answer equals distractor": 1, DUPLICATE: 1}


def test_one_clean_prompt_with_two_corruptions_is_two_rows(tmp_path):
    rows = "clean,corrupted,answer,wrong\na,b, c, d\na,e, c, d\nf,g, h, i\nf,j, i, h\n"
    task = only(write(tmp_path / "a.csv", rows))
    assert [pair.corrupted for pair in task.pairs(9, seed=0)] == ["b", "e"]
    assert task.drops.dropped == {CONTRADICTORY: 2}


def test_whole_numbers_become_text_where_every_row_has_one(tmp_path):
    assert only(write(tmp_path / "a.json", [["7", 8], ["9", 10]])).pairs(9, seed=0) == [("7", "8"), ("9", "10")]
    assert only(write(tmp_path / "a.csv", "input,output\n07,8.50\n")).pairs(9, seed=0) == [("07", "8.50")]
    for rows in ([["7", 8], ["9", "ten"]], [["7", "eight"], ["9", 10]]):
        with pytest.raises(DataError, match=r"b\.json, record 2: .*'output'"):
            hc.suite(write(tmp_path / "b.json", rows))
    for value in (8.5, True, {"a": 1}, [1]):
        with pytest.raises(DataError, match=r"c\.json, record 1: .*'output'"):
            hc.suite(write(tmp_path / "c.json", [["7", value]]))


NUMBERS = {"prompts": [{"clean": [1, 2], "corrupt": [2, 1], "answers": [1], "wrong_answers": [0]}]}


REFUSED = [
    ("empty.csv", b"", r"empty\.csv is empty"),
    ("header.csv", "input,output\n", r"header\.csv .*no usable"),
    ("latin.csv", b"input,output\na,b\nSpain,Espa\xf1a\n", r"latin\.csv, line 3: .*UTF-8"),
    ("semicolons.csv", "input;output\na;b\n", r"semicolons\.csv, line 1: .*';'.*','"),
    ("wide.csv", "input,output\na,b\nc,d,e\n", r"wide\.csv, line 3: expected 2 cells"),
    ("quotes.csv", 'input,output\na,b\n"c"d,e\n', r"quotes\.csv, line 3"),
    ("doubled.csv", "input,output,Input\na,b,c\n", r"doubled\.csv has .* 'input' twice"),
    ("twice.json", '[["a", "b"], {"x": 1, "x": 2}]', r"twice\.json, line 1: .* 'x' twice"),
    ("unclear.csv", "question,subject,answer\na,b,c\n", r"'question' and 'subject' .*'input'"),
    ("columns.csv", "country,capital\na,b\n", r'columns = \{input = "country", answer = "capital"\}'),
    ("list.json", {"a": [{"x": "b", "y": "c"}], "d": [{"x": "e", "y": "f"}]}, r"list\.json: .*list.*'a', 'd'"),
    ("links.csv", "source,title,answer\nhttp://a.org/1,t,b\n", r"links\.csv: .*'source' holds links"),
    ("blimp.jsonl", '{"one_prefix_prefix": "The cat", "one_prefix_word_good": "sleeps"}', "blimp-prefix.*word_bad"),
    ("mcq.csv", "question,A,B,answer\nq,a,b,1\nr,c,d,2\n", r"mcq\.csv, line 3: .*from 0"),
    ("mcq.json", [{"question": "q", "choices": list("abcd"), "answer": n} for n in (1, 4)], r"mcq\.json, record 2.* 0"),
    ("groups.csv", "input,output,group\na,b,g\nc,d,\ne,f,h\n", r"groups\.csv, line 4: .*'g'.*'h'.* a file for each"),
    ("group.json", RELATION | {"group": 3}, r"group\.json: .*'group'.*got 3"),
    ("half.csv", "clean,corrupted,answer\na,b,c\n", r"half\.csv.*lack wrong"),
    ("object.json", {"France": "Paris"}, r"object\.json: .*list.*'France'"),
    ("none.json", [], r"none\.json: .*list.*got none"),
    ("texts.json", ["a"], r"texts\.json: .*list"),
    ("short.json", [["a", "b"], ["c"]], r"short\.json, record 2: .*list of 2"),
    ("mixed.json", [{"x": "a", "y": "b"}, ["c", "d"]], r"mixed\.json, record 2: .*object"),
    ("cut.json", '[["a", "b"', r"cut\.json .*JSON.* \(line 1"),
    ("deep.json", "[" * 100_000, r"deep\.json .*JSON"),
    ("half.json", '[["\\ud800", "b"]]', r"half\.json, record 1: .*surrogate"),
    ("samples.json", {"samples": 3}, r"samples\.json: 'samples'"),
    ("slot.json", RELATION | {"prompt_templates": ["The capital is"]}, r"slot\.json: the template.*\{\}"),
    ("one.json", RELATION | {"samples": RELATION["samples"][1:]}, r"one\.json: every answer"),
    ("tensor.json", NUMBERS, r"tensor\.json, record 1: column 'clean'"),
    ("ids.csv", "clean,corrupted,correct_idx,incorrect_idx\na,b,1,2\n", r"ids\.csv.*correct_idx.*suite\.toml"),
    ("junk.parquet", b"PAR1 and no more", r"junk\.parquet .*read"),
    ("words.xlsx", b"PK\x03\x04", r"words\.xlsx .*archive"),
    ("mine.py", b"x = 1", r"mine\.py is not.*mine\.py:name"),
]  # fmt: skip


@for_each("name,content,message", REFUSED)
def test_one_sentence_names_the_file_and_what_to_do(tmp_path, name, content, message):
    with pytest.raises(DataError, match=message) as caught:
        hc.suite(write(tmp_path / name, content))
    assert "\n" not in str(caught.value)


class Fires:
    def __reduce__(self):
        return (open, ("fired", "w"))


@for_each("name", ["evil.pkl", "evil.PT", "evil.bin", "evil.json", "evil.csv", "evil.parquet", "evil"])
def test_pickles_are_refused_and_never_opened(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path / "data" / name, pickle.dumps(Fires()))
    with pytest.raises(DataError, match=f"{name} is a pickle"):
        hc.suite(path)
    if path.suffix:
        with pytest.raises(DataError, match=f"{name} is a pickle"):
            hc.suite(path.parent)
    assert not (tmp_path / "fired").exists()


def test_the_suffix_of_a_pickle_is_enough(tmp_path):
    with pytest.raises(DataError, match="a pickle"):
        hc.suite(write(tmp_path / "old.pkl", pickle.dumps(["text"], protocol=0)))


def test_a_file_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for source in ("pairs.json", "folder/", "./icl", "hf://models/x", "hf://datasets/x", "hf://datasets/a/b/c/d/e"):
        with pytest.raises(DataError):
            hc.suite(source)


def test_a_file_of_several_layouts_at_once_is_read_as_the_most_specific(tmp_path):
    both = [{"input": "x", "output": "y", "clean": "a b", "corrupted": "a c", "answer": " d", "wrong": " e"}]
    assert only(write(tmp_path / "both.json", both)).pairs(9, seed=0)[0].clean == "a b"
