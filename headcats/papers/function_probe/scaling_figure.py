"""What scaling the heads of a function does to the answers of every function, beside random heads."""

import math

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import xarray as xr

from headcats.base.errors import DataError, OptionError, pluralize
from headcats.figures.colours import BACKGROUND, FAINT, TEXT
from headcats.figures.figure import figure
from headcats.figures.panels.axes import Axis, scale_over
from headcats.figures.panels.grid import PanelGrid
from headcats.figures.panels.layout import Panel, Plot
from headcats.figures.panels.text import escaped, hover
from headcats.figures.tables import require

VARIABLES = {"log_prob": "log-probability per token", "accuracy": "accuracy"}
_BY_PAIR = ("function", "target")
_CELL, _HEIGHT = 30, 190  # pixels of a target, and of a panel


@figure
def scaled_heads(scaled: xr.Dataset, *, variable: str = "log_prob", title: str | None = None) -> PanelGrid:
    """Answers with the heads of a function scaled to almost nothing, beside random heads; one panel per function.

    x = function whose answers are read, y = mean log-probability of its answers per token in nats (or accuracy), the
    same scale in all panels. Dash: with all heads as they are. Circle: with the heads of the panel's function scaled,
    filled on that function's own answers. Grey bar: from the least to the most of the sets of as many random heads,
    with a dot at their mean.

    Args:
        scaled: What `hc.papers.function_probe.scale_function_heads` returns.
        variable: "log_prob" or "accuracy".
        title: Written above the panels.

    Returns:
        The figure. `hc.figures.data(fig)` has one row per function and target: `function, target, own` (target is the
        function), `log_prob, clean_log_prob, random_log_prob` (mean of the random sets), `random_log_prob_low,
        random_log_prob_high` (least and most), `accuracy, clean_accuracy, random_accuracy, random_accuracy_low,
        random_accuracy_high`, and `n_heads, n_controls, p, p_specific` of the function.

    Raises:
        DataError: a variable or dimension is missing, or no function or target.
        OptionError: another `variable`.

    References:
        Ma et al. (2025), Cognitive Mirrors, arXiv 2512.10978: heads of a function masked beside random heads.

    Example:
        >>> import headcats as hc
        >>> tasks = ("country_capital", "plural")
        >>> texts = [text for task in tasks for text in hc.methods.task_texts(task, n_prompts=8)]
        >>> heads = {"Knowledge": ["L1H6", "L1H7"], "Linguistic": ["L4H0"]}
        >>> scaled = hc.papers.function_probe.scale_function_heads(hc.load_model("mini"), texts, heads, n_controls=2)
        >>> fig = hc.figures.scaled_heads(scaled, variable="accuracy")
        >>> hc.figures.data(fig).shape[0]
        4
    """
    require(
        scaled,
        {
            **dict.fromkeys(VARIABLES, _BY_PAIR),
            **{f"clean_{name}": ("target",) for name in VARIABLES},
            **{f"control_{name}": (*_BY_PAIR, "control") for name in VARIABLES},
            **dict.fromkeys(("n_heads", "n_controls", "p", "p_specific"), ("function",)),
        },
        figure="scaled_heads",
        table="hc.papers.function_probe.scale_function_heads(model, texts, heads)",
        counted=False,
    )
    if variable not in VARIABLES:
        raise OptionError(f"scaled_heads shows one of {', '.join(VARIABLES)}; got variable={variable!r}.")
    functions, targets = ([str(name) for name in scaled[dim].values] for dim in _BY_PAIR)
    if not functions or not targets:
        raise DataError(f"scaled_heads expects functions and targets; got {len(functions)} and {len(targets)}.")
    frame = _frame(scaled)
    shown = frame[[variable, f"clean_{variable}", f"random_{variable}_low", f"random_{variable}_high"]]
    y = scale_over(shown.min().min(), shown.max().max(), VARIABLES[variable], default=(0.0, 1.0))
    x = Axis("target", len(targets), labels=targets, slanted=True)
    size = (max(120, _CELL * len(targets)), _HEIGHT)
    panels = [
        Panel(name, [Plot(x, y, size, _traces(rows, variable, targets))], notes=[_note(rows)])
        for name, rows in ((name, frame[frame["function"] == name]) for name in functions)
    ]
    caption = [
        "columns: whose answers are read",
        "– heads as they are",
        f"○ heads of the function times {float(scaled.attrs.get('scale', math.nan)):g}, ● on its own answers",
        "grey: random sets of as many heads, ∙ their mean",
    ]
    return PanelGrid(panels, frame, title, caption)


