"""Reports of runs that were stopped, damaged, made by an older version, or of unusual models."""

import contextlib
import ctypes
import json
import os
import re
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from covering import some
from reports.page.saved_runs import gated_run, run_without_heads, scored_run
from reports.page.test_report import copied, described, plain, section, sentence, written
from results.folders import change_manifest

import headcats as hc
from headcats.reports.page.saved import saved_evidence, saved_views
from headcats.results import tables
from headcats.results.checksum import checksum, json_with_checksum
from headcats.results.loading import load
from headcats.results.run_results import RunResults

__all__ = ["copied"]  # a fixture


def test_manifests_of_older_versions_may_lack_what_came_later(copied: Path):
    later = ("versions", "created", "git_commit", "asked")
    change_manifest(copied, lambda manifest: [manifest.pop(key, None) for key in later])
    assert "L0H0" in section(written(copied), "answer")


def with_looks(**side: object) -> str:
    """A list with one view, of whose head L0H0 the panel shows this."""
    pattern = {"n": 1, "shades": "AA==", **side}
    small = {"L0H0": {"task": "t", "item": "i", "clean": pattern, "corrupted": pattern}}
    return json.dumps({"views": [{"file": "a.html", "category": "A", "what": "B", "thumbnails": small}]})


@pytest.mark.parametrize(
    "index",
    some(
        [
            "[]",
            with_looks(n=2),
            '{"views": [{"file": 3, "category": "A", "what": "B"}]}',
            "",
            "null",
            "{}",
            '{"views": [{}]}',
            with_looks(looks=[]),
            with_looks(**{"from": "x", "looks": [["a", "0.5"]]}),
            with_looks(**{"from": 3, "looks": []}),
        ],
        in_ci=2,
    ),
)
def test_a_damaged_list_of_views_is_named(copied: Path, index: str):
    (copied / "views").mkdir()
    (copied / "views" / "index.json").write_text(index, encoding="utf-8")
    assert list(saved_views(copied).problems) == ["views/index.json"]
    said = section(written(copied), "views")
    assert "views/index.json is not linked" in said
    assert "headcats views" in said


def test_a_damaged_view_is_named_and_the_others_are_linked(copied: Path):
    (copied / "views").mkdir()
    entries = []
    for name in "ab":
        (copied / "views" / f"{name}.html").write_text("<p>patterns", encoding="utf-8")
        mark = checksum(b"<p>patterns")
        entries.append({"file": f"{name}.html", "category": name, "what": f"patterns of {name}", "checksum": mark})
    (copied / "views" / "index.json").write_bytes(json_with_checksum(json.dumps({"by": "", "views": entries})))
    (copied / "views" / "b.html").write_text("<p>pattern", encoding="utf-8")
    saved = saved_views(copied)
    assert (list(saved.contents), saved.problems) == (["a.html"], {"views/b.html": "it is damaged"})
    said = section(written(copied), "views")
    assert "views/b.html is not linked: it is damaged" in said
    assert "patterns of a" in said


def test_views_of_heads_chosen_in_another_way_say_so(copied: Path):
    (copied / "views").mkdir()
    (copied / "views" / "a.html").write_text("<p>patterns", encoding="utf-8")
    entry = {"file": "a.html", "category": "A", "what": "patterns of L0H0"}
    index = {"by": "mean_ablation at all, model m", "views": [entry]}
    (copied / "views" / "index.json").write_bytes(json_with_checksum(json.dumps(index)))
    assert sentence("views.chosen_by", by=index["by"]) in section(written(copied), "views")


def test_evidence_that_was_half_written_is_said(copied: Path):
    (copied / "evidence" / "curves.nc").unlink()
    said = section(written(copied), "evidence")
    assert "evidence is not shown: it lacks curves.nc" in said
    assert f"headcats evidence {copied.name}" in said
    assert list(saved_evidence(copied).problems) == ["evidence"]


def test_damaged_evidence_is_named_and_not_shown(copied: Path):
    file = copied / "evidence" / "curves.nc"
    file.write_bytes(file.read_bytes()[:-1])
    content = written(copied)
    assert "curves.nc is damaged" in section(content, "evidence")
    assert sentence("evidence.missing") not in section(content, "evidence")
    assert sentence("answer.test_lost") in section(content, "answer")
    assert sentence("answer.not_tested") not in section(content, "answer")


