"""What the studies took beside what was planned from the shape of the model and the speed of this machine."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from sweep_speed.clock import gemm_rate
from sweep_speed.shapes import Shape

import headcats as hc
from headcats.base.errors import HeadcatsError, format_duration
from headcats.scale.resources import Hardware
from headcats.scale.shape import find_shape
from headcats.sweeps.memory import readable_bytes


def print_table(model: Path, out: Path, studies: Mapping[str, Sequence[str]], *, threads: int) -> None:
    """One line a study: seconds and memory, planned at the rate of matrix products, and the share of that rate."""
    torch.set_num_threads(threads)
    shape = find_shape(model)
    sizes = (shape.n_layers, shape.n_heads, shape.n_kv_heads, shape.d_model, shape.d_head, shape.d_mlp, shape.d_vocab)
    rate = gemm_rate(Shape(*sizes, shape.mlp_matrices), device=torch.device("cpu"), dtype=torch.float32)
    print(f"matrix products: {rate / 1e9:.0f} GFLOP/s on {threads} threads")
    taken = json.loads((out / "seconds.json").read_text(encoding="utf-8"))
    here = Hardware("here", 10**12, rate, "measured")
    for name, calls in taken.items():
        clock, processor = (sum(call[kind] for call in calls) for kind in ("clock", "processor"))
        peak = max(call["peak_memory"] for call in calls)
        print(
            f"{name}: {format_duration(clock)}, processor {format_duration(processor)}, {readable_bytes(peak)}", end=""
        )
        try:
            manifest = hc.load(out / name).attrs["manifest"]
            tasks = [task for task, record in json.loads(manifest)["tasks"].items() if not record.get("refusal")]
            given = _options(studies[name])
            planned = hc.plan(model, hardware=here, dtype="float32", **given | {"tasks": tasks}).parts.loc["together"]
        except (HeadcatsError, KeyError):
            print()
            continue
        share = planned.flops / rate / clock
        print(f"; {planned.flops:.2g} operations, {share:.0%} of the rate; planned {readable_bytes(planned.memory)}")


def _options(command: Sequence[str]) -> dict[str, object]:
    """Options of a command of headcats, as `hc.plan` takes them."""
    pairs = zip(command[1::2], command[2::2], strict=True)
    given: dict[str, object] = {name.removeprefix("--").replace("-", "_"): value for name, value in pairs}
    given = {name: value for name, value in given.items() if name not in ("min_accuracy", "min_logit_diff")}
    if "methods" in given:
        given["methods"] = str(given["methods"]).split(",")
    return given | {name: int(str(given[name])) for name in ("n_prompts", "seed") if name in given}