def _frame(scaled: xr.Dataset) -> pd.DataFrame:
    columns: dict[str, xr.DataArray] = {}
    for name in VARIABLES:
        control = scaled[f"control_{name}"]
        columns |= {name: scaled[name], f"clean_{name}": scaled[f"clean_{name}"]}
        columns |= {f"random_{name}": control.mean("control")}
        columns |= {f"random_{name}_low": control.min("control"), f"random_{name}_high": control.max("control")}
    columns |= {name: scaled[name] for name in ("n_heads", "n_controls", "p", "p_specific")}
    like = scaled["log_prob"].transpose(*_BY_PAIR)
    table = {name: column.broadcast_like(like).transpose(*_BY_PAIR).values.ravel() for name, column in columns.items()}
    functions, targets = (scaled[dim].values.astype(str) for dim in _BY_PAIR)
    pairs = {"function": np.repeat(functions, len(targets)), "target": np.tile(targets, len(functions))}
    frame = pd.DataFrame(pairs | table)
    frame.insert(2, "own", frame["function"] == frame["target"])
    return frame


def _traces(rows: pd.DataFrame, variable: str, targets: list[str]) -> list[go.Scatter | None]:
    places = np.array([targets.index(name) for name in rows["target"]])
    low, high, mean = (rows[f"random_{variable}{end}"].to_numpy(dtype=float) for end in ("_low", "_high", ""))
    gaps = np.full(len(rows), np.nan)
    bars = go.Scatter(
        x=np.stack([places, places, gaps], 1).ravel(),
        y=np.stack([low, high, gaps], 1).ravel(),
        mode="lines",
        line={"color": FAINT, "width": 9},
        connectgaps=False,
        name="random heads",
    )
    dots = go.Scatter(x=places, y=mean, mode="markers", marker={"symbol": "circle", "size": 4, "color": TEXT})
    dash = {"symbol": "line-ew", "size": 16, "line": {"color": TEXT, "width": 2}}
    clean = go.Scatter(x=places, y=rows[f"clean_{variable}"], mode="markers", marker=dash, name="clean")
    is_target = rows["own"].to_numpy()
    function = escaped(rows["function"].iloc[0])
    template = (
        f"<b>answers of %{{target}}</b>, heads of {function}<br>%{{{variable}:.3f}}, all heads as they are "
        f"%{{clean_{variable}:.3f}}<br>random heads %{{random_{variable}:.3f}} "
        f"[%{{random_{variable}_low:.3f}}, %{{random_{variable}_high:.3f}}]"
    )
    marker = {
        "symbol": "circle",
        "size": 10,
        "color": [TEXT if is_own else BACKGROUND for is_own in is_target],
        "line": {"color": TEXT, "width": 1.5},
    }
    masked = go.Scatter(
        x=places,
        y=rows[variable],
        mode="markers",
        marker=marker,
        name="scaled",
        cliponaxis=False,
        **hover(template, rows.assign(target=rows["target"].map(escaped)), y=variable),
    )
    return [bars, dots, clean, masked]


def _note(rows: pd.DataFrame) -> str:
    first = rows.iloc[0]
    if not first["n_heads"]:
        return "no heads"
    heads = pluralize(int(first["n_heads"]), "head")
    if math.isnan(first["p"]):
        return f"{heads}, no random sets"
    specific = "" if math.isnan(first["p_specific"]) else f", specific {first['p_specific']:.2g}"
    return f"{heads}, p {first['p']:.2g}{specific}"
