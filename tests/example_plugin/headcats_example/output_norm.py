"""A joint method, declared without torch: its code is imported when it is first called."""

from headcats.methods import Declaration, Strength, declare

output_norm = declare(
    Declaration(
        name="output_norm",
        kind="joint",
        strength=Strength("norm", over="task", kind="outputs", text="norm of the head's output, mean over tasks"),
        figure="norm_grid",
        figure_heads="layer-head",
        paper="an example",
        cost="one forward pass per prompt",
    ),
    code="headcats_example.output_norm_fit:OutputNorm",
    summary="headcats_example.output_norm_fit:summary",
    figure="headcats_example.norm_grid:norm_grid",
)
