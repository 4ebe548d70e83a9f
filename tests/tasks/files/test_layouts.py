"""Each public layout, unchanged: what its prompts are, its category, and what the source says."""

import pytest
from for_each import for_each
from tasks.files.layout_files import (
    AUTO_CIRCUIT,
    FUNCTION_VECTORS,
    GREATER_THAN_CSV,
    IOI_CSV,
    MAPS,
    RELATION,
    write,
)  # fmt: skip

import headcats as hc
from headcats.base.errors import DataError


def only(path):
    (task,) = hc.suite(path).tasks
    return task


@for_each("content", [FUNCTION_VECTORS, MAPS])
def test_word_pairs(tmp_path, content):
    task = only(write(tmp_path / "country-capital.json", content))
    assert (task.name, task.category) == ("country-capital", "country-capital")
    assert task.pairs(10, seed=0) == [("France", "Paris"), ("Italy", "Rome")]
    assert task.source.endswith("; country-capital.json")
    assert (task.drops.kept, task.drops.dropped) == (2, {})


def test_a_relation_in_its_own_templates(tmp_path):
    task = only(write(tmp_path / "capital.json", RELATION))
    pairs = task.pairs(100, seed=0)
    assert task.category == "factual"
    assert "2 templates" in task.source
    assert len(pairs) == 6
    objects = {sample["subject"]: sample["object"] for sample in RELATION["samples"]}
    for pair in pairs:
        (template,) = (text for text in RELATION["prompt_templates"] if text.format(pair.item) == pair.clean)
        (other,) = (subject for subject in objects if template.format(subject) == pair.corrupted)
        assert pair.answer == f" {objects[pair.item]}"
        assert pair.distractor == f" {objects[other]}"
        assert pair.answer != pair.distractor
    assert len({pair.key for pair in pairs}) == 6
    assert len({pair.item for pair in pairs[:3]}) == 3  # every subject before any comes again
    assert len({pair.clean for pair in pairs}) == 6
    assert len({pair.clean.replace(pair.item, "{}") for pair in pairs[:3]}) == 2
    assert task.pairs(100, seed=0) == pairs != task.pairs(100, seed=1)
    assert task.pairs(2, seed=0) == pairs[:2]


@for_each(
    "name,content",
    [
        ("a.csv", "input,output,Group\na,b,\nc,d,maps\n"),
        ("b.csv", "clean,corrupted,answer,wrong,group\na b,a c, d, e,maps\n"),
        ("c.json", [{"x": "a", "y": "b", "group": "maps"}, {"x": "c", "y": "d", "group": " maps"}]),
        ("d.json", RELATION | {"group": "maps"}),
    ],
)
def test_a_file_names_the_group_of_its_task(tmp_path, name, content):
    assert only(write(tmp_path / name, content)).group == "maps"
    write(tmp_path / "suite.toml", f'[files."{name}"]\ngroup = "world"\n')
    assert only(tmp_path / name).group == "world"


def test_a_relation_without_templates_is_word_pairs(tmp_path):
    bare = {"name": "capital", "samples": RELATION["samples"]}
    assert only(write(tmp_path / "a.json", bare)).pairs(3, seed=0)[2] == ("Vatican City", "Rome")
    zero_shot = bare | {"prompt_templates_zs": RELATION["prompt_templates_zs"]}
    assert only(write(tmp_path / "b.json", zero_shot)).pairs(3, seed=0)[0].clean.startswith("Which city governs")


def test_auto_circuit(tmp_path):
    task = only(write(tmp_path / "ioi_prompts.json", AUTO_CIRCUIT))
    pair = task.pairs(10, seed=0)[1]
    assert (pair.clean, pair.corrupted) == tuple(AUTO_CIRCUIT["prompts"][1][side] for side in ("clean", "corrupt"))
    assert (pair.answer, pair.distractor, pair.key) == (" Sue", " Tom", "record 2")
    assert "without seq_labels, word_idxs" in task.source


def test_a_table_of_prompts(tmp_path):
    task = only(write(tmp_path / "ioi.csv", IOI_CSV))
    assert [(pair.answer, pair.distractor, pair.key) for pair in task.pairs(10, seed=0)] == [
        (" Bob", " Ann", "line 2"), (" Sue", " Tom", "line 3"),
    ]  # fmt: skip
    frozen = only(write(tmp_path / "circuit.json", AUTO_CIRCUIT)).pairs(10, seed=0)
    assert [(pair.clean, pair.answer) for pair in frozen] == [
        (pair.clean, pair.answer) for pair in task.pairs(10, seed=0)
    ]


