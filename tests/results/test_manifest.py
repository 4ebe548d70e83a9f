"""The typed manifest: folders of every version open, round trips lose nothing, damage is named."""

import json
import re
from pathlib import Path

import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import headcats as hc
from headcats.errors import DataError, StorageError
from headcats.results.manifest import FORMAT, Manifest
from headcats.results.records import (
    BlockRecord,
    CategoryRecord,
    DropCounts,
    JointRecord,
    ModelRecord,
    PlanRecord,
    TaskRecord,
)
from headcats.results.run_results import RunResults

# Written by the code of commit 2f66930, before the manifest had types.
OLD = [Path(__file__).parent / name for name in ("old_tasks.json", "old_joint.json")]
PARTS = ["format", "plan", "model", "categories", "methods", "tasks", "blocks", "checks"]


def full_manifest():
    counts = DropCounts(7, {"too long": 1}, {"too long": "→"})
    task = TaskRecord(
        "Knowledge", "made up", counts, counts, counts, "", 0.9, 0.1, "prob", 1.5, 1.0, 2.0, 7, rows=counts
    )
    return Manifest(
        plan=PlanRecord("icl", ("logit_diff", "prob"), 8, 5, "arrow", "other_task", 0, 0.25),
        suite_source="/mine.py:tasks",
        model=ModelRecord("m", "abc", "h", "TransformerBridge", "none", "float32", "cpu", (0, 2), (3, 3)),
        categories=(CategoryRecord("Knowledge", "#ff7f0e"),),
        methods=("denoising_patch@last", "ov_relation"),
        requested=("a", "b"),
        tasks={"a": task},
        blocks={"a": {"denoising_patch@last": BlockRecord("f", "hooked", provenance={"base": "clean"}, dropped=2)}},
        joint_blocks={
            "ov_relation": JointRecord(
                {"a": BlockRecord("g", seconds=0.5), "b": BlockRecord("k", refusal="few pairs")}, {"a": "K"}
            )
        },
        checks={"a": {"hooks": {"floor": 0.5}}, "model": {"train_mode": False}},
        versions={"headcats": "0.1.0"},
        git_commit="c",
        created="2026-01-01T00:00:00+00:00",
    )


@pytest.mark.parametrize("path", OLD, ids=lambda path: path.stem)
def test_manifests_of_version_0_1_come_back_as_they_were(path):
    stored, again = json.loads(path.read_text(encoding="utf-8")), json.loads(Manifest.read(path).to_json())
    # What those versions did not have: they skipped tasks below an accuracy of .5, scored answers of one token, and
    # knew registered suites alone.
    assert (again["plan"].pop("min_accuracy"), again["plan"].pop("answers")) == (0.5, "single")
    assert again["plan"].pop("min_logit_diff") is None
    assert [again["model"].pop(name) for name in ("source", "loader", "tokenizer")] == ["", {}, ""]
    assert again.pop("distractors") == {}
    assert again.pop("suite_source") == stored["plan"]["suite"]
    assert {again["model"].pop(name) for name in ("n_layers", "d_model", "parallel_attn_mlp")} == {None}
    assert again == stored


def test_an_old_manifest_in_types():
    manifest = Manifest.read(OLD[0])
    assert manifest.plan == PlanRecord("counting", ("logit_diff",), 8, 2, "arrow", "other_task", 0)
    assert (manifest.model.layers, manifest.model.heads, manifest.model.dtype) == ((0, 1), (4, 4), "float32")
    assert manifest.requested == ("always_a", "shifted")
    assert list(manifest.skipped()) == ["shifted"]
    assert manifest.tasks["always_a"].word_pairs.kept == 24
    assert len(manifest.tasks["always_a"].prompt_hash) == 1
    block = manifest.blocks["always_a"]["attribution_patch@last"]
    assert (block.path, block.approximation, block.self_check) == ("gradient", "first order", "")
    assert block.provenance["sign"].startswith("positive")
    assert manifest.joint_blocks == {}


