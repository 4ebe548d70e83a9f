"""What the page of a run says: numbers of the head table, tasks, evidence, cautions, and how to repeat it."""

import json
import re
import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
import xarray as xr
from reports.page.read_pages import codes, described, parts_of, payload, said, section, written
from reports.page.test_numbers import unpacked
from results.folders import change_manifest

import headcats as hc
from headcats.base.errors import DataError, HeadcatsWarning, OptionError, StorageError, UnknownNameError
from headcats.categories.run_maps import kept_tables
from headcats.reports.page.markup import LARGEST, MOST_HEADS, _linked
from headcats.reports.page.parts import Code, Drawn
from headcats.results.records import NOT_USED

SECTIONS = ["answer", "heads", "shared", "caution", "evidence", "robustness", "tasks", "run", "words"]


def test_one_file_with_everything_inside(page: Path):
    content = page.read_text(encoding="utf-8")
    assert re.findall(r'<section id="(\w+)"', content) == SECTIONS
    assert payload(content, "plotly").count(b"plotly.js v") == 1
    assert b"plotly.js v" not in page.read_bytes()
    assert re.findall(r"<(?:script|link|img|iframe)[^>]*\s(?:src|href)=", content) == []
    assert len(page.read_bytes()) < 6_000_000
    # No temporary file is left.
    assert [path.name for path in page.parent.iterdir()] == [page.name]


def test_figures_of_another_package_are_shown_or_why_not(counting_run: Path, tmp_path: Path, caplog):
    @hc.figures.figure
    def effect_counts(scores, *, bins=4):
        return go.Figure(go.Histogram(x=scores["effect"].values.ravel(), nbinsx=bins))

    @hc.figures.figure
    def half_drawn(overlap):
        raise ValueError("no axes")

    parts = parts_of(hc.load(counting_run), "heads", tmp_path / "one.html")
    assert "effect_counts" in [part.name for part in parts if isinstance(part, Drawn)]
    (missing,) = [part for part in parts if getattr(part, "id", "") == "text.not_drawn"]
    assert re.search(r"half_drawn.* raised ValueError: no axes", str(missing))
    (record,) = caplog.records
    assert "half_drawn" in record.getMessage().partition("\n")[0]
    assert record.getMessage().rstrip().endswith("ValueError: no axes")
    assert "Traceback" in record.getMessage()


def test_numbers_are_those_of_the_head_table(page: Path, counting_run: Path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeadcatsWarning)
        scores = hc.score(hc.load(counting_run), method="denoising_patch", metric="logit_diff")
        listed = hc.categories.head_table(hc.overlap(hc.categorize(scores)))
    shown = section(page.read_text(encoding="utf-8"), "heads")
    assert len(listed)
    for row in listed.itertuples():
        told = f"{row.head} {row.category} {row.kv_head} {row.effect:.3f} {row.low:.3f} to {row.high:.3f} {row.q:.2g}"
        assert told in shown, told


def test_tasks_tell_what_was_refused_and_why(page: Path, counting_run: Path):
    refusal = json.loads((counting_run / "manifest.json").read_text(encoding="utf-8"))["tasks"]["shifted"]["refusal"]
    tasks, caution = (section(page.read_text(encoding="utf-8"), name) for name in ("tasks", "caution"))
    assert refusal
    assert f"shifted skipped: {refusal}" in tasks
    assert re.search(r"\b1 task .*shifted", caution)


def test_tasks_of_files_tell_their_layout_and_their_rows(page: Path, copied: Path):
    assert "rows dropped" not in section(page.read_text(encoding="utf-8"), "tasks")
    rows = {"kept": 24, "dropped": {"empty row": 2, NOT_USED: 900}, "examples": {"empty row": "f.csv, line 9"}}
    about = {"rows": rows, "source": "word pairs (x → y); f.csv"}
    change_manifest(copied, lambda manifest: manifest["tasks"]["always_a"].update(about))
    parts = parts_of(copied, "tasks caution")
    scored, dropped, sources = (part.rows for part in parts if hasattr(part, "rows"))
    assert [row[3:6] for row in map(list, scored[:2])] == [["24 of 926", "24", "12"], ["-", "24", "12"]]
    assert sorted(row[1].split()[0] for row in dropped if row[0] == "always_a") == ["2", "900"]
    assert [row[-1] for row in map(list, sources) if row[0] == "always_a"] == [about["source"]]
    (caution,) = [part for part in parts if getattr(part, "id", "") == "caution.dropped"]
    assert [reason.fields for reason in caution.fields["reasons"]] == [{"n": 2, "reason": "empty row"}]  # not NOT_USED


def test_what_a_method_skipped_or_left_out_is_listed_and_not_counted_as_done(copied: Path):
    def change(manifest: dict[str, Any]) -> None:
        first, second, *_ = manifest["blocks"]["mean_ablation@all"]["parts"].values()
        first["refusal"], second["dropped"] = "too few prompts", 3

    def rows(name: str, column: int) -> list[list[str]]:
        tables = [list(map(list, part.rows)) for part in parts_of(copied, name) if hasattr(part, "rows")]
        return [row for table in tables for row in table if len(row) > column and row[column] == "mean_ablation@all"]

    (before,) = rows("run", 0)
    assert rows("tasks", 1) == []
    change_manifest(copied, change)
    (after,) = rows("run", 0)
    assert int(after[1]) == int(before[1]) - 1
    assert [row[2].split()[0] for row in rows("tasks", 1)] == ["too", "3"]


