"""The typed manifest: round trips lose nothing, damage and other formats are named."""

import json
import re

import pytest
from for_each import for_each
from hypothesis import given
from hypothesis import strategies as st

from headcats.base.errors import DamagedFileError, StorageError
from headcats.results.file_format import FORMAT, json_with_checksum
from headcats.results.manifest import Manifest
from headcats.results.records import (
    BlockRecord,
    CategoryRecord,
    DropCounts,
    MethodRecord,
    ModelRecord,
    PlanRecord,
    TaskRecord,
)


def full_manifest():
    counts = DropCounts(7, {"too long": 1}, {"too long": "→"})
    task = TaskRecord(
        "Knowledge", "made up", counts, counts, counts, "", "", 0.9, 0.1, "prob", 1.5, 1.0, 2.0, 7, rows=counts
    )
    return Manifest(
        plan=PlanRecord(suite="icl", metrics=("logit_diff", "prob"), n_prompts=8, template="arrow", min_accuracy=0.25),
        suite_source="/mine.py:tasks",
        model=ModelRecord("m", "abc", "h", "TransformerBridge", "none", "float32", "cpu", (0, 2), (3, 3)),
        categories=(CategoryRecord("Knowledge", "#ff7f0e"),),
        methods=("denoising_patch@last", "ov_relation"),
        requested=("a", "b"),
        tasks={"a": task},
        blocks={
            "denoising_patch@last": MethodRecord(
                {"a": BlockRecord("f", "hooked", provenance={"base": "clean"}, dropped=2)}
            ),
            "ov_relation": MethodRecord(
                {"a": BlockRecord("g", seconds=0.5), "b": BlockRecord("k", refusal="few pairs")}, {"a": "Knowledge"}
            ),
        },
        checks={"a": {"hooks": {"floor": 0.5}}, "model": {"train_mode": False}},
        versions={"headcats": "0.1.0"},
        created="2026-01-01T00:00:00+00:00",
    )


def written(path, stored):
    """A manifest file with this content, with its checksum."""
    path.write_bytes(json_with_checksum(json.dumps(stored)))
    return path


def test_a_round_trip_loses_nothing():
    assert Manifest.from_json(full_manifest().to_json()) == full_manifest()
    assert Manifest.from_json("{}") == Manifest()


values = st.one_of(st.integers(), st.text(), st.booleans(), st.none(), st.lists(st.integers()))


@given(st.dictionaries(st.text(), values), st.text(), st.integers(0, 5))
def test_all_that_a_method_says_of_its_numbers_is_kept(provenance, fingerprint, dropped):
    stored = {"fingerprint": fingerprint, **{f"my {key}": value for key, value in provenance.items()}}
    record = BlockRecord.from_dict(stored | ({"dropped": dropped} if dropped else {}))
    assert record.dropped == dropped
    assert BlockRecord.from_dict(json.loads(json.dumps(record.to_dict()))) == record
    assert set(stored) <= set(record.to_dict())


@for_each("part", json.loads(Manifest().to_json()))
def test_a_damaged_manifest_names_what_it_lacks(tmp_path, part):
    stored = json.loads(full_manifest().to_json())
    del stored[part]
    path = written(tmp_path / "manifest.json", stored)
    with pytest.raises(DamagedFileError, match=rf"lacks {part}\."):
        Manifest.read(path)


@for_each(
    "content,problem",
    [
        (b"", "lacks its checksum"),
        (b"[" * 100_000, "lacks its checksum"),
        (b"\xff\xfe", "no UTF-8"),
        (json_with_checksum("{3}"), "it is no JSON"),
        (json_with_checksum('{"x": ' + "[" * 100_000 + "}"), "it is no JSON"),
        (json_with_checksum('{"format": true}'), "format is True"),
        (json_with_checksum('{"format": "x"}'), "format is 'x'"),
    ],
)
def test_a_file_that_is_no_manifest(tmp_path, content, problem):
    (tmp_path / "manifest.json").write_bytes(content)
    with pytest.raises(DamagedFileError, match=rf"manifest\.json .*{problem}.* `headcats run`"):
        Manifest.read(tmp_path / "manifest.json")


