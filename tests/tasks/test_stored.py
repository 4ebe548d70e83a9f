"""A suite as text: all of it comes back, nothing of it is executed, and damage is one sentence."""

import json
from contextlib import suppress
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcats.errors import StorageError
from headcats.prompts.pair import PromptPair, SecondCorruption, Span
from headcats.prompts.template import ARROW, Template
from headcats.tasks.categories import Category
from headcats.tasks.definition import Task
from headcats.tasks.stored import stored_suite, suite_differences, suite_text
from headcats.tasks.suites import Suite, coloured, make_suite, suite

texts = st.text(min_size=1, max_size=8)
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
        "item": draw(st.text()),
        "clean": clean,
        "corrupted": corrupted,
        "answer": answer,
        "distractor": draw(texts.filter(lambda text: text != answer)),
        "distractor_task": draw(st.text()),
        "roles": roles,
    }
    return pair, draw(st.none() | st.tuples(st.just(second), texts, st.just(second_roles)))


word_pairs = st.dictionaries(words, words, min_size=1, max_size=4).map(lambda pairs: list(pairs.items()))
about_task = st.fixed_dictionaries(
    {
        "category": texts,
        "source": st.text(),
        "suite": st.none() | st.just("icl"),
        "needs_demonstrations": st.booleans(),
        "exact": st.none() | st.just(r"\d(?: \d)*"),
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


# Plain values are drawn, and objects made in the test: the checks of shapes draw numbers of their own.
@given(pairs_of_tasks, texts, texts, st.lists(st.text(), min_size=5, max_size=5))
def test_all_of_a_suite_comes_back(drawn, name, category, texts_of_template):
    pairs = {task: [made_pair(pair) for pair in of_task] for task, (_, of_task) in drawn.items()}
    tasks = tuple(Task(task, make=lambda n, *, seed: [], **about) for task, (about, _) in drawn.items())
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


def test_a_template_is_stored_as_it_always_was_but_for_what_is_new() -> None:
    assert list(example()["template"]) == ["name", "before", "between", "lead", "after"]
    chat = Template("chat", "<u>", "<a>", " ", "<e>", start="<s>", between_query="<a><t></t>", bos="written")
    task = Task("a", "knowledge", "made up", lambda n, *, seed: [("x", "y")])
    text = suite_text(make_suite([task]), pairs={"a": [("x", "y")]}, template=chat)
    assert stored_suite(text, source="x")[1] == chat


def test_the_largest_bundled_suite_is_small():
    icl = suite("icl")
    pairs = {task.name: task.pairs(1024, seed=0) for task in icl.tasks}
    text = suite_text(icl, pairs=pairs, template=ARROW)
    assert sum(map(len, pairs.values())) > 10_000
    assert len(text.encode("utf-8")) < 500_000
    assert text == suite_text(icl, pairs=pairs, template=ARROW)
    assert len(text.splitlines()) == len(icl.tasks) + 2


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
    "a list": "[]",
    "nothing": "{}",
    "another format": json.dumps(example(format="x")),
    "no tasks": json.dumps(example(tasks=3)),
    "empty": json.dumps(example(tasks=[])),
    "no template": json.dumps({key: value for key, value in example().items() if key != "template"}),
    "half a template": json.dumps(example(template={"name": "arrow"})),
    "a template of numbers": json.dumps(example(template=dict.fromkeys(example()["template"], 3))),
    "a template with another BOS": json.dumps(example(template=example()["template"] | {"bos": "never"})),
    "an expression": json.dumps(example(tasks=task_entry(exact="("))),
    "no pairs": json.dumps(example(tasks=task_entry(pairs=[]))),
    "three words": json.dumps(example(tasks=task_entry(pairs=[["a", "b", "c"]]))),
    "numbers": json.dumps(example(tasks=task_entry(pairs=[[1, 2]]))),
    "a contradiction": json.dumps(example(tasks=task_entry(pairs=[["a", "b"], ["a", "c"]]))),
    "a category": json.dumps(example(tasks=task_entry(category="other"))),
    "a prompt of numbers": json.dumps(example(tasks=task_entry(prompts=[PROMPT | {"answer": 3}]))),
    "a role outside": json.dumps(example(tasks=task_entry(prompts=[PROMPT | {"roles": {"x": [[0, 1], [0, 9]]}}]))),
    "half a prompt": json.dumps(example(tasks=task_entry(prompts=[{"key": "k"}]))),
}


@pytest.mark.parametrize("what", DAMAGED)
def test_damage_is_one_sentence_that_names_the_file(what):
    with pytest.raises(StorageError, match=r"^r/suite\.json is damaged: .*--suite") as problem:
        stored_suite(DAMAGED[what], source="r/suite.json")
    assert len(str(problem.value).splitlines()) == 1


def test_a_newer_format_is_refused_as_newer():
    with pytest.raises(StorageError, match=r"format 2.*newer version.* Install"):
        stored_suite(json.dumps(example(format=2)), source="r/suite.json")


@given(st.recursive(st.none() | st.integers() | st.text(max_size=3), lambda inner: st.lists(inner, max_size=3)
       | st.dictionaries(st.sampled_from(["format", "tasks", "name", "pairs", "prompts", "template"]), inner)),
       st.sampled_from([*example(), "pairs", "prompts", "category", "exact", "source"]))  # fmt: skip
def test_no_content_is_another_error(content, key):
    stored = example(**{key: content}) if key in example() else example(tasks=task_entry(**{key: content}))
    with suppress(StorageError):
        stored_suite(json.dumps(stored), source="x")


def test_differences_name_tasks_and_categories():
    a, b, c = (Task(name, "knowledge", "made up", lambda n, *, seed: []) for name in "abc")
    before = make_suite([a, b])
    assert suite_differences(before, make_suite([b, a], name="other")) == []
    assert suite_differences(before, make_suite([a, c, replace(b, category="x")])) == [
        "new: c",
        "b is of category 'x', not 'Knowledge'",
    ]
    assert suite_differences(before, make_suite([a])) == ["missing: b"]
