"""One small run of each benchmark script: it ends well, and what it measures agrees with what it is held against."""

import importlib.util
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import commands
import half_precision
import large_store
import numpy as np
import plan
import planned
import prompt_lengths
import pytest
import recovery
import shared_runs
import speed
import torch
from counting import SUITE
from recovery_parts import session as recovery_session
from recovery_parts.toy_report import report as toy_report
from sweep_speed import session as speed_session
from sweep_speed.shapes import SHAPES
from sweep_speed.sides import SIDES, sides_of
from sweep_speed.works import WORKS, Job
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

import headcats as hc
from headcats.methods.ov_relation.pairs import single_tokens
from headcats.methods.ov_relation.settings import PRESETS
from headcats.methods.ov_relation.static import relation_counts
from headcats.models.circuit import Circuit
from headcats.models.random_weights import random_hooked_model
from headcats.results.compact import COMPACT, WHOLE

pytestmark = pytest.mark.slow

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def script(name: str, *arguments: str) -> None:
    """Run a script in a process of its own."""
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / name), *arguments], capture_output=True, check=False, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr


def test_commands_are_timed_and_change_no_results(counting_model, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(commands, "seconds", lambda *command: 0.5)
    folder = tmp_path / "run"
    hc.run(counting_model, suite=SUITE, n_prompts=12, n_demos=2, methods=["denoising_patch"], out=folder)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    commands.main([str(folder), "--rounds", "1"])
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert "headcats report" in capsys.readouterr().out


def test_half_precision_moves_no_effect_far(capsys):
    half_precision.main(["--shape", "tiny-gqa", "--positions", "last", "all", "--tasks", "--repeat", "1"])
    assert len(capsys.readouterr().out.splitlines()) == 2
    half_precision.main(["--shape", "--tasks", "country_capital", "--prompts", "16"])
    moved = re.findall(r"moves by ([\d.]+)", capsys.readouterr().out)
    assert len(moved) == 4
    assert all(0 < float(number) < 0.1 for number in moved)


def test_a_large_compact_store_is_smaller_and_loses_little():
    numbers = large_store.main(["--layers", "8", "--heads", "8", "--tasks", "4", "--methods", "2", "--prompts", "128"])
    assert numbers[COMPACT]["size"] < numbers[WHOLE]["size"]
    assert len(numbers[COMPACT]["losses"]) == 8
    assert all(0 < loss.mean < loss.largest < 0.01 for loss in numbers[COMPACT]["losses"])


@pytest.mark.parametrize("shape", ["6x8", "16x8-gqa"])
def test_a_plan_is_within_a_fifth_of_the_run(shape):
    table = plan.main(["--shape", shape, "--untimed", "--prompts", "8"])
    assert [line.quantity for line in table] == ["operations", "memory", "storage"]
    assert {line.quantity: line.error for line in table if abs(line.error) > 0.2} == {}


def test_the_memory_that_validate_tells_is_what_a_run_takes(capsys):
    planned.main(["--shape", "tiny-gqa", "--tasks", "2", "--prompts", "16"])
    (tensors,) = re.findall(r"^tensors.*?([\d.]+) of what was planned", capsys.readouterr().out, re.MULTILINE)
    assert 0.8 <= float(tensors) <= 1.2


def test_prompt_lengths_are_compared_on_as_many_prompts(capsys):
    for lengths in (1, 4, 8):
        work = prompt_lengths.batches(SHAPES["tiny"], prompts=8, lengths=lengths)
        assert [len(batch) for batch in work] == [8 // lengths] * lengths
        assert len({batch.length for batch in work}) == lengths
    prompt_lengths.main(["--shape", "tiny", "--prompts", "4", "--repeat", "1", "--threads", "1"])
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_methods_share_unpatched_runs_and_no_rows(capsys):
    methods = ["denoising_patch@last", "noising_patch@last"]
    shared_runs.main(["--tasks", "capital_country", "--prompts", "8", "--methods", *methods])
    lines = capsys.readouterr().out.splitlines()[1:]
    numbers = {line.split(":")[0]: [float(number) for number in re.findall(r"(\d+\.\d+)", line)] for line in lines}
    together, *apart = numbers["unpatched runs"]
    assert apart == pytest.approx([together] * 2, abs=0.11)
    together, *apart = numbers["rows that are replaced"]
    assert together == pytest.approx(sum(apart), abs=0.16)


def test_products_alone_are_those_of_ov_relation(monkeypatch):
    spec = importlib.util.spec_from_file_location("relations_benchmark", BENCHMARKS / "relations.py")
    assert spec
    assert spec.loader
    benchmark: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmark)
    monkeypatch.setattr("headcats.methods.ov_relation.extremes._CHUNK", 17)
    monkeypatch.setattr("headcats.methods.ov_relation.extremes._BLOCK", 400)
    circuit = Circuit(random_hooked_model(SHAPES["tiny-gqa"], backend="bridge"))
    pairs = benchmark.token_pairs(circuit.d_vocab)
    relations = [single_tokens(name, own, tokenizer=None, d_vocab=circuit.d_vocab) for name, own in pairs.items()]
    sources = torch.cat([one.sources for one in relations]).unique()
    with FlopCounterMode(display=False) as method:
        relation_counts(circuit, relations, settings=PRESETS["maps2025"], seed=0)
    with FlopCounterMode(display=False) as alone:
        benchmark.products(circuit, sources)
    assert method.get_total_flops() == alone.get_total_flops() > 0


def test_all_sides_of_the_speed_benchmark_give_the_same_numbers(tmp_path):
    works = ["last", "last-log-prob", "all-shared", "each"]
    (tmp_path / "page.md").write_text("# Title\n", encoding="utf-8")
    arguments = ["--shape", "tiny", "--repeat", "1", "--threads", "1", "--backend", "bridge", "--work", *works]
    script("speed.py", *arguments, "--json", str(tmp_path / "all.json"), "--write", str(tmp_path / "page.md"))
    rows = json.loads((tmp_path / "all.json").read_text(encoding="utf-8"))["rows"]
    assert [row["side"] for row in rows if row["work"] == "last"] == list(SIDES)
    for row in rows:
        assert row["difference"] <= 1e-5
        assert row["effect"] > 0.1  # else equality would say nothing
        assert row["seconds"] > 0
    paths = [row["path"] for row in rows if row["side"] == "ours"]
    assert paths == ["last_position", "last_position", "suffix", "suffix; last_position"]
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert page.startswith("# Title\n")
    assert "bridge cpu float32" in page


def test_a_profile_of_the_speed_benchmark_names_the_operations(capsys):
    arguments = ["--shape", "tiny", "--work", "last", "all", "--threads", "1", "--profile"]
    speed_session.show_operations(speed.options(arguments))
    assert capsys.readouterr().out.count("aten::addmm") == 2


@pytest.mark.parametrize(
    ("work", "repetitions"), [("claims", 1), ("labels", 1), ("null", 2), ("planted", 2), ("prompts", 1), ("rules", 1)]
)
def test_numbers_of_recovery_do_not_depend_on_the_number_of_processes(work, repetitions, tmp_path):
    found = []
    for processes in ("1", "2"):
        file = tmp_path / f"{processes}.json"
        common = ["--quick", "--seed", "5", "--repetitions", str(repetitions), "--work", work]
        recovery_session.run(recovery.options([*common, "--processes", processes, "--json", str(file)]))
        found.append(json.loads(file.read_text(encoding="utf-8"))[work])
    assert found[0]["rows"]
    assert found[0] == found[1]


def test_recovery_writes_its_page_in_a_process_of_its_own(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Title\n", encoding="utf-8")
    common = ["--quick", "--repetitions", "1", "--processes", "1"]
    script("recovery.py", *common, "--work", "null", "--write", str(page))
    written = page.read_text(encoding="utf-8")
    assert written.startswith("# Title\n")
    assert written.count("<!-- begin recovery null -->") == written.count("<!-- end recovery null -->") == 1


def test_toys_of_recovery_have_their_tables():
    part = toy_report(effects=(0.3,), noises=(0.05,), prompts=(16,), repetitions=1, note=lambda text: None)
    by_rule = {row["rule"]: row for row in part.rows if "rule" in row}
    for rule, row in by_rule.items():
        assert row["right"] + row["missed"] == 21
        if rule.startswith(("fdr", "threshold")):
            assert row["precision"] == row["recall"] == 1
            assert (row["shared_right"], row["suppressing_right"], row["suppressing_as_members"]) == (4, 3, 0)
    pairs = {row["pair"]: row for row in part.rows if "pair" in row and row["method"] == "noising_patch"}
    assert pairs["helping"]["joint"] == pytest.approx(pairs["helping"]["sum"], abs=1e-4)
    assert abs(pairs["or"]["sum"]) < 0.05 < pairs["or"]["joint"]
    assert pairs["and"]["sum"] > 1.5 * pairs["and"]["joint"]
    assert all(np.shape(row) == (len(table.columns),) for table in part.tables for row in table.rows)


@pytest.mark.parametrize("name", ["tiny", "tiny-gqa"])
@pytest.mark.parametrize("work", ["last", "last-log-prob", "all-shared", "all", "each"])
def test_no_side_of_the_speed_benchmark_uses_fewer_operations_than_its_bound(name, work):
    """Else a share of the bound above 100 % could come from counting too many."""
    shape = replace(SHAPES[name], prompts=WORKS[work].prompts or SHAPES[name].prompts)
    job = Job(random_hooked_model(SHAPES[name], "bridge"), shape, WORKS[work], shape.heads, range(shape.prompts))
    for key, side in sides_of(job).items():
        short = job.of(job.heads, alone=job.alone)
        bound = round(side.run(short).done * side.flops(job))  # the self-check is not counted
        with torch.no_grad(), FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
            side.run(short)
        assert bound <= counter.get_total_flops() <= 2 * bound, key
