"""Two results are the same to the bit, within rounding, or different, and each block says which."""

import numpy as np
import pytest
from results.folders import LABEL, block, folder, manifest

import headcats as hc
from headcats.base.errors import DataError
from headcats.results.folder import ResultsFolder
from headcats.results.records import BlockRecord, MethodRecord, ModelRecord

VALUES = np.arange(12, dtype=np.float32)
ROUNDING = 32 * 2.0**-23 * 11  # of the largest value


def results(path, **values):
    """A folder with a task for each of these values."""
    made = ResultsFolder(path)
    for task, patched in values.items():
        made.write_block(task, LABEL, block(patched))
    made.write_manifest(manifest(*values))
    return path


def states(first, second):
    table = hc.diff(first, second)
    return dict(zip(table["task"].values.tolist(), table["state"].values.tolist(), strict=True))


def test_every_state(tmp_path):
    a_little, much = VALUES.copy(), VALUES.copy()
    a_little[3] += 0.9 * ROUNDING
    much[3] += 1.1 * ROUNDING
    lacking = np.where(VALUES == 3, np.nan, VALUES).astype(np.float32)
    first = results(tmp_path / "1", a=VALUES, b=VALUES, c=VALUES, d=VALUES, e=VALUES)
    second = results(tmp_path / "2", a=VALUES, b=a_little, c=much, d=lacking, f=VALUES)
    found = states(first, second)
    assert [found.pop(task).split()[-1] for task in "ef"] == ["first", "second"]
    assert found == {"a": "same bits", "b": "within rounding", "c": "different", "d": "different"}
    table = hc.diff(hc.load(first), second).set_index(block="task")
    assert table["largest"].sel(block="a") == 0
    np.testing.assert_allclose(table["largest"].sel(block="c"), 1.1 * ROUNDING, rtol=0.01)
    np.testing.assert_allclose(table["rounding"].sel(block="b"), ROUNDING, rtol=0.01)
    assert table["largest"].sel(block="d") == np.inf
    assert np.isnan(table["largest"].sel(block="e"))


def test_other_prompts_and_other_labels_are_not_compared(tmp_path):
    first = folder(tmp_path / "1", "a")
    assert states(first, folder(tmp_path / "2", "a", fingerprint="g")) == {"a": "prompts"}
    third = ResultsFolder(folder(tmp_path / "3", "a"))
    third.write_block("a", LABEL, block(items=("é", "other")))
    assert states(first, third.path) == {"a": "shape"}


def test_the_number_type_of_the_model_sets_the_rounding(tmp_path):
    model = ModelRecord("toy", weights_hash="h", dtype="bfloat16")
    first = folder(tmp_path / "1", "a", model=model)
    second = ResultsFolder(folder(tmp_path / "2", "a", model=model))
    second.write_block("a", LABEL, block(VALUES + np.float32(0.5)))
    assert states(first, second.path) == {"a": "within rounding"}


def test_joint_methods_are_compared_too(tmp_path):
    records = {LABEL: MethodRecord({"a": BlockRecord("f")})}
    for name in "12":
        made = ResultsFolder(folder(tmp_path / name, "a", blocks=records))
        made.write_block("_suite", "norms", block())
    assert states(tmp_path / "1", tmp_path / "2") == {"a": "same bits"}, "the manifest names no joint method"


@pytest.mark.parametrize("wrong", [3, None])
def test_what_is_no_result_is_refused(tmp_path, wrong):
    first = folder(tmp_path / "1", "a")
    for pair in ((first, wrong), (wrong, first), (first, hc.load(first)["a"])):
        with pytest.raises(DataError, match="whole results"):
            hc.diff(*pair)
