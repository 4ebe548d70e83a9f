"""Suites: which tasks, which categories, in which order and colours."""

import pytest

import headcats as hc
from headcats.errors import DataError, UnknownNameError
from headcats.tasks.categories import SPARE_COLOURS, STANDARD_CATEGORIES, Category
from headcats.tasks.definition import Task
from headcats.tasks.suites import Suite, make_suite, suite

NONE = ("#9467bd", "#8c564b", "#e377c2", "#7f7f7f")
"""Colours that mean several categories, or none, in the overlap map."""


def task(name, category="knowledge"):
    return Task(name, category, "made up", lambda n, *, seed: [("a", "b")])


def test_the_suite_icl():
    icl = suite("icl")
    assert [(c.name, c.colour) for c in icl.categories] == [
        ("Algorithmic", "#1f77b4"), ("Knowledge", "#ff7f0e"), ("Linguistic", "#2ca02c"), ("Translation", "#d62728"),
    ]  # fmt: skip
    counts = {c.name: sum(icl.category_of(t) == c for t in icl.tasks) for c in icl.categories}
    assert min(counts.values()) >= 6
    assert len(icl.tasks) >= 30
    assert all(t.suite == "icl" for t in icl.tasks)


def test_what_a_suite_can_be_given_as():
    mine = task("mine")
    given = make_suite([mine])
    assert suite(given) is given
    assert suite(mine).tasks == (mine,)
    assert [t.name for t in suite([mine, "plural"]).tasks] == ["mine", "plural"]
    assert suite("icl").name == "icl"
    assert suite([mine]).name == "custom"


def test_categories_go_by_name_without_case():
    made = make_suite([task("a", "KNOWLEDGE"), task("b", "knowledge"), task("c", "Ethics"), task("d", "ethics")])
    assert [c.name for c in made.categories] == ["Knowledge", "Ethics"]
    assert made.category_of(made.tasks[3]).name == "Ethics"
    assert made.categories[0] == STANDARD_CATEGORIES[1]


def test_new_categories_get_different_spare_colours():
    made = make_suite([task(f"t{i}", f"category {i}") for i in range(len(SPARE_COLOURS))])
    colours = [c.colour for c in made.categories]
    assert len(set(colours)) == len(colours)
    assert not set(colours) & ({c.colour for c in STANDARD_CATEGORIES} | set(NONE))


def test_given_categories_keep_their_order():
    order = (Category("Linguistic", "#000000"), Category("Knowledge", "#111111"))
    made = make_suite([task("a"), task("b", "linguistic"), task("c", "other")], categories=order)
    assert [c.name for c in made.categories] == ["Linguistic", "Knowledge", "other"]
    assert made.category_of(made.tasks[0]).colour == "#111111"


def test_with_tasks_adds_and_replaces():
    old = make_suite([task("a"), task("b")], name="mine")
    new = task("b", "linguistic")
    more = old.with_tasks(new, "plural")
    assert [t.name for t in more.tasks] == ["a", "b", "plural"]
    assert more.tasks[1] is new
    assert more.name == "mine"
    assert len(old.tasks) == 2


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: make_suite([]), DataError, "Suite 'custom' is empty"),
        (lambda: suite([]), DataError, "is empty"),
        (lambda: make_suite([task("a"), task("a")]), DataError, "holds the task 'a' twice"),
        (lambda: make_suite(["plurral"]), UnknownNameError, "Unknown task 'plurral'. Did you mean 'plural'"),
        (lambda: suite("icll"), UnknownNameError, "Unknown suite 'icll'. Did you mean 'icl'"),
        (lambda: Suite("s", (task("a"),), ()).category_of(task("a")), DataError, "suite 's' lacks"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_public_names():
    assert (hc.suite, hc.make_suite, hc.Suite, hc.Task) == (suite, make_suite, Suite, Task)
