"""A folder as a suite: names, categories, suite.toml, and what may not be in it."""

import pytest
from for_each import for_each
from tasks.files.layout_files import FUNCTION_VECTORS, IOI_CSV, MAPS, RELATION, write

import headcats as hc
from headcats.base.errors import DataError
from headcats.results.categories import SPARE_COLOURS

TOML = """
name = "my world"

[categories]
Names = "#123456"
Knowledge = "#abcdef"

[files."world/capitals.json"]
category = "knowledge"
template = ["{} is governed from", "The capital of {} is "]
source = "an atlas"
"""


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / "world" / "capitals.json", MAPS)
    write(tmp_path / "world" / "deep" / "others.json", FUNCTION_VECTORS)
    write(tmp_path / "names" / "ioi.csv", IOI_CSV)
    write(tmp_path / "relation.json", RELATION)
    write(tmp_path / "top.tsv", "x\ty\na\tb\n")
    write(tmp_path / "alone" / "alone.json", MAPS)
    write(tmp_path / "README.md", "about")
    write(tmp_path / ".hidden.json", "not even JSON")
    write(tmp_path / ".git" / "config.json", "not even JSON")
    return tmp_path


def test_names_and_categories(folder):
    suite = hc.suite(folder)
    assert suite.name == folder.name
    assert {task.name: task.category for task in suite.tasks} == {
        "alone": folder.name, "ioi": "names", "relation": "factual", "top": folder.name, "capitals": "world",
        "others": "world",
    }  # fmt: skip
    assert suite.ignored == ("README.md",)
    assert suite.source == str(folder)
    (task,) = suite.named(["others"])
    assert task.source.endswith("; world/deep/others.json")
    assert str(folder) not in "".join(task.source for task in suite.tasks)
    assert hc.suite(suite.source).named(["ioi"])[0].pairs(9, seed=1) == suite.named(["ioi"])[0].pairs(9, seed=1)


def test_settings(folder):
    write(folder / "suite.toml", TOML)
    suite = hc.suite(f"{folder}/")
    assert suite.name == "my_world"
    assert [(each.name, each.colour) for each in suite.categories][:2] == [
        ("Names", "#123456"),
        ("Knowledge", "#abcdef"),
    ]
    assert [each.colour for each in suite.categories][2:] == list(SPARE_COLOURS[: len(suite.categories) - 2])
    (capitals,) = suite.named(["capitals"])
    assert suite.category_of(capitals).name == "Knowledge"
    assert (capitals.source.split("; ")[0], capitals.source.split("; ")[-1]) == ("an atlas", "world/capitals.json")
    templates = ("{} is governed from", "The capital of {} is")
    assert {pair.clean for pair in capitals.pairs(9, seed=0)} == {
        template.format(country) for template in templates for country in ("France", "Italy")
    }


def test_a_file_alone_takes_the_settings_beside_it(folder):
    write(
        folder / "suite.toml",
        '[files."top.tsv"]\ncategory = "Letters"\n[categories]\nLetters = "#123456"\nNo="#111111"',
    )
    (category,) = hc.suite(folder / "top.tsv").categories
    assert (category.name, category.colour) == ("Letters", "#123456")


def test_tasks_of_one_name_are_told_apart(tmp_path):
    for place in ("a/pairs.json", "b/pairs.json", "a/pairs.jsonl", "a b.json"):
        write(tmp_path / place, MAPS)
    assert sorted(task.name for task in hc.suite(tmp_path).tasks) == [
        "a.pairs.json", "a.pairs.jsonl", "a_b", "b.pairs",
    ]  # fmt: skip


WRONG = [
    ("name = ", "not TOML"),
    ("names = 'a'", "'names'.*mean 'name'"),
    ("categories = 3", r"\[categories\]"),
    ("[categories]\nA = 'redd'", r"suite\.toml: .*'A' .*got 'redd'"),
    ('[categories]\n"a\\u0000b" = "red"', "NUL"),
    ('[files."no.json"]', "no file 'no.json'"),
    ('[files."/etc/hostname"]', "leaves the folder"),
    ('[files."top.tsv"]\nkind = "a"', "Unknown key 'kind'"),
    ('[files."top.tsv"]\ntemplate = "no slot"', r"top\.tsv: the template"),
    ('[files."names/ioi.csv"]\ntemplate = "{} is"', r"ioi\.csv holds finished"),
]


@for_each("text,message", WRONG)
def test_settings_that_cannot_be_meant(folder, text, message):
    write(folder.parent / "outside.json", MAPS)
    with pytest.raises(DataError, match=message):
        hc.suite(write(folder / "suite.toml", text).parent)


@pytest.mark.parametrize("place", ["inside.json", "inside"])
def test_links_out_of_the_folder_are_refused(folder, tmp_path_factory, place):
    outside = tmp_path_factory.mktemp("outside")
    write(outside / "pairs.json", MAPS)
    (folder / "world" / place).symlink_to(outside if place == "inside" else outside / "pairs.json")
    with pytest.raises(DataError, match=f"{place} is a link"):
        hc.suite(folder)


def test_a_folder_without_data_and_one_with_a_bad_file(folder, tmp_path_factory):
    empty = tmp_path_factory.mktemp("empty")
    with pytest.raises(DataError, match="holds no data"):
        hc.suite(empty)
    write(folder / "world" / "broken.json", "{")
    with pytest.raises(DataError, match=r"broken\.json"):
        hc.suite(folder)


def test_a_file_without_a_task_is_left_out_and_named(folder, caplog):
    for name, content in (
        ("categories.json", {"top": "Letters"}),
        ("words.json", ["a", "b"]),
        ("list.csv", "word\na\n"),
    ):
        write(folder / name, content)
    suite = hc.suite(folder)
    assert suite.ignored == ("README.md", "categories.json", "list.csv", "words.json")
    assert len(caplog.records) == 3
    assert "'top'" in caplog.text
    write(folder / "suite.toml", '[files."list.csv"]\ncategory = "Letters"')
    with pytest.raises(DataError, match=r"list\.csv"):
        hc.suite(folder)
    with pytest.raises(DataError, match=r"alone\.json.*'x'"):
        hc.suite(write(folder / "deeper" / "alone.json", {"x": "y"}).parent)
