"""The speed benchmark: all sides compute the same numbers, and the operations it counts are those that are needed.

Nothing here asserts a time. CI measures the bridge alone; HookedTransformer is left to runs by hand.
"""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import speed
import torch
from sweep_speed import peak, report, session
from sweep_speed.shapes import SHAPES, Shape, random_batch
from sweep_speed.sides import SIDES, sides_of
from sweep_speed.works import WORKS, Job, spread, works_of
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode
from toys import BACKENDS

from headcats.models.random_weights import random_hooked_model, random_model
from headcats.sweeps import flops

pytestmark = pytest.mark.ci

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "speed.py"
TINY = ("tiny", "tiny-gqa")


# ------------------------------------------------------------------------------------------------------- end to end
@pytest.fixture(scope="module", params=BACKENDS)
def measured(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What a run on a tiny model leaves behind: the section's name, all numbers, and the page before and after."""
    folder = tmp_path_factory.mktemp("speed")
    page = folder / "page.md"
    page.write_text("# Title\n", encoding="utf-8")
    arguments = [
        "--shape",
        "tiny",
        "--work",
        "last",
        "last-log-prob",
        "all-shared",
        "each",
        "--repeat",
        "1",
        "--threads",
        "1",
    ]
    arguments += ["--backend", request.param, "--json", str(folder / "all.json"), "--write", str(page)]
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *arguments], capture_output=True, check=False, encoding="utf-8", timeout=300
    )
    assert done.returncode == 0, done.stderr
    content = json.loads((folder / "all.json").read_text(encoding="utf-8"))
    return request.param, content, page.read_text(encoding="utf-8"), done.stdout


def test_all_sides_give_the_same_numbers(measured):
    rows = measured[1]["rows"]
    for row in rows:
        assert row["difference"] <= 1e-5
        assert row["effect"] > 0.1  # else equality would say nothing
    paths = [row["path"] for row in rows if row["side"] == "ours"]
    assert paths == ["last_position", "last_position", "suffix", "suffix; last_position"]


def test_every_side_of_every_work_is_measured(measured):
    rows = measured[1]["rows"]
    loops = ("plain_loop", "one_by_one")
    sides = [name for name in SIDES if name not in loops]
    assert [row["side"] for row in rows if row["work"] == "last"] == list(SIDES)
    for work in ("last-log-prob", "all-shared"):
        assert [row["side"] for row in rows if row["work"] == work] == sides
    assert [row["side"] for row in rows if row["work"] == "each"] == ["transformer_lens", "ours"]
    for row in rows:
        assert row["seconds"] > 0
        assert min(row["gemm"]) > 0
        assert row["share"] > 0
        assert (row["peak"] is not None) == peak.can_measure()
        # One position of every head stands for all where slow sides would take them one by one.
        alone = row["work"] == "each" and row["side"] != "ours"
        assert row["done"] == pytest.approx(1 / SHAPES["tiny"].length if alone else 0.5 if row["side"] in loops else 1)


def test_a_profile_names_the_operations(capsys):
    arguments = ["--shape", "tiny", "--work", "last", "all", "--threads", "1", "--profile"]
    session.show_operations(speed.options(arguments))
    printed = capsys.readouterr().out
    assert printed.count("tiny, ") == 2
    assert printed.count("aten::addmm") == 2


def test_a_batch_has_the_prompts_that_are_asked_for():
    chosen = speed.options(["--shape", "tiny", "--work", "last", "each", "--prompts", "1"])
    jobs = [job for _, job in session._jobs(chosen, "tiny")]
    assert [len(job.batch) for job in jobs] == [1, 1]
    assert [job.alone for job in jobs] == [[0], [0]]
    assert "--prompts 1" in session._command(chosen)
    assert " ".join(session._arguments_of_peaks(chosen, "tiny")).endswith("--prompts 1 --work last each")