def test_joint_methods_of_an_old_manifest():
    manifest = Manifest.read(OLD[1])
    assert manifest.blocks == {}
    record = manifest.joint_blocks["ov_relation"]
    assert list(record.parts) == ["next_letter", "country_capital", "plural"]
    assert list(record.skipped()) == ["next_letter"]
    assert record.parts["plural"].seconds == 0.001
    assert record.tasks["plural"] == "Linguistic"


@pytest.mark.parametrize(
    ("key", "field"),
    [("asked", "requested"), ("versions", "versions"), ("git_commit", "git_commit"), ("created", "created")],
)
def test_what_came_later_has_a_default(tmp_path, key, field):
    stored = json.loads(full_manifest().to_json())
    del stored[key]
    (tmp_path / "manifest.json").write_text(json.dumps(stored), encoding="utf-8")
    assert getattr(Manifest.read(tmp_path / "manifest.json"), field) == getattr(Manifest(), field)


@pytest.mark.parametrize(
    ("stored", "source"),
    [
        ({}, "icl"),
        ({"suite_source": "", "suite_mark": ""}, "icl"),
        ({"suite_source": "", "suite_mark": "m"}, ""),
        ({"suite_source": "f.py:x", "suite_mark": ""}, "f.py:x"),
        ({"suite_source": ""}, ""),
    ],
)
def test_where_earlier_versions_found_the_suite(stored, source):
    assert Manifest.from_json(json.dumps({"plan": {"suite": "icl"}} | stored)).suite_source == source


def test_a_round_trip_loses_nothing():
    assert Manifest.from_json(full_manifest().to_json()) == full_manifest()
    assert Manifest.from_json(full_manifest().to_json(indent=1)) == full_manifest()
    assert Manifest.from_json("{}") == Manifest()


values = st.one_of(st.integers(), st.text(), st.booleans(), st.none(), st.lists(st.integers()))


@given(st.dictionaries(st.text(), values), st.text(), st.integers(0, 5))
def test_all_that_a_method_says_of_its_numbers_is_kept(provenance, fingerprint, dropped):
    stored = {"fingerprint": fingerprint, **{f"my {key}": value for key, value in provenance.items()}}
    record = BlockRecord.from_dict(stored | ({"dropped": dropped} if dropped else {}))
    assert record.dropped == dropped
    assert BlockRecord.from_dict(json.loads(json.dumps(record.to_dict()))) == record
    assert set(stored) <= set(record.to_dict())


def test_keys_of_a_later_version_are_left_out():
    assert PlanRecord.from_dict({"seed": 3, "later": 1}) == PlanRecord(seed=3)


@pytest.mark.parametrize("part", PARTS)
def test_a_damaged_manifest_names_what_it_lacks(tmp_path, part):
    stored = json.loads(full_manifest().to_json())
    del stored[part]
    (tmp_path / "manifest.json").write_text(json.dumps(stored), encoding="utf-8")
    with pytest.raises(StorageError, match=rf"lacks {part}\."):
        Manifest.read(tmp_path / "manifest.json")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "cannot be read"),
        (b"{", "cannot be read"),
        (b"\xff\xfe", "cannot be read"),
        (b"[]", "damaged.* list"),
        (b"{}", "lacks format, plan, model"),
        (b'{"format": 1, "plan": {}}', "lacks model, categories"),
        (b'{"format": 0}', "format 0"),
        (b'{"format": "x"}', "format 'x'"),
    ],
)
def test_a_file_that_is_no_manifest(tmp_path, content, problem):
    (tmp_path / "manifest.json").write_bytes(content)
    with pytest.raises(StorageError, match=problem) as error:
        Manifest.read(tmp_path / "manifest.json")
    assert "manifest.json" in str(error.value)


