"""`hc.plan`: what follows from a shape, where every number can be had in another way."""

import itertools

import pytest
from counting import INPUTS, SUITE, counting_folder
from same_registry import same_registry

import headcats as hc
from headcats.base.errors import DataError, OptionError, UnknownNameError
from headcats.base.registry import register
from headcats.scale import costs
from headcats.scale.costs import UNPATCHED
from headcats.scale.resources import TOGETHER, Hardware, find_hardware
from headcats.scale.shape import ModelShape, find_shape

TWO = {"suite": ["country_capital", "country_language"], "n_prompts": 4}
SMALL = ModelShape(3, 4, 2, 32, 16, 64, 60, 3, name="small")


def together(planned):
    return planned.parts.loc[TOGETHER]


def test_operations_are_those_of_sweeps_on_the_prompts():
    planned = hc.plan(SMALL, methods=["denoising_patch"], **TWO)
    assert planned.parts.index.tolist() == [UNPATCHED, "denoising_patch@last", TOGETHER]
    assert (planned.n_tasks, planned.n_prompts, planned.tokens) == (2, 8, 23)
    sizes = {"prompts": 8, "length": 23}
    swept = costs.swept(SMALL, **sizes, first=22, whole_vocabulary=False)
    swept += costs.bridge_extras(SMALL, **sizes, first=22)
    shared = 2 * costs.unpatched(SMALL, **sizes, whole_vocabulary=True) + 3 * costs.forward(SMALL, **sizes, logits=1)
    assert planned.parts["flops"].tolist() == [shared, swept, shared + swept]


def test_reference_prompts_are_run_once_and_donors_for_each_task():
    methods = ["mean_ablation@last", "mean_ablation:reference=task@last", "other_item_patch", "denoising_patch"]
    planned = hc.plan(SMALL, methods=[*methods, "mean_ablation@all", "zero_ablation@all"], **TWO)
    flops_of = planned.parts["flops"]
    one, sweep = costs.forward(SMALL, prompts=1, length=23, logits=1), flops_of["denoising_patch@last"]
    runs = {part: (total - sweep) / one for part, total in flops_of.items()}
    assert runs["mean_ablation@last"] == runs["mean_ablation:reference=task@last"] == 2 * 100
    assert runs["other_item_patch@last"] == 8
    assert flops_of["mean_ablation@all"] == flops_of["zero_ablation@all"]


def test_a_task_with_fewer_prompts_counts_with_those_it_has(tmp_path):
    prompts = [
        hc.PromptPair(f"{one} {two}", two, f"{one},{two} →", f"{two},{one} →", answer=" w40", distractor=" w41")
        for one, two in itertools.permutations(INPUTS[:10], 2)
    ]
    task = hc.Task("mine", "Other", "made up", lambda n, *, seed: prompts)
    study = {"suite": task, "methods": ["denoising_patch"], "tokenizer": counting_folder(tmp_path / "model")}
    few, many = (hc.plan(SMALL, n_prompts=n, **study) for n in (70, 1000))
    assert (few.n_prompts, many.n_prompts) == (70, 90)
    assert together(many).flops > together(few).flops


def test_groups_of_heads_are_fewer():
    heads, groups = (
        hc.plan(SMALL, methods=[method], **TWO).parts.loc[f"{method}@last"]
        for method in ("denoising_patch", "denoising_patch:unit=kv_group")
    )
    assert groups.flops == heads.flops / 2


def test_hours_follow_from_the_rate():
    planned = hc.plan("llama-3-8b", methods=["denoising_patch"], **TWO)
    rate = find_hardware("h100", "bfloat16", find_shape("llama-3-8b")).rate
    assert rate == pytest.approx(0.38 * 989e12)
    assert together(planned).hours * 3600 == pytest.approx(together(planned).flops / rate)
    twice = hc.plan("llama-3-8b", methods=["denoising_patch"], devices=2, **TWO)
    assert twice.copies == 2
    assert together(twice).hours == pytest.approx(together(planned).hours / 2)
    assert together(planned).memory > planned.weights == 2 * find_shape("llama-3-8b").weights
    own = Hardware("mine", 10**12, rate / 2, "measured by me")
    slow = hc.plan("llama-3-8b", methods=["denoising_patch"], hardware=own, **TWO)
    assert together(slow).hours == pytest.approx(2 * together(planned).hours)


def test_a_model_too_large_for_a_device_is_spread_and_its_devices_work_in_turn():
    planned = hc.plan("llama-3-70b", methods=["denoising_patch"], devices=4, **TWO)
    assert (planned.devices_per_copy, planned.copies) == (2, 2)
    rate = find_hardware("h100", "bfloat16", find_shape("llama-3-8b")).rate
    assert together(planned).hours * 3600 * 2 == pytest.approx(together(planned).flops / rate)
    assert planned.weights / 2 < together(planned).memory < 80e9
    with pytest.raises(OptionError, match="--devices 2"):
        hc.plan("llama-3-70b", methods=["denoising_patch"], **TWO)


@pytest.mark.usefixtures("unchecked_types", "joint_methods")
def test_bad_input(counting_model):
    wrong = [
        ({"hardware": "h10"}, UnknownNameError, "h100"),
        ({"devices": 0}, OptionError, "devices"),
        ({"dtype": "int4"}, UnknownNameError, "float16"),
        ({"methods": ["word_weights"]}, OptionError, "word_weights"),
        ({"n_prompts": 1}, OptionError, "n_prompts"),
        ({"n_prompts": "many"}, OptionError, "n_prompts"),
        ({"n_demo": 3}, TypeError, "n_demo"),
    ]
    for options, error, named in wrong:
        with pytest.raises(error, match=named):
            hc.plan(SMALL, **TWO | {"methods": ["denoising_patch"]} | options)
    with pytest.raises(OptionError, match="headcats validate"):
        hc.plan(counting_model, **TWO)


def test_a_suite_for_models_of_the_hub_needs_a_tokenizer():
    with same_registry():
        register("suite", "of_hub", lambda: hc.make_suite(TWO["suite"], name="of_hub", defaults={"model": "gpt2"}))
        with pytest.raises(DataError, match="--tokenizer"):
            hc.plan(SMALL, suite="of_hub", n_prompts=4, methods=["denoising_patch"])


def test_a_folder_brings_its_tokenizer(tmp_path):
    folder = counting_folder(tmp_path / "model")
    planned = hc.plan(folder, suite=SUITE, n_prompts=4, n_demos=2, methods=["denoising_patch"])
    assert str(folder) in planned.written_by
    assert "bundled" in hc.plan(SMALL, methods=["denoising_patch"], **TWO).written_by


def test_this_machine_is_measured_at_the_shape_of_the_model():
    here = hc.plan(SMALL, methods=["denoising_patch"], hardware="here", dtype="float32", **TWO)
    assert here.hardware.rate > 1e6
    assert here.hardware.memory > 1e8
    row = together(here)
    assert row.hours == pytest.approx(row.flops / here.hardware.rate / 3600)
