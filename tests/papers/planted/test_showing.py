"""The demonstration tells truth from noise: what was planted is found, and shuffled labels are not supported."""

import json
from pathlib import Path

import pytest

from headcats.papers.planted.planted_tasks import CATEGORIES, TASKS
from headcats.papers.planted.showing import _shuffled, show


def check(out: Path, seed: int) -> None:
    """Found is what was planted, nothing else is; the labels are supported, and shuffled ones are not."""
    shown = show(out, seed=seed, tell=lambda text: None)
    assert (shown.planted, shown.true.found, shown.true.false) == (7, 7, 0)
    assert shown.true.supported == len(CATEGORIES)
    assert shown.shuffled.supported == 0
    assert shown.compiled_found == shown.serving == 16
    assert shown.compiled_false == 0
    page = shown.page.read_text(encoding="utf-8")
    assert page.count("<figure>\n<svg") + page.count("<figure><svg") == 2
    assert "headcats run --model" in page


def test_one_seed(tmp_path: Path) -> None:
    check(tmp_path / "demo", 5)
    manifest = json.loads((tmp_path / "demo" / "planted" / "manifest.json").read_text(encoding="utf-8"))
    # Independent by their words, not by our word for it.
    assert {record["independent_source"] for record in manifest["tasks"].values()} == set(TASKS)
    assert not any(record.get("joined_by") for record in manifest["tasks"].values())


@pytest.mark.parametrize("seed", range(20))
def test_shuffled_labels_keep_no_two_tasks_together(seed: int) -> None:
    labels = _shuffled(seed)
    pairs = [(TASKS[task], label) for task, label in labels.items()]
    assert len(set(pairs)) == len(TASKS) == len(pairs)


@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_twenty_seeds(tmp_path: Path) -> None:
    for seed in range(20):
        check(tmp_path / str(seed), seed)
