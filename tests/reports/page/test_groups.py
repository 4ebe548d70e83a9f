"""A page about groups of heads that share keys and values."""

import warnings
from pathlib import Path

import pytest
from counting import counting_suite
from reports.page.read_pages import described, written

import headcats as hc
from headcats.base.errors import HeadcatsWarning
from headcats.models.adapter import HookedModel

GROUPS = "denoising_patch:unit=kv_group"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory, counting_model: HookedModel) -> Path:
    home = tmp_path_factory.mktemp("groups")
    methods = [GROUPS, "denoising_patch"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeadcatsWarning)
        hc.run(counting_model, suite=counting_suite(), methods=methods, n_prompts=8, n_demos=2, out=home / "results")
    return home / "results"


def test_its_cells_are_groups(results: Path, tmp_path: Path) -> None:
    page = written(results, tmp_path / "groups.html", method=GROUPS)
    about = described(page)
    assert (about["letter"], about["per_layer"], about["grid"]) == ("G", [2, 2], [2, 2])
    assert about["kv_head"] is None
    # Descriptors are of heads: there are none here.
    assert [block["label"] for block in about["blocks"]] == [f"{GROUPS}@last"] * 2
    assert about["missing"] == []
    assert 'data-head="L0G0"' in page
    assert "L0H0</button>" not in page
    # Said once, before the first number.
    assert page.count("group 0 of layer 1") == 1
    assert page.index("a single head") < page.index('class="cards"')
    # Nothing is offered that takes single heads.
    assert "headcats evidence" not in page
    assert "denoising_patch@last</code> is not" in page


def test_a_page_of_heads_leaves_groups_out(results: Path, tmp_path: Path) -> None:
    page = written(results, tmp_path / "heads.html")
    about = described(page)
    assert (about["letter"], about["per_layer"]) == ("H", [4, 4])
    labels = [block["label"] for block in about["blocks"]]
    assert labels[:2] == ["denoising_patch@last"] * 2
    assert "descriptors (nats)" in labels
    assert f"{GROUPS}@last" not in labels
    assert f"{GROUPS}@last</code> is not" in page
    assert "group 0 of layer 1" not in page
    assert "kv head" in page
    assert about["kv_head"] == [[0, 0, 1, 1]] * 2


def test_the_panel_of_a_head_names_those_that_share_its_keys(results: Path, tmp_path: Path, opened) -> None:
    written(results, tmp_path / "heads.html")
    with opened(tmp_path / "heads.html", address="#L1H3") as tab:
        lines = tab.page.inner_text("#head-body").split("\n")
        assert [line.split()[-1] for line in lines if line.startswith("Shares ")] == ["L1H2."]
