"""The parts of a model card that all bundled models share."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Report = Mapping[str, Any]

CORRUPTIONS = ("other_task", "shuffled_labels")
FEW_DEMONSTRATIONS = (0, 1, 2)
LICENCE = """
Licence: MIT, like the package.
"""


def header(name: str) -> str:
    """The fields that the hub reads, and the title."""
    return f"""---
license: mit
library_name: transformers
pipeline_tag: text-generation
---

# headcats {name}"""


def layout(report: Report, settings: Mapping[str, Any]) -> str:
    """A bullet on architecture and size."""
    return f"""\
- Llama layout, {settings["n_layers"]} layers of {settings["n_heads"]} heads, width {settings["d_model"]}, MLP width \
{settings["d_mlp"]}, {report["n_parameters"] / 1e6:.2f} million parameters, tied embeddings; float16 in the file."""


def shipped_seed(report: Report) -> Report:
    """The report of the seed that is shipped."""
    return next(seed for seed in report["seeds"] if seed["seed"] == report["shipped"])


def command(model: str, shipped: Report) -> str:
    """How the shipped seed was made, and how long that took."""
    threads = "one CPU thread" if shipped["threads"] == 1 else f"{shipped['threads']} CPU threads"
    return f"""\
`python benchmarks/train.py {model} --seed {shipped["seed"]} --out DIR`: {shipped["steps"]} steps in \
{shipped["minutes"]:.0f} minutes on {threads} (matrix products in bfloat16)."""


def optimiser(settings: Mapping[str, Any]) -> str:
    """Bullets on the optimiser, its cycles and the checks."""
    return f"""\
- AdamW (.9, .98), weight decay {settings["weight_decay"]}, gradient norm clipped at 1, learning rate
  {settings["learning_rate"]}: warm-up, constant, cosine to zero, in a cycle of {settings["first_cycle"]} steps and then
  cycles of {settings["later_cycle"]} at half the rate until the gate is passed.
- Every {settings["check_every"]} steps, tasks that lag behind get more sequences."""


def seeds_table(report: Report, extra: Mapping[str, Callable[[Report], str]] | None = None) -> str:
    """One row per seed: its gate, its lowest accuracies, the `extra` columns of its gate, and what it took."""
    extra = extra or {}
    rows = []
    for seed in report["seeds"]:
        gate = seed["gates"][-1]
        accuracies = lowest({task: by_k[-1] for task, by_k in gate["k"].items()}), lowest(gate["prompts"])
        verdict = "passed" if seed["passed"] else "failed"
        extras = [column(gate) for column in extra.values()]
        rows.append(
            [seed["seed"], verdict, *accuracies, *extras, seed["steps"], seed["cycles"], f"{seed['minutes']:.0f}"]
        )
    columns = ("seed", "gate", "lowest, whole task", "lowest, run prompts", *extra, "steps", "cycles", "minutes")
    return table(columns, rows)


def accuracy_rows(report: Report, *, group: str) -> str:
    """One row per few-shot task: accuracy by demonstrations, on run prompts, and after corrupted ones.

    Args:
        report: `measured` (task -> numbers) and `categories` (task -> group).
        group: Title of the column of groups.
    """
    n_demos = len(next(iter(report["measured"].values()))["k"]) - 1
    demonstrations = (*FEW_DEMONSTRATIONS, n_demos)
    rows = []
    for task, cells in report["measured"].items():
        numbers = [f"{cells['k'][k]:.3f}" for k in demonstrations]
        numbers.append(f"{cells['other_task']['clean_accuracy']:.3f}")
        for corruption in CORRUPTIONS:
            cell = cells.get(corruption)
            numbers += [f"{cell['accuracy']:.3f}", f"{cell['probability']:.3f}"] if cell else ["-", "-"]
        rows.append([task, report["categories"][task], *numbers])
    by_demonstrations = [f"k = {k}" for k in demonstrations]
    return table(["task", group, *by_demonstrations, "run", "other task", "P", "shuffled", "P"], rows)


def lowest(accuracy: Mapping[str, float]) -> str:
    """The smallest number and its task."""
    task = min(accuracy, key=accuracy.__getitem__)
    return f"{accuracy[task]:.3f} ({task})"


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)
