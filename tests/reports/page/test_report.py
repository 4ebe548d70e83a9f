import base64
import json
import re
import shutil
import subprocess
import sys
import warnings
import zlib
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import pytest
from covering import some
from reports.page.test_numbers import unpacked
from results.folders import change_manifest

import headcats as hc
from headcats.errors import DataError, HeadcatsWarning, OptionError, StorageError, UnknownNameError
from headcats.prompts.answers import ANSWERS
from headcats.reports.page.markup import LARGEST, MOST_HEADS, _linked, _sentence
from headcats.results.checksum import json_with_checksum
from headcats.results.finding import line
from headcats.results.records import NOT_USED

SECTIONS = [
    "answer", "heads", "shared", "caution", "evidence", "robustness", "views", "explorer", "tasks", "run", "methods",
    "words",
]  # fmt: skip


@pytest.fixture
def copied(finished: Path, tmp_path: Path) -> Path:
    """A copy of the results folder that may be changed."""
    return Path(shutil.copytree(finished, tmp_path / "results"))


def written(results, path: Path | None = None, **options) -> str:
    """The report's HTML."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeadcatsWarning)
        return hc.report(results, path, **options).read_text(encoding="utf-8")


def section(content: str, name: str) -> str:
    """Text of one section, without its tags."""
    inner = content.partition(f'<section id="{name}"')[2].partition("</section>")[0]
    assert inner, f"there is no section {name}"
    return plain(inner)


def sentence(id: str, **fields) -> str:
    """A finding as `section` has it."""
    return plain(_sentence(line(id, **fields)))


def plain(markup: str) -> str:
    """Text without its tags."""
    return " ".join(re.sub(r"<[^>]*>", " ", markup).replace("&#39;", "'").split())


def payload(content: str, name: str) -> bytes:
    """What the page holds packed under a name."""
    return zlib.decompress(base64.b64decode(re.search(rf'id="packed-{name}">([^<]*)<', content)[1]))


def described(content: str) -> dict:
    """What the page's script knows of the heads."""
    return json.loads(payload(content, "heads"))


def test_one_file_with_everything_inside(page: Path):
    content = page.read_text(encoding="utf-8")
    assert re.findall(r'<section id="(\w+)"', content) == SECTIONS
    assert payload(content, "plotly").count(b"plotly.js v") == 1
    assert b"plotly.js v" not in page.read_bytes()
    assert re.findall(r"<(?:script|link|img|iframe)[^>]*\s(?:src|href)=", content) == []
    assert len(page.read_bytes()) < 6_000_000
    # No temporary file is left.
    assert [path.name for path in page.parent.iterdir()] == [page.name]


def test_a_figure_of_another_package_is_shown(finished: Path, tmp_path: Path):
    @hc.figures.figure
    def effect_counts(scores, *, bins=4):
        return go.Figure(go.Histogram(x=scores["effect"].values.ravel(), nbinsx=bins))

    assert "effect_counts" in written(hc.load(finished), tmp_path / "one.html")


def test_a_figure_of_another_package_that_fails_leaves_the_rest(finished: Path, tmp_path: Path, caplog):
    @hc.figures.figure
    def half_drawn(overlap):
        raise ValueError("no axes")

    content = written(hc.load(finished), tmp_path / "one.html")
    assert re.findall(r'<section id="(\w+)"', content) == SECTIONS
    assert re.search(r"Not drawn: Figure .*half_drawn.* raised ValueError: no axes", section(content, "heads"))
    (record,) = caplog.records
    assert "half_drawn" in record.getMessage().partition("\n")[0]
    assert record.getMessage().rstrip().endswith("ValueError: no axes")
    assert "Traceback" in record.getMessage()


def test_numbers_are_those_of_the_head_table(page: Path, finished: Path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeadcatsWarning)
        scores = hc.score(hc.load(finished), method="denoising_patch", metric="logit_diff")
        listed = hc.categories.head_table(hc.overlap(hc.categorize(scores)))
    said = section(page.read_text(encoding="utf-8"), "heads")
    assert len(listed)
    for row in listed.itertuples():
        told = f"{row.head} {row.category} {row.kv_head} {row.effect:.3f} {row.low:.3f} to {row.high:.3f} {row.q:.2g}"
        assert told in said, told


