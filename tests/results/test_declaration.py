"""What methods say of themselves: written with results and read from them."""

import pytest
import xarray as xr
from example_joint import WEIGHTS
from for_each import for_each

from headcats.base import registry
from headcats.results.declaration import Declaration, Strength, controls_of, declaration_of, registered


@for_each("name", registry.names("method"))
def test_every_method_survives_being_written_and_names_what_exists(name: str) -> None:
    about = registered(name)
    assert Declaration.from_text(about.as_text()) == about
    assert about.name == name == registry.lookup("method", name).name
    assert about.figure in ("", *registry.names("figure"))
    assert about.control_of in ("", *registry.names("method"))
    assert about.default_suite in ("", *registry.names("suite"))
    assert about.paper
    assert about.cost


def test_controls_belong_to_a_method():
    assert controls_of("denoising_patch") == {"task": "second_corruption_patch", "item": "other_item_patch"}
    assert controls_of("denoising_patch:unit=kv_group")["task"] == "second_corruption_patch:unit=kv_group"
    assert controls_of("mean_ablation") == {}


class TestOfABlock:
    def test_is_the_one_that_it_carries(self) -> None:
        about = Declaration(
            name="mine", kind="joint", strength=Strength("norm", "task", "category"), figure="norm_grid"
        )
        block = xr.Dataset(attrs={"method": "word_weights", "declaration": about.as_text()})
        assert declaration_of(block) == about

    @pytest.mark.usefixtures("joint_methods")
    def test_is_the_registered_one_where_it_carries_none(self) -> None:
        assert declaration_of(xr.Dataset(attrs={"method": "word_weights"})) == WEIGHTS