def test_evidence_is_shown_where_it_is_saved_and_named_where_it_is_not(page: Path, copied: Path):
    content = page.read_text(encoding="utf-8")
    assert "Verdicts" in section(content, "evidence")
    assert "headcats evidence" not in section(content, "evidence")
    assert "relabelled_tasks_own_0" in content
    # Neither rule nor min_tasks choose what is tested.
    assert "evidence.missing" not in said(copied, "evidence", min_tasks=1)
    # The evidence that is saved is by other scores.
    other = parts_of(copied, "evidence", method="mean_ablation")
    command = f"headcats evidence {copied.name}"
    assert [part.text for part in other if isinstance(part, Code)] == [f"{command} --method mean_ablation@all"]
    shutil.rmtree(copied / "evidence")
    assert codes(copied, "evidence") == [command]


def test_cautions(counting_run: Path, copied: Path, tmp_path: Path):
    changes = {
        "caution.unfinished": lambda manifest: manifest["requested"].append("never"),
        "caution.dropped": lambda manifest: manifest["tasks"]["always_a"]["prompts"].update(dropped={"long": 7}),
        "caution.hooked": lambda manifest: manifest["blocks"]["denoising_patch@last"]["parts"]["always_a"].update(
            path="hooked", self_check="failed: difference 0.5"
        ),
    }
    before = said(counting_run, "caution", tmp_path / "page.html")
    assert "caution.last_position" in before
    change_manifest(copied, lambda manifest: [change(manifest) for change in changes.values()])
    after = said(copied, "caution", method="mean_ablation", min_tasks=1)
    assert after.keys() - before.keys() >= {*changes, "caution.single_task"}
    assert "caution.last_position" not in after


def test_the_file_lies_in_the_folder_and_is_named_by_what_is_not_the_default(copied: Path):
    parts_of(hc.load(copied), "words")
    parts_of(copied, "words", method="mean_ablation")
    assert {path.name for path in copied.glob("*.html")} == {"report.html", "report-mean_ablation@all.html"}


def test_results_in_memory_have_no_folder(counting_run: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("headcats.reports.page.writing._read_map", lambda *given: None)
    results = hc.load(counting_run)
    del results.encoding["source"]
    with pytest.raises(OptionError, match=r"folder.*\.report\(results, "):
        hc.report(results)


def test_bad_input_leaves_nothing_behind(copied: Path, tmp_path: Path):
    before = sorted(path.name for path in copied.iterdir())
    with pytest.raises(OptionError, match=r"\.html .*report\.pdf"):
        hc.report(copied, tmp_path / "report.pdf")
    with pytest.raises(UnknownNameError, match="mean_ablation"):
        hc.report(copied, method="mean_ablatoin")
    with pytest.raises(StorageError, match="not a results folder"):
        hc.report(tmp_path / "nothing")
    with pytest.raises(DataError, match=r"hc\.report"):
        hc.report(hc.load(copied)["always_a"])
    assert sorted(path.name for path in copied.iterdir()) == before


def test_numbers_of_further_methods_give_way_to_the_limit(
    page: Path, counting_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    assert LARGEST <= 6_000_000
    whole = page.read_text(encoding="utf-8")
    monkeypatch.setattr("headcats.reports.page.markup.LARGEST", 0)
    less = written(counting_run, tmp_path / "less.html")
    assert len(less) < len(whole)
    assert described(whole)["left_out"] == []
    units = ["share of attention", "nats", "tokens", "-1 to 1"]
    descriptors = [*(f"descriptors ({unit})" for unit in units), "direct logit"]
    maps = [entry["name"] for entry in described(whole)["maps"]]
    assert maps == ["denoising patch", "denoising patch (task-specific)", "mean ablation"]
    assert described(less)["left_out"] == [*maps, *descriptors, "mean_ablation@all"]


def test_every_effect_is_in_the_page(page: Path, counting_run: Path):
    content = page.read_text(encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeadcatsWarning)
        scores = hc.score(hc.load(counting_run), method="mean_ablation", metric="logit_diff")
    (block,) = [one for one in described(content)["blocks"] if one["label"] == "mean_ablation@all"]
    assert block["names"] == scores["task"].values.tolist()
    found = unpacked(block, payload(content, "numbers"))
    np.testing.assert_allclose(found["effect"], scores["effect"].transpose("task", "layer", "head").values, atol=1e-4)


def test_a_cell_of_very_many_heads_counts_the_others():
    heads = [f"L{place}H0" for place in range(MOST_HEADS + 5)]
    assert str(_linked(" ".join(heads[:MOST_HEADS]))).count("<button") == MOST_HEADS
    shortened = str(_linked(" ".join(heads)))
    assert shortened.count("<button") == MOST_HEADS
    assert shortened.endswith(" and 5 more")


def test_a_method_without_scores_in_the_metric_of_the_map_is_named(copied: Path, monkeypatch):
    reason = "it was measured in kl alone."

    def of_the_map_alone(*arguments: Any, upto: str = "tests") -> dict[str, xr.Dataset]:
        if upto == "tests":
            return kept_tables(*arguments)
        raise DataError(reason)

    monkeypatch.setattr("headcats.reports.page.material.kept_tables", of_the_map_alone)
    monkeypatch.setattr("headcats.categories.run_maps.kept_tables", of_the_map_alone)
    monkeypatch.setattr("reports.page.read_pages._judged", {})
    assert said(copied, "methods")["methods.not_scored"].fields == {"label": "mean_ablation@all", "reason": reason}