@pytest.mark.parametrize(
    ("table", "lost"),
    some(
        [
            ("relabelling", "verdict"),
            ("contrasts", "other"),
            ("curves", "side"),
            ("specificity", "target"),
            *(("relabelling", name) for name in ("error_rate", "signature", "causal_p", "category")),
            ("contrasts", "category"),
        ],
        in_ci=3,
    ),
)
def test_evidence_without_a_part_of_it_is_named_and_the_rest_is_shown(copied: Path, table: str, lost: str):
    file = copied / "evidence" / f"{table}.nc"
    file.write_bytes(tables.table_bytes(tables.read_table(file, again="").drop_vars(lost)))
    content = written(copied)
    assert "L0H0" in section(content, "answer")
    assert "evidence is not shown" in section(content, "evidence")
    assert lost in section(content, "evidence")


def test_evidence_with_an_unknown_verdict_is_named(copied: Path):
    file = copied / "evidence" / "relabelling.nc"
    table = tables.read_table(file, again="")
    file.write_bytes(
        tables.table_bytes(table.assign(verdict=table["verdict"].copy(data=["proven"] * table.sizes["category"])))
    )
    assert "verdict 'proven'" in section(written(copied), "evidence")


@contextlib.contextmanager
def as_anybody() -> Iterator[None]:
    """Without the right of root to read every file, if it is root who tests; what root owns stays readable to it."""
    if os.geteuid():
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    # Of capget(2): version 3 and this thread; effective, permitted and inheritable rights, twice 32 of each.
    header, rights = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    assert libc.capget(header, rights) == 0
    effective = rights[0]
    rights[0] &= ~0b110  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH
    assert libc.capset(header, rights) == 0
    try:
        yield
    finally:
        rights[0] = effective
        assert libc.capset(header, rights) == 0


