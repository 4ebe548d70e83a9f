"""Suites: which tasks, which categories, in which order and colours."""

from pathlib import Path

import pytest
from for_each import for_each
from same_registry import same_registry

from headcats.base.errors import DataError, UnknownNameError
from headcats.base.registry import register
from headcats.results.categories import SPARE_COLOURS, STANDARD_CATEGORIES, Category
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


OWN = """
import neighbour
import headcats as hc

one = hc.Task("one", "spelling", "made up", neighbour.pairs)
several = [one, "plural"]
whole = hc.make_suite(several, name="named")
function = lambda: several
number = 3
"""


@pytest.fixture
def own(tmp_path):
    """A file of one's own, which imports its neighbour."""
    (tmp_path / "neighbour.py").write_text("def pairs(n, *, seed):\n    return [('a', 'b')]\n", encoding="utf-8")
    (tmp_path / "own.py").write_text(OWN, encoding="utf-8")
    return tmp_path / "own.py"


@for_each("name,called", [("one", "one"), ("several", "several"), ("whole", "named"), ("function", "function")])
def test_a_suite_of_a_file(own, monkeypatch, name, called):
    monkeypatch.chdir(own.parent)
    found = suite(f"own.py:{name}")
    assert found.name == called
    assert [task.name for task in found.tasks] == ["one"] if name == "one" else ["one", "plural"]
    assert found.source == f"{own}:{name}"
    assert suite(found.source) == found
    assert found.with_tasks("antonym").source == ""  # is not what the file holds


def test_a_suite_of_a_module(monkeypatch, own):
    monkeypatch.syspath_prepend(own.parent)
    assert suite("own:whole").source == "own:whole"
    assert suite("own:whole").name == "named"


def test_a_file_is_read_again_where_it_has_changed(own):
    assert len(suite(f"{own}:whole").tasks) == 2
    own.write_text(OWN.replace("several = [one,", "several = ['antonym', one,"), encoding="utf-8")
    assert len(suite(f"{own}:whole").tasks) == 3


@for_each(
    "source,message",
    [
        ("nowhere.py:x", r"'nowhere\.py:x'.* no file .*nowhere\.py"),
        ("no_such_module:x", "'no_such_module'"),
        ("own.py:missing", "no attribute 'missing'"),
        ("broken.py:x", "ZeroDivisionError"),
    ],
)
def test_what_cannot_be_loaded_says_why(own, monkeypatch, source, message):
    monkeypatch.chdir(own.parent)
    (own.parent / "broken.py").write_text("x = 1 / 0", encoding="utf-8")
    with pytest.raises(DataError, match=message):
        suite(source)


def test_only_a_suite_that_can_be_found_again_has_a_source():
    icl = suite("icl")
    assert icl.source == "icl"
    assert suite(icl) is icl
    made = [icl.with_tasks(task("more")), make_suite(icl.tasks, name="icl"), suite(["plural"])]
    assert [each.source for each in made] == ["", "", ""]
    with same_registry():
        register("task", "more", task("more"))
        with pytest.raises(UnknownNameError, match=r"your_suite\.with_tasks\('more'\)"):
            made[1].named(["more"])
        with pytest.raises(UnknownNameError, match=r"hc\.suite\('icl'\)\.with_tasks\('more'\)"):
            icl.named(["more"])


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


@for_each("make,error,message", [
    (lambda: make_suite([]), DataError, "'custom' is empty"),
    (lambda: make_suite([task("a"), task("a")]), DataError, "'a' twice"),
    (lambda: make_suite(["plurral"]), UnknownNameError, "'plurral'.*mean 'plural'"),
    (lambda: suite("icll"), UnknownNameError, "'icll'.*mean 'icl'"),
    (lambda: Suite("s", (task("a"),), ()).category_of(task("a")), DataError, "suite 's' lacks"),
])  # fmt: skip
def test_what_is_wrong_is_named(make, error, message):
    with pytest.raises(error, match=message):
        make()


ROWS = '[["France", "Paris"], ["Italy", "Rome"]]'


@for_each("source", ["pairs.json", "./pairs.json", "data", "data/", "./icl", "./icl/", Path("pairs.json"), Path("icl")])
def test_what_is_a_path(tmp_path, monkeypatch, source):
    monkeypatch.chdir(tmp_path)
    for file in ("pairs.json", "data/pairs.json", "icl/pairs.json"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(ROWS, encoding="utf-8")
    found = suite(source)
    assert [task.name for task in found.tasks] == ["pairs"]
    assert found.source == str(tmp_path / source)
    assert suite(found.source).tasks[0].pairs(9, seed=0) == found.tasks[0].pairs(9, seed=0)
    assert found.drops is not None
    assert found.drops.kept == 2
    assert len(suite("icl").tasks) == 40, "a registered name wins"


def test_an_unknown_name_mentions_a_file_only_where_there_is_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pairs.json").write_text(ROWS, encoding="utf-8")
    (tmp_path / "cities.txt").write_text("", encoding="utf-8")
    with pytest.raises(UnknownNameError, match=r"A file: 'pairs\.json'"):
        suite("pairs")
    for name in ("cities", "sentence", "pair*"):
        with pytest.raises(UnknownNameError, match="Known: icl") as caught:
            suite(name)
        assert "A file" not in str(caught.value)


def test_a_task_of_a_file_joins_another_suite(tmp_path):
    (tmp_path / "pairs.json").write_text(ROWS, encoding="utf-8")
    joined = suite("icl").with_tasks(suite(tmp_path / "pairs.json"))
    assert joined.tasks[-1].name == "pairs"
    assert joined.drops is None
    assert len({joined.tasks[-1], joined.tasks[-1]}) == 1


@for_each("source", [{"a": [("b", "c")]}, [("a", "b")], [["plural"]], 7])
def test_pairs_alone_are_no_suite(source):
    with pytest.raises(DataError, match=r"@hc\.task.*suite='pairs\.json'"):
        suite(source)