def test_answers_without_their_leading_space(tmp_path):
    rows = "clean,corrupted,answer,wrong\nAnn told,Bob told,Bob,Ann\nThe 14,The 13,52, 3\n17,16,33,20\n"
    task = only(write(tmp_path / "ioi.csv", rows + "中国的首都是,法国的首都是,北京,巴黎\n"))
    assert [(p.answer, p.distractor) for p in task.pairs(9, seed=0)] == [
        (" Bob", " Ann"),
        ("52", " 3"),
        ("33", "20"),
        ("北京", "巴黎"),
    ]
    assert task.source.count(" 1 row") == 2  # one was given a leading space, in one the two answers differ


def test_items_are_the_clean_prompts_or_a_column(tmp_path):
    task = only(write(tmp_path / "ioi.csv", IOI_CSV))
    assert [pair.item for pair in task.pairs(10, seed=0)] == [pair.clean for pair in task.pairs(10, seed=0)]
    rows = "item,clean,corrupted,answer,wrong\nx,a,b, c, d\nx,e,f, g, h\n"
    assert [pair.item for pair in only(write(tmp_path / "i.csv", rows)).pairs(10, seed=0)] == ["x", "x"]


def test_years_of_eap_ig(tmp_path):
    task = only(write(tmp_path / "greater_than.csv", GREATER_THAN_CSV))
    assert list(task.drops.dropped.values()) == [1]  # no later year in the century
    draws = [task.pairs(10, seed=seed) for seed in range(30)]
    assert {int(first.answer) > 52 for first, _ in draws} == {True}
    assert {1 < int(first.distractor) <= 52 for first, _ in draws} == {True}
    assert {second.distractor for _, second in draws} == {"02", "03"}
    late = "clean,corrupted,label\nFrom 1798 to 17,From 1701 to 17,98\n"
    last = only(write(tmp_path / "late.csv", late))
    assert {last.pairs(1, seed=seed)[0].answer for seed in range(9)} == {"99"}
    assert {len(pair.answer) for pairs in draws for pair in pairs} == {2}
    assert len({first.answer for first, _ in draws}) > 5


def test_a_label_that_is_no_year_is_refused(tmp_path):
    rows = "clean,corrupted,label\nThe cat is,The dog is,1\n"
    with pytest.raises(DataError, match=r"labels\.csv, line 2"):
        hc.suite(write(tmp_path / "labels.csv", rows))
    rows = "clean,corrupted,label,wrong\nThe cat is,The dog is, here, there\n"
    assert only(write(tmp_path / "text.csv", rows)).pairs(1, seed=0)[0].answer == " here"


MCQ = "question,A,B,C,answer\nWhich is red?,one,two,three,0\nWhich is blue?,four,five,six,2\n"


def test_a_key_that_is_nearly_group_is_said(tmp_path, caplog):
    only(write(tmp_path / "pairs.json", RELATION | {"GROUP": "maps"}))
    assert "'GROUP' is not read" in caplog.text


@for_each(
    "content",
    ["input,output,gruop\na,b,x\nc,d,x\n", "input,output,groups\na,b,x\nc,d,x\n", "input,output,grade\na,b,x\n"],
)
def test_a_column_that_is_nearly_group_is_said(tmp_path, caplog, content):
    caplog.clear()
    only(write(tmp_path / "pairs.csv", content))
    assert ("'group'" in caplog.text) == ("grade" not in content)


