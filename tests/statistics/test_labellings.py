"""Other labels of tasks, exchanged between sources."""

import numpy as np
import pytest

from headcats.statistics.labellings import draw_labellings


@pytest.mark.parametrize(
    ("labels", "sources", "n"),
    [
        ([0, 0, 0, 1, 1, 1], range(6), 10),  # 20 labellings, halved as the two categories can trade names
        ([0, 0, 0, 0, 1, 1], [0, 0, 1, 1, 2, 2], 3),  # whole sources: which of three stands alone
        ([0, 1, 0, 1, 2, 2], [0, 0, 0, 0, 1, 2], 3),  # within the first source, as the others have one label
        ([0, 0, 1], [0, 0, 1], 1),  # which divides the tasks as before
        ([0, 0], [0, 1], 1),
    ],
)
def test_every_division_is_drawn_once_the_true_one_first(labels: list[int], sources: list[int], n: int) -> None:
    labels, sources = np.array(labels), np.array(sources)
    drawn = draw_labellings(labels, sources, n_categories=3, n=200, seed=0).labels
    np.testing.assert_array_equal(drawn[0], labels)
    # Tasks in one category, of every pair of tasks.
    together = {tuple((row[:, None] == row).ravel().tolist()) for row in drawn}
    assert len(together) == len(drawn) == n
    for source in np.unique(sources):
        inside = drawn[:, sources == source]
        pure = len(set(inside[0].tolist())) == 1
        assert all(len(set(row)) == 1 if pure else sorted(row) == sorted(inside[0]) for row in inside.tolist())


def test_at_most_as_many_as_asked_for_are_drawn_and_others_with_another_seed() -> None:
    labels, sources = np.repeat([0, 1, 2], 5), np.arange(15)
    first, again, other = (
        draw_labellings(labels, sources, n_categories=3, n=30, seed=seed).labels for seed in (0, 0, 1)
    )
    assert len(first) == 31
    np.testing.assert_array_equal(first, again)
    assert (first[1:] != other[1:]).any()
    assert (np.sort(first, axis=1) == labels).all()
