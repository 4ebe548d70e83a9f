"""A suite as text: all of it comes back, nothing of it is executed, and damage is one sentence."""

import json
import re
from contextlib import suppress
from dataclasses import fields, replace

import pytest
from for_each import for_each
from hypothesis import given, reject
from hypothesis import strategies as st
from tasks.files.layout_files import write

from headcats.base.errors import DataError, StorageError
from headcats.prompts.drop_report import DropReport
from headcats.prompts.pair import PromptPair, SecondCorruption, Span
from headcats.prompts.template import ARROW, Template
from headcats.results.categories import Category, coloured
from headcats.tasks.definition import Task
from headcats.tasks.stored import stored_suite, suite_differences, suite_text
from headcats.tasks.suites import Suite, make_suite, suite

any_texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=8).filter(
    str.strip
)
words = texts.filter(lambda text: text.strip() == text)
names = st.text("abcdeé→", min_size=1, max_size=4)


@st.composite
def spans(draw, text):
    start = draw(st.integers(0, len(text) - 1))
    return Span(start, draw(st.integers(start + 1, len(text))))


@st.composite
def prompt_pairs(draw):
    """Arguments of a PromptPair, and of its second corruption or None."""
    clean, corrupted, second, answer = (draw(texts) for _ in range(4))
    roles = {name: (draw(spans(clean)), draw(spans(corrupted))) for name in draw(st.lists(names, max_size=3))}
    second_roles = {name: draw(spans(second)) for name in draw(st.lists(names, max_size=2))}
    pair = {
        "key": draw(st.text()),
        "item": draw(any_texts),
        "clean": clean,
        "corrupted": corrupted,
        "answer": answer,
        "distractor": draw(texts.filter(lambda text: text != answer)),
        "distractor_task": draw(any_texts),
        "roles": roles,
    }
    return pair, draw(st.none() | st.tuples(st.just(second), texts, st.just(second_roles)))


word_pairs = st.dictionaries(words, words, min_size=1, max_size=4).map(lambda pairs: list(pairs.items()))
counts = st.builds(
    lambda kept, dropped: {
        "kept": kept,
        "dropped": dropped,
        "examples": {reason: f"row {n}" for reason, n in dropped.items()},
    },
    st.integers(0, 9),
    st.dictionaries(texts, st.integers(1, 9), max_size=2),
)
about_task = st.fixed_dictionaries(
    {
        "category": texts,
        "source": st.text(),
        "suite": st.none() | st.just("icl"),
        "needs_demonstrations": st.booleans(),
        "exact": st.none() | st.just(r"\d(?: \d)*"),
        "group": st.none() | texts.filter(str.strip),
        "drops": st.none() | counts,
    }
)
pairs_of_tasks = st.dictionaries(
    names, st.tuples(about_task, word_pairs | st.lists(prompt_pairs(), min_size=1, max_size=3)), min_size=1, max_size=4
)


def made_pair(pair):
    if isinstance(pair[0], str):
        return pair
    arguments, second = pair
    return PromptPair(**arguments, second=None if second is None else SecondCorruption(*second))


def made_task(name, about):
    drops = about["drops"]
    return Task(name, make=lambda n, *, seed: [], **about | {"drops": drops and DropReport(**drops)})


# Plain values are drawn, and objects made in the test: the checks of shapes draw numbers of their own.
@given(pairs_of_tasks, texts, texts, st.lists(st.text(), min_size=5, max_size=5))
def test_all_of_a_suite_comes_back(drawn, name, category, texts_of_template):
    try:
        pairs = {task: [made_pair(pair) for pair in of_task] for task, (_, of_task) in drawn.items()}
    except DataError:  # an answer that would continue the last word
        reject()
    tasks = tuple(made_task(task, about) for task, (about, _) in drawn.items())
    before = Suite(name, tasks, coloured([task.category for task in tasks], [Category(category, "#12345a")]))
    template = Template(*texts_of_template)
    text = suite_text(before, pairs=pairs, template=template)
    text.encode("utf-8")
    after, template_after = stored_suite(text, source="x")
    assert template_after == template
    assert (after.name, after.categories) == (before.name, before.categories)
    kept = [each.name for each in fields(Task) if each.name != "make"]
    assert [[getattr(task, name) for name in kept] for task in after.tasks] == [
        [getattr(task, name) for name in kept] for task in before.tasks
    ]
    assert {task.name: task.pairs(1, seed=7) for task in after.tasks} == pairs
    for task in after.tasks:
        for pair, stored in zip(pairs[task.name], task.pairs(1, seed=0), strict=True):
            if isinstance(pair, PromptPair):
                assert list(stored.roles) == list(pair.roles), "in the order of the text"
    again = {task.name: task.pairs(9, seed=1) for task in after.tasks}
    assert suite_text(after, pairs=again, template=template) == text


