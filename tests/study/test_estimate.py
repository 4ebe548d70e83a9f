"""What a run says about memory beforehand and about paths afterwards."""

import logging
import re
from typing import Any

import pytest

import headcats as hc
from headcats.base.errors import OptionError
from headcats.results.manifest import Manifest
from headcats.results.records import BlockRecord
from headcats.study.assessment import memory_plan
from headcats.study.plan import plan
from headcats.study.preparation import Preparation
from headcats.study.runner import other_paths, paths_used


@pytest.fixture(scope="module")
def options(options: dict[str, Any]) -> dict[str, Any]:
    return options | {"tasks": ["always_a"], "methods": ["denoising_patch"]}


def estimate(model: Any, methods: list[str], **options: Any) -> Any:
    study = plan(suite="counting", methods=methods, n_prompts=8, n_demos=2)
    return memory_plan(model, study, Preparation(model, study), **({"limit": None} | options))


def test_the_method_that_needs_most_decides(model: Any) -> None:
    last, everywhere = (estimate(model, methods) for methods in (["denoising_patch"], ["denoising_patch@all"]))
    both = estimate(model, ["denoising_patch", "denoising_patch@all"])
    assert 0 < last.peak < everywhere.peak == both.peak
    assert estimate(model, ["denoising_patch"], path="hooked").peak > last.peak
    assert estimate(model, ["second_corruption_patch@all"]).peak >= estimate(model, ["denoising_patch@all"]).peak


def test_a_limit_that_nothing_fits_into_is_refused_before_anything_is_scored(
    model: Any, options: dict[str, Any], tmp_path: Any
) -> None:
    for limit, named in ((1000, r"needs .* limit is 1 kB"), ("much", "bytes")):
        with pytest.raises(OptionError, match=named):
            hc.run(model, memory=limit, out=tmp_path / "never", **options)
    assert not (tmp_path / "never").exists()


def test_a_run_says_what_it_needs_and_which_path_ran(
    model: Any, options: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "headcats"):
        results = hc.run(model, memory="1GB", **options | {"methods": ["denoising_patch", "zero_ablation"]})
    text = "\n".join(record.getMessage() for record in caplog.records)
    assert "Memory: at most" in text
    assert "limit 1.0 GB" in text
    for label, name in (("denoising_patch@last", "last_position"), ("zero_ablation@all", "suffix")):
        assert f"{label}: 1 task by path '{name}'; self-check " in text
        assert results["always_a"][label].attrs["path"] == name


def test_paths_are_counted_per_method() -> None:
    fast, slow, skipped = BlockRecord(path="suffix", self_check="passed"), BlockRecord(path="hooked"), BlockRecord()
    manifest = Manifest(blocks={"a": {"m@all": fast}, "b": {"m@all": fast, "n@last": slow}, "c": {"m@all": skipped}})
    lines = paths_used(manifest, ["m@all", "n@last"])
    assert [re.findall(r"^\S+: \d+ tasks?\b|'\w+'|self-check \w+", line) for line in lines] == [
        ["m@all: 2 tasks", "'suffix'", "self-check passed"],
        ["n@last: 1 task", "'hooked'"],
    ]
    told = paths_used(manifest, ["m@all", "n@last"], before={("a", "m@all"), ("b", "n@last")})
    assert [line.partition(" by")[0] for line in told] == ["m@all: 1 task"]


def test_a_finished_run_that_is_repeated_tells_of_no_self_check_and_of_a_path_in_vain(
    model: Any, options: dict[str, Any], tmp_path: Any, caplog: pytest.LogCaptureFixture
) -> None:
    told = []
    for path in ("auto", "auto", "hooked"):
        caplog.clear()
        with caplog.at_level(logging.INFO, logger="headcats"):
            hc.run(model, out=tmp_path, path=path, **options)
        told.append([line.partition(":")[0] for line in caplog.messages if " by path " in line])
    assert told == [["denoising_patch@last"], [], []]
    (line,) = [line for line in caplog.messages if "did nothing" in line]
    assert line.startswith("path='hooked'")
    assert "denoising_patch@last" in line
    records = {"m@all": BlockRecord(path="suffix"), "n@last": BlockRecord(path="hooked"), "o@all": BlockRecord()}
    assert other_paths(Manifest(blocks={"a": records}), ["m@all", "n@last", "o@all"], "hooked") == ["m@all"]
