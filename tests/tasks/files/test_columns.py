"""Columns that the user names: in suite.toml, in Python and behind a source; and refusals whose line then works."""

import json
import re
import shlex

import pytest
from for_each import for_each
from tasks.files.layout_files import write

import headcats as hc
from headcats.base.errors import DataError, HeadcatsError
from headcats.cli.options import settings
from headcats.study.options import study_options
from headcats.tasks.doubts import doubts
from headcats.tasks.files.content import UnclearColumnsError

ROWS = "City Name,Land,bad,verse,kin\nParis,France,Japan,{} is in,a\nTokyo,Japan,France,{} lies in,b\n"
ROLES = {"input": "City Name", "answer": "Land"}


def only(path, **options):
    (task,) = hc.suite(path, **options).tasks
    return task


def test_three_ways_to_name_columns_give_one_task(tmp_path):
    file = write(tmp_path / "cities.csv", ROWS)
    named = hc.suite(file, columns=ROLES)
    again = hc.suite(named.source)
    write(tmp_path / "suite.toml", 'files."cities.csv".columns = {input = "City Name", answer = "Land"}\n')
    of_toml = hc.suite(tmp_path)
    expected = [("Paris", "France"), ("Tokyo", "Japan")]
    assert [suite.tasks[0].pairs(9, seed=0) for suite in (named, again, of_toml)] == [expected] * 3
    given = {"suite": str(file), "columns": ["input=City Name", "answer=bad"]}
    assert hc.suite(settings(None, given)["suite"]).tasks[0].pairs(9, seed=0)[0] == ("Paris", "Japan")
    assert study_options(given).suite.source == settings(None, given)["suite"]


@for_each(
    "more,clean,corrupted,answer,wrong,item",
    [
        ({"wrong": "bad"}, "Paris", "Tokyo", " France", " Japan", "Paris"),
        ({"template": "verse"}, "Paris is in", "Tokyo lies in", " France", " Japan", "Paris"),
        ({"template": "In {}:", "item": "kin"}, "In Paris:", "In Tokyo:", " France", " Japan", "a"),
        ({"corrupted": "The {kin}", "wrong": "bad"}, "Paris", "The a", " France", " Japan", "Paris"),
    ],
)
def test_further_columns_make_finished_prompts(tmp_path, more, clean, corrupted, answer, wrong, item):
    first, _ = only(write(tmp_path / "cities.csv", ROWS), columns=ROLES | more).pairs(9, seed=0)
    assert (first.clean, first.corrupted, first.item) == (clean, corrupted, item)
    assert (first.answer.strip(), first.distractor.strip()) == (answer.strip(), wrong.strip())


def test_a_group_and_several_answers(tmp_path):
    file = write(tmp_path / "cities.csv", ROWS.replace(",b\n", ",a\n"))
    suite = hc.suite(file, columns={"input": "City Name", "answer": ["Land", "bad"], "group": "kin"})
    assert [(task.name, task.group) for task in suite.tasks] == [("cities.Land", "a"), ("cities.bad", "a")]
    assert hc.suite(suite.source).tasks[1].pairs(9, seed=0) == [("Paris", "Japan"), ("Tokyo", "France")]
    assert len(hc.suite(file, columns={"input": "City Name", "answer": "*"}).tasks) == 4


def test_a_layout_of_a_folder_and_names_of_a_file_without_them(tmp_path):
    write(tmp_path / "a.csv", "town,state\nParis,France\nTokyo,Japan\n")
    write(tmp_path / "b.csv", "Rome,Italy\nOslo,Norway\n")
    write(
        tmp_path / "suite.toml",
        'files."b.csv".columns = ["town", "state"]\n'
        '[layouts.towns]\nhas = ["town"]\ninput = "town"\nanswer = "state"\nwords = {France = "FR"}\n',
    )
    first, second = hc.suite(tmp_path).tasks
    assert first.pairs(9, seed=0)[0] == ("Paris", "FR")
    assert second.pairs(9, seed=0) == [("Rome", "Italy"), ("Oslo", "Norway")]
    assert "towns (" in first.source


