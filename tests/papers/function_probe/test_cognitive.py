"""The suite `cognitive`: its functions, the shapes of its inputs, and every answer worked out again."""

import json
from collections import Counter

import pytest
from for_each import for_each

from headcats.base import registry
from headcats.cli.options import settings
from headcats.papers.function_probe.cognitive_inputs import RELATIONS, clauses
from headcats.papers.words import kinds, words
from headcats.results.categories import SPARE_COLOURS
from headcats.study.options import study_options
from headcats.tasks.suites import suite

SUITE = suite("cognitive")
TASKS = {task.name: task for task in SUITE.tasks}
N = 700


@pytest.fixture(scope="module")
def pairs():
    return {name: task.pairs(N, seed=5) for name, task in TASKS.items()}


def test_eight_functions_in_order_with_a_colour_each():
    assert [category.name for category in SUITE.categories] == [
        "Knowledge Recall", "Retrieval", "Logical Reasoning", "Decision-making",
        "Semantic Understanding", "Syntactic Understanding", "Inference", "Math Calculation",
    ]  # fmt: skip
    assert [category.colour for category in SUITE.categories] == list(SPARE_COLOURS)
    assert set(Counter(task.category for task in SUITE.tasks).values()) == {3}


@for_each("name", TASKS)
def test_inputs_are_words_of_one_length_and_answers_are_words(name, pairs):
    assert {len(given.split(" ")) for given, _ in pairs[name]} in ({1}, {2}, {4}, {7})
    for given, answer in pairs[name]:
        assert given == " ".join(given.split())
        assert answer.split() == [answer]
    assert len(pairs[name]) == len({given for given, _ in pairs[name]})


def test_drawn_tasks_give_what_is_asked_for_or_all_there_is(pairs):
    tables = {"capital_recall", "language_recall", "continent_recall", "kind_of", "plural_of"}
    assert {name for name, some in pairs.items() if len(some) != N} == tables
    assert len(TASKS["number_sum"].pairs(10_000, seed=0)) == 845
    assert len(TASKS["next_term"].pairs(10_000, seed=0)) == 1350
    assert 15_000 < len(TASKS["agreement"].pairs(40_000, seed=0)) < 25_000
    assert len(TASKS["second_item"].pairs(6_000, seed=0)) == 6_000


def test_every_task_shares_inputs_with_one_that_answers_them_otherwise(pairs):
    """Such a task is the corruption of its prompts, and the inputs do not say which of the two is asked for."""
    for name, some in pairs.items():
        answers = dict(some)
        shared = {
            other: sum(given in answers and answers[given] != answer for given, answer in theirs)
            for other, theirs in pairs.items()
            if other != name
        }
        assert max(shared.values()) >= (60 if name != "kind_of" else 10), (name, shared)


# ----------------------------------------------------------------------------- answers, worked out in another way
def value(text):
    *facts, left, rule, right = text.split()
    truth = dict(zip(facts[::2], facts[1::2], strict=True))
    both = [truth[left] == "true", truth[right] == "true"]
    return str({"and": all(both), "or": any(both), "nor": not any(both)}[rule]).lower()


def consequence(text):
    a, _, b, c, _, d, start = text.split()
    rules = {a: b, c: d}
    while start in rules:
        start = rules[start]
    return start


def highest(text):
    a, first, b, _, c, second, d = text.split()
    above = {(a, b) if first == "over" else (b, a), (c, d) if second == "over" else (d, c)}
    return ({up for up, _ in above} - {down for _, down in above}).pop()


def obeying(text):
    rule, *options = text.split()
    numbers = [int(option) for option in options]
    if rule in ("largest", "smallest"):
        return str((max if rule == "largest" else min)(numbers))
    return str(*[number for number in numbers if number % 2 == (rule == "odd")])


def best(text):
    rule, *options = text.split()
    amounts = {int(amount): name for name, amount in zip(options[::2], options[1::2], strict=True)}
    return amounts[max(amounts) if rule == "most" else min(amounts)]