@pytest.mark.parametrize(
    "closed", some(["blocks/always_a", "evidence", "blocks", "suite.json", "evidence/curves.nc", "views"], in_ci=2)
)
def test_what_is_closed_in_an_open_folder_is_named(copied: Path, closed: str):
    """As a colleague's umask leaves it."""
    (copied / "views").mkdir()
    (copied / closed).chmod(0)
    with as_anybody(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lacking = RunResults(load(copied)).missing
        content = hc.report(copied).read_text(encoding="utf-8")
    (copied / closed).chmod(0o700)
    assert "Permission denied" in f"{content} {lacking}"
    assert bool(lacking) == (closed.startswith("blocks") or closed == "suite.json")


def test_a_damaged_block_is_said_and_not_counted(copied: Path):
    """Of the tasks that were scored, one has no other block."""
    before = plain(written(copied))
    for file in (copied / "blocks" / "always_a").glob("*.nc"):
        file.write_bytes(file.read_bytes()[:-1])
    content = written(copied)
    assert "3 of 4 tasks scored" in before
    assert "2 of 4 tasks scored" in plain(content)
    assert "blocks/always_a/" in section(content, "caution")


def test_tables_of_two_tests_are_not_taken_for_one(copied: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tables, "_PAUSE", 0.0)
    file = copied / "evidence" / "curves.nc"
    other = tables.read_table(file, again="")
    file.write_bytes(tables.set_bytes({"curves.nc": other})["curves.nc"])
    assert "its tables are of two calls" in section(written(copied), "evidence")


def test_evidence_may_be_of_more_categories_than_the_map(copied: Path):
    def forget(manifest) -> None:
        for part in ("tasks", "blocks"):
            manifest[part].pop("always_c")

    change_manifest(copied, forget)
    shutil.rmtree(copied / "blocks" / "always_c")
    assert "Verdicts" in section(written(copied), "evidence")


def test_with_too_few_items_no_command_is_named_that_would_fail(tmp_path: Path):
    content = written(scored_run(tmp_path / "results", per_layer={0: 4, 1: 4}, n_items=3))
    assert sentence("caution.not_judged", reason="") in section(content, "caution")
    assert sentence("robustness.not_judged") in section(content, "robustness")
    assert "headcats" not in section(content, "robustness")
    assert "hc.categorize" not in section(content, "run")


def test_a_run_without_any_head_in_a_category_has_nothing_to_test(copied: Path):
    not_tested = sentence("answer.not_tested")
    assert not_tested in section(written(copied, method="mean_ablation", min_tasks=1), "answer")
    assert not_tested not in section(written(copied, sign="suppressing"), "answer")


def test_layers_without_attention_and_with_fewer_heads(tmp_path: Path):
    content = written(scored_run(tmp_path / "results", per_layer={1: 4, 3: 2}))
    about = described(content)
    assert about["grid"] == [4, 4]
    assert about["per_layer"] == [0, 4, 0, 2]
    assert about["maps"][0]["verdicts"][0] == "----" + "oioo" + "----" + "oi--"
    assert about["kv_head"] is None
    assert 'placeholder="L1H0, task' in content
    assert "2 layers" in plain(content)


def test_keys_are_shared_within_layers_that_may_be_missing_or_smaller(tmp_path: Path):
    shared = [[0, 0, 1, 1], [0, 0, -1, -1]]
    about = described(written(scored_run(tmp_path / "results", per_layer={1: 4, 3: 2}, kv_head=shared)))
    assert about["kv_head"] == [[-1] * 4, shared[0], [-1] * 4, shared[1]]


def test_keys_are_shared_where_a_joint_method_alone_was_run(tmp_path: Path):
    shared = [[0, 0, 1], [0, 1, 1]]
    gated = gated_run(tmp_path / "results", np.random.default_rng(0).random((1, 2, 2, 3)), kv_head=shared)
    assert described(written(gated))["kv_head"] == shared


def test_names_with_signs_that_mean_something_elsewhere(tmp_path: Path):
    kinds = {'a "b" <c>+': "#ff7f0e", "Größe & Ω+": "#d62728"}
    tasks = {"one's<b>&": 'a "b" <c>+', "two+": 'a "b" <c>+', "drei": "Größe & Ω+", "élan": "Größe & Ω+"}
    content = written(scored_run(tmp_path / "it's mine & co", per_layer={0: 3, 1: 3}, tasks=tasks, kinds=kinds))
    assert [one["name"] for one in described(content)["categories"]] == list(kinds)
    assert "<c>" not in content.partition("</main>")[0]
    assert "L0H1" in section(content, "heads")


def test_a_joint_method_alone_has_views_if_it_sorts_heads(tmp_path: Path):
    folder = gated_run(tmp_path / "gates", np.random.default_rng(0).random((1, 2, 2, 3)))
    content = written(folder)
    assert "headcats views gates" in section(content, "views")
    assert sentence("answer.by_joint", label="head_gating", size="1 dataset x 2 seeds") in section(content, "answer")
    assert "hc.suite_blocks(" in section(content, "run")
    content = written(run_without_heads(tmp_path / "made up"))
    assert sentence("views.no_categories") in section(content, "views")
    assert "headcats views" not in content


def test_thirty_categories_of_one_colour_have_a_card_each_and_can_be_told_apart(tmp_path: Path):
    kinds = {f"kind {place}": "#1f77b4" for place in range(30)}
    content = written(
        scored_run(tmp_path / "results", per_layer={0: 2, 1: 2}, kinds=kinds, tasks={f"t{k}": k for k in kinds})
    )
    cards = re.findall(r'class="card" data-category="(kind \d+)" style="--colour: ([^"]+)"', content)
    assert [name for name, _ in cards] == list(kinds)
    assert len({colour for _, colour in cards}) == len(kinds)
    assert [one["name"] for one in described(content)["categories"]] == list(kinds)


def test_names_of_two_hundred_characters_and_from_right_to_left_are_shown_whole(tmp_path: Path):
    kinds = {"k" * 200: "#ff7f0e", "معرفة عامة": "#d62728"}
    tasks = {f"t{place}": kind for place, kind in enumerate([*kinds, *kinds])}
    content = written(scored_run(tmp_path / "results", per_layer={0: 3}, kinds=kinds, tasks=tasks))
    assert re.findall(r'class="card" data-category="([^"]+)"', content) == list(kinds)
    for name in kinds:
        assert name in section(content, "answer")


def test_a_single_category_shares_nothing(tmp_path: Path):
    kinds, tasks = {"only": "#ff7f0e"}, {"t0": "only", "t1": "only"}
    content = written(scored_run(tmp_path / "results", per_layer={0: 3, 1: 3}, kinds=kinds, tasks=tasks))
    assert re.findall(r'class="card" data-category="([^"]+)"', content) == ["only"]
    said = section(content, "answer")
    assert "L0H1" in said
    assert "chance within layers" not in said
    assert sentence("map.single_category") in section(content, "shared")


def test_without_any_member_the_first_screen_says_so(copied: Path):
    content = written(copied, rule=hc.rules.fdr(alpha=0.05, min_effect=5.0))
    said = section(content, "answer")
    assert "No head passes" in said
    assert "memberships hold" not in said
    assert sentence("answer.not_tested") not in said
