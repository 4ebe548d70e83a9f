"""Where the revisions of a model are, and what they are called."""

import pytest

from headcats.base.errors import ModelError
from headcats.models import revisions
from headcats.models.revisions import Revision, find_revisions, training_step


def model_in(folder, *, tokenizer=False):
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").touch()
    if tokenizer:
        (folder / "tokenizer.json").touch()
    return folder


@pytest.mark.parametrize(
    ("name", "step"),
    [("step1000", 1000), ("checkpoint-500", 500), ("stage1-step20-tokens3B", 20), ("main", None), ("v1-2", None)],
)
def test_a_step_is_the_number_after_step_or_the_only_one(name, step):
    assert training_step(name) == step


def test_a_folder_has_its_revisions_in_it_or_by_their_paths(tmp_path):
    base = model_in(tmp_path / "model", tokenizer=True)
    inside, own = model_in(base / "checkpoints" / "step1"), model_in(tmp_path / "elsewhere" / "step2", tokenizer=True)
    assert find_revisions(base, ["checkpoints/step1", str(own)]) == [
        Revision("step1", str(inside), tokenizer=str(base)),
        Revision("step2", str(own)),
    ]


def test_a_bundled_model_lends_its_tokenizer_by_name(tmp_path):
    assert find_revisions("mini", [model_in(tmp_path / "step1")])[0].tokenizer == "mini"


def test_a_hub_name_has_revisions_there_and_folders_written_as_paths(tmp_path, monkeypatch):
    snapshots = {"refs/pr/1": model_in(tmp_path / "a", tokenizer=True), "step5": model_in(tmp_path / "b")}
    monkeypatch.setattr(revisions, "fetch", lambda name, *, revision: (snapshots[revision], "commit"))
    local = model_in(tmp_path / "c" / "mine")
    assert find_revisions("owner/model", ["refs/pr/1", "step5", local]) == [
        Revision("refs=pr=1", "owner/model", "refs/pr/1"),
        Revision("step5", "owner/model", "step5", "owner/model"),
        Revision("mine", str(local), tokenizer="owner/model"),
    ]


def test_a_folder_that_is_no_model_is_named(tmp_path):
    base = model_in(tmp_path / "model")
    (base / "step1").mkdir()
    with pytest.raises(ModelError, match=r"step1' lacks config\.json"):
        find_revisions(base, ["step1"])
    with pytest.raises(ModelError, match="no revisions"):
        find_revisions(tmp_path / "absent", ["step1"])
