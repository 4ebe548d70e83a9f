"""`hc.plan`: what follows from a shape, where every number can be had in another way."""

import itertools
from dataclasses import replace

import pytest
from counting import INPUTS, SUITE, counting_folder

import headcats as hc
from headcats.errors import DataError, OptionError, UnknownNameError
from headcats.models.shape import ModelShape, find_shape
from headcats.study import hardware
from headcats.study.hardware import find_hardware
from headcats.study.resources import UNPATCHED
from headcats.sweeps import flops

TWO = {"suite": ["country_capital", "country_language"], "n_prompts": 4}
SMALL = ModelShape(3, 4, 2, 32, 16, 64, 60, 3, name="small")


def part(planned, name):
    return planned.parts.set_index("part").loc[name]


def test_operations_are_those_of_sweeps_on_the_prompts():
    planned = hc.plan(SMALL, methods=["denoising_patch"], **TWO)
    assert planned.parts["part"].tolist() == [UNPATCHED, "denoising_patch@last"]
    assert (planned.n_tasks, planned.n_prompts, planned.tokens) == (2, 8, 23)
    sizes = {"prompts": 8, "length": 23}
    expected = flops.last_position(SMALL, **sizes, whole_vocabulary=False)
    expected += flops.fresh_rows(SMALL, **sizes, first=22)
    assert part(planned, "denoising_patch@last").sweep_flops == expected
    assert part(planned, UNPATCHED).forward_flops == 2 * flops.unpatched(
        SMALL, **sizes, whole_vocabulary=True
    ) + 3 * flops.forward(SMALL, **sizes, logits=1)
    assert planned.flops == expected + part(planned, UNPATCHED).forward_flops


def test_reference_prompts_are_run_once_and_donors_for_each_task():
    methods = ["mean_ablation", "mean_ablation@last", "mean_ablation:reference=task", "other_item_patch"]
    planned = hc.plan(SMALL, methods=methods, **TWO)
    one = flops.forward(SMALL, prompts=1, length=23, logits=1)
    forward = dict(zip(planned.parts["part"], planned.parts["forward_flops"] / one, strict=True))
    assert forward["mean_ablation@all"] == 2 * 100
    assert forward["mean_ablation@last"] == 0
    assert forward["mean_ablation:reference=task@all"] == 2 * 100
    assert forward["other_item_patch@last"] == 8


def test_more_prompts_than_the_sample_count_in_proportion():
    few, many = (hc.plan(SMALL, methods=["denoising_patch"], **TWO | {"n_prompts": n}) for n in (64, 640))
    assert many.n_prompts == 10 * few.n_prompts
    assert many.flops == pytest.approx(10 * few.flops)


def test_a_task_with_fewer_prompts_counts_with_those_it_has(tmp_path):
    prompts = [
        hc.PromptPair(f"{one} {two}", two, f"{one},{two} →", f"{two},{one} →", answer=" w40", distractor=" w41")
        for one, two in itertools.permutations(INPUTS[:10], 2)
    ]
    task = hc.Task("mine", "Other", "made up", lambda n, *, seed: prompts)
    study = {"suite": task, "methods": ["denoising_patch"], "tokenizer": counting_folder(tmp_path / "model")}
    few, all_there, many = (hc.plan(SMALL, n_prompts=n, **study) for n in (70, 90, 1000))
    assert (few.n_prompts, all_there.n_prompts, many.n_prompts) == (70, 90, 90)
    assert many.flops == all_there.flops
    assert many.storage == all_there.storage


def test_groups_of_heads_are_fewer():
    heads, groups = (
        part(hc.plan(SMALL, methods=[method], **TWO), f"{method}@last")
        for method in ("denoising_patch", "denoising_patch:unit=kv_group")
    )
    assert groups.sweep_flops == heads.sweep_flops / 2
    assert groups.storage < heads.storage


def test_a_metric_of_the_whole_vocabulary_reads_more():
    pair, whole = (hc.plan(SMALL, methods=["denoising_patch"], metrics=[m], **TWO) for m in ("logit_diff", "log_prob"))
    readout = 8 * 3 * 4 * 2 * 32 * (60 - 2)
    assert whole.flops - pair.flops == readout


