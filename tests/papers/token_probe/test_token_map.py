"""The split by items, and labels that say nothing."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headcats.papers.token_probe.split import held_out
from headcats.papers.token_probe.token_map import shuffled_labels, task_error_rates


@given(st.lists(st.tuples(st.integers(0, 30), st.booleans(), st.sampled_from("abc")), min_size=1), st.integers(0, 5))
def test_no_item_is_on_both_sides(prompts: list[tuple[int, bool, str]], seed: int) -> None:
    items, wrong, tasks = [str(p[0]) for p in prompts], np.array([p[1] for p in prompts]), [p[2] for p in prompts]
    test = held_out(items, tasks, wrong, share=0.2, seed=seed)
    held = {item for item, one in zip(items, test, strict=True) if one}
    learned = {item for item, one in zip(items, test, strict=True) if not one}
    assert not held & learned
    assert abs(len(held) - 0.2 * len(set(items))) < 1


def test_both_sides_have_the_classes_and_tasks_of_the_whole() -> None:
    draws = np.random.default_rng(0)
    tasks = ["easy"] * 500 + ["hard"] * 500
    wrong = draws.random(1000) < np.repeat([0.1, 0.6], 500)
    items = [str(number) for number in range(1000)]
    test = held_out(items, tasks, wrong, share=0.2, seed=0)
    assert test.sum() == 200
    for task in ("easy", "hard"):
        of_task = np.array(tasks) == task
        assert abs((test & of_task).sum() - 100) <= 1
        assert abs(wrong[test & of_task].mean() - wrong[of_task].mean()) < 0.02
    assert (held_out(items, tasks, wrong, share=0.2, seed=1) != test).any()
    assert (held_out(items, tasks, wrong, share=0.2, seed=0) == test).all()


def test_shuffled_labels_keep_what_a_task_gives_away() -> None:
    draws = np.random.default_rng(0)
    tasks = ["easy"] * 300 + ["hard"] * 300
    wrong = draws.random(600) < np.repeat([0.1, 0.6], 300)
    test = np.arange(600) % 5 == 0
    mixed = shuffled_labels(wrong, tasks, test, seed=0)
    for task in ("easy", "hard"):
        for side in (test, ~test):
            part = side & (np.array(tasks) == task)
            assert mixed[part].sum() == wrong[part].sum()
    hard = np.array(tasks) == "hard"
    assert abs(np.corrcoef(mixed[hard], wrong[hard])[0, 1]) < 0.15
    assert (wrong == (np.random.default_rng(0).random(600) < np.repeat([0.1, 0.6], 300))).all()  # left as it was


def test_the_task_alone_scores_by_its_training_errors() -> None:
    wrong = np.array([True, False, True, True, False, True])
    rates = task_error_rates(wrong, list("aabbac"), np.array([False, False, False, True, True, True]))
    assert rates.tolist() == [0.5, 0.5, 1.0, 1.0, 0.5, 2 / 3]  # "c" was never trained: the share of all
