"""What a run and a check say of tasks."""

from reports.by_id import by_id

from headcats.reports.text.tasks import first_prompts, source_findings, task_rows, validation_findings
from headcats.results.finding import Finding, Prompts, line
from headcats.results.records import TaskRecord


def entry(*, right=0, wrong=0, refusal=""):
    questions = {"kept": right + wrong, "dropped": {}, "examples": {}}
    answers = {"questions": questions, "n_right": right, "n_wrong": wrong, "right": 0.5, "low": 0.4, "high": 0.6}
    return {"category": "c", "refusal": refusal, "needed": 30} | ({} if refusal else answers)


def findings(*entries):
    by_name = {str(place): one for place, one in enumerate(entries)}
    return by_id(validation_findings(by_name, "m: s", corruption="other_task", answers="whole"))


def test_where_every_task_is_skipped_nothing_is_counted():
    said = findings(entry(refusal="no answer"))
    assert said["validation.no_answers"].fields == {"usable": 0, "n": 1}
    assert said["validation.dropped"].rows == (("0", "skipped: no answer"),)


def test_what_a_probe_needs_is_that_of_its_settings():
    said = findings(entry(right=31, wrong=25), entry(refusal="no answer"))
    counts = {"usable": 1, "n": 2, "answers": 56, "right": 31, "wrong": 25, "least": 30}
    assert said["validation.probe_needs_more"].fields == counts
    assert "validation.probe_can_run" in findings(entry(right=31, wrong=30))


def test_a_run_and_a_check_say_the_same_of_a_task():
    counts = {"kept": 3, "dropped": {"long": 2}, "examples": {"long": "x"}}
    measured = {"accuracy": 0.5, "corrupted_accuracy": 0.25, "metric": "prob", "gap": 1.0, "low": 0.5, "high": 1.5}
    entry = {"category": "c", "refusal": "", "word_pairs": counts, "prompts": {"kept": 4}, "n_items": 3} | measured
    (table, dropped, _) = validation_findings({"t": entry}, "m: s", corruption="other_task", answers="whole")
    assert table.fields["metric"] == "prob"
    assert table.columns == ("task", "pairs", "prompts", "accuracy", "gap", "95 % interval")
    assert table.rows == (("t", "3 of 5", "4", "0.50", "1.00", "0.50 to 1.50"),)
    ((task, why),) = dropped.rows
    assert (task, why[:12], why[-16:]) == ("t", "2 word pairs", "long (such as x)")
    record = TaskRecord.from_dict(entry)
    assert task_rows({"t": record}, ["gap", "pairs", "corrupted"]) == [["t", "c", "1.00", "3 of 5", "0.25"]]
    assert task_rows({"t": TaskRecord()}, ["gap", "pairs", "95 % interval"]) == [["t", "", "-", "-", "-"]]


def prompted(category, **more):
    return {"category": category, "refusal": "", "word_pairs": {"kept": 3}, "prompts": {"kept": 2}} | more


def test_several_categories_head_their_tasks_in_the_order_of_the_suite():
    entries = {"a": prompted("x"), "b": prompted("y"), "c": prompted("x")}
    (table, _) = validation_findings(entries, "m: s", corruption="other_task", answers="whole")
    assert [row[0] for row in table.rows] == ["x", "  a", "  c", "y", "  b"]
    assert {len(row) for row in table.rows} == {len(table.columns)}


def test_what_labels_coincide_with_is_said_before_a_run():
    known = {"prompt_tokens": 5.0, "answer_tokens": 1.0, "accuracy": 1.0, "n_items": 64}
    entries = {
        f"{category}{place}": prompted(category, independent_source=f"{category}{place}", template=template, **known)
        for category, template in (("x", "a"), ("y", "b"))
        for place in range(6)
    }

    def said(corruption="other_task"):
        return by_id(validation_findings(entries, "m: s", corruption=corruption, answers="whole"))

    assert said()["evidence.coincide"].fields["properties"] == ["template"]
    for number, one in enumerate(entries.values()):
        one["distractors"] = ["of x" if number < 6 else "of y"]
    assert "evidence.remedy" in said()
    assert "evidence.remedy" not in said("shuffled_labels")
    for one in entries.values():
        del one["distractors"]
    assert "power.chances" not in said()
    whole, entries = entries, dict([*entries.items()][::6])
    assert "evidence.coincide" not in said(), "of two tasks everything goes with labels"
    entries = whole
    for number, one in enumerate(entries.values()):
        one["template"] = "ab"[number % 2]
    assert "evidence.coincide" not in said()
    assert len(said()["power.chances"].fields["categories"]) == 2