@for_each(
    "name,content",
    [
        ("numbers.csv", MCQ),
        ("letters.csv", MCQ.replace(",0", ",A").replace(",2", ",C")),
        ("small.csv", MCQ.replace(",0", ",a").replace(",2", ",c")),
        ("floats.csv", MCQ.replace(",0", ",0.0").replace(",2", ",2.0")),
        ("texts.csv", MCQ.replace(",0", ",one").replace(",2", ",six")),
        (
            "list.json",
            [
                {"question": "Which is red?", "choices": ["one", "two", "three"], "answer": 0},
                {"question": "Which is blue?", "choices": ["four", "five", "six"], "answer": 2.0},
            ],
        ),
        (
            "scores.json",
            {
                "name": "x",
                "examples": [
                    {"input": "Which is red?", "target_scores": {"one": 1, "two": 0, "three": 0}},
                    {"input": "Which is blue?", "target_scores": {"four": 0, "five": 0, "six": 1}},
                ],
            },
        ),
    ],
)
def test_questions_with_options(tmp_path, name, content):
    red, blue = only(write(tmp_path / name, content)).pairs(9, seed=0)
    assert red.clean == "Which is red?\nA. one\nB. two\nC. three\nAnswer:"
    assert (red.answer, blue.answer) == (" A", " C")
    for pair in (red, blue):
        assert pair.distractor in {" A", " B", " C"} - {pair.answer}
        right, wrong = (
            pair.clean.split(f"{letter[1]}. ")[1].split("\n")[0] for letter in (pair.answer, pair.distractor)
        )
        assert pair.corrupted == pair.clean.replace(right, "*").replace(wrong, right).replace("*", wrong)


def test_questions_answered_by_the_text_of_an_option(tmp_path):
    write(tmp_path / "suite.toml", '[files."mcq.csv"]\nanswer = "text"')
    red, blue = only(write(tmp_path / "mcq.csv", MCQ)).pairs(9, seed=0)
    assert (red.answer, blue.answer) == (" one", " six")
    assert red.distractor in (" two", " three")
    assert (red.corrupted, blue.corrupted) == (red.clean.replace("red", "blue"), blue.clean.replace("blue", "red"))
    with pytest.raises(DataError, match="same question"):
        hc.suite(write(tmp_path / "mcq.csv", MCQ.replace("blue", "red")))
    write(tmp_path / "suite.toml", '[files."mcq.csv"]\nanswer = "number"')
    with pytest.raises(DataError, match="letter, text"):
        hc.suite(tmp_path)


def test_a_number_that_is_also_the_text_of_another_option_is_dropped(tmp_path):
    rows = "question,A,B,answer\nOne less than 2?,1,0,0\nOne less than 3?,2,5,0\n"
    task = only(write(tmp_path / "sums.csv", rows))
    assert (task.drops.kept, list(task.drops.dropped.values())) == (1, [1])


def test_the_answer_of_a_worked_solution_is_what_stands_behind_its_mark(tmp_path):
    rows = [{"question": f"{n} and 1?", "answer": f"First {n}+1=<<{n}+1={n + 1}>>.\n#### {n + 1}"} for n in (2, 3)]
    task = only(write(tmp_path / "solutions.json", [*rows, {"question": "4 and 1?", "answer": "It is #### "}]))
    assert task.pairs(9, seed=0) == [("2 and 1?", "3"), ("3 and 1?", "4")]
    assert list(task.drops.dropped.values()) == [1]
    assert "####" in task.source


def test_a_source_of_links_is_no_input(tmp_path):
    rows = "source,text,answer\nhttp://example.org/0,The capital of A is,B\nwww.example.org,The capital of C is,D\n"
    task = only(write(tmp_path / "links.csv", rows))
    assert task.pairs(9, seed=0)[1] == ("The capital of C is", "D")
    assert "text → answer" in task.source
    words = only(write(tmp_path / "words.csv", "source,text,target\nun,a number,one\nhttp://a.org,a link,b\n"))
    assert words.pairs(9, seed=0) == [("un", "one"), ("http://a.org", "b")]
    assert "text not taken" in words.source
    two = only(write(tmp_path / "two.csv", "source,target\nhttp://a.org,b\n"))
    assert two.pairs(9, seed=0) == [("http://a.org", "b")]


def test_one_prompt_with_several_pairs_of_answers_is_as_many_rows_of_one_item(tmp_path):
    rows = "clean,corrupted,answer,wrong\nThe cats,The cat, are, is\nThe cats,The cat, have, has\n"
    pairs = only(write(tmp_path / "verbs.csv", rows)).pairs(9, seed=0)
    assert [(pair.item, pair.answer) for pair in pairs] == [("The cats", " are"), ("The cats", " have")]


def test_the_list_inside_an_object_is_read_and_its_key_named(tmp_path):
    content = {"canary": "x", "tags": ["a"], "examples": [{"input": "one plus 1 is", "target": "2"}]}
    task = only(write(tmp_path / "wrapper.json", content))
    assert task.pairs(9, seed=0) == [("one plus 1 is", "2")]
    assert "'examples'" in task.source
