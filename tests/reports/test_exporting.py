"""What other programs get: tables, and node scores by the rules of the benchmark that reads them."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from simulated import CATEGORIES, block

import headcats as hc
from headcats.base.errors import DataError, OptionError, UnknownNameError
from headcats.reports.exporting import node_graph
from headcats.results.folder import ResultsFolder
from headcats.results.manifest import Manifest
from headcats.results.records import CategoryRecord, ModelRecord, PlanRecord, TaskRecord
from headcats.scores.table import score_table

pytestmark = pytest.mark.filterwarnings("ignore::headcats.base.errors.StatisticsWarning")

MODEL = ModelRecord("planted", layers=(0, 1), heads=(3, 3), n_layers=2, d_model=12, parallel_attn_mlp=False)
HELPING, SUPPRESSING = (1, 2), (0, 1)
TASKS = {"plural": "Linguistic", "capital": "Knowledge", "unclear": "Knowledge"}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A head that helps both tasks, one that hurts them more, and a task without a gap; never written to."""
    folder, rng = ResultsFolder(tmp_path_factory.mktemp("exported") / "results"), np.random.default_rng(0)
    for task, size in zip(TASKS, (0.4, 0.2, 0.0), strict=True):
        differences = 0.01 * rng.standard_normal((24, 2, 3))
        differences[:, *HELPING] += size
        differences[:, *SUPPRESSING] -= 2 * size
        gaps = None if task != "unclear" else np.resize([1.0, -1.0], 24)
        for label in ("denoising_patch@last", "mean_ablation@all"):
            positions = label.partition("@")[2]
            folder.write_block(task, label, block(differences, gaps=gaps).assign_attrs(positions=positions))
            differences = differences / 2
    manifest = Manifest(
        plan=PlanRecord(suite="icl", metrics=("logit_diff",)),
        model=MODEL,
        categories=tuple(CategoryRecord(**entry) for entry in CATEGORIES),
        tasks={task: TaskRecord(category) for task, category in TASKS.items()},
        methods=("denoising_patch@last", "mean_ablation@all"),
    )
    folder.write_manifest(manifest)
    return folder.path


class TestTables:
    @pytest.mark.parametrize("format", ["csv", "parquet"])
    def test_what_is_written_is_what_is_read(self, results: Path, tmp_path: Path, format: str) -> None:
        file = hc.export(results, tmp_path / "effects", format=format)
        assert file == tmp_path / "effects"
        read = (pd.read_csv if format == "csv" else pd.read_parquet)(file)
        expected = score_table(hc.score(hc.load(results), method="denoising_patch"))
        pd.testing.assert_frame_equal(read, expected, check_dtype=format == "parquet")

    def test_method_metric_and_tasks_are_chosen(self, results: Path, tmp_path: Path) -> None:
        tree = hc.load(results)
        half = pd.read_csv(hc.export(tree, tmp_path / "a.csv", format="csv", method="mean_ablation", tasks=["capital"]))
        assert (set(half.method), set(half.positions), set(half.task)) == ({"mean_ablation"}, {"all"}, {"capital"})
        helping = half[(half.layer == 1) & (half["head"] == 2)].iloc[0]
        assert helping.effect == pytest.approx(0.1, abs=0.01)
        scores = hc.score(tree, method="mean_ablation").sel(task="capital")
        # Not equal: older versions of pandas read the last digit wrong.
        assert helping.q_value == pytest.approx(scores.q_value[HELPING].item(), rel=1e-12), "over all tasks of the run"

    def test_what_cannot_be_written(self, results: Path, tmp_path: Path) -> None:
        out = tmp_path / "out"
        with pytest.raises(OptionError, match=r"'csv', 'parquet' or 'mib'; got 'xlsx'"):
            hc.export(results, out, format="xlsx")
        with pytest.raises(UnknownNameError, match=r"Unknown task 'plurl'.*'plural'"):
            hc.export(results, out, format="csv", tasks=["plurl"])
        with pytest.raises(DataError, match=r"hc\.export takes"):
            hc.export(hc.score(hc.load(results), method="denoising_patch"), out, format="csv")  # type: ignore[arg-type]
        with pytest.raises(OptionError, match=r"\.json; got 'out'"):
            hc.export(results, out, format="mib")
        with pytest.raises(DataError, match="No head has"):
            hc.export(results, tmp_path / "out.json", format="mib", tasks=["unclear"])
        assert list(tmp_path.iterdir()) == []


