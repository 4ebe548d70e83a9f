"""Findings on first prompts: data of the tokens, under the source of their task."""

from reports.by_id import by_id

from headcats.reports.text.first_prompts import first_prompts
from headcats.results.finding import Finding, Prompts


def entry(bos="<s>", written="<s>"):
    tokens = {"clean": ["a", " →"], "answer": [" b", "c"], "corrupted": ["d", " →"], "distractor": [" e"]}
    about = {"category": "Knowledge", "source": "word pairs (x → y); f.csv"}
    return about | {"first_prompt": {"key": "k", "bos": bos, "bos_written": written} | tokens}


def test_bos_is_the_first_token_of_both_prompts():
    found = by_id(first_prompts({"t": entry()}))
    assert found["validation.first_prompts"].fields["bos"].fields == {"token": "<s>"}
    prompts = found["validation.first_prompt"]
    assert prompts.fields == {"task": "t", "category": "Knowledge", "source": "word pairs (x → y); f.csv"}
    assert prompts.prompts == {
        "clean": (("<s>", "a", " →"), (" b", "c")),
        "corrupted": (("<s>", "d", " →"), (" e",)),
    }


def test_what_a_second_token_of_a_character_looks_like_is_said_where_there_is_one():
    parts = entry()
    parts["first_prompt"]["distractor"] = [" 東", "", ""]
    assert by_id(first_prompts({"t": entry()}))["validation.first_prompts"].fields["parts"] is None
    assert by_id(first_prompts({"t": parts}))["validation.first_prompts"].fields["parts"].id == "validation.parts"


def test_without_bos():
    found = by_id(first_prompts({"t": entry(bos=None, written=None)}))
    assert found["validation.first_prompts"].fields["bos"] is None
    assert found["validation.first_prompt"].prompts["clean"] == (("a", " →"), (" b", "c"))


def test_tasks_without_prompts_have_none():
    spoken, refused = ({"category": "c", "source": "s"} | more for more in ({}, {"prompts": {"kept": 0}}))
    assert list(first_prompts({"t": spoken})) == []
    found = list(first_prompts({"a": refused, "b": entry(), "c": spoken}))
    assert [(type(finding), finding.fields.get("task")) for finding in found] == [
        (Finding, None), (Finding, "a"), (Prompts, "b"),
    ]  # fmt: skip


def test_where_the_tokenizer_itself_writes_something_else_it_is_named():
    assert not {"validation.bos_put", "validation.bos_asked"} & set(by_id(first_prompts({"t": entry()})))
    put, asked = entry(written=None), entry(bos=None)
    assert by_id(first_prompts({"t": put}))["validation.bos_put"].fields == {"token": "<s>"}
    assert by_id(first_prompts({"t": asked}))["validation.bos_asked"].fields == {"token": "<s>"}
