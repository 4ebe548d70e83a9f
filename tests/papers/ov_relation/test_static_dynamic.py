"""Static against dynamic scores: a point per head and template, and the r of these points."""

import numpy as np
import pytest
import xarray as xr
from paper_tables import dynamic_of, scattered_dynamic

from headcats.base.errors import DataError, UnknownNameError
from headcats.figures import data
from headcats.papers.ov_relation.static_dynamic import static_dynamic

STATIC = np.array([[[0.0, 0.0], [0.5, 1.0]], [[0.2, 0.2], [0.2, 0.2]]])
DYNAMIC = np.stack([np.stack([STATIC / 2, STATIC / 2 + 0.1]), np.stack([STATIC, STATIC])])


def by_hand() -> xr.Dataset:
    """Two relations, the first of the second category; two templates."""
    return dynamic_of(STATIC, DYNAMIC, tasks=["capital", "copying"], belongs=["Knowledge", "Algorithmic"])


def points(dynamic: xr.Dataset, **options: str) -> list:
    return [trace for trace in static_dynamic(dynamic, **options).data if trace.name == "heads"]


def test_numbers_of_every_relation_template_and_head() -> None:
    frame = data(static_dynamic(by_hand(), context="with"))
    assert frame.shape == (2 * 2 * 4, 8)
    assert frame.task.unique().tolist() == ["copying", "capital"]  # by category
    one = frame[(frame.task == "capital") & (frame.name == "L1H0")]
    assert one.template.tolist() == ["<X> 0", "<X> 1"]
    assert one.static.tolist() == [0.5, 0.5]
    assert one.dynamic.tolist() == pytest.approx([0.25, 0.35])


def test_r_is_that_of_the_points_that_are_drawn() -> None:
    dynamic = scattered_dynamic(6, 8)
    for context in ("with", "without"):
        fig = static_dynamic(dynamic, context=context)
        for task, rows in data(fig).groupby("task"):
            r = np.corrcoef(rows.static, rows.dynamic)[0, 1]
            assert float(dynamic.pooled_r.sel(context=context, task=task)) == pytest.approx(r, abs=1e-9)
            assert f"r = {r:.2f}" in [note.text for note in fig.layout.annotations]
    constant = static_dynamic(by_hand()).layout.annotations
    assert any("not defined" in note.text for note in constant)


def test_heads_on_one_pixel_share_a_mark() -> None:
    copying, capital = points(by_hand())
    assert copying.marker.size.tolist() == pytest.approx([5 + 2.5 * np.log10(8)])
    assert copying.text.tolist() == ["L0H0, L0H1, L1H0, L1H1"]
    # L0H0 and L0H1 in both templates, then the two others.
    assert capital.text.tolist() == ["L0H0, L0H1", "L1H0", "L1H1"]
    assert capital.x.tolist() == pytest.approx([3, 53, 103])  # cells of .01, three before 0
    assert capital.y.tolist() == [0, 0.5, 1]
    assert points(scattered_dynamic(4, 5))[0].hovertemplate.startswith("<b>")
    many = points(by_hand().isel(head=[0] * 8).assign_coords(head=np.arange(8)))
    assert many[0].text[0].endswith("L0H5 and 10 more")


def test_missing_heads_are_left_out() -> None:
    gone = (by_hand()["layer"] == 1) & (by_hand()["head"] == 1)
    fewer = by_hand().assign({name: by_hand()[name].where(~gone) for name in ("score", "static")})
    assert "L1H1" not in set(data(static_dynamic(fewer)).name)


def test_suppression_and_other_words() -> None:
    frame = data(static_dynamic(by_hand(), score="suppression", context="without"))
    assert frame.static.max() == 0.5
    with pytest.raises(UnknownNameError, match=r"'scores'.*suppression"):
        static_dynamic(by_hand(), score="scores")
    with pytest.raises(DataError, match="one relation"):
        static_dynamic(by_hand().isel(task=[]))
    with pytest.raises(DataError, match="with, without"):
        static_dynamic(by_hand().isel(context=[1]))
