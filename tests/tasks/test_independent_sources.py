"""Sources: which tasks are one, why, and that the number of prompts has no part in it."""

import numpy as np
import pytest

import headcats as hc
from headcats.base.errors import DataError
from headcats.study.plan import plan
from headcats.tasks.definition import Task
from headcats.tasks.independent_sources import independent_sources, material

BUNDLED = [
    {"next_letter", "previous_letter", "uppercase"},
    {"successor", "predecessor", "plus_ten", "list_first", "list_middle", "list_last", "list_max", "list_min"},
    {"country_capital", "country_continent", "country_language", "country_currency"},
    {"capital_country", "capital_continent"},
    {
        "animal_class", "animal_young", "plural", "past_tense", "past_participle", "gerund", "third_person",
        "english_french", "english_spanish", "english_german",
    },
    {"element_symbol", "element_number", "element_period"},
    {"antonym", "comparative", "superlative", "adjective_noun"},
    {"french_english", "french_spanish"},
    {"spanish_english", "spanish_french", "german_english", "german_french"},
]  # fmt: skip


def table(name, inputs, answers=None, *, category="a", group=None):
    """A task of all these inputs; its answers are its own unless they are given."""
    pairs = list(zip(inputs, answers or [f"{name} of {word}" for word in inputs], strict=True))
    return Task(name, category, "made up", lambda n, *, seed: pairs, group=group)


def drawn(name, pool, *, words=1, category="a"):
    """A task that draws lists of so many words, of which none repeats if there are three."""

    def make(n, *, seed):
        draws = np.random.default_rng(seed)
        lists = {" ".join(pool[place] for place in draws.choice(len(pool), words)): None for _ in range(n)}
        return [(text, f"{name} of {text}") for text in lists]

    return Task(name, category, "made up", make)


def prompts(name, texts, answers, *, of="corrupted", category="a"):
    """Finished prompts of (clean, corrupted) texts, with answer and distractor."""
    pairs = [hc.PromptPair(clean, clean, clean, corrupted, *answers, distractor_task=of) for clean, corrupted in texts]
    return Task(name, category, "made up", lambda n, *, seed: pairs)


def sets(sources):
    by_label = {}
    for task, label in sources.labels.items():
        by_label.setdefault(label, set()).add(task)
    return list(by_label.values())


def sources(*tasks):
    return independent_sources(tasks)


def words(start, stop):
    return [f"w{number}" for number in range(start, stop)]


@pytest.mark.parametrize("n_prompts", [8, 16, 64, 256])
def test_the_bundled_suite_has_nine_whatever_the_number_of_prompts(n_prompts):
    found = plan(suite="icl", n_prompts=n_prompts).sources
    assert sets(found) == BUNDLED
    assert list(dict.fromkeys(found.labels.values()))[:2] == ["next_letter", "successor"]
    assert found.joined_by["list_max"] == "inputs, answers"
    assert found.linked["country_continent"] == (
        "capital_continent", "english_french", "english_spanish", "english_german"
    )  # fmt: skip
    assert "element_number" in found.linked["successor"]


def test_tasks_are_linked_by_a_third_of_the_inputs_of_the_smaller_one():
    assert sets(sources(table("x", words(0, 6)), table("y", words(4, 400)))) == [{"x", "y"}]
    assert sets(sources(table("x", words(0, 7)), table("y", words(5, 400)))) == [{"x"}, {"y"}]


def test_a_chain_of_links_is_no_source_and_its_ends_are_not_compared():
    parts = {"a": (0, 6), "b": (0, 6), "c": (4, 10), "d": (6, 12), "e": (6, 12)}
    found = sources(*(table(name, words(*ends)) for name, ends in parts.items()))
    assert sets(found) == [{"a", "b"}, {"c", "d", "e"}]
    assert found.linked == {"a": ("c",), "b": ("c",), "c": ("a", "b"), "d": (), "e": ()}


def test_answers_join_by_a_third_of_the_larger_one():
    digits, numbers = words(0, 10), words(0, 100)
    found = sources(
        table("few", [f"f{n}" for n in range(10)], digits),
        table("many", [f"m{n}" for n in range(100)], numbers),
        table("also", [f"a{n}" for n in range(100)], numbers),
    )
    assert sets(found) == [{"few"}, {"many", "also"}]
    assert found.joined_by == {"few": "", "many": "answers", "also": "answers"}


def test_answers_of_all_tasks_join_none():
    both = [table(name, [f"{name}{n}" for n in range(10)], ["yes", "no"] * 5) for name in "xy"]
    assert sets(sources(*both)) == [{"x"}, {"y"}]
    assert sets(sources(*both, table("z", words(0, 10)))) == [{"x", "y"}, {"z"}]