MISFITS = [
    (("plan", "n_prompts"), "many", "plan.n_prompts must be a whole number; got 'many'"),
    (("plan", "metrics"), "prob", "plan.metrics must be a list; got 'prob'"),
    (("plan", "metrics", 0), None, "plan.metrics[0] must be text; got None"),
    (("plan", "answers"), "some", "plan.answers must be one of 'whole', 'first_token', 'single'; got 'some'"),
    (("model", "heads", 1), 2.5, "model.heads[1] must be a whole number; got 2.5"),
    (("model", "parallel_attn_mlp"), 0, "model.parallel_attn_mlp must be true or false; got 0"),
    (("categories", 0), {"name": "Knowledge"}, "categories[0] lacks colour"),
    (("tasks", "a"), [], "tasks.a must be an object; got []"),
    (("tasks", "a", "gap"), 10**400, "tasks.a.gap must be a number; got 1000"),
    (("tasks", "a", "prompts", "dropped", "too long"), "1", "tasks.a.prompts.dropped.too long must be a whole number"),
    (("blocks", "ov_relation", "parts"), 1, "blocks.ov_relation.parts must be an object; got 1"),
    (("versions", "headcats"), 1, "versions.headcats must be text; got 1"),
]


@for_each("place,value,problem", MISFITS)
def test_a_field_of_another_type_is_named_by_its_path(tmp_path, place, value, problem):
    stored = json.loads(full_manifest().to_json())
    entry = stored
    for key in place[:-1]:
        entry = entry[key]
    entry[place[-1]] = value
    with pytest.raises(DamagedFileError, match=re.escape(problem)):
        Manifest.read(written(tmp_path / "manifest.json", stored))


CONTRADICTIONS = [
    (lambda stored: stored["categories"].append(stored["categories"][0]), "categories lists Knowledge twice"),
    (lambda stored: stored.update(beside=["../suite.json"]), "beside names '../suite.json'"),
    (lambda stored: stored["tasks"]["a"].update(category="K"), "tasks.a.category is 'K'"),
    (lambda stored: stored["blocks"]["denoising_patch@last"]["parts"].update(b={}), "names the task 'b'"),
    (lambda stored: stored["blocks"]["ov_relation"]["tasks"].update(a="K"), "ov_relation.tasks.a is 'K'"),
    (lambda stored: stored["categories"][0].update(colour="octarine"), "Category 'Knowledge' has no colour"),
    (lambda stored: stored["model"]["heads"].pop(), "model has 2 layers and heads of 1"),
]


@for_each("change,problem", CONTRADICTIONS)
def test_parts_that_contradict_each_other_are_named(tmp_path, change, problem):
    stored = json.loads(full_manifest().to_json())
    change(stored)
    with pytest.raises(DamagedFileError, match=re.escape(problem)):
        Manifest.read(written(tmp_path / "manifest.json", stored))


@for_each("version,command", [(1, "run it again"), (FORMAT - 1, "run it again"), (FORMAT + 1, "--upgrade headcats")])
@for_each("bytes_of", [str.encode, json_with_checksum])
def test_another_format_is_refused_in_one_sentence_that_says_what_to_do(tmp_path, bytes_of, version, command):
    path = tmp_path / "manifest.json"
    path.write_bytes(bytes_of(json.dumps({"format": version, "blocks": {"a": {"checksum": "f"}}})))
    with pytest.raises(StorageError, match=rf"^\S*\.json has format {version}, [^.]*{command}[^.]*\.$") as error:
        Manifest.read(path)
    assert not isinstance(error.value, DamagedFileError)


# ------------------------------------------------------------------------------------------------ what it answers


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