def test_tasks_tell_what_was_refused_and_why(page: Path, finished: Path):
    manifest = json.loads((finished / "manifest.json").read_text(encoding="utf-8"))
    said = section(page.read_text(encoding="utf-8"), "tasks")
    assert "shifted (skipped) Algorithmic" in said
    refusal = manifest["tasks"]["shifted"]["refusal"]
    assert "cannot do it" in refusal
    assert f"skipped: {refusal}" in said
    assert "1 task was skipped" in section(page.read_text(encoding="utf-8"), "caution")


def test_tasks_of_files_tell_their_layout_and_their_rows(page: Path, copied: Path):
    assert "rows dropped" not in section(page.read_text(encoding="utf-8"), "tasks")
    rows = {"kept": 24, "dropped": {"empty row": 2, NOT_USED: 900}, "examples": {"empty row": "f.csv, line 9"}}
    about = {"rows": rows, "source": "word pairs (x → y); f.csv"}
    change_manifest(copied, lambda manifest: manifest["tasks"]["always_a"].update(about))
    content = written(copied)
    said = section(content, "tasks")
    assert "always_a Knowledge 24 of 926 24 12 " in said
    assert "always_b Knowledge - 24 12 " in said
    assert "always_a 2 rows dropped: empty row (such as f.csv, line 9)" in said
    assert "always_a word pairs (x → y); f.csv" in said
    assert f"always_a 900 rows dropped: {NOT_USED}" in said
    caution = section(content, "caution")
    assert sentence("caution.because", n=2, reason="empty row") in caution
    assert NOT_USED not in caution  # nothing is wrong with them


@pytest.mark.parametrize("answers", some(ANSWERS, in_ci=2))
def test_how_much_of_an_answer_is_scored_is_said(copied: Path, answers: str):
    change_manifest(copied, lambda manifest: manifest["plan"].update(answers=answers))
    content = written(copied)
    assert sentence(f"tasks.answers_{answers}") in section(content, "tasks")
    assert (f", answers {answers}, rule " in section(content, "heads")) == (answers != "whole")


def test_evidence_is_shown_where_it_is_saved_and_named_where_it_is_not(page: Path, copied: Path):
    with_it = section(page.read_text(encoding="utf-8"), "evidence")
    assert "Verdicts" in with_it
    assert "headcats evidence" not in with_it
    assert "ablation_curves_own_0" in page.read_text(encoding="utf-8")
    # Neither rule nor min_tasks choose what is tested.
    assert "Verdicts" in section(written(copied, min_tasks=1), "evidence")
    # The evidence that is saved is by other scores.
    other = section(written(copied, method="mean_ablation"), "evidence")
    assert f"headcats evidence {copied.name} --method mean_ablation@all" in other
    assert sentence("evidence.other_choice", name="the default") in other
    assert sentence("evidence.helping_only") in section(written(copied, sign="suppressing"), "evidence")
    shutil.rmtree(copied / "evidence")
    without = section(written(copied), "evidence")
    assert f"headcats evidence {copied.name}" in without


def test_views_are_linked_where_they_are_and_named_where_they_are_not(copied: Path):
    assert f"headcats views {copied.name}" in section(written(copied), "views")
    entries = [
        {"file": name, "category": name[:1].upper(), "what": "patterns of L0H0"} for name in ("a.html", "b.html")
    ]
    (copied / "views").mkdir()
    (copied / "views" / "index.json").write_bytes(json_with_checksum(json.dumps({"views": entries})))
    (copied / "views" / "a.html").write_text("<p>patterns", encoding="utf-8")
    # Only those that are there.
    assert re.findall(r'<a href="(views/[^"]*)"', written(copied)) == ["views/a.html"]
    elsewhere = written(copied, copied.parent / "elsewhere.html")
    assert re.findall(r'<a href="(results/views/[^"]*)"', elsewhere) == ["results/views/a.html"]


def test_how_to_repeat_it(page: Path):
    said = section(page.read_text(encoding="utf-8"), "run")
    assert re.search(r"\.run\(model, suite=(\w+)", said)[1] == "your_suite", "it was made in Python"
    assert re.search(r"\.score\(results, method=&#34;(\w+)&#34;", said)[1] == "denoising_patch"