@pytest.mark.parametrize("size", [3, 200_001])
def test_tables_of_any_size_are_compared_whole(size):
    assert sets(sources(table("x", words(0, size)), table("y", words(2 * size // 3, 2 * size)))) == [{"x", "y"}]


@pytest.mark.parametrize("size", [3, 500, 20_000, 200_000])
def test_what_a_task_only_draws_is_estimated(size):
    pool, other = words(0, size), words(size, 2 * size)
    half = pool[: size // 2 + 1] + other[: size // 2]
    same, apart = (sources(drawn("x", pool), drawn("y", drawn_from)) for drawn_from in (half, other))
    assert (sets(same), sets(apart)) == ([{"x", "y"}], [{"x"}, {"y"}])


def test_a_quarter_is_no_third_where_equal_seeds_would_draw_the_same():
    pool = words(0, 4000)
    assert sets(sources(drawn("x", pool), drawn("y", pool[:1000] + words(4000, 7000)))) == [{"x"}, {"y"}]


def test_lists_that_never_repeat_are_compared_by_their_words():
    lists = [drawn(name, pool, words=4) for name, pool in (("x", words(0, 300)), ("y", words(150, 450)))]
    found = sources(*lists, drawn("z", words(600, 900), words=4), table("words", words(0, 300)))
    assert sets(found) == [{"x", "y"}, {"z"}, {"words"}]  # a list is another input than one of its words


def test_a_file_of_many_rows_is_compared_whole(tmp_path):
    parts = {"x": (0, 9000), "y": (5950, 14950), "z": (12000, 21000)}
    for name, ends in parts.items():
        rows = "".join(f"{word},{name} of {word}\n" for word in words(*ends))
        (tmp_path / f"{name}.csv").write_text(f"input,output\n{rows}", encoding="utf-8")
    tasks = hc.suite(tmp_path).tasks
    assert sets(independent_sources(tasks)) == [{"x", "y"}, {"z"}]  # shares of .339 and .328
    assert {material(task).inputs.size for task in tasks} == {9000}


def test_finished_prompts_are_compared_by_the_words_that_differ():
    def of(name, subjects, answers):
        return prompts(name, [(f"{name} says {a}", f"{name} says {b}") for a, b in subjects], answers)

    found = sources(
        of("first", [("cat", "dog"), ("cow", "hen")], (" is", " are")),
        of("second", [("dog", "cat")], (" was", " were")),
        of("third", [("sun", "sea")], (" was", " were")),
    )
    assert sets(found) == [{"first", "second", "third"}]
    assert found.joined_by == {
        "first": "differing words", "second": "differing words, answers", "third": "answers"
    }  # fmt: skip
    assert found.templates["first"] == "first says"


def test_prompts_of_one_template_and_corruption_are_one_where_others_differ():
    def of(name, template, corruption):
        texts = [(template.format(f"{name}{n}"), template.format(f"{name}{n + 1}")) for n in range(3)]
        return prompts(name, texts, (f" {name}", f" not {name}"), of=corruption)

    alike = [of(name, "So the {} is", "noun") for name in "xy"]
    assert sets(sources(*alike)) == [{"x"}, {"y"}]
    found = sources(*alike, of("z", "So the {} is", "verb"), of("t", "Is {} a", "noun"))
    assert sets(found) == [{"x", "y"}, {"z"}, {"t"}]
    assert found.joined_by["x"] == "template and corruption"
    assert found.templates == {"x": "is so the", "y": "is so the", "z": "is so the", "t": "a is"}


def test_a_group_joins_tasks_and_what_is_linked_to_them_across_categories():
    found = sources(
        table("x", words(0, 9), group="g"),
        table("y", words(20, 29), category="b", group="g"),
        table("z", words(20, 29)),
        table("alone", words(40, 49), group="own"),
        table("named", words(60, 69), group="last"),
        table("last", words(80, 89)),
    )
    assert found.labels == {"x": "g", "y": "g", "z": "g", "alone": "own", "named": "last", "last": "last"}
    assert found.joined_by == {
        "x": "group", "y": "inputs, group", "z": "inputs", "alone": "", "named": "group", "last": "group"
    }  # fmt: skip


def test_all_tasks_may_be_one_source_and_one_task_is_one():
    assert sets(sources(*(table(name, words(0, 9)) for name in "xyz"))) == [{"x", "y", "z"}]
    assert sources(table("x", words(0, 3))).labels == {"x": "x"}


def test_a_decorated_task_has_its_group_and_no_group_has_no_name():
    @hc.task(category="knowledge", source="made up", group="metals")
    def metal_symbol_of_a_group(n, *, seed):
        return [("iron", "Fe"), ("gold", "Au")]

    assert metal_symbol_of_a_group.group == "metals"
    for group in ("", " ", 3, "\ud800"):
        with pytest.raises(DataError, match=r"`group`.*got"):
            table("x", words(0, 3), group=group)
