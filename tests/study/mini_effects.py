"""Effects of the bundled model on a few prompts, as one transformer-lens gave them; every other must give the same.

`python tests/study/mini_effects.py` writes the file anew (after the model or the prompts have changed).
"""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import headcats as hc
from headcats.models.adapter import HookedModel
from headcats.tasks.suites import make_suite

PATH = Path(__file__).with_name("mini_effects.json")
METHODS = ("denoising_patch", "mean_ablation")
TASKS = ("country_capital", "successor", "list_last")
# The corrupted prompts of each show the other task on its inputs; all six together are the reference of means.
OTHERS = ("country_language", "predecessor", "list_first")


def effects(model: HookedModel, *, tasks: Sequence[str] = TASKS, methods: Sequence[str] = METHODS) -> dict[str, list]:
    """`task method` -> mean effect of every head in shares of the gap, `[layer][head]`."""
    suite = make_suite([*TASKS, *OTHERS])
    results = hc.run(model, suite=suite, tasks=list(tasks), methods=methods, n_prompts=4, progress=False)
    found = {}
    for method in methods:
        scores = hc.score(results, method=method)
        for task in tasks:
            found[f"{task} {method}"] = np.round(scores["effect"].sel(task=task).values.astype(float), 7).tolist()
    return found


if __name__ == "__main__":
    PATH.write_text(json.dumps(effects(hc.load_model("mini", device="cpu"))), encoding="utf-8")