class ReadGraph:
    """What `Graph.from_json` of EAP-IG makes of a file, and `apply_topn(level="node")` of that, rule by rule.

    1. The file, whose name ends in `.json`, is an object with `cfg`, `nodes` and `edges`.
    2. `cfg` has `n_layers`, `n_heads`, `d_model` and `parallel_attn_mlp`. They make the nodes `input`, `a{l}.h{h}` and
       `m{l}` of every layer, and `logits`, and an edge from every node to all that read what it wrote: in a parallel
       block the MLP does not read the heads.
    3. Every entry of `nodes` but `logits` is one of these and says `in_graph`; `score` may be missing, which is NaN.
    4. Every entry of `edges` is one of the edges, `PARENT->CHILD` or `PARENT->HEAD<q>`, with `score` and `in_graph`.
    5. The n nodes with the largest scores are kept, n at most the number of scored nodes, by absolute value if so
       asked, and all that are not scored.
    """

    def __init__(self, text: str) -> None:
        stored = json.loads(text)
        assert {"cfg", "nodes", "edges"} <= set(stored)
        cfg = stored["cfg"]
        assert isinstance(cfg["d_model"], int)
        names, edges = ["input"], set()
        for layer in range(cfg["n_layers"]):
            heads = [f"a{layer}.h{head}" for head in range(cfg["n_heads"])]
            read_by_mlp = names if cfg["parallel_attn_mlp"] else [*names, *heads]
            edges |= {f"{parent}->{head}<{part}>" for parent in names for head in heads for part in "qkv"}
            edges |= {f"{parent}->m{layer}" for parent in read_by_mlp}
            names = [*names, *heads, f"m{layer}"]
        edges |= {f"{parent}->logits" for parent in names}
        self.scores = dict.fromkeys(names, math.nan)
        self.in_graph = dict.fromkeys(names, False)
        for name, entry in stored["nodes"].items():
            if name != "logits":
                assert name in self.scores
                self.in_graph[name] = entry["in_graph"]
                self.scores[name] = float(entry.get("score", math.nan))
        for name, entry in stored["edges"].items():
            assert name in edges
            assert {"score", "in_graph"} <= set(entry)

    @property
    def scored(self) -> list[str]:
        return [name for name, score in self.scores.items() if not math.isnan(score)]

    def kept(self, n: int, *, absolute: bool = False) -> set[str]:
        assert n <= len(self.scored)
        size = {name: abs(self.scores[name]) if absolute else self.scores[name] for name in self.scored}
        largest = sorted(size, key=lambda name: -size[name])[:n]
        return {*largest, *(set(self.scores) - set(self.scored))}


def read(file: Path) -> ReadGraph:
    assert str(file).endswith(".json")
    return ReadGraph(file.read_text(encoding="utf-8"))


class TestBenchmark:
    def test_scores_are_mean_effects_of_heads(self, results: Path, tmp_path: Path) -> None:
        graph = read(hc.export(results, tmp_path / "importances.json", format="mib"))
        effect = hc.score(hc.load(results), method="denoising_patch").effect.sel(task=["plural", "capital"])
        mean = effect.mean("task")
        heads = {f"a{layer}.h{head}": mean[layer, head].item() for layer in range(2) for head in range(3)}
        assert {name: graph.scores[name] for name in graph.scored} == pytest.approx(heads)
        assert graph.scores["a1.h2"] == pytest.approx(0.3, abs=0.01), "positive = the head helps"
        assert graph.scores["a0.h1"] == pytest.approx(-0.6, abs=0.01)
        assert all(graph.in_graph.values())

    def test_what_the_benchmark_keeps(self, results: Path, tmp_path: Path) -> None:
        graph = read(hc.export(results, tmp_path / "importances.json", format="mib"))
        always = {"input", "m0", "m1"}
        assert graph.kept(0) == always
        assert graph.kept(1) == {"a1.h2", *always}
        assert graph.kept(1, absolute=True) == {"a0.h1", *always}
        assert graph.kept(5) == set(graph.scores) - {"a0.h1"}, "what suppresses comes last"
        assert graph.kept(6) == set(graph.scores)

    def test_a_head_without_a_number_is_not_scored(self) -> None:
        effect = xr.DataArray(np.full((2, 3), 0.5), dims=("layer", "head"), coords={"layer": [0, 1], "head": range(3)})
        effect[0, 0] = np.nan
        graph = ReadGraph(json.dumps(node_graph(effect, MODEL), allow_nan=False))
        assert set(graph.scores) - set(graph.scored) == {"input", "m0", "m1", "a0.h0"}

    def test_a_model_that_the_benchmark_cannot_hold(self) -> None:
        effect = xr.DataArray(np.ones((2, 3)), dims=("layer", "head"), coords={"layer": [0, 1], "head": range(3)})
        for changes, message in (({"n_layers": 3}, "planted has 3, 3 in"), ({"heads": (3, 2)}, "planted has 3, 2 in")):
            with pytest.raises(DataError, match=message):
                node_graph(effect, replace(MODEL, **changes))

    def test_parallel_blocks_are_said(self) -> None:
        effect = xr.DataArray(np.ones((2, 3)), dims=("layer", "head"), coords={"layer": [0, 1], "head": range(3)})
        model = ModelRecord.from_dict(MODEL.complete() | {"parallel_attn_mlp": True})
        assert node_graph(effect, model)["cfg"] == {
            "n_layers": 2, "n_heads": 3, "d_model": 12, "parallel_attn_mlp": True
        }  # fmt: skip