def test_a_row_that_lacks_what_counts_is_dropped_and_counted(tmp_path):
    rows = [
        {"text": f"Q{n}", "solution": f"so {n}" if n else "none", "x": {"y": None if n == 2 else "z"}} for n in range(4)
    ]
    write(
        tmp_path / "suite.toml",
        'files."a.json".columns = {input = "text", answer = "solution", patterns = {answer = \'(\\d)$\'}}',
    )
    task = only(write(tmp_path / "a.json", rows))
    assert (task.drops.kept, list(task.drops.dropped.values())) == (3, [1])
    (tmp_path / "suite.toml").unlink()
    nested = only(tmp_path / "a.json", columns={"input": "text", "answer": "x.y"})
    assert (nested.drops.kept, list(nested.drops.dropped.values())) == (3, [1])


@for_each(
    "columns,message",
    [
        ({"input": "City Nam", "answer": "Land"}, "'City Name'"),
        ({"input": "Land", "answer": "Land"}, "'Land' is input and answer"),
        ({"inputs": "Land"}, "'input'"),
        ({"input": "Land"}, "answer"),
        ({"input": "Land", "clean": "bad", "answer": "verse"}, "one of input"),
        ({"input": "Land", "answer": ""}, "name of a column"),
        ({}, "expected columns"),
        (["input=Land", "input=bad"], "twice"),
        (["Land"], "input=NAME"),
        ("input=Land,answer=bad,", "input=NAME"),
        ({"input": "Land", "answer": "bad", "words": {"a": "b"}}, r"suite\.toml"),
        ({"input": "Land", "answer": "bad", "patterns": {"answer": "("}}, "regular expression"),
        ({"input": "Land", "answer": "bad", "patterns": {"answer": "x"}}, "one group"),
    ],
)
def test_wrong_columns_are_refused(tmp_path, columns, message):
    with pytest.raises(HeadcatsError, match=message):
        hc.suite(write(tmp_path / "cities.csv", ROWS), columns=columns)


def test_columns_are_those_of_one_file(tmp_path):
    write(tmp_path / "cities.csv", ROWS)
    for source in ("icl", hc.suite("icl"), tmp_path):
        with pytest.raises(DataError, match="file"):
            hc.suite(source, columns=ROLES)


UNCLEAR = {
    "names.csv": "city,land\nParis,France\nTokyo,Japan\n",
    "odd.csv": "a.b c,d{e\nParis,France\nTokyo,Japan\n",
    "many.csv": ",".join(f"column{n}" for n in range(4000)) + "\n" + ",".join(f"w{n}" for n in range(4000)) + "\n",
    "both.json": [{"question": "a b", "prompt": "c", "answer": "d"}, {"question": "e f", "prompt": "g", "answer": "h"}],
    "links.csv": "source,title,answer\nhttp://a.org/1,one thing,b\nhttp://a.org/2,other thing,c\n",
    "no_wrong.csv": "clean,corrupted,answer\nAnn met,Bob met, Eve\nTom met,Sue met, Ian\n",
    "long.json": [dict.fromkeys([f"{'a' * 300}{n}" for n in range(50)], 1.5)],
    "entities.json": {"a": {"x": []}, "b": {"x": []}},
    "fields.json": [{"Question": f"who is {n}?", "Answer": {"Value": f"Bo {n}", "Of": ["x"]}} for n in range(3)],
    "floats.json": [{"input": "a b", "output": 1.5}, {"input": "c d", "output": 2.5}],
    "within.json": {"data": [{"title": "a b", "paragraphs": [{"context": "c d", "qas": []}]}]},
}  # fmt: skip


@for_each("name", list(UNCLEAR))
def test_a_refusal_is_short_and_its_line_works(tmp_path, name):
    file = write(tmp_path / name, UNCLEAR[name])
    with pytest.raises(DataError) as caught:
        hc.suite(file)
    message = str(caught.value)
    assert len(message) <= 600
    line = re.search(r"files\..*?\.columns = \{.*?\}", message)
    assert line or name in ("long.json", "entities.json", "within.json")
    if line:
        write(tmp_path / "suite.toml", line[0])
        assert only(file).drops.kept > 0
    if option := re.search(r"\(or (--columns .*)\)", message):
        (tmp_path / "suite.toml").unlink()
        assert only(file, columns=shlex.split(option[1])[1].split(",")).drops.kept > 0