@pytest.mark.parametrize("part", ["plan", "model", "tasks", "blocks", "categories"])
@pytest.mark.parametrize("wrong", [3, ["x"]])
def test_a_part_of_another_kind_is_damage(part, wrong):
    with pytest.raises(StorageError, match="damaged"):
        Manifest.from_json(json.dumps({part: wrong}))


def test_a_newer_format_is_refused_as_newer():
    with pytest.raises(StorageError, match=r"newer version.*: install") as error:
        Manifest.from_json(json.dumps({"format": FORMAT + 1}))
    assert f"format {FORMAT + 1}" in str(error.value)


def test_results_without_manifest():
    tree = xr.DataTree()
    assert RunResults(tree).manifest_or_empty == Manifest()
    with pytest.raises(DataError, match="no manifest"):
        _ = RunResults(tree).manifest
    tree.attrs["manifest"] = full_manifest().to_json()
    assert RunResults(tree).manifest_or_empty == RunResults(tree).manifest == full_manifest()


# ------------------------------------------------------------------------------------------------ what it answers
def test_tasks_that_are_skipped_and_tasks_to_come():
    manifest = Manifest(requested=("a", "b", "c"), tasks={"a": TaskRecord(), "b": TaskRecord(refusal="too hard")})
    assert manifest.skipped() == {"b": "too hard"}
    assert manifest.unfinished() == ["c"]


def test_extending_keeps_the_order_and_the_colours():
    manifest = full_manifest()
    manifest.extend(
        methods=["ov_relation", "zero_ablation@all"],
        requested=["c", "a"],
        categories=[CategoryRecord("Knowledge", "#000000"), CategoryRecord("New", "#111111")],
    )
    assert manifest.methods == ("denoising_patch@last", "ov_relation", "zero_ablation@all")
    assert manifest.requested == ("a", "b", "c")
    assert manifest.categories == (CategoryRecord("Knowledge", "#ff7f0e"), CategoryRecord("New", "#111111"))


def test_differences_name_the_field_and_both_values():
    first, second = PlanRecord("icl", ("prob",), seed=0), PlanRecord("icl", ("kl",), seed=1)
    assert first.differences(second) == {"metrics": (["prob"], ["kl"]), "seed": (0, 1)}
    model = ModelRecord("a", weights_hash="h", device="cpu")
    assert model.identity_differences(ModelRecord("b", weights_hash="h", device="cuda")) == {}
    assert model.identity_differences(ModelRecord("a", weights_hash="x")) == {"weights_hash": ("h", "x")}


def test_joining_two_folders():
    first, second = full_manifest(), full_manifest()
    second.tasks = {"a": TaskRecord("other"), "b": TaskRecord("Knowledge")}
    second.blocks = {"a": {"new@last": BlockRecord("n")}, "b": {"new@last": BlockRecord("m")}}
    second.joint_blocks = {"ov_relation": JointRecord({"c": BlockRecord("c")}, {"c": "K"}), "other": JointRecord()}
    first.join(second)
    assert first.tasks["a"].category == "Knowledge", "the first record"
    assert list(first.tasks) == ["a", "b"]
    assert {task: list(labels) for task, labels in first.blocks.items()} == {
        "a": ["denoising_patch@last", "new@last"],
        "b": ["new@last"],
    }
    assert list(first.joint_blocks["ov_relation"].parts) == ["a", "b", "c"]
    assert first.joint_blocks["ov_relation"].tasks == {"a": "K", "c": "K"}
    assert "other" in first.joint_blocks


def test_no_other_module_looks_into_a_manifest_by_name():
    look_up = re.compile(r"""manifest(\[|\.get\()|attrs(\["manifest"\]|\.get\("manifest")""")
    files = [path for path in Path(hc.__file__).parent.rglob("*.py") if path.parent.name != "results"]
    assert [path.name for path in files if look_up.search(path.read_text(encoding="utf-8"))] == []
