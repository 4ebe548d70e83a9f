"""What a figure of a probe has to say beside its colours: how well the probe works, and whether it may be drawn."""

import math

import xarray as xr

from headcats.errors import DataError
from headcats.methods.function_probe.names import NOT_ABOVE_CHANCE, SEPARATES_TASKS, TOO_FEW_SEEDS

# Variable -> what it is called, prefix of its interval, and the accuracy by chance.
_ACCURACIES = {
    "accuracy": ("held-out accuracy", "accuracy", "chance"),
    "left_out_accuracy": ("leave-one-task-out accuracy", "left_out", "left_out_chance"),
}


def refuse_chance(probe: xr.Dataset, *, figure: str) -> None:
    """Refuse the importances of a probe that is not above chance, or in too few of its seeds.

    Raises:
        DataError: the attribute `verdict` says so; the message holds the accuracies.
    """
    text = "; ".join(accuracies(probe)) or "no accuracy is stored"
    if probe.attrs.get("verdict") == TOO_FEW_SEEDS:
        raise DataError(
            f"{figure} expects a probe with more than half of its seeds; here is {probe.sizes.get('seed', 0)}, the "
            f"others were refused or not run yet ({text}). Where nothing is to be found, single seeds are above chance "
            "all the same: finish the run, or give it more items per function."
        )
    if probe.attrs.get("verdict") == NOT_ABOVE_CHANCE:
        raise DataError(
            f"{figure} expects a probe whose held-out accuracy is above chance; this one is not ({text}), so what it "
            "attributes to heads says nothing. Give it more items per function, or functions that the model tells "
            "apart."
        )


def titled(title: str | None, probe: xr.Dataset) -> str | None:
    """The title, which says so where the probe tells tasks apart but not functions."""
    if probe.attrs.get("verdict") != SEPARATES_TASKS or (title and SEPARATES_TASKS in title):
        return title
    return f"{title}: {SEPARATES_TASKS}" if title else f"{SEPARATES_TASKS[0].upper()}{SEPARATES_TASKS[1:]}"


def accuracies(probe: xr.Dataset) -> list[str]:
    """Held-out and leave-one-task-out accuracy with their intervals, and chance; nothing for other scores.

    Of several seeds: the mean, and the widest interval (the smallest lower and the largest upper end).
    """
    parts = [
        f"{title} {_accuracy(probe, name, *ends)}" for name, (title, *ends) in _ACCURACIES.items() if name in probe
    ]
    if parts and probe.sizes.get("seed", 1) > 1:
        parts.append(f"{probe.sizes['seed']} probe seeds: mean accuracy and chance, widest interval")
    return parts


def function_tasks(probe: xr.Dataset, function: str) -> str:
    """Tasks of a function, comma-separated, each with the accuracy on it when it was left out, where that is known."""
    if "task_function" not in probe.coords:
        return ""
    of_function = probe.sel(task=probe["task_function"] == function)
    tasks = [str(task) for task in of_function["task"].values]
    if "task_left_out_accuracy" not in of_function:
        return ",".join(tasks)
    shares = of_function["task_left_out_accuracy"]
    means = shares.mean([dim for dim in shares.dims if dim != "task"]).values
    return ",".join(
        task if math.isnan(share) else f"{task} (left out: {share:.2f})"
        for task, share in zip(tasks, means, strict=True)
    )


def _accuracy(probe: xr.Dataset, name: str, prefix: str, chance: str) -> str:
    if math.isnan(share := float(probe[name].mean())):
        return "unknown"
    text = f"{share:.3f}"
    low, high = f"{prefix}_low", f"{prefix}_high"
    if low in probe and high in probe and bool(probe[low].notnull().any()):
        text += f" [{float(probe[low].min()):.3f}, {float(probe[high].max()):.3f}]"
    if chance not in probe:
        chance = "chance"
    return f"{text} (chance {float(probe[chance].mean()):.3f})" if chance in probe else text
