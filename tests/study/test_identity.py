"""What a folder says of itself, and what counts as another plan."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from counting import SUITE

from headcats.base.errors import PlanError
from headcats.results.manifest import Manifest
from headcats.results.records import ModelRecord
from headcats.study.identity import check_same_plan, conditions, fingerprint, model_record, new_manifest, versions
from headcats.study.plan import plan


def study(**options):
    return plan(**({"suite": SUITE, "n_prompts": 8, "n_demos": 2} | options))


def test_the_model_is_described_by_what_its_numbers_depend_on(model, model_folder):
    assert model_record(model) == ModelRecord(
        name=model_folder.name,
        revision=None,
        weights_hash=model.weights_hash(),
        model_class="TransformerBridge",
        weight_processing="none",
        dtype="float32",
        device="cpu",
        layers=(0, 1),
        heads=(4, 4),
        source=str(model_folder),
        n_layers=2,
        d_model=model.d_model,
        parallel_attn_mlp=False,
    )


def test_a_new_manifest_is_json_and_complete(model):
    manifest = new_manifest(model, study())
    assert Manifest.from_json(manifest.to_json()) == manifest
    assert manifest.plan == study().record()
    assert [category.name for category in manifest.categories] == ["Knowledge", "Linguistic", "Algorithmic"]
    assert manifest.versions == conditions()
    assert manifest.versions.items() > versions().items()
    assert manifest.versions["threads"] == str(torch.get_num_threads())
    assert manifest.created.endswith("+00:00")


def test_every_part_of_another_plan_is_named(model):
    changes = {
        "seed": (0, 1), "n_prompts": (8, 9), "n_demos": (2, 3), "template": ("arrow", "question"),
        "corruption": ("other_task", "shuffled_labels"), "answers": ("whole", "single"),
        "metrics": (["logit_diff"], ["prob"]),
    }  # fmt: skip
    stored = new_manifest(model, study())
    for name, (there, now) in changes.items():
        differs = re.escape(f"{name}: {there!r} there, {now!r} now")
        with pytest.raises(PlanError, match=rf"results/x.*{differs}.*--out"):
            check_same_plan(stored, model, study(**{name: now}), folder=Path("results/x"))
    with pytest.raises(PlanError, match="suite: 'counting' there, 'icl' now"):
        check_same_plan(stored, model, study(suite="icl"), folder=Path("x"))
    with pytest.raises(PlanError, match=r"n_prompts: .*; seed: "):
        check_same_plan(stored, model, study(seed=1, n_prompts=9), folder=Path("x"))


def test_another_model_is_another_plan(model):
    for name in ("weights_hash", "model_class", "weight_processing", "dtype"):
        stored = new_manifest(model, study())
        stored.model = replace(stored.model, **{name: "other"})
        with pytest.raises(PlanError, match=f"model {name}: 'other'"):
            check_same_plan(stored, model, study(), folder=Path("x"))


def test_the_fingerprint_of_a_block_sees_all_its_parts():
    parts = [["a"], ["b"], "c@last", ("d",)]
    changes = [["x"], [], "c@all", ("d", "e")]
    changed = [fingerprint(*parts[:place], change, *parts[place + 1 :]) for place, change in enumerate(changes)]
    assert fingerprint(*parts) == fingerprint(*parts)
    assert len({fingerprint(*parts), *changed}) == 5