KINDS = dict(kinds())
OPPOSITES = {frozenset(pair) for pair in words("adjectives", "english", "antonym")}
PLURALS = {plural for _, plural in TASKS["plural_of"].pairs(N, seed=0)}
THIRD, PAST = (dict(words("verbs", "english", form)) for form in ("third", "past"))
WORKED_OUT = {
    "value_of_key": lambda text: dict(zip(text.split()[:6:2], text.split()[1:6:2], strict=True))[text.split()[6]],
    "second_item": lambda text: text.split()[1],
    "third_item": lambda text: text.split()[2],
    "and_or": value,
    "if_then": consequence,
    "transitive_order": highest,
    "choose_kind": lambda text: next(word for word in text.split()[1:] if KINDS[word] == text.split()[0]),
    "choose_number": obeying,
    "choose_amount": best,
    "odd_one_out": lambda text: next(
        word for word in text.split() if sum(KINDS[word] == KINDS[other] for other in text.split()) == 1
    ),
    "opposite_of_first": lambda text: next(word for word in text.split()[1:] if {word, text.split()[0]} in OPPOSITES),
    "agreement": lambda text: text.split()[1] if text.split()[0] in PLURALS else THIRD[text.split()[1]],
    "tense": lambda text: PAST[text.split()[1]],
    "next_term": lambda text: str(2 * int(text.split()[3]) - int(text.split()[2])),
    "previous_term": lambda text: str(2 * int(text.split()[0]) - int(text.split()[1])),
    "number_sum": lambda text: str(sum(map(int, text.split()))),
    "number_difference": lambda text: str(int(text.split()[0]) - int(text.split()[1])),
    "number_remainder": lambda text: str(divmod(*map(int, text.split()))[1]),
}


@for_each("name", TASKS)
def test_the_example_of_the_docstring_is_true(name, pairs):
    answer, given = TASKS[name].__doc__.split("`")[1:4:2]
    if name in WORKED_OUT:
        assert WORKED_OUT[name](given) == answer
    elif name == "analogy":
        assert (given, answer) == (f"go {PAST['go']} as eat", PAST["eat"])
    else:
        assert dict(pairs[name])[given] == answer


@for_each("name", WORKED_OUT)
def test_answers_follow_from_the_input(name, pairs):
    for given, answer in pairs[name]:
        assert answer == WORKED_OUT[name](given), given


def test_one_option_alone_fits(pairs):
    for given, _ in pairs["choose_kind"]:
        kind, *options = given.split()
        assert sum(KINDS[option] == kind for option in options) == 1
    for given, _ in pairs["odd_one_out"]:
        assert sorted(Counter(KINDS[word] for word in given.split()).values()) == [1, 3]
    for given, answer in pairs["opposite_of_first"]:
        word, *options = given.split()
        assert [option for option in options if {word, option} in OPPOSITES] == [answer]
        assert len({word, *options}) == 4


def test_forms_of_verbs_listed_by_hand():
    forms_of = {given: forms for given, *forms in clauses(40_000, 0)}
    listed = {"dogs go": "go went", "women go": "go went", "dog go": "goes went", "woman write": "writes wrote"}
    found = {given: " ".join(forms_of[given]) for given in listed if given in forms_of}
    assert len(found) >= 3
    assert found == {given: listed[given] for given in found}


def test_analogies_hold_in_a_table(pairs):
    tables = [dict(words(*relation)) for relation in RELATIONS]
    for given, answer in pairs["analogy"]:
        first, shown, _, asked = given.split()
        assert any(table.get(first) == shown and table.get(asked) == answer for table in tables), given


def test_it_has_as_many_demonstrations_as_its_model_was_measured_with():
    folder = registry.lookup("model", settings(None, {"suite": "cognitive"})["model"])
    report = json.loads((folder / "train_report.json").read_text(encoding="utf-8"))
    assert study_options({"suite": "cognitive"}).n_demos == len(report["measured"]["kind_of"]["k"]) - 1
