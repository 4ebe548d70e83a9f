"""Tables of questions and answers: the authors' columns, plain tables and TriviaQA's layout, and what is dropped."""

import json
from pathlib import Path
from typing import Any

import pytest

from headcats.base.errors import DataError, OptionError, UnknownNameError
from headcats.papers.token_probe.answered_files import answered_items, answers_of, label_of
from headcats.papers.token_probe.items import AnsweredItem, Question

HEAD = ",raw_question,question,model_answer,correct_answer,automatic_correctness,exact_answer,valid_exact_answer"
ROWS = [
    '0,Where is it?,"Q: Where is it?\nA:", It is in Paris.</s>,"[\'Paris\', ""City\'s""]",1,Paris,1',
    '1,Who is it?,"Q: Who is it?\nA:", It is Ann.,"[\'Bob\']",0,Ann,1',
]
BAD = [
    ("2,A?,A?, Bob.,\"['Bob']\",maybe,Bob,1", "neither right nor", "'maybe'"),
    ("3,A?,A?, Bob.,\"['Bob']\",1,Eve,1", "not found", "'Eve' in ' Bob.'"),
    ("4,A?,A?, Bob.,\"['Bob']\",1,Bob,0", "not valid", ""),
    ("5,A?,A?, Who knows?,\"['Bob']\",0,NO ANSWER,1", "no exact answer", "Who knows"),
    ("6,A?,A?, Bob.,\"['Bob']\",0,,1", "no exact answer", ""),
    ("7,A?,A?,,\"['Bob']\",0,Bob,1", "no answer", ""),
    ("8,,,Bob.,\"['Bob']\",0,Bob,1", "no question", ""),
    ("9,A?,A?, Bob.,\"['Bob'\",1,Bob,1", "cannot be read", "without its end"),
    ('10,A?,A?, Bob.,"[Bob]",1,Bob,1', "cannot be read", "[Bob]"),
    ("11,A?,A?, Bob.,\"['Bob' 'Eve']\",1,Bob,1", "cannot be read", "without commas"),
    ("12,A?,A?, Bob.,[],,Bob,1", "neither label", ""),
    ("", "empty row", ""),
]


def written(folder: Path, name: str, content: Any) -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_the_authors_tables(tmp_path: Path) -> None:
    items, report = answered_items(written(tmp_path, "mistral-answers-triviaqa.csv", "\n".join([HEAD, *ROWS])))
    first = AnsweredItem(
        "Q: Where is it?\nA:", " It is in Paris.</s>", "Paris", False, ("Paris", "City's"),
        task="mistral-answers-triviaqa", item="Where is it?",
    )  # fmt: skip
    assert items[0] == first
    assert [item.is_wrong for item in items if isinstance(item, AnsweredItem)] == [False, True]
    assert (report.kept, report.dropped) == (2, {})


def test_every_reason_is_counted_and_named(tmp_path: Path) -> None:
    for row, named, shown in BAD:
        _, report = answered_items(written(tmp_path, "t.csv", "\n".join([HEAD, *ROWS, row, ""])))
        ((reason, count),) = report.dropped.items()
        assert (report.kept, count, named in reason) == (2, 1, True), (named, reason)
        # Two of the three lines before hold a line break.
        assert report.examples[reason].startswith("t.csv, line 6")
        assert shown in report.examples[reason]


def test_plain_tables_are_questions(tmp_path: Path) -> None:
    for table, prompt, right, wrong in (
        ("id,question,answer,answerable\n5,How many?,[9.0],True", "How many?", ("9", "9.0"), ()),
        ("Question,Answer\nWho?,Jo Bo", "Who?", ("Jo Bo",), ()),
        ("question,answer,aliases\nWhere?,Paris,\"['Paname', 'Paris']\"", "Where?", ("Paris", "Paname"), ()),
        ("Question,Answer,Wrong_Answer\nWho?,Ann,Bob", "Who?", ("Ann",), ("Bob",)),
        ("type,sentence,answer,incorrect_answer,q,q_instruct\n1,A met.,cook,man,The x,Who?", "A met. The x", ("cook",),
         ("man",)),
    ):  # fmt: skip
        (question,), report = answered_items(written(tmp_path, "plain.csv", table))
        assert isinstance(question, Question)
        assert (question.prompt, question.right_answers, question.wrong_answers) == (prompt, right, wrong)
        assert report.kept == 1


ENTRY = {"Question": "Where?", "QuestionId": "tc_3", "Answer": {"Value": "Paris", "Aliases": ["Paris", "Paname"]}}
SMALL = {"question": "Where?", "answer": {"value": "Paris", "aliases": ["Paname"], "normalized_aliases": ["paris"]}}


