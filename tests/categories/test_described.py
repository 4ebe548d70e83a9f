"""What heads do, beside their categories."""

import numpy as np
import pytest
import xarray as xr

from headcats.categories.described import with_descriptors

GRID = ("layer", "head")


@pytest.fixture
def descriptors() -> xr.Dataset:
    of_tasks = np.arange(12.0).reshape(3, 2, 2)
    return xr.Dataset(
        {"entropy": (GRID, np.ones((2, 2))), "direct_logit": (("task", *GRID), of_tasks)},
        coords={"task": ["a", "b", "c"], "category": ("task", ["x", "y", "x"]), "layer": [0, 1], "head": [0, 1]},
    )


def members(**attrs: str) -> xr.Dataset:
    coords = {"category": ["y", "x", "z"], "layer": [0, 1], "head": [0, 1]}
    return xr.Dataset({"member": (("category", *GRID), np.zeros((3, 2, 2)))}, coords=coords, attrs=attrs)


def test_direct_logits_are_means_over_the_tasks_of_a_category(descriptors: xr.Dataset) -> None:
    described = with_descriptors(members(), descriptors)
    assert described.entropy.dims == GRID
    assert described.direct_logit.sel(category="x").values.tolist() == [[4.0, 5.0], [6.0, 7.0]]
    assert described.direct_logit.sel(category="y").values.tolist() == [[4.0, 5.0], [6.0, 7.0]]
    assert described.direct_logit.sel(category="z").isnull().all()


def test_groups_of_heads_have_none(descriptors: xr.Dataset) -> None:
    groups = members(unit="kv_group")
    assert with_descriptors(groups, descriptors) is groups