def test_cautions_in_plain_words(page: Path, copied: Path):
    changes = {
        "never": lambda manifest: manifest["asked"].append("never"),
        "answers of several tokens": lambda manifest: manifest["tasks"]["always_a"]["prompts"].update(
            dropped={"answers of several tokens": 7}
        ),
        "did not agree": lambda manifest: manifest["blocks"]["always_a"]["denoising_patch@last"].update(
            path="hooked", self_check="failed: difference 0.5"
        ),
        "no evidence about language models": lambda manifest: manifest["model"].update(name="mini"),
    }
    before = section(page.read_text(encoding="utf-8"), "caution")
    change_manifest(copied, lambda manifest: [change(manifest) for change in changes.values()])
    after = section(written(copied), "caution")
    for caution in changes:
        assert caution in after
        assert caution not in before


def test_the_file_is_named_by_what_is_not_the_default(copied: Path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeadcatsWarning)
        assert hc.report(copied) == copied / "report.html"
        other = hc.report(copied, method="mean_ablation", min_tasks=1)
    assert other.name == "report-mean_ablation@all-min_tasks=1.html"
    said = section(other.read_text(encoding="utf-8"), "caution")
    assert sentence("caution.single_task") in said


def test_a_map_of_the_last_position_says_what_it_misses(page: Path, copied: Path):
    missed = sentence("caution.last_position")
    assert missed in section(page.read_text(encoding="utf-8"), "caution")
    assert missed not in section(written(copied, method="mean_ablation"), "caution")


def test_results_in_memory_have_neither_folder_nor_evidence(finished: Path, tmp_path: Path):
    results = hc.load(finished)
    del results.encoding["source"]
    content = written(results, tmp_path / "one.html")
    assert "headcats evidence DIR" in section(content, "evidence")
    with pytest.raises(OptionError, match=r"folder.*\.report\(results, "):
        hc.report(results)


def test_loaded_results_know_their_folder(copied: Path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeadcatsWarning)
        assert hc.report(hc.load(copied)) == copied / "report.html"
    assert "Verdicts" in section((copied / "report.html").read_text(encoding="utf-8"), "evidence")


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


def test_names_cannot_break_the_page(copied: Path):
    nasty = "<script>alert(1)</script> & `b` </section>"

    def rename(manifest) -> None:
        manifest["model"]["name"] = nasty
        manifest["tasks"]["always_a"]["source"] = nasty

    change_manifest(copied, rename)
    content = written(copied)
    assert "<script>alert(1)" not in content
    assert re.findall(r'<section id="(\w+)"', content) == SECTIONS


def test_numbers_of_further_methods_give_way_to_the_limit(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    assert LARGEST <= 6_000_000
    whole = written(finished, tmp_path / "whole.html")
    monkeypatch.setattr("headcats.reports.page.markup.LARGEST", 0)
    less = written(finished, tmp_path / "less.html")
    assert len(less) < len(whole)
    assert described(whole)["left_out"] == []
    units = ["share of attention", "nats", "tokens", "-1 to 1"]
    descriptors = [*(f"descriptors ({unit})" for unit in units), "direct logit"]
    maps = [entry["name"] for entry in described(whole)["maps"]]
    assert maps == ["denoising patch", "denoising patch (task-specific)", "mean ablation"]
    assert described(less)["left_out"] == [*maps, *descriptors, "mean_ablation@all"]


@pytest.mark.ci
def test_it_needs_no_torch(finished: Path, tmp_path: Path):
    script = (
        "import sys, warnings; warnings.simplefilter('ignore'); import headcats as hc; "
        f"hc.report({str(finished)!r}, {str(tmp_path / 'report.html')!r}); "
        "print([name for name in ('torch', 'transformer_lens', 'circuitsvis') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_effect_is_in_the_page(page: Path, finished: Path):
    """Unpacked by Python as the page's script does it."""
    content = page.read_text(encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeadcatsWarning)
        scores = hc.score(hc.load(finished), method="mean_ablation", metric="logit_diff")
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


def test_a_method_without_scores_in_the_metric_of_the_map_is_named(finished: Path, tmp_path: Path, monkeypatch):
    reason = "it was measured in kl alone."

    def refuse(*arguments: object, **options: object) -> None:
        raise DataError(reason)

    monkeypatch.setattr("headcats.reports.page.material.kept_scores", refuse)
    monkeypatch.setattr("headcats.categories.run_maps.kept_judged", refuse)
    said = section(written(finished, tmp_path / "one.html"), "explorer")
    assert sentence("explorer.not_scored", label="mean_ablation@all", reason=reason) in said