def test_device_hours_follow_from_the_rate():
    planned = hc.plan("llama-3-8b", methods=["denoising_patch"], **TWO)
    rate = find_hardware("h100", "bfloat16").rate
    assert rate == pytest.approx(0.38 * 989e12)
    assert planned.device_hours * 3600 >= planned.flops / rate
    assert planned.hours == planned.device_hours
    twice = hc.plan("llama-3-8b", methods=["denoising_patch"], devices=2, **TWO)
    assert (twice.copies, twice.hours) == (2, planned.hours / 2)
    assert twice.device_hours == planned.device_hours
    assert planned.memory > planned.weights == 2 * find_shape("llama-3-8b").weights


def test_a_model_too_large_for_a_device_is_spread_and_its_devices_work_in_turn():
    planned = hc.plan("llama-3-70b", methods=["denoising_patch"], devices=4, **TWO)
    assert (planned.devices_per_copy, planned.copies) == (2, 2)
    assert planned.device_hours == pytest.approx(4 * planned.hours)
    assert planned.weights / 2 < planned.memory < 80e9
    with pytest.raises(OptionError, match="--devices 2"):
        hc.plan("llama-3-70b", methods=["denoising_patch"], **TWO)


def test_bad_input():
    wrong = [
        ({"hardware": "h10"}, UnknownNameError, "h100"),
        ({"devices": 0}, OptionError, "devices"),
        ({"dtype": "int4"}, UnknownNameError, "float16"),
        ({"methods": ["ov_relation"]}, OptionError, "ov_relation"),
        ({"methods": ["attribution_patch"]}, OptionError, "attribution_patch"),
        ({"n_prompts": 1}, OptionError, "n_prompts"),
        ({"n_prompts": "many"}, OptionError, "n_prompts"),
        ({"suite": "ioi"}, DataError, "--tokenizer"),
        ({"n_demo": 3}, TypeError, "n_demo"),
    ]
    for options, error, named in wrong:
        with pytest.raises(error, match=named):
            hc.plan(SMALL, **TWO | {"methods": ["denoising_patch"]} | options)


def test_a_folder_brings_its_tokenizer(tmp_path):
    folder = counting_folder(tmp_path / "model")
    planned = hc.plan(folder, suite=SUITE, n_prompts=4, n_demos=2, methods=["denoising_patch"])
    assert str(folder) in planned.written_by
    assert "bundled" in hc.plan(SMALL, methods=["denoising_patch"], **TWO).written_by


def test_a_measured_rate_is_that_of_a_slice(monkeypatch):
    ticks = iter(range(1000))
    planned = hc.plan(
        replace(SMALL, n_layers=9), hardware="measured", dtype="float32", methods=["denoising_patch"],
        clock=lambda: float(next(ticks)), **TWO,
    )  # fmt: skip
    small, sizes = replace(SMALL, n_layers=4), {"length": 23}
    operations = 0
    for prompts, first in ((64, 22), (16, 0)):
        operations += 2 * flops.unpatched(small, prompts=prompts, **sizes, whole_vocabulary=True)
        operations += flops.suffix(small, prompts=prompts, **sizes, first=first, whole_vocabulary=False)
        operations += flops.fresh_rows(small, prompts=prompts, **sizes, first=first)
        operations += flops.unread_queries(small, prompts=prompts, **sizes, first=first)
    assert planned.hardware.rate == operations / 2  # a second for each of two sweeps
    monkeypatch.setattr(hardware, "free_memory", lambda device: 1000)
    with pytest.raises(OptionError, match="hardware"):
        hc.plan(SMALL, hardware="measured", methods=["denoising_patch"], **TWO)


def test_the_slice_is_made_beside_the_gpu_that_it_is_measured_on(monkeypatch):
    """Four layers of 8192 take 14 GB in fp32 and 7 GB on the GPU, each twice while they are arranged."""

    class Made(Exception): ...

    def make(*shape, **options):
        raise Made

    free = {"cuda": 24e9, "cpu": 64e9}
    monkeypatch.setattr(hardware, "free_memory", lambda device: free[device.type])
    monkeypatch.setattr(hardware, "random_hooked_model", make)
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    large = {"shape": "llama-3-70b", "hardware": "measured", "methods": ["denoising_patch"]}
    with pytest.raises(Made):
        hc.plan(**large, **TWO)
    for place, too_few in {"cuda": 10e9, "cpu": 20e9}.items():
        with monkeypatch.context() as patched:
            patched.setitem(free, place, too_few)
            with pytest.raises(OptionError, match=f"of {place} memory"):
                hc.plan(**large, **TWO)
