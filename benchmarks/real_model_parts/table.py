"""What the studies took beside what was planned for the processor of this machine."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch

import headcats as hc
from headcats.base.errors import HeadcatsError, format_duration
from headcats.scale.resources import SHARE_HERE
from headcats.sweeps.memory import readable_bytes


def print_table(model: Path, out: Path, studies: Mapping[str, Sequence[str]], *, threads: int) -> None:
    """One line a study: seconds and memory beside the plan, and the share of the rate of matrix products."""
    torch.set_num_threads(threads)
    file = out / "seconds.json"
    for name, calls in (json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}).items():
        clock, processor = (sum(call[kind] for call in calls) for kind in ("clock", "processor"))
        memory = readable_bytes(max(call["peak_memory"] for call in calls))
        print(f"{name}: {format_duration(clock)}, processor {format_duration(processor)}, {memory}", end="")
        try:
            manifest = hc.load(out / name).attrs["manifest"]
            tasks = [task for task, record in json.loads(manifest)["tasks"].items() if not record.get("refusal")]
            study = _options(studies[name]) | {"tasks": tasks}
            planned = hc.plan(model, hardware="here", dtype="float32", **study)
        except (HeadcatsError, KeyError):
            print()
            continue
        together = planned.parts.loc["together"]
        seconds, share = together.hours * 3600, SHARE_HERE * together.hours * 3600 / clock
        expected = f"planned {format_duration(seconds)}, {readable_bytes(together.memory)}"
        print(f"; {expected}; {together.flops:.2g} operations, {share:.0%} of the rate of matrix products")


def _options(command: Sequence[str]) -> dict[str, object]:
    """Options of a command of headcats, as `hc.plan` takes them."""
    pairs = zip(command[1::2], command[2::2], strict=True)
    given: dict[str, object] = {name.removeprefix("--").replace("-", "_"): value for name, value in pairs}
    given = {name: value for name, value in given.items() if name not in ("min_accuracy", "min_logit_diff")}
    if "methods" in given:
        given["methods"] = str(given["methods"]).split(",")
    return given | {name: int(str(given[name])) for name in ("n_prompts", "seed") if name in given}