def test_a_refusal_in_a_subfolder_names_the_path_within_the_folder(tmp_path):
    write(tmp_path / "sub" / "names.csv", UNCLEAR["names.csv"])
    with pytest.raises(UnclearColumnsError) as caught:
        hc.suite(tmp_path)
    line = re.search(r"files\..*?\.columns = \{.*?\}", str(caught.value))[0]
    assert "sub/names.csv" in line
    write(tmp_path / "suite.toml", line)
    assert len(hc.suite(tmp_path).tasks) == 1


@for_each(
    "layout,message",
    [
        ('input = "a"', "`has`"),
        ('has = ["a"]\nwhere = {a = "("}\ninput = "a"\nanswer = "b"', "regular expression"),
        ('has = ["a"]\nonly = "a"\ninput = "a"\nanswer = "b"', "`only`"),
        ('has = ["a"]\ninput = "a"', "answer"),
    ],
)
def test_a_wrong_layout_of_a_folder_is_refused(tmp_path, layout, message):
    write(tmp_path / "a.csv", "input,output\nx,y\n")
    write(tmp_path / "suite.toml", f"[layouts.mine]\n{layout}\n")
    with pytest.raises(DataError, match=message):
        hc.suite(tmp_path)


def test_options_of_unequal_number_and_answers_outside_are_dropped_and_counted(tmp_path):
    right = {"question_stem": "Which?", "choices": {"label": ["A", "B"], "text": ["x", "y"]}, "answerKey": "B"}
    unequal = right | {"choices": {"label": ["A", "B", "C"], "text": ["x", "y"]}}
    rows = [right, unequal, right | {"answerKey": "D"}, right | {"question_stem": "Who?", "answerKey": "A"}]
    drops = only(write(tmp_path / "openbookqa.json", rows)).drops
    assert (drops.kept, drops.dropped) == (2, {"no options": 1, "answer not among the options": 1})


def test_an_option_that_is_missing_does_not_move_the_letters_of_those_behind_it(tmp_path):
    lines = ("context,question,answerA,answerB,answerC,label", "It rained,Why?,cloud,,sun,2", "It rained,How?,a,b,,2")
    drops = only(write(tmp_path / "social.csv", "\n".join(lines) + "\n")).drops
    assert (drops.kept, drops.dropped) == (1, {"no options": 1})


def test_the_nearest_layout_is_named(tmp_path):
    rows = [{"question_stem": "Which?", "choices": ["a", "b"], "key": "A"}]
    with pytest.raises(UnclearColumnsError, match="openbookqa, which has answerkey"):
        hc.suite(write(tmp_path / "o.json", rows))


@for_each(
    "rows,expected",
    [
        ([(f"Which is w{n}?", str(n % 4)) for n in range(20)], {"option_numbers": 20}),
        ([(f"http://a.org/{n}", f"w{n}") for n in range(20)], {"links": 20}),
        ([(f"word{n} and more", f"word{n}" if n < 5 else f"x{n}") for n in range(20)], {"in_prompt": 5}),
        ([(f"word{n}", f"x{n}") for n in range(20)], {}),
    ],
)
def test_doubts_on_what_was_taken(tmp_path, rows, expected):
    assert doubts(only(write(tmp_path / "a.json", json.dumps(rows))), seed=0) == expected
    assert doubts(hc.suite("icl").tasks[0], seed=0) == {}


def test_an_answer_beside_its_distractor_in_the_prompt_is_no_doubt(tmp_path):
    rows = "clean,corrupted,answer,wrong\nAnn and Bob met Bob,Ann and Bob met Ann, Ann, Bob\n"
    assert doubts(only(write(tmp_path / "ioi.csv", rows)), seed=0) == {}
    options = "question,A,B,answer\nWhich is a?,one,two,0\nWhich is b?,one,two,1\n"
    assert doubts(only(write(tmp_path / "mcq.csv", options)), seed=0) == {}