def test_a_chat_template_comes_back() -> None:
    chat = Template("chat", "<u>", "<a>", " ", "<e>", start="<s>", between_query="<a><t></t>", bos="written")
    task = Task("a", "knowledge", "made up", lambda n, *, seed: [("x", "y")])
    text = suite_text(make_suite([task]), pairs={"a": [("x", "y")]}, template=chat)
    assert stored_suite(text, source="x")[1] == chat


def test_what_was_dropped_of_files_comes_back(tmp_path):
    write(tmp_path / "notes.txt", "not data")
    write(tmp_path / "pairs.csv", "input,output\na,b\na,b\nc,d\n")
    before = suite(tmp_path)
    pairs = {task.name: task.pairs(9, seed=0) for task in before.tasks}
    text = suite_text(before, pairs=pairs, template=ARROW)
    after, _ = stored_suite(text, source="x")
    assert after.ignored == ("notes.txt",)
    assert [task.drops for task in after.tasks] == [task.drops for task in before.tasks]
    assert (after.drops.kept, sum(after.drops.dropped.values())) == (before.drops.kept, 1)
    assert suite_text(after, pairs=pairs, template=ARROW) == text, "else a run that goes on would change its folder"


def example(**changes):
    """A stored suite as the JSON object that the text holds."""
    task = Task("a", "knowledge", "made up", lambda n, *, seed: [("x", "y")])
    stored = json.loads(suite_text(make_suite([task]), pairs={"a": [("x", "y")]}, template=ARROW))
    return stored | changes


def task_entry(**changes):
    return [example()["tasks"][0] | changes]


PROMPT = {
    "key": "k", "item": "i", "clean": "c", "corrupted": "d", "answer": " a", "distractor": " b", "distractor_task": "t",
}  # fmt: skip
DAMAGED = {
    "no JSON": "{",
    "no tasks": json.dumps(example(tasks=3)),
    "no template": json.dumps({key: value for key, value in example().items() if key != "template"}),
    "a template with another BOS": json.dumps(example(template=example()["template"] | {"bos": "never"})),
    "a contradiction": json.dumps(example(tasks=task_entry(pairs=[["a", "b"], ["a", "c"]]))),
    "a category": json.dumps(example(tasks=task_entry(category="other"))),
    "a role outside": json.dumps(example(tasks=task_entry(prompts=[PROMPT | {"roles": {"x": [[0, 1], [0, 9]]}}]))),
    "files of no name": json.dumps(example(tasks=task_entry(rows={"kept": 3}), ignored=[3])),
}


@for_each("what", DAMAGED)
def test_damage_is_one_sentence_that_names_the_file(what):
    with pytest.raises(StorageError, match=r"^r/suite\.json .*--suite") as problem:
        stored_suite(DAMAGED[what], source="r/suite.json")
    assert len(str(problem.value).splitlines()) == 1


@given(st.recursive(st.none() | st.integers() | st.text(max_size=3), lambda inner: st.lists(inner, max_size=3)
       | st.dictionaries(st.sampled_from(["tasks", "name", "pairs", "prompts", "template"]), inner)),
       st.sampled_from([*example(), "pairs", "prompts", "category", "exact", "source", "rows"]))  # fmt: skip
def test_no_content_is_another_error(content, key):
    stored = example(**{key: content}) if key in example() else example(tasks=task_entry(**{key: content}))
    with suppress(StorageError):
        stored_suite(json.dumps(stored), source="x")


def test_differences_name_tasks_and_categories():
    a, b, c = (Task(name, "knowledge", "made up", lambda n, *, seed: []) for name in "abc")
    before = make_suite([a, b])
    assert suite_differences(before, make_suite([b, a], name="other")) == []
    new, moved = suite_differences(before, make_suite([a, c, replace(b, category="x")]))
    assert new == "new: c"
    assert re.search("^b .*'x', not 'Knowledge'", moved)
    assert suite_differences(before, make_suite([a])) == ["missing: b"]
