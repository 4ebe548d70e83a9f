"""A page about groups of heads that share keys and values."""

import json
import re
import warnings
import zlib
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest
from browser import Tab
from counting import counting_folder, counting_suite
from playwright.sync_api import Browser

import headcats as hc
from headcats.errors import HeadcatsWarning

GROUPS = "denoising_patch:unit=kv_group"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("groups")
    model = hc.load_model(counting_folder(home / "model"))
    methods = [GROUPS, "denoising_patch"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeadcatsWarning)
        hc.run(model, suite=counting_suite(), methods=methods, n_prompts=8, n_demos=2, out=home / "results")
    return home / "results"


def page_of(results: Path, path: Path, **options: Any) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeadcatsWarning)
        return hc.report(results, path, **options).read_text(encoding="utf-8")


def store(page: str) -> dict[str, Any]:
    packed = re.search(r'id="packed-heads">([^<]+)<', page)
    assert packed is not None
    return json.loads(zlib.decompress(b64decode(packed[1])))


def test_its_cells_are_groups(results: Path, tmp_path: Path) -> None:
    page = page_of(results, tmp_path / "groups.html", method=GROUPS)
    about = store(page)
    assert (about["letter"], about["per_layer"], about["grid"]) == ("G", [2, 2], [2, 2])
    assert about["kv_head"] is None
    # Descriptors are of heads: there are none here.
    assert [block["label"] for block in about["blocks"]] == [f"{GROUPS}@last"] * 2
    assert about["missing"] == []
    assert 'data-head="L0G0"' in page
    assert "L0H0</button>" not in page
    # Said once, before the first number.
    assert page.count("is group 0 of layer 1") == 1
    assert page.index("not a single head") < page.index('class="cards"')
    # Nothing is offered that takes single heads.
    assert "headcats evidence" not in page
    assert "headcats views" not in page
    assert "denoising_patch@last</code> is not among them" in page


def test_a_page_of_heads_leaves_groups_out(results: Path, tmp_path: Path) -> None:
    page = page_of(results, tmp_path / "heads.html")
    about = store(page)
    assert (about["letter"], about["per_layer"]) == ("H", [4, 4])
    labels = [block["label"] for block in about["blocks"]]
    assert labels[:2] == ["denoising_patch@last"] * 2
    assert "descriptors (nats)" in labels
    assert f"{GROUPS}@last" not in labels
    assert f"{GROUPS}@last</code> is not among them" in page
    assert "kv head" in page
    assert about["kv_head"] == [[0, 0, 1, 1]] * 2


@pytest.mark.ci
def test_the_panel_of_a_head_names_those_that_share_its_keys(results: Path, tmp_path: Path, browser: Browser) -> None:
    page_of(results, tmp_path / "heads.html")
    with Tab.on(browser, tmp_path / "heads.html", width=1440, address="#L1H3") as tab:
        lines = tab.page.inner_text("#head-body").split("\n")
        assert "Shares key-value head 1 with L1H2." in lines


@pytest.mark.ci
def test_a_page_of_groups_asks_for_groups(results: Path, tmp_path: Path, browser: Browser) -> None:
    page_of(results, tmp_path / "groups.html", method=GROUPS)
    with Tab.on(browser, tmp_path / "groups.html", width=1440) as tab:
        assert tab.page.inner_text("#find label").strip() == "Find a group, task or category"
        assert tab.page.get_attribute("#find-text", "placeholder").startswith("L0G0, ")
        tab.page.fill("#find-text", "L1G2")
        tab.page.keyboard.press("Enter")
        assert tab.page.inner_text("#find-said") == "There is no such group: layers 0 to 1, groups 0 to 1."
        tab.page.fill("#find-text", "L1H1")
        tab.page.keyboard.press("Enter")
        assert tab.page.inner_text("#find-said") == "Nothing has that name."
        tab.page.fill("#find-text", "L1G1")
        tab.page.keyboard.press("Enter")
        assert tab.page.inner_text("#head-name") == "L1G1"
        assert "key-value head" not in tab.page.inner_text("#head-body")
