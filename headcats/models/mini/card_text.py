"""What the cards of all bundled models say in the same words."""

from collections.abc import Mapping, Sequence
from typing import Any

Report = Mapping[str, Any]

CORRUPTIONS = ("other_task", "shuffled_labels")
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


def command(module: str, shipped: Report) -> str:
    """How the shipped seed was made, and how long that took."""
    threads = "one CPU thread" if shipped["threads"] == 1 else f"{shipped['threads']} CPU threads"
    return f"""\
`python -m {module} --seed {shipped["seed"]} --out DIR`: {shipped["steps"]} steps in \
{shipped["minutes"]:.0f} minutes on {threads} (matrix products in bfloat16)."""


def optimiser(settings: Mapping[str, Any]) -> str:
    """Bullets on the optimiser, its cycles and the checks."""
    return f"""\
- AdamW (.9, .98), weight decay {settings["weight_decay"]}, gradient norm clipped at 1, learning rate
  {settings["learning_rate"]}: warm-up, constant, cosine to zero, in a cycle of {settings["first_cycle"]} steps and then
  cycles of {settings["later_cycle"]} at half the rate until the gate is passed.
- Every {settings["check_every"]} steps, tasks that lag behind get more sequences."""


def lowest(accuracy: Mapping[str, float]) -> str:
    """The smallest number and its task."""
    task = min(accuracy, key=accuracy.__getitem__)
    return f"{accuracy[task]:.3f} ({task})"


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)
