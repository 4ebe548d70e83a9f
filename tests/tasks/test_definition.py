"""`@hc.task`, what a task may return, and the contract that every registered task keeps."""

import pytest
from for_each import for_each

import headcats as hc
from headcats.base import registry
from headcats.base.errors import DataError, OptionError
from headcats.prompts.pair import PromptPair
from headcats.tasks.definition import Task, word_pairs


def returning(value):
    return Task("mine", "knowledge", "made up", lambda n, *, seed: value)


# ----------------------------------------------------------------------------------------------- the decorator
def test_the_decorator_registers_and_stays_callable():
    @hc.task(category="knowledge", source="a periodic table")
    def metal_symbol(n, *, seed):
        """The symbol of a metal."""
        return [("iron", "Fe"), ("gold", "Au")][:n]

    assert registry.lookup("task", "metal_symbol") is metal_symbol
    assert metal_symbol(1, seed=0) == [("iron", "Fe")]
    assert (metal_symbol.name, metal_symbol.category, metal_symbol.suite) == ("metal_symbol", "knowledge", None)
    assert "symbol" in metal_symbol.__doc__
    assert metal_symbol.needs_demonstrations


@for_each("options", [{"category": "", "source": "x"}, {"category": "x", "source": " "}])
def test_category_and_source_are_needed(options):
    with pytest.raises(OptionError, match="category and a source"):
        hc.task(**options)


def test_an_exact_answer_is_found_by_a_regular_expression():
    @hc.task(category="arithmetic", source="integers", exact=r"\d(?: \d)*")
    def spoken_sum(n, *, seed):
        return [("4 plus 8", "the sum is 1 2 now")]

    assert spoken_sum.exact == r"\d(?: \d)*"
    assert returning([("a", "b")]).exact is None
    with pytest.raises(OptionError, match="'mine': expected `exact`"):
        Task("mine", "knowledge", "made up", lambda n, *, seed: [], exact="(")


@for_each("function", [lambda seed: [], lambda n: [], lambda count, *, seed: [], lambda: None])
def test_the_signature_is_checked_before_the_task_exists(function):
    function.__name__ = "mine"
    with pytest.raises(OptionError, match=r"`def mine\(n, \*, seed\)`"):
        hc.task(category="knowledge", source="x")(function)


# ------------------------------------------------------------------------------------------- what it returns
def test_finished_prompt_pairs_pass_as_they_are():
    pair = PromptPair("k", "q", "a b", "a c", " x", " y")
    assert returning([pair]).pairs(1, seed=0) == [pair]


def test_lists_of_two_become_tuples_and_generators_are_read():
    assert returning([["a", "b"]]).pairs(1, seed=0) == [("a", "b")]
    assert returning(("a", str(n)) for n in range(1)).pairs(1, seed=0) == [("a", "0")]


def test_spaces_around_words_are_those_of_the_template():
    """`("France", " Paris")` is how many write an answer."""
    assert returning([("France", " Paris"), (" Italy ", "Rome")]).pairs(2, seed=0) == [
        ("France", "Paris"),
        ("Italy", "Rome"),
    ]
    with pytest.raises(DataError, match="'a': 'b' and 'c'"):
        returning([("a", " b"), ("a ", "c")]).pairs(2, seed=0)


@for_each("value,message", [
    ([], r"returned \[\], no pairs"),
    (None, "returned None"),
    (3, "returned 3"),
    (["ab"], "element 0 is 'ab'"),
    ("ab", "element 0 is 'a'"),
    ([("a", "b"), ("a", "b", "c")], r"element 1 is \('a', 'b', 'c'\)"),
    ([("a", 1)], r"element 0 is \('a', 1\)"),
    ([("a", "")], r"element 0 is \('a', ''\)"),
    ([("a", " ")], r"element 0 is \('a', ' '\)"),
    ([PromptPair("k", "q", "a", "b", "x", "y"), ("a", "b")], "element 0 is PromptPair"),
    ([("a", "b"), ("a", "c")], "'a': 'b' and 'c'"),
])  # fmt: skip
def test_anything_else_is_an_error_that_names_task_and_element(value, message):
    with pytest.raises(DataError, match=message) as problem:
        returning(value).pairs(2, seed=0)
    assert "'mine'" in str(problem.value)


# ------------------------------------------------------------------------------------------------ the contract
@for_each("name", registry.names("task"))
def test_every_task_keeps_the_contract(name):
    task = registry.lookup("task", name)
    assert task.name == name
    assert task.__doc__
    assert task.category
    assert task.source
    if not (known := word_pairs(task, seed=0)):
        return  # finished prompts have a contract of their own (tests/papers/known_circuits/test_contrasts.py)
    assert "`" in task.__doc__  # an example
    pairs = task.pairs(64, seed=3)
    assert pairs == task.pairs(64, seed=3)
    assert {given == answer for given, answer in known} == {name in ("copying", "name_copying")}
    assert len({given for given, _ in pairs}) == len(pairs)
    least = 25 if name in ALPHABET else 40
    assert len(task.pairs(1024, seed=0)) >= least
    assert len({answer for _, answer in pairs}) >= 2


ALPHABET = ("next_letter", "previous_letter", "uppercase")


@for_each("name", registry.names("task"))
def test_the_example_of_the_docstring_is_true(name):
    task = registry.lookup("task", name)
    if task.suite in ("cognitive", "sentences") or not word_pairs(task, seed=0):
        return  # drawn from more than can be listed: worked out in the tests of their suites
    answer, given = task.__doc__.split("`")[1:4:2]
    if name.startswith("list_"):
        items = given.split(", ")
        chosen = {"first": items[0], "middle": items[1], "last": items[2]}
        if name in ("list_max", "list_min"):
            chosen = {"max": max(items, key=int), "min": min(items, key=int)}
        assert answer == chosen[name.removeprefix("list_")]
    else:
        assert dict(task.pairs(1024, seed=0))[given] == answer


def test_another_seed_gives_other_lists_and_the_same_tables():
    first, plural = (registry.lookup("task", name) for name in ("list_first", "plural"))
    assert first.pairs(32, seed=0) != first.pairs(32, seed=1)
    assert plural.pairs(32, seed=0) == plural.pairs(32, seed=1)


def test_list_tasks_answer_the_same_lists():
    """Or they could not be each other's distractors."""
    lists = {
        name: dict(registry.lookup("task", name).pairs(100, seed=0))
        for name in registry.names("task")
        if name.startswith("list_")
    }
    assert len(lists) == 5
    assert set(lists["list_first"]) == set(lists["list_middle"]) == set(lists["list_last"])
    assert set(lists["list_max"]) == set(lists["list_min"]) < set(lists["list_first"])
    for given in lists["list_max"]:
        numbers = sorted(map(int, given.split(", ")))
        assert (int(lists["list_min"][given]), int(lists["list_max"][given])) == (numbers[0], numbers[2])
    for given, answer in lists["list_middle"].items():
        assert given.split(", ") == [lists["list_first"][given], answer, lists["list_last"][given]]
