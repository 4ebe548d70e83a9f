"""What a token map says, in sentences."""

import numpy as np
import xarray as xr

from headcats.methods.token_probe.coincidence import coincidences
from headcats.methods.token_probe.convergence import not_converged
from headcats.methods.token_probe.settings import LAST_Q

# Pairs of roles that are named where they are the same token; all stand in `same_position`.
_PAIRS = 8


def summary(block: xr.Dataset) -> list[str]:
    """The best cell, what the task alone gives, the controls, and what was left out.

    Args:
        block: What `hc.methods.token_probe` returns.
    """
    n, bad, attrs = int(block.n), int(block.n_wrong), block.attrs
    judged = f"judged on {int(block.n_test)} answers to other items"
    lines = [f"{n} answers, {100 * bad / n:.0f} % of them wrong; probed on {attrs['hook']}, {judged}."]
    if len(set(block.task.values.tolist())) > 1:
        lines.append(_by_task(block))
    if np.isfinite(block.auc.values).any():
        lines += [_best(block), *_controls(block)]
    if int(block.n_left_out):
        lines.append(f"Questions: {attrs['left_out']}.")
    if skipped := str(attrs.get("tasks_without_exact", "")):
        lines.append(f"Tasks that do not say how the exact answer is found: {', '.join(skipped.splitlines())}.")
    if alone := str(attrs["tasks_of_one_class"]):
        lines.append(f"All held-out answers right, or all wrong, so no pairs within: {', '.join(alone.splitlines())}.")
    if int(block.n_cut):
        lines.append(f"Answers cut at the limit: {int(block.n_cut)}.")
    lines += [f"{said[0].upper()}{said[1:]}." for said in coincidences(block, at_most=_PAIRS)]
    if failed := not_converged(block):
        lines.append(failed)
    return lines


def _best(block: xr.Dataset) -> str:
    cell = _cell(block, "auc")
    told = (
        f"Best of {int(np.isfinite(block.auc.values).sum())} cells: {_place(cell)}, AUC "
        f"{_interval(cell, 'auc', 'low', 'high')}; the best of many flatters."
    )
    if float(cell.low) <= float(block.task_baseline_high):
        told += " Knowing the task alone does as well, so the AUC over all pairs shows the task: read `within_task`."
    return told


def _controls(block: xr.Dataset) -> list[str]:
    alone = _interval(block, "task_baseline", "task_baseline_low", "task_baseline_high")
    lines = [f"The task alone, without any activation: {alone}."]
    if np.isfinite(block.within_task.values).any():
        cell = _cell(block, "within_task")
        within = _interval(cell, "within_task", "within_low", "within_high")
        lines.append(f"Best within tasks: {_place(cell)}, AUC {within}.{_before_the_answer(block)}")
    shuffled = block.shuffled_within.values
    if np.isfinite(shuffled).any():
        outside = int(((block.shuffled_within_low > 0.5) | (block.shuffled_within_high < 0.5)).sum())
        lines.append(
            f"Shuffled labels, within tasks: {np.nanmean(shuffled):.2f} in the mean; the interval leaves .5 out in "
            f"{outside} of {int(np.isfinite(shuffled).sum())} cells (one of 20 by chance, but all cells share the same "
            "shuffled labels and err together)."
        )
    return lines


def _before_the_answer(block: xr.Dataset) -> str:
    if LAST_Q not in block.role.values or not np.isfinite(block.within_task.sel(role=LAST_Q).values).any():
        return ""
    cell = _cell(block.sel(role=[LAST_Q]), "within_task")
    before = _interval(cell, "within_task", "within_low", "within_high")
    return f" Before the answer begins ({LAST_Q}) it is up to {before}: that much the question gives away."


def _by_task(block: xr.Dataset) -> str:
    tasks = block.task.values.astype(str)
    shares = {task: 100 * float(block.wrong.values[tasks == task].mean()) for task in dict.fromkeys(tasks.tolist())}
    return "Wrong by task: " + ", ".join(f"{task} {share:.0f} %" for task, share in shares.items()) + "."


def _cell(block: xr.Dataset, name: str) -> xr.Dataset:
    """The cell where a variable is largest."""
    values = block[name].values
    row, column = np.unravel_index(np.nanargmax(values), values.shape)
    return block.isel(layer=int(row), role=int(column))


def _place(cell: xr.Dataset) -> str:
    return f"layer {int(cell.layer)}, {cell.role.item()}"


def _interval(block: xr.Dataset, value: str, low: str, high: str) -> str:
    return f"{float(block[value]):.2f} [{float(block[low]):.2f}, {float(block[high]):.2f}]"
