"""`headcats plan`: what a study will take on a model and hardware that need not be here."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headcats.base.errors import format_duration
from headcats.cli.answer import put
from headcats.cli.arguments import AsJson
from headcats.cli.console import tell
from headcats.cli.options import takes_fields
from headcats.evidence.power import power_findings
from headcats.results.finding import Finding, line, paragraph, table
from headcats.study.options import StudyOptions

if TYPE_CHECKING:  # which loads torch
    from headcats.scale.resources import Resources

_SHAPE = "llama-3-8b, llama-3-70b, gpt2, gpt2-xl, or the folder of a model (its config.json is enough)."
_HARDWARE = "h100, h200 or a100; or here: the processor of this machine, whose rate is measured."
_TOKENIZER = (
    "Folder or hub name of the tokenizer that writes the prompts; default: that of the folder of --shape, else the "
    "bundled one."
)
_DTYPE = "bfloat16 (default), float16, or float32."


@takes_fields(StudyOptions, until="plan")
def plan_command(
    given: dict[str, Any],
    shape: Annotated[str, typer.Option("--shape", help=_SHAPE)],
    hardware: Annotated[str, typer.Option("--hardware", help=_HARDWARE)] = "h100",
    devices: Annotated[int, typer.Option("--devices", help="How many devices there are.")] = 1,
    dtype: Annotated[str, typer.Option("--dtype", help=_DTYPE)] = "bfloat16",
    tokenizer: Annotated[str | None, typer.Option("--tokenizer", help=_TOKENIZER)] = None,
    as_json: AsJson = False,
) -> None:
    """Estimate hours and memory of a study on a model of some size, from its matrix products.

    Neither the model nor the hardware has to be here. Prompts are written as `headcats run` writes them.

    Examples:
    - `headcats plan --shape llama-3-70b --devices 8`
    - `headcats plan --shape llama-3-8b --methods denoising_patch,mean_ablation@last --n-prompts 128`
    - `headcats plan --shape path/to/model --hardware a100 --json`
    - `headcats plan --shape path/to/model --hardware here --dtype float32`

    Keys of `--json`: `shape` (`name`, `n_layers`, `n_heads`, `n_kv_heads`, `d_model`, `d_head`, `d_mlp`, `d_vocab`,
    `mlp_matrices`, `tied`), `hardware` (`name`, `memory`, `rate`, `source`), `dtype`, `devices`, `devices_per_copy`,
    `copies`, `n_tasks`, `n_prompts` (of all tasks), `n_items` (of a task), `sources`
    (independent ones by category), `tokens` (of a prompt), `written_by`, `weights`, and `parts`, a row
    for the unpatched runs, one for each method, and their sum ("together"): `part`, `flops`, `hours` (from start to
    end), `memory` (of one device). Sizes are in bytes.
    """
    from dataclasses import asdict

    from headcats.scale.resources import plan

    planned = plan(shape, hardware=hardware, devices=devices, dtype=dtype, tokenizer=tokenizer, **given)
    if not as_json:
        tell(_findings(planned))
        return
    put(asdict(planned) | {"parts": planned.parts.rename_axis("part").reset_index()})


def _findings(planned: "Resources") -> Iterator[Finding]:
    """A row per part, the sum, and the assumptions."""
    from headcats.sweeps.memory import readable_bytes

    columns = ("", "operations", "time", "memory")
    rows = [
        [part.Index, f"{part.flops:.2g}", format_duration(part.hours * 3600), readable_bytes(part.memory)]
        for part in planned.parts.itertuples()
    ]
    shape, n_used = planned.shape, planned.copies * planned.devices_per_copy
    yield table(
        "plan.title",
        columns,
        rows,
        numeric=columns[1:],
        shape=shape.name or "model",
        layers=shape.n_layers,
        heads=shape.n_heads,
        dtype=planned.dtype,
        tasks=planned.n_tasks,
        prompts=planned.n_prompts,
        device=planned.hardware.name,
    )
    yield paragraph(
        "plan.total",
        device_time=format_duration(planned.parts["hours"].iloc[-1] * n_used * 3600),
        devices=n_used,
        weights=readable_bytes(planned.weights),
    )
    if planned.devices_per_copy > 1:
        yield line("plan.spread", per_copy=planned.devices_per_copy, copies=planned.copies)
    yield line("plan.prompts", tokens=planned.tokens, written_by=planned.written_by)
    yield line("plan.rate", source=planned.hardware.source, rate=f"{planned.hardware.rate / 1e12:.3g}")
    yield from power_findings(planned.sources, [planned.n_items])
    yield line("plan.left_out")