def test_the_table_has_every_column(measured):
    backend, content, page, printed = measured
    head = f"| {' | '.join(report.COLUMNS)} |"
    assert page.startswith("# Title\n")
    assert page.count(head) == 1
    assert f"<!-- begin {backend} cpu float32 -->" in page
    assert f"--backend {backend}" in page
    assert len([line for line in page.splitlines() if line.startswith("| ")]) == 2 + len(content["rows"])
    for fact in content["facts"]:
        assert f"- {fact}\n" in page
    assert "tiny" in printed


def test_a_section_is_replaced_and_the_others_stay(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n", encoding="utf-8")
    report.write_section(page, "one", "a")
    report.write_section(page, "two", "b")
    report.write_section(page, "one", r"\1 c")
    expected = "before\n\n<!-- begin one -->\n\\1 c\n<!-- end one -->\n\n<!-- begin two -->\nb\n<!-- end two -->\n"
    assert page.read_text(encoding="utf-8") == expected


def test_an_unknown_name_is_refused_with_the_known_ones():
    for argument in ("shape", "work"):
        with pytest.raises(SystemExit, match=rf"no {argument} 'small'; there are: \w"):
            session.run(speed.options([f"--{argument}", "small"]), script=SCRIPT)


def test_a_page_or_folder_that_is_not_there_is_said_before_anything_is_measured(tmp_path):
    for option, text in (("--write", "there is no file"), ("--json", "there is no folder")):
        with pytest.raises(SystemExit, match=text):
            session.run(speed.options([option, str(tmp_path / "no" / "page.md")]), script=SCRIPT)


# ----------------------------------------------------------------------------------------------------------- prompts
@pytest.mark.parametrize(("shared", "first"), [(0.0, 0), (2 / 3, 8)])
def test_prompts_share_exactly_the_tokens_they_should(shared, first):
    for seed in range(20):
        batch = random_batch(SHAPES["tiny"], length=12, shared=shared, seed=seed)
        different = (batch.clean != batch.corrupted).float()
        assert different[:, :first].sum() == 0
        assert different[:, first].min() == 1
        assert different[:, -1].sum() == 0


def test_timed_heads_are_spread_over_all_layers():
    for name in ("gpt2-small", "24x16", "llama-gqa"):
        heads = SHAPES[name].heads
        chosen = [heads[place] for place in spread(len(heads), SHAPES[name].n_layers)]
        assert [layer for layer, _ in chosen] == list(range(SHAPES[name].n_layers))
    assert spread(3, 12) == [0, 1, 2]
    assert set(works_of("gpt2-small")) == set(WORKS)


# -------------------------------------------------------------------------------------------------------- operations
@torch.no_grad()
def counted(function: Any, *arguments: Any, **options: Any) -> int:
    # The counter does not see into a fused kernel.
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        function(*arguments, **options)
    return counter.get_total_flops()


@pytest.mark.parametrize("name", TINY)
def test_operations_of_a_forward_pass(name):
    shape, model = SHAPES[name], random_model(SHAPES[name])
    tokens = torch.ones(3, 10, dtype=torch.long)
    for logits in (1, 10):
        expected = flops.forward(shape, prompts=3, length=10, logits=logits)
        assert counted(model, tokens, logits_to_keep=logits) == expected


@pytest.mark.parametrize("name", TINY)
@pytest.mark.parametrize("whole_vocabulary", [False, True])
@pytest.mark.parametrize("first", [0, 6, 9])
def test_operations_of_a_replay(name, first, whole_vocabulary):
    """As many as a literal version uses that takes one head after the other, without anything batched or shared."""
    shape = SHAPES[name]
    found = counted(one_head_after_the_other, shape, length=10, first=first, whole_vocabulary=whole_vocabulary)
    expected = flops.suffix(shape, prompts=3, length=10, first=first, whole_vocabulary=whole_vocabulary)
    assert 3 * found == expected
    if first == 9:
        assert expected == flops.last_position(shape, prompts=3, length=10, whole_vocabulary=whole_vocabulary)


@pytest.mark.parametrize("name", TINY)
@pytest.mark.parametrize("whole_vocabulary", [False, True])
@pytest.mark.parametrize("at", [0, 6, 9])
def test_operations_of_one_position(name, at, whole_vocabulary):
    shape = SHAPES[name]
    options = {"length": 10, "first": at, "whole_vocabulary": whole_vocabulary}
    found = counted(one_head_after_the_other, shape, alone=True, **options)
    assert 3 * found == flops.one_position(shape, prompts=3, length=10, at=at, whole_vocabulary=whole_vocabulary)
    if at == 9:
        assert 3 * found == flops.last_position(shape, prompts=3, length=10, whole_vocabulary=whole_vocabulary)


@pytest.mark.parametrize("name", TINY)
@pytest.mark.parametrize("whole_vocabulary", [False, True])
def test_operations_of_an_unpatched_run(name, whole_vocabulary):
    """An ordinary forward pass, less what a literal version leaves out in the last block, and the readout's choice."""
    shape = SHAPES[name]
    fewer = replace(shape, n_layers=1)
    rest = flops.forward(shape, prompts=3, length=10, logits=0) - flops.forward(fewer, prompts=3, length=10, logits=0)
    last = counted(last_block_and_readout, shape, length=10, whole_vocabulary=whole_vocabulary)
    found = flops.unpatched(shape, prompts=3, length=10, whole_vocabulary=whole_vocabulary)
    assert found == rest + 3 * last


def one_head_after_the_other(
    shape: Shape, *, length: int, first: int, whole_vocabulary: bool, alone: bool = False
) -> None:
    """One prompt; matrices of the right sizes stand for weights and activations.

    Heads are replaced at `first` and later positions, or at `first` `alone`.
    """
    d = shape.d_model
    for layer, _ in shape.heads:
        if alone and layer == shape.n_layers - 1 and first < length - 1:
            continue  # nobody reads what is written there
        read = torch.ones(1 if alone or layer == shape.n_layers - 1 else length - first, shape.d_head)
        mlp(shape, read @ torch.ones(shape.d_head, d))
        for later in range(layer + 1, shape.n_layers):
            block(shape, length=length, first=first, last=later == shape.n_layers - 1)
        torch.ones(1, d) @ torch.ones(d, shape.d_vocab if whole_vocabulary else 2)


def block(shape: Shape, *, length: int, first: int, last: bool) -> None:
    """One block on the positions from `first` on; the last block is read at the last position."""
    d, width, kv = shape.d_model, shape.n_heads * shape.d_head, shape.n_kv_heads * shape.d_head
    x = torch.ones(length - first, d)
    read = x[-1:] if last else x
    x @ torch.ones(d, kv), x @ torch.ones(d, kv), read @ torch.ones(d, width)
    for _ in range(shape.n_heads):
        scores = torch.ones(len(read), shape.d_head) @ torch.ones(shape.d_head, length)
        scores @ torch.ones(length, shape.d_head)
    mlp(shape, torch.ones(len(read), width) @ torch.ones(width, d))


def mlp(shape: Shape, x: torch.Tensor) -> None:
    for _ in range(2 if shape.layout == "llama" else 1):
        hidden = x @ torch.ones(shape.d_model, shape.d_mlp)
    hidden @ torch.ones(shape.d_mlp, shape.d_model)


def last_block_and_readout(shape: Shape, *, length: int, whole_vocabulary: bool) -> None:
    block(shape, length=length, first=0, last=True)
    torch.ones(1, shape.d_model) @ torch.ones(shape.d_model, shape.d_vocab if whole_vocabulary else 2)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", TINY)
@pytest.mark.parametrize("work", ["last", "last-log-prob", "all-shared", "all", "each"])
def test_no_side_uses_fewer_operations_than_its_bound(backend, name, work):
    """Else a share of the bound above 100 % could come from counting too many."""
    shape, model = SHAPES[name], random_hooked_model(SHAPES[name], backend)
    shape = replace(shape, prompts=WORKS[work].prompts or shape.prompts)
    job = Job(model, shape, WORKS[work], shape.heads, range(shape.prompts))
    for key, side in sides_of(job).items():
        short = job.of(job.heads, alone=job.alone)
        done = side.run(short).done  # the self-check is not counted
        bound = round(done * side.flops(job))
        assert bound <= counted(side.run, short) <= 2 * bound, key
