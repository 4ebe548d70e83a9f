"""The table of relations: heads that reach the threshold, the best one, and r where text was looked at."""

import numpy as np
import pytest
import xarray as xr
from paper_tables import dynamic_of, relations_of

from headcats.base.errors import DataError, OptionError, UnknownNameError
from headcats.figures import data
from headcats.papers.ov_relation.relation_table import relation_table

# Relations capital, copying, plural; L0H0, L0H1, L1H0, L1H1.
SCORE = np.array([[[0.3, 0.2], [0.0, 0.1]], [[0.9, 0.0], [0.15, 0.9]], [[0.0, 0.0], [0.0, 0.0]]])


def by_hand() -> xr.Dataset:
    """Null .02 and .03, of the last relation .25."""
    return relations_of(
        SCORE,
        tasks=["capital", "copying", "plural"],
        belongs=["Knowledge", "Algorithmic", "Linguistic"],
        k=[10, 1, 10],
        null=[0.02, 0.03, 0.25],
    )


def in_text() -> xr.Dataset:
    """As the weights say, without context; without any pattern with context."""
    dynamic = np.stack([np.full((1, *SCORE[:2].shape), 0.5), SCORE[None, :2]])
    return dynamic_of(SCORE[:2], dynamic, tasks=["capital", "copying"], belongs=["Knowledge", "Algorithmic"])


def texts(table: xr.Dataset, **options: object) -> dict[str, list[str]]:
    """Heading -> what stands below it."""
    drawn = {trace.name: list(trace.text) for trace in relation_table(table, **options).data if trace.mode == "text"}
    assert all(column[0] == f"<b>{name}</b>" for name, column in drawn.items())
    return {name: column[1:] for name, column in drawn.items()}


def test_numbers_stand_by_category() -> None:
    frame = data(relation_table(by_hand())).set_index("task")
    assert frame.index.tolist() == ["copying", "capital", "plural"]
    assert frame.category.tolist() == ["Algorithmic", "Knowledge", "Linguistic"]
    assert (frame.n.tolist(), frame.k.tolist()) == ([100] * 3, [1, 10, 10])
    assert frame.n_heads.tolist() == [3, 2, 0]
    assert frame.heads.tolist() == ["L1H1, L0H0, L1H0", "L0H0, L0H1", ""]
    assert frame.best_head.tolist() == ["L1H1", "L0H0", ""]
    assert frame.best.tolist() == [0.9, 0.3, 0.0]
    assert frame.threshold.tolist() == [0.15, 0.15, 0.25]
    assert frame.null.tolist() == [0.03, 0.02, 0.25]
    assert frame[["r_with", "r_without"]].isna().all(axis=None)


def test_the_paper_has_one_threshold_for_all() -> None:
    frame = data(relation_table(by_hand(), threshold=0.2)).set_index("task")
    assert frame.threshold.tolist() == [0.2] * 3
    assert frame.n_heads.tolist() == [2, 2, 0]
    for wrong in (0, 1.5, "calibrate", True):
        with pytest.raises(OptionError, match=r"threshold.*calibrated"):
            relation_table(by_hand(), threshold=wrong)


def test_r_stands_where_it_was_measured() -> None:
    frame = data(relation_table(by_hand(), dynamic=in_text())).set_index("task")
    assert frame.r_without.tolist() == pytest.approx([1, 1, np.nan], nan_ok=True)
    assert frame.r_with.isna().all()
    columns = texts(by_hand(), dynamic=in_text())
    assert columns["r without context"] == ["1.00", "1.00", "–"]
    assert columns["r with context"] == ["–"] * 3
    assert "r with context" not in texts(by_hand())


def test_suppression_has_a_table_of_its_own() -> None:
    turned = by_hand().assign(suppression=by_hand().score / 2)
    frame = data(relation_table(turned, score="suppression", dynamic=in_text())).set_index("task")
    assert frame.best.tolist() == [0.45, 0.15, 0.0]
    assert frame.r_without.tolist() == pytest.approx([1, 1, np.nan], nan_ok=True)
    assert "best suppression" in texts(turned, score="suppression")
    with pytest.raises(UnknownNameError, match=r"'supression'.*suppression"):
        relation_table(turned, score="supression")


def test_a_dynamic_check_of_other_scores_is_refused() -> None:
    for dynamic, message in (
        (in_text().assign(static=in_text().static + 0.1), "2 of 2"),
        (in_text().assign_coords(task=["a", "b"]), "0 of 2"),
        (by_hand(), r"dynamic=\)"),
        (in_text().isel(context=[0]), "with, without; got with"),
    ):
        with pytest.raises(DataError, match=message):
            relation_table(by_hand(), dynamic=dynamic)
    with pytest.raises(DataError, match="one relation"):
        relation_table(by_hand().isel(task=[]))
