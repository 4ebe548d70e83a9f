"""Reports of runs that were stopped, damaged, or of unusual models."""

import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from covering import some
from reports.page.read_pages import codes, described, plain, said, written
from reports.page.saved_runs import gated_run, scored_run
from reports.page.synthetic_runs import written_run
from results.folders import change_manifest

from headcats.reports.page.saved import saved_attention, saved_evidence
from headcats.results import tables
from headcats.results.file_format import json_with_checksum
from headcats.results.folder import ResultsFolder
from headcats.results.loading import open_results
from headcats.results.place import find_place
from headcats.results.run_results import STATE
from headcats.results.whole_file import write_whole

FIRST = "denoising_patch@last"


def test_damaged_attention_is_named(copied: Path):
    state = f'"{STATE}": "{open_results(find_place(copied)).state(["None"])}"'
    for content in ("", "null", "[]", "{}", '{"categories": [{}]}'):
        is_entry = len(content) > 2 and "{" in content
        data = json_with_checksum(f"{{{state}, {content[1:]}") if is_entry else content.encode()
        (copied / "attention.json").write_bytes(data)
        (problem,) = saved_attention(open_results(find_place(copied))).problems.values()
        assert "earlier state" not in problem, content
    assert said(copied, "caution")["caution.attention"].fields["file"] == "attention.json"


def test_controls_alone_have_a_page(tmp_path: Path):
    run = written_run(tmp_path / "r", {"Knowledge": [(0, 0)]}, methods=["second_corruption_patch@last"])
    assert "No protocol can be judged" in " ".join(str(part) for part in said(run, "robustness").values())


def test_evidence_that_was_half_written_is_said(copied: Path):
    (copied / "evidence" / "specificity.nc").unlink()
    unusable = said(copied, "evidence")["evidence.unusable"].fields
    assert unusable["folder"] == "evidence"
    assert re.search(rf"specificity\.nc.*headcats evidence {copied.name}", unusable["problem"])
    assert list(saved_evidence(open_results(find_place(copied))).problems) == ["evidence"]


def test_damaged_evidence_is_named_and_not_shown(copied: Path):
    file = copied / "evidence" / "specificity.nc"
    file.write_bytes(file.read_bytes()[:-1])
    found = said(copied, "answer evidence")
    assert "specificity.nc is damaged" in str(found["evidence.unusable"])
    assert "answer.test_lost" in found
    assert not {"evidence.missing", "answer.not_tested"} & set(found)


@pytest.mark.parametrize(
    ("table", "lost"),
    some(
        [
            ("relabelling", "verdict"),
            ("specificity", "target"),
            *(("relabelling", name) for name in ("size", "signature", "p")),
        ],
        2,
    ),
)
def test_evidence_without_a_part_of_it_is_named(copied: Path, table: str, lost: str):
    file = copied / "evidence" / f"{table}.nc"
    file.write_bytes(tables.table_bytes(tables.read_table(file, again="").drop_vars(lost)))
    assert lost in str(said(copied, "evidence")["evidence.unusable"])


def test_evidence_with_an_unknown_verdict_is_named(copied: Path):
    file = copied / "evidence" / "relabelling.nc"
    table = tables.read_table(file, again="")
    file.write_bytes(
        tables.table_bytes(table.assign(verdict=table["verdict"].copy(data=["proven"] * table.sizes["category"])))
    )
    assert "verdict 'proven'" in str(said(copied, "evidence")["evidence.unusable"])


def test_closed_folders_in_an_open_one_are_named(copied: Path, monkeypatch: pytest.MonkeyPatch):
    """Refuse every look at their files, to root as well; their names can still be listed."""
    results = ResultsFolder(copied)
    results.write_block("always_a", FIRST, results.read_block("always_a", FIRST))
    closed = {f"blocks/{FIRST}": "caution.missing", "evidence": "evidence.unusable"}
    within = tuple(f"{copied / name}{os.sep}" for name in closed)
    for owner, name, use in ((os, "stat", os.stat), (Path, "read_bytes", Path.read_bytes)):

        def refused(path: Any, *arguments: Any, use: Any = use, **options: Any) -> Any:
            if str(path).startswith(within):
                raise PermissionError(13, "Permission denied")
            return use(path, *arguments, **options)

        monkeypatch.setattr(owner, name, refused)
    found = said(copied, "caution evidence")
    assert [name for name, id in closed.items() if name not in str(found[id])] == []


def test_a_damaged_block_is_said_and_not_counted(copied: Path):
    """Of the tasks that were scored, one has no other block."""
    results = ResultsFolder(copied)
    for label in results.read_manifest().methods:
        write_whole(results.part_path(label, "always_a"), b"")
    found = said(copied, "answer caution")
    ran, files = found["answer.ran"].fields, found["caution.missing"].fields["files"]
    assert (ran["scored"], ran["tasks"]) == (2, 4)
    assert all(file.endswith("/always_a.nc") for file in files)


def test_no_verdict_stands_beside_other_tasks_than_were_tested(copied: Path):
    def forget(manifest) -> None:
        for tasks in (manifest["tasks"], *(method["parts"] for method in manifest["blocks"].values())):
            tasks.pop("always_c")

    change_manifest(copied, forget)
    found = said(copied, "answer evidence")
    assert not {"answer.verdicts", "evidence.verdicts", "answer.not_tested", "evidence.missing"} & set(found)
    for id in ("answer.test_lost", "evidence.unusable"):
        assert re.search(r"earlier state.*headcats evidence results`", found[id].fields["problem"])


def test_with_too_few_items_no_command_is_named_that_would_fail(tmp_path: Path):
    folder = scored_run(tmp_path / "results", per_layer={0: 4, 1: 4}, n_items=3)
    found = said(folder, "caution robustness")
    assert {"caution.not_judged", "robustness.not_judged"} <= set(found)
    assert codes(folder, "robustness") == []
    assert "hc.categorize" not in "".join(codes(folder, "run"))


def test_layers_without_attention_and_with_fewer_heads(tmp_path: Path):
    shared = [[0, 0, 1, 1], [0, 0, -1, -1]]
    content = written(scored_run(tmp_path / "results", per_layer={1: 4, 3: 2}, kv_head=shared))
    about = described(content)
    assert about["grid"] == [4, 4]
    assert about["per_layer"] == [0, 4, 0, 2]
    assert about["maps"][0]["verdicts"][0] == "----" + "oioo" + "----" + "oi--"
    assert about["kv_head"] == [[-1] * 4, shared[0], [-1] * 4, shared[1]]
    assert 'placeholder="L1H0, task' in content
    assert "2 layers" in plain(content)


@pytest.mark.usefixtures("joint_methods")
def test_a_joint_method_alone_is_on_the_first_screen(tmp_path: Path):
    folder = gated_run(tmp_path / "gates", np.random.default_rng(0).random((1, 2, 2, 3)))
    by_joint = said(folder, "answer")["answer.by_joint"].fields
    assert by_joint == {"label": "made_gates", "size": "1 dataset x 2 seeds"}
    assert "hc.suite_blocks(" in "".join(codes(folder, "run"))