def test_the_layout_of_triviaqa(tmp_path: Path) -> None:
    for name, content in (
        ("qa.json", {"Data": [ENTRY], "Domain": "unfiltered-web", "Version": 1.0}),
        ("train.json", [SMALL]),
        ("train.jsonl", json.dumps(SMALL)),
    ):
        (question,), _ = answered_items(written(tmp_path, name, content), template="Q: {question}\nA:", task="trivia")
        assert isinstance(question, Question)
        assert (question.prompt, question.task, question.item) == ("Q: Where?\nA:", "trivia", "Where?")
        assert question.right_answers == ("Paris", "Paname")


def test_parquet_and_options(tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.table({"question": ["Does it?"], "answer": [{"value": "entailment", "aliases": ["entail"]}]})
    parquet.write_table(table, tmp_path / "mnli.parquet")
    (question,), _ = answered_items(tmp_path / "mnli.parquet", options=["entailment", "neutral"])
    assert isinstance(question, Question)
    assert (question.right_answers, question.wrong_answers) == (("entailment", "entail"), ("neutral",))


def test_tables_without_exact_answers_find_them(tmp_path: Path) -> None:
    rows = [{"prompt": "Where?", "generated": " In Paname.", "answer": ["Paris", "Paname"]}]
    rows += [{"prompt": "Who?", "generated": " It is Ann.", "answer": "Bob"}]
    items, _ = answered_items(written(tmp_path, "t.json", rows))
    assert [(item.exact_answer, item.is_wrong) for item in items if isinstance(item, AnsweredItem)] == [
        ("Paname", False),
        ("", True),
    ]


def test_fields_that_only_later_records_have_count(tmp_path: Path) -> None:
    row = {"question": "Where?", "model_answer": "Rome", "exact_answer": "Rome", "answer": "Paris"}
    rows = [row, row | {"valid_exact_answer": 0}, row | {"aliases": ["Rome"]}, row | {"correctness": 1}]
    for name, content in {"t.json": rows, "t.jsonl": "\n".join(map(json.dumps, rows))}.items():
        items, report = answered_items(written(tmp_path, name, content))
        assert list(report.dropped.values()) == [1]
        assert [len(item.aliases) for item in items if isinstance(item, AnsweredItem)] == [1, 2, 1]
        assert [item.is_wrong for item in items if isinstance(item, AnsweredItem)] == [True, False, False]


def test_rows_in_another_language_than_most_are_dropped(tmp_path: Path) -> None:
    for question, more, named in (("Где он?", {}, "(CYRILLIC, most"), ("Wo ist er?", {"lang": "de"}, "(de, most")):
        rows = [{"question": f"Where {n}?", "answer": "Paris"} | ({"lang": "en"} if more else {}) for n in range(3)]
        rows[1] |= {"question": question, **more}
        items, report = answered_items(written(tmp_path, "t.json", rows))
        assert [item.item for item in items] == ["Where 0?", "Where 2?"]
        ((reason, count),) = report.dropped.items()
        assert (report.kept, count, named in reason) == (2, 1, True)
        assert report.examples[reason].endswith("record 2")


def test_cells() -> None:
    assert answers_of("[9.5]") == ["9.5"]
    assert answers_of("a [b]") == ["a [b]"]
    assert answers_of("['a', 'a', \"b\"]") == ["a", "b"]
    assert (answers_of(None), answers_of(float("nan")), answers_of(7)) == ([], [], ["7"])
    assert [label_of(cell) for cell in (1, "True", 1.0, "0", "wrong", "", None)] == [True] * 3 + [False] * 2 + [
        None
    ] * 2
    assert answers_of("[1] Rome") == ["[1] Rome"]
    for cell in ([["a"]], "['Rome'", "['Rome]', 'Oslo'", "[9.5"):
        with pytest.raises(ValueError, match="cannot be read"):
            answers_of(cell)


@pytest.mark.usefixtures("unchecked_types")
def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    plain = "question,answer\nA?,b"
    for content, options, error, message in (
        ("asked,answer\nA?,b", {}, DataError, "for the question"),
        ("question,answer\nA?,", {}, DataError, ": 0 kept; 1 "),
        (plain, {"template": "{year}"}, UnknownNameError, "'year'"),
        (plain, {"template": "{question"}, DataError, "template"),
        (plain, {"template": "{question:>{width}}"}, DataError, r"\{question\}"),
        (plain, {"bos": "never"}, UnknownNameError, "'never'"),
        (plain, {"options": (1, 2)}, OptionError, "options"),
        (plain, {"task": 3}, OptionError, "task"),
        (plain, {"template": 3}, OptionError, "template"),
        ("question,note\nA?,b", {}, DataError, "right answer"),
    ):
        with pytest.raises(error, match=message):
            answered_items(written(tmp_path, "t.csv", content), **options)
    with pytest.raises(DataError, match="'Data'; got 'Rows'"):
        answered_items(written(tmp_path, "t.json", {"Rows": []}))
    with pytest.raises(DataError, match="file of data"):
        answered_items(written(tmp_path, "t.txt", "question"))
    with pytest.raises(DataError, match="no file"):
        answered_items(tmp_path / "none.csv")
