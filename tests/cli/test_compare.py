"""`headcats compare` on folders that were written without a model: one, and several of one model."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from simulated import CATEGORIES, NAMES, block
from typer.testing import CliRunner

from headcats import cli
from headcats.base.errors import DataError
from headcats.reports.text.revisions import differing_finding, differing_table, effect_changes
from headcats.results.folder import ResultsFolder
from headcats.results.manifest import Manifest
from headcats.results.records import CategoryRecord, ModelRecord, PlanRecord, TaskRecord

TASKS = {"t0": NAMES[0], "t1": NAMES[0], "t2": NAMES[1], "t3": NAMES[1]}
A, B = (0, 0), (1, 2)
DENOISING, MEAN = "denoising_patch@last, logit_diff", "mean_ablation@all, logit_diff"

pytestmark = pytest.mark.filterwarnings("ignore::headcats.base.errors.StatisticsWarning")


def write(
    path: Path,
    labels: dict[str, tuple[int, int] | None],
    *,
    shape=(2, 4),
    items=24,
    weights="w",
    layers=(),
    tasks=TASKS,
    refused=(),
    **plan,
) -> Path:
    """A results folder in which each label finds one head on every task, or none."""
    folder, rng = ResultsFolder(path), np.random.default_rng(0)
    for task in tasks:
        for label, place in labels.items():
            differences = 0.05 * rng.standard_normal((48, *shape))
            if place is not None:
                differences[:, place[0], place[1]] += 0.5
            folder.write_block(task, label, block(differences, items=np.arange(48) % items))
    folder.write_manifest(
        Manifest(
            plan=PlanRecord(**{"metrics": ("logit_diff",), "corruption": "other_task", "seed": 0} | plan),
            model=ModelRecord("planted", weights_hash=weights, layers=layers, heads=(shape[1],) * len(layers)),
            categories=tuple(CategoryRecord(**entry) for entry in CATEGORIES[:2]),
            tasks={
                task: TaskRecord(TASKS[task], refusal="too hard" if task in refused else "")
                for task in (*tasks, *refused)
            },
            methods=tuple(labels),
        )
    )
    return path


def compare(*arguments: object) -> str:
    """All details that the command prints, cells of tables separated by single spaces."""
    done = CliRunner().invoke(cli.app, ["compare", "--details", *map(str, arguments)])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return " ".join(done.output.replace("│", " ").split())


@pytest.fixture(autouse=True)
def _in_an_empty_folder(monkeypatch, tmp_path):
    """Short names of folders: long ones are folded in tables."""
    monkeypatch.chdir(tmp_path)


def test_one_folder_compares_its_protocols():
    write(Path("r"), {"denoising_patch@last": A, "noising_patch@last": A, "mean_ablation@all": B})
    said = compare("r", "--csv", "pairs.csv")
    assert "rule fdr(alpha=0.05" in said
    assert f"3 {MEAN} 1 1" in said
    assert "method 1 1.00 0.12" in said
    assert "method, positions 2 0.00 0.12" in said
    assert "these 3 protocols (helping)" in said
    assert "Knowledge 0 2: L0H0 L1H2" in said
    listed = pd.read_csv("pairs.csv")
    assert len(listed) == 2 * 3
    assert listed["jaccard"].tolist() == [1, 0, 0, 1, 0, 0]


def test_without_any_head_there_is_nothing_to_agree_on():
    write(Path("a"), {"denoising_patch@last": A, "noising_patch@last": B})
    write(Path("b"), {"denoising_patch@last": A}, items=3, seed=1)
    said = compare("a", "b", "--sign", "suppressing")
    assert "2 protocols (suppressing)" in said
    assert "┃ in all ┃ in" in said
    assert "Knowledge 0 0" in said
    assert f"Left out: {DENOISING}, seed 1: fdr(alpha=0.05)" in said


def test_one_protocol_is_not_compared_with_itself():
    write(Path("r"), {"denoising_patch@last": A}, items=6)
    said = compare("r")
    assert "no second protocol" in said


def test_different_models_are_refused():
    write(Path("a"), {"denoising_patch@last": A})
    write(Path("b"), {"denoising_patch@last": (2, 3)}, shape=(3, 5), weights="v")
    with pytest.raises(DataError, match="headcats report"):
        compare("a", "b")


def test_a_base_and_a_tuned_model_of_its_shape_are_compared_head_by_head():
    write(Path("base"), {"denoising_patch@last": A}, layers=(0, 1))
    write(Path("tuned"), {"denoising_patch@last": B}, weights="v", layers=(0, 1))
    done = CliRunner().invoke(cli.app, ["compare", "base", "tuned", "--json"])
    comparison = json.loads(done.stdout)
    assert done.exit_code == 0
    assert comparison["differences"].keys() >= {"model weights_hash"}
    assert {(each["head"], each["category"], each["moves"]) for each in comparison["changed"]} == {
        (head, category, True) for head in ("L0H0", "L1H2") for category in NAMES[:2]
    }
    first = next(each for each in comparison["changed"] if each["head"] == "L0H0")
    assert (first["verdicts"], first["probabilities"]["base"]) == ({"base": "in", "tuned": "out"}, 1)
    assert "L0H0" in compare("base", "tuned", "--csv", "changed.csv")
    assert len(pd.read_csv("changed.csv")) == 4
    assert comparison["differs"] == []  # blocks without prompts cannot be paired


def test_effects_that_differ_are_listed_the_largest_first():
    shape = ("revision", "category", "layer", "head")
    values = np.array([[0.1, -0.4], [0.0, 0.2]])[None, None].repeat(2, 0)
    q_values = np.array([[0.01, 0.04], [0.9, 0.06]])[None, None].repeat(2, 0)
    course = xr.Dataset(
        {f"difference{end}": (shape, values) for end in ("", "_low", "_high", "_p")}
        | {"difference_q": (shape, q_values)},
        coords={"revision": ["base", "tuned"], "category": ["Knowledge"], "layer": [0, 1], "head": [0, 1]},
        attrs={"alpha": 0.05},
    )
    differing = effect_changes(course)
    assert differing[["layer", "head", "difference"]].to_numpy().tolist() == [[0, 1, -0.4], [0, 0, 0.1]]
    assert [row[0] for row in differing_table(differing).rows] == ["L0H1", "L0H0"]
    assert differing_finding(differing, course).fields["n"] == 2


def test_categories_that_nobody_scored_are_not_empty_ones():
    half = {task: TASKS[task] for task in ("t0", "t1")}
    write(Path("a"), {"denoising_patch@last": A, "noising_patch@last": A}, tasks=half, refused=["t2"])
    said = compare("a")
    assert f"1 {DENOISING} 1 - 2 noising" in said
    assert "`-`: not judged" in said
    assert "Algorithmic 1 1 1 1.00" in said
    assert "Knowledge - - - - - -" in said
    assert "Knowledge - - " in said.split("Heads over these", 1)[1], "over all protocols"
    write(Path("b"), {"denoising_patch@last": A}, tasks={task: TASKS[task] for task in ("t0", "t1", "t2")})
    said = compare("a", "b", "--method", "denoising_patch", "--csv", "pairs.csv")
    assert "tasks 2, without t2 3" in said
    assert "by 1 of 2) 1: L0H0 1: L0H0" in said
    listed = pd.read_csv("pairs.csv")
    assert listed["differ_in"].tolist() == ["tasks"] * 2
    assert listed["heads_first"].isna().tolist() == listed["both"].isna().tolist() == [False, True]
