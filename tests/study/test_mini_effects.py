"""Both model classes and both versions of transformer-lens give the same effects on the bundled model.

`python tests/study/test_mini_effects.py` writes the file anew (after the model or the prompts have changed).
"""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

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


def check(found):
    """Effects that the bridge of transformer-lens 4.3 gave."""
    stored = json.loads(PATH.read_text(encoding="utf-8"))
    assert found
    for name, values in found.items():
        assert np.abs(np.array(stored[name])).max() > 0.05  # something to compare
        np.testing.assert_allclose(values, stored[name], atol=1e-4, err_msg=name)
    return found.keys() == stored.keys()


@pytest.mark.both_versions
def test_effects_of_one_task_and_method_are_those_that_there_were(mini):
    assert not check(effects(mini, tasks=("country_capital",), methods=("denoising_patch",)))


@pytest.mark.slow
@pytest.mark.parametrize(
    "backend", ["bridge", pytest.param("hooked", marks=pytest.mark.needs_tl3("HookedTransformer was removed"))]
)
def test_effects_of_all_tasks_are_those_that_there_were(backend):
    assert check(effects(hc.load_model("mini", device="cpu", backend=backend)))


if __name__ == "__main__":
    PATH.write_text(json.dumps(effects(hc.load_model("mini", device="cpu"))), encoding="utf-8")
