"""MAPS' own folder: `<relation>/<relation>.json`, a list of pairs, beside it `data_source.txt`."""

import json

import pytest
from for_each import for_each
from tasks.files.layout_files import write

import headcats as hc
from headcats.errors import DataError
from headcats.tasks.maps_relations import MAPS_RELATIONS

WORDS = ["house", "river", "Mary", "1987"]


def relation(folder, name, pairs):
    write(folder / name / f"{name}.json", pairs if isinstance(pairs, str) else json.dumps(pairs, indent=2))
    write(folder / name / "data_source.txt", "made up for this test")


@pytest.fixture
def maps(tmp_path):
    """All 20 relations in its layout, with pairs of ours; copying has the same word on both sides."""
    for name in MAPS_RELATIONS:
        relation(tmp_path, name, [[word, word if "copying" in name else f"{word}s"] for word in WORDS])
    return tmp_path


def test_its_folder_loads_unchanged(maps):
    suite = hc.suite(maps)
    assert {task.name: task.category for task in suite.tasks} == {
        name: known.category for name, known in MAPS_RELATIONS.items()
    }
    assert [(each.name, each.colour) for each in suite.categories] == [
        (each.name, each.colour) for each in hc.suite("icl").categories
    ]
    assert len(suite.ignored) == 20
    assert suite.drops.kept == 20 * len(WORDS)
    assert suite.drops.dropped == {}
    (copying,) = suite.named(["general_copying_english_500"])
    assert copying.pairs(9, seed=0) == [(word, word) for word in WORDS]


def test_its_four_categories(maps):
    sizes = [sum(known.category == name for known in MAPS_RELATIONS.values()) for name in ("Algorithmic", "Knowledge")]
    assert sizes == [5, 5]
    assert [known.task for known in MAPS_RELATIONS.values()] == [task.name for task in hc.suite("relations").tasks]
    for known, task in zip(MAPS_RELATIONS.values(), hc.suite("relations").tasks, strict=True):
        assert known.category == task.category


def test_a_suite_toml_and_a_subfolder_of_ones_own_win(maps):
    write(maps / "suite.toml", '[categories]\nSpelling = "#123456"\n'
          '[files."word_first_letter/word_first_letter.json"]\ncategory = "Spelling"\n')  # fmt: skip
    relation(maps / "Odd", "word_last_letter", [["house", "e"]])
    suite = hc.suite(maps)
    by_name = {task.name: task.category for task in suite.tasks}
    assert by_name["word_first_letter"] == "Spelling"
    assert by_name["Odd.word_last_letter.word_last_letter"] == "Odd"
    names = [category.name for category in suite.categories]
    assert names == ["Spelling", "Algorithmic", "Knowledge", "Linguistic", "Translation", "Odd"]


def test_a_file_alone_has_its_category(maps):
    (task,) = hc.suite(maps / "adj_antonym" / "adj_antonym.json").tasks
    assert (task.name, task.category) == ("adj_antonym", "Linguistic")


def test_unknown_relations_have_the_category_of_the_folder(maps):
    relation(maps, "word_to_rhyme", [["house", "mouse"]])
    suite = hc.suite(maps)
    assert {task.name for task in suite.tasks if task.category == maps.name} == {"word_to_rhyme"}
    assert suite.categories[-1].name == maps.name


def test_what_is_dropped_is_counted_and_named(maps):
    relation(
        maps,
        "adj_antonym",
        [["big", "small"], ["hot", ["cold", "cool"]], ["old", "new"], ["old", "young"], ["big", "small"], ["wet", ""]],
    )
    (task,) = hc.suite(maps).named(["adj_antonym"])
    assert task.pairs(9, seed=0) == [("big", "small")]
    assert (task.drops.kept, sum(task.drops.dropped.values())) == (1, 5)
    assert len(task.drops.dropped) == 4
    assert all("adj_antonym.json" in example for example in task.drops.examples.values())


@for_each("content", ["", "[]", "[[]]", '[["a"]]', '[["a", "b"], ["c"]]', '[["a", null]]'])
def test_a_file_without_pairs_is_named(maps, content):
    relation(maps, "word_to_synonym", content)
    with pytest.raises(DataError, match=r"word_to_synonym\.json"):
        hc.suite(maps)
