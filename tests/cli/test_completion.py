"""What a shell offers: names that exist, results folders, and nothing that would take torch to find out."""

import json
import re
import sys
from pathlib import Path

import pytest
from test_architecture import python

from headcats import cli
from headcats.base import registry
from headcats.cli import completion

COMPLETE = """
import json, os, sys
from headcats.cli import main

def heavy(*arguments):
    sys.argv = ["headcats", *arguments]
    try:
        main()
    except SystemExit as stop:
        found = [name for name in ("torch", "transformer_lens", "circuitsvis", "plotly") if name in sys.modules]
        print("HEAVY" + json.dumps([stop.code, found]))

heavy()
del os.environ["_HEADCATS_COMPLETE"]
heavy("run", "--tasks", "plurall")
"""


@pytest.fixture
def offered(monkeypatch, capfd, tmp_path):
    """Function: what is written, up to the tab -> what bash offers."""
    monkeypatch.chdir(tmp_path)

    def complete(line: str) -> list[str]:
        words = line.split(" ")
        monkeypatch.setenv("_HEADCATS_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
        monkeypatch.setattr(sys, "argv", ["headcats"])
        capfd.readouterr()
        with pytest.raises(SystemExit):
            cli.main()
        return capfd.readouterr().out.split()

    return complete


def folder(path: Path, **manifest: object) -> None:
    path.mkdir(parents=True)
    (path / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")


def test_names_read_off_files_are_those_that_are_registered():
    for kind, found in {"method": completion.names("method"), "metric": completion.metric_names()}.items():
        assert sorted(found) == sorted(registry.names(kind))


OFFERED = [
    ("headcats ma", {"map"}, {"run"}),
    ("headcats run --suite ", {"icl", "cognitive", "spoken"}, {"plural"}),
    ("headcats run --methods zero_ablation,mean", {"zero_ablation,mean_ablation"}, {"mean_ablation"}),
    ("headcats run --metrics log", {"logit_diff", "log_prob"}, {"kl"}),
    ("headcats run --preset gat", {"gates2020", "gates-small"}, {"words2020"}),
    ("headcats run --model mini", {"mini", "mini-cognitive"}, set()),
    ("headcats run --suite cognitive --tasks plu", {"plural_of"}, {"plural"}),
    ("headcats run --tasks plural,ant", {"plural,antonym"}, {"antonym"}),
    ("headcats map results --rule ", {"fdr", "threshold"}, set()),
    ("headcats map results --method den", {"denoising_patch"}, set()),
    ("headcats figure over", {"overlap_map"}, {"head_grid"}),
    ("headcats list ", {"tasks", "presets"}, set()),
    ("headcats list tasks --suite sp", {"spoken"}, {"icl"}),
]


@pytest.mark.usefixtures("joint_methods")
def test_names_are_offered(offered):
    for line, some, others in OFFERED:
        found = set(offered(line))
        assert some <= found, line
        assert not others & found, line


def test_a_tab_runs_no_file(offered, tmp_path):
    (tmp_path / "mine.py").write_text("print('I ran')\nraise SystemExit(3)\n", encoding="utf-8")
    line = "headcats run --suite mine.py:suite --tasks "
    assert offered(line) == []


def test_results_folders_are_offered_and_what_leads_to_them(offered, tmp_path):
    folder(tmp_path / "results" / "mini-icl")
    folder(tmp_path / "alone")
    (tmp_path / "deep" / "deeper" / "deepest").mkdir(parents=True)
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    assert offered("headcats map ") == ["alone", "deep/", "results/mini-icl"]
    for line in ("headcats map res", "headcats compare alone results/"):
        assert offered(line) == ["results/mini-icl"]
    assert offered("headcats map nowhere/") == []


@pytest.mark.parametrize(
    ("line", "first"),
    [
        ("headcats run --methods ", "attribution_patch"),
        pytest.param("headcats run --tasks ", "next_letter", marks=pytest.mark.slow),
        pytest.param("headcats figure ", "ablation_curves", marks=pytest.mark.slow),
    ],
)
def test_offering_names_and_refusing_wrong_ones_loads_no_torch(line, first, tmp_path, monkeypatch):
    monkeypatch.setenv("_HEADCATS_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
    done = python(COMPLETE, cwd=tmp_path)
    offered, *heavy = done.stdout.split("HEAVY")
    assert offered.split()[0] == first, done.stderr
    # Figures are drawn by plotly; methods and tasks need not wait for it, and what is misspelt for neither.
    loaded = ["plotly"] if "figure" in line else []
    assert [json.loads(text) for text in heavy] == [[0, loaded], [2, loaded]]
    assert re.match(r"Error: .*'plurall' .*'icl'.*'plural'\?", done.stderr)