def test_sources_are_named_with_what_joins_them():
    def said(*of_tasks):
        names = map(str, range(len(of_tasks)))
        records = {
            name: TaskRecord(independent_source=source, joined_by=why)
            for name, (source, why) in zip(names, of_tasks, strict=True)
        }
        return by_id(source_findings(records))

    joined = [(source, why) for source in "abcdef" for why in ("inputs", "inputs, answers")]
    fields = said(*joined, ("alone", ""))["tasks.independent"].fields
    assert (fields["n"], fields["sources"], fields["more"].fields) == (13, 7, {"n": 2})
    assert [each.fields for each in fields["joined"]][1] == {"tasks": ["2", "3"], "joined_by": "inputs, answers"}
    assert len(fields["joined"]) == 4
    assert said(("a", ""), ("b", ""))["tasks.unrelated"].fields == {"n": 2}
    (of_group,) = said(("maps", "inputs, group"), ("maps", "group"))["tasks.independent"].fields["joined"]
    assert of_group.fields["joined_by"] == "inputs, group 'maps'"
    assert said(("a", "")) == said(("a", ""), ("", "")) == {}


def test_rows_are_counted_of_tasks_from_files():
    rows = {"kept": 3, "dropped": {"empty row": 1, "duplicate": 2}, "examples": {"duplicate": "f.csv, line 3"}}
    entries = {"a": prompted("x", rows=rows), "b": prompted("x")}
    ignored = ["notes.txt", "b.md"]
    found = by_id(validation_findings(entries, "m: s", corruption="other_task", answers="whole", ignored=ignored))
    table = found["validation.prompts"]
    assert table.columns[1] == "rows"
    assert [row[1] for row in table.rows] == ["3 of 6", "-"]
    tasks, reasons = zip(*found["validation.dropped"].rows, strict=True)
    assert tasks == ("a", "a")
    counted = [(reason[:6], reason.partition(": ")[2].partition(" (such as ")) for reason in reasons]
    assert counted == [("1 row ", ("empty row", "", "")), ("2 rows", ("duplicate", " (such as ", "f.csv, line 3)"))]
    assert found["validation.ignored"].fields == {"n": 2, "names": ["notes.txt", "b.md"]}


def whys(**more):
    (_, dropped, *_) = validation_findings({"a": prompted("x", **more)}, "m: s", corruption="c", answers="whole")
    return [why for _, why in dropped.rows] if dropped.id == "validation.dropped" else []


def test_shares_few_queries_and_long_answers_are_named():
    rows = {"kept": 6}
    assert "(14% of 64)" in whys(prompts={"kept": 55, "dropped": {"long": 9}})[0]
    assert whys(rows=rows, prompts={"kept": 64}, n_items=6) == [str(line("tasks.few_items", n=64, items=6))]
    assert whys(prompts={"kept": 64}, n_items=6) == whys(rows=rows, prompts={"kept": 64}, n_items=40) == []
    assert whys(rows=rows, prompts={"kept": 6}, n_items=6) == []
    assert whys(doubts={"long_answers": 2}) == [str(line("tasks.long_answers", n=2, least=12))]


def with_prompt(bos="<s>", written="<s>"):
    tokens = {"clean": ["a", " →"], "answer": [" b", "c"], "corrupted": ["d", " →"], "distractor": [" e"]}
    about = {"category": "Knowledge", "source": "word pairs (x → y); f.csv"}
    return about | {"first_prompt": {"key": "k", "bos": bos, "bos_written": written} | tokens}


def test_bos_is_the_first_token_of_both_prompts():
    found = by_id(first_prompts({"t": with_prompt()}))
    assert found["validation.first_prompts"].fields["bos"].fields == {"token": "<s>"}
    prompts = found["validation.first_prompt"]
    assert prompts.fields == {"task": "t", "category": "Knowledge", "source": "word pairs (x → y); f.csv"}
    assert prompts.prompts == {"clean": (("<s>", "a", " →"), (" b", "c")), "corrupted": (("<s>", "d", " →"), (" e",))}


def test_what_a_second_token_of_a_character_looks_like_is_said_where_there_is_one():
    parts = with_prompt()
    parts["first_prompt"]["distractor"] = [" 東", "", ""]
    assert by_id(first_prompts({"t": with_prompt()}))["validation.first_prompts"].fields["parts"] is None
    assert by_id(first_prompts({"t": parts}))["validation.first_prompts"].fields["parts"].id == "validation.parts"


def test_without_bos():
    found = by_id(first_prompts({"t": with_prompt(bos=None, written=None)}))
    assert found["validation.first_prompts"].fields["bos"] is None
    assert found["validation.first_prompt"].prompts["clean"] == (("a", " →"), (" b", "c"))


def test_tasks_without_prompts_have_none():
    spoken, refused = ({"category": "c", "source": "s"} | more for more in ({}, {"prompts": {"kept": 0}}))
    assert list(first_prompts({"t": spoken})) == []
    found = list(first_prompts({"a": refused, "b": with_prompt(), "c": spoken}))
    assert [(type(finding), finding.fields.get("task")) for finding in found] == [
        (Finding, None), (Finding, "a"), (Prompts, "b"),
    ]  # fmt: skip


def test_where_the_tokenizer_itself_writes_something_else_it_is_named():
    assert not {"validation.bos_put", "validation.bos_asked"} & set(by_id(first_prompts({"t": with_prompt()})))
    put, asked = with_prompt(written=None), with_prompt(bos=None)
    assert by_id(first_prompts({"t": put}))["validation.bos_put"].fields == {"token": "<s>"}
    assert by_id(first_prompts({"t": asked}))["validation.bos_asked"].fields == {"token": "<s>"}
