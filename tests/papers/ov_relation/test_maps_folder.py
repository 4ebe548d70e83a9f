"""MAPS' own folder: `<relation>/<relation>.json`, a list of pairs, beside it `data_source.txt`."""

import json

import pytest
from tasks.files.layout_files import write

import headcats as hc
from headcats.papers.ov_relation.relations import MAPS_RELATIONS

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


def test_unknown_relations_have_the_category_of_the_folder(maps):
    relation(maps, "word_to_rhyme", [["house", "mouse"]])
    suite = hc.suite(maps)
    assert {task.name for task in suite.tasks if task.category == maps.name} == {"word_to_rhyme"}
    assert suite.categories[-1].name == maps.name
