"""Which rows a task gives for how many and which seed, and how much memory they take."""

import tracemalloc
from collections import Counter

import pytest
from tasks.files.layout_files import write

import headcats as hc
from headcats.tasks.files.task_rows import CONTRADICTORY, DUPLICATE, keep_rows


def kept(rows):
    return keep_rows(enumerate(rows, start=2), file="a.csv", place=lambda number: f"a.csv, line {number}", output=1)


def test_a_large_table_is_drawn_from_the_seed():
    rows = [(f"word {number}", f"{number}") for number in range(30_000)]
    table = kept(rows)
    few, more = table.chosen(100, seed=0), table.chosen(1000, seed=0)
    assert more[:100] == few
    assert len({number for number, _ in more}) == 1000
    assert all(rows[number - 2] == texts for number, texts in more)
    assert len(set(few) & set(table.chosen(100, seed=1))) < 10
    # Uniform over the file: the standard error of the mean is 274.
    assert abs(sum(number for number, _ in more) / 1000 - 15_000) < 1400
    assert [texts for _, texts in table.chosen(30_000, seed=0)] == rows
    shuffled = table.shuffled(seed=0)
    assert shuffled[:1000] == more
    assert sorted(shuffled) == list(table)


def test_tables_that_share_inputs_draw_the_same_ones():
    first = kept([(f"word {number}", "a") for number in range(5000)])
    second = kept([(f"word {number}", "b") for number in range(4999, -1, -2)])
    drawn = {texts[0] for _, texts in second.chosen(200, seed=3)}
    assert drawn <= {texts[0] for _, texts in first.chosen(600, seed=3)}


def test_prompts_about_the_same_items_draw_the_same_items(tmp_path):
    """One row of each before a second one."""
    for name in ("a", "b"):
        rows = [f"{name} {i % 2000} {i // 2000},x, y, z,item {i % 2000}" for i in range(6000)]
        write(tmp_path / f"{name}.csv", "\n".join(["clean,corrupted,answer,wrong,item", *rows]))
    first, second = (Counter(pair.item for pair in task.pairs(1024, seed=0)) for task in hc.suite(tmp_path).tasks)
    assert first == second
    assert set(first.values()) == {1}
    assert Counter(pair.item for pair in hc.suite(tmp_path).tasks[0].pairs(5000, seed=0)).most_common(1)[0][1] == 3


def test_repeated_rows_are_found_across_a_large_file():
    rows = [(f"word {number}", f"{number}") for number in range(30_000)]
    rows += [("word 7", "7"), ("word 9", "ten"), ("word 29999", "29999")]
    table = kept(rows)
    assert table.report.dropped == {CONTRADICTORY: 2, DUPLICATE: 2}
    assert table.report.kept == len(rows) - 4
    assert table.report.examples[DUPLICATE] == "a.csv, line 30002: 'word 7' -> '7'"
    assert ("word 9", "9") not in {texts for _, texts in table}
    assert ("word 7", "7") in {texts for _, texts in table}


def memory_of_a_table(tmp_path, header, *, size):
    """Bytes held by a table and needed to read it, for each byte of its text; Python's own texts take 5 to 10."""
    columns = header.split(",")
    row = "word {0},answer {0}" if len(columns) == 2 else "Ann {0} met Bob and told,Eve {0} met Bob and told, Ann, Bob"
    lines = [row.format(number) for number in range(size // len(row.format(100_000)))]
    path = write(tmp_path / "pairs.csv", "\n".join([header, *lines]))
    hc.suite(write(tmp_path / "first.csv", "\n".join([header, *lines[:2]])))  # imports are not counted
    tracemalloc.start()
    try:
        (task,) = hc.suite(path).tasks
        assert len(task.pairs(64, seed=0)) == 64
        held, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert task.drops.kept == len(lines)
    return held / path.stat().st_size, peak / path.stat().st_size


def test_a_table_takes_little_more_memory_than_its_text(tmp_path):
    held, _ = memory_of_a_table(tmp_path, "input,output", size=400_000)
    assert held < 2.2


@pytest.mark.slow
@pytest.mark.parametrize("header", ["input,output", "clean,corrupted,answer,wrong"])
def test_a_large_table_too(tmp_path, header):
    """A small version of 100 MB within 400 MB: 5 MB within 20."""
    held, peak = memory_of_a_table(tmp_path, header, size=5_000_000)
    assert held < 2.2
    assert peak < 4
