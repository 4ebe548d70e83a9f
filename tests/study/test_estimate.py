"""A part of a study's work, from which memory and time of the whole are told."""

import re
from typing import Any

import pytest

import headcats as hc
from headcats.models.adapter import HookedModel
from headcats.study.estimate import rehearse
from headcats.study.plan import plan
from headcats.study.preparation import Preparation
from headcats.study.validation import validate
from headcats.sweeps.free_memory import peak_bytes

METHODS = ["denoising_patch", "mean_ablation", "denoising_patch:unit=kv_group", "attribution_patch"]
OPTIONS = {"n_prompts": 12, "n_demos": 2}


def prepared(model: HookedModel, methods: list[str] = METHODS) -> Preparation:
    study = plan(suite="counting", methods=methods, **OPTIONS)
    return Preparation(model, study)


@pytest.mark.slow
@pytest.mark.parametrize(("path", "memory"), [("auto", "2MB"), ("hooked", None)])
def test_the_memory_that_it_tells_is_what_a_run_takes(model: HookedModel, path: str, memory: str | None) -> None:
    told = rehearse(prepared(model, METHODS[:3]), "always_a", limit=memory, path=path).peak
    options = OPTIONS | {"methods": METHODS[:3], "tasks": ["always_a"], "progress": False}
    used = peak_bytes(lambda: hc.run(model, suite="counting", path=path, memory=memory, **options))
    assert 0.8 * told <= used <= 1.2 * told


def test_validate_tells_both(model: HookedModel, options: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "headcats"):
        validate(model, **options | {"methods": METHODS, "tasks": ["always_a"]})
    (memory,) = [line for line in caplog.messages if line.startswith("Memory: ")]
    assert re.search(r"about \d.* sweeps .*\d", memory)
    assert any(re.match(r"Time: .*\bdenoising_patch@last, mean_ablation@all", line) for line in caplog.messages)
