"""All protocols of some results, judged by one rule: names, controls, screens, and what cannot be judged."""

import json
import warnings

import numpy as np
import pytest
import xarray as xr
from simulated import CATEGORIES, NAMES, block

import headcats as hc
from headcats.base.errors import DataError, StatisticsWarning, UnknownNameError
from headcats.categories.map_spec import MapSpec
from headcats.evidence.comparison.protocols import JudgedProtocols
from headcats.evidence.comparison.protocols import judge_protocols as judge
from headcats.evidence.comparison.runs import named_runs
from headcats.results.run_results import RunResults

TASKS = {"t0": NAMES[0], "t1": NAMES[0], "t2": NAMES[1], "t3": NAMES[1]}
PLAN = {"suite": "icl", "metrics": ["logit_diff"], "template": "arrow", "corruption": "other_task", "seed": 0}


def results_of(
    labels: dict[str, tuple[int, int]],
    *,
    items: int = 24,
    metrics: tuple[str, ...] = ("logit_diff",),
    attrs: dict[str, dict[str, str]] | None = None,
    weights: str = "w",
    **plan: object,
) -> xr.DataTree:
    """Results in which each label finds the head named, on every task and metric."""
    rng = np.random.default_rng(0)
    nodes: dict[str, xr.Dataset] = {}
    for task, category in TASKS.items():
        nodes[f"/{task}"] = xr.Dataset(attrs={"category": category})
        for label, place in labels.items():
            differences = 0.05 * rng.standard_normal((48, 2, 4))
            differences[:, place[0], place[1]] += 0.5
            data = block(differences, items=np.arange(48) % items)
            data = xr.concat([data.assign_coords(metric=[name]) for name in metrics], dim="metric", join="outer")
            nodes[f"/{task}/{label}"] = data.assign_attrs((attrs or {}).get(label, {}))
    manifest = {
        "plan": PLAN | {"metrics": list(metrics)} | plan,
        "model": {"weights_hash": weights, "dtype": "float32", "device": "cpu", "name": weights},
        "methods": list(labels),
    }
    tree = xr.DataTree.from_dict(nodes)
    tree.attrs |= {"categories": json.dumps(CATEGORIES[:2]), "manifest": json.dumps(manifest)}
    return tree


def judge_protocols(results: dict[str, xr.DataTree], **options: str | int) -> JudgedProtocols:
    """All protocols of results by name, or those that options choose."""
    runs = named_runs({name: RunResults(tree) for name, tree in results.items()})
    return judge(runs, MapSpec.parse(**options))


A, B = (0, 0), (1, 2)
DENOISING = "denoising_patch@last, logit_diff"


def test_every_method_and_metric_is_a_protocol():
    results = results_of({"denoising_patch@last": A, "mean_ablation@all": B}, metrics=("logit_diff", "log_prob"))
    found = judge_protocols({"r": results})
    labels = ("denoising_patch@last", "mean_ablation@all")
    assert list(found.members) == [f"{label}, {metric}" for label in labels for metric in ("logit_diff", "log_prob")]
    assert found.left_out == {}
    table = hc.evidence.agreement(found.members)
    assert table["size"].values.tolist() == [[1] * 4] * 2
    assert table["jaccard"].values[0].tolist() == [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]]
    assert table["method"].values.tolist() == ["denoising_patch"] * 2 + ["mean_ablation"] * 2
    assert table["metric"].values.tolist() == ["logit_diff", "log_prob"] * 2


def test_protocols_of_several_results_carry_what_differs():
    label = "denoising_patch@last"
    found = judge_protocols(
        {
            "a": results_of({label: A}),
            "b": results_of({label: A}, corruption="shuffled_labels"),
            "c": results_of({label: A}, template="question", seed=1),
            "d": results_of({label: A}),
        }
    )
    parts = ("", ", shuffled_labels", ", question, seed 1", ", d")
    assert list(found.members) == [f"{label}, logit_diff{part}" for part in parts]
    assert [json.loads(plan or "{}") for plan in hc.evidence.agreement(found.members)["plan"].values] == [
        {},
        {"corruption": "shuffled_labels"},
        {"template": "question", "seed": 1},
        {},
    ]


@pytest.mark.filterwarnings("ignore:Categories of a single task")
def test_other_tasks_are_another_protocol():
    label = "denoising_patch@last"
    fewer = results_of({label: A})
    del fewer["t1"]
    found = judge_protocols({"a": results_of({label: A}), "b": fewer})
    assert list(found.members) == [f"{label}, logit_diff", f"{label}, logit_diff, 3 tasks"]
    assert json.loads(found.members[f"{label}, logit_diff, 3 tasks"].attrs["plan"]) == {"tasks": ["t0", "t2", "t3"]}


def test_different_models_are_refused():
    label = {"denoising_patch@last": A}
    with pytest.raises(DataError, match="different models"):
        judge_protocols({"a": results_of(label), "b": results_of(label, weights="v")})


def test_controls_are_no_protocols():
    labels = {"denoising_patch@last": A, "second_corruption_patch@last": A, "other_item_patch@last": A}
    found = judge_protocols({"r": results_of(labels)})
    specific = f"{DENOISING}, task_specific"
    assert list(found.members) == [DENOISING, specific]
    # The control does what the patch does here: nothing is specific to the task.
    assert (abs(found.members[specific]["effect"]) < 0.1).all()
    assert found.members[specific].attrs["effect"] == "task_specific"
    assert [name.partition("@")[0] for name in found.left_out] == ["second_corruption_patch", "other_item_patch"]
    assert all("a control" in reason for reason in found.left_out.values())


def test_screens_are_marked_and_never_mixed_silently():
    approximation = {"attribution_patch@last": {"approximation": "first order"}}
    one = results_of({"denoising_patch@last": A, "attribution_patch@last": A}, attrs=approximation)
    marked = "attribution_patch@last, logit_diff, first-order approximation"
    assert list(judge_protocols({"r": one}).members) == [DENOISING, marked]
    more = results_of(
        {"denoising_patch@last": A, "noising_patch@last": A, "attribution_patch@last": A}, attrs=approximation
    )
    found = judge_protocols({"r": more})
    assert marked not in found.members
    assert list(found.left_out) == [marked]
    named = judge_protocols({"r": more}, method="attribution_patch")
    assert list(named.members) == [marked]
    assert hc.evidence.agreement(named.members)["approximation"].values.tolist() == ["first-order approximation"]


def test_what_cannot_be_judged_is_listed_with_the_reason():
    good = results_of({"denoising_patch@last": A})
    few = results_of({"denoising_patch@last": A}, items=3, seed=1)
    no_gap = results_of({"denoising_patch@last": A}, seed=2)
    for task in no_gap.children:
        node = no_gap[task]["denoising_patch@last"]
        node["clean"] = node["corrupted"].copy()
    with pytest.warns(StatisticsWarning, match=r"above 0.*seed 2\)"):
        found = judge_protocols({"good": good, "few": few, "flat": no_gap})
    assert list(found.members) == [DENOISING]
    assert "reachable p" in found.left_out[f"{DENOISING}, seed 1"]
    assert "No category has" in found.left_out[f"{DENOISING}, seed 2"]
    with pytest.raises(DataError, match=r"judged:\n.*reachable p"):
        judge_protocols({"few": few})


def test_choosing_protocols():
    labels = {"denoising_patch@last": A, "denoising_patch@all": B, "mean_ablation@last": B}
    results = {"r": results_of(labels, metrics=("logit_diff", "log_prob"))}
    for chosen, names in (
        ({"method": "denoising_patch", "metric": "logit_diff"}, {DENOISING, "denoising_patch@all, logit_diff"}),
        ({"positions": "last", "metric": "logit_diff"}, {DENOISING, "mean_ablation@last, logit_diff"}),
        ({"method": "denoising_patch@all"}, {f"denoising_patch@all, {name}" for name in ("logit_diff", "log_prob")}),
    ):
        assert set(judge_protocols(results, **chosen).members) == names
    with pytest.raises(UnknownNameError, match="mean 'denoising_patch'"):
        judge_protocols(results, method="denoising")
    with pytest.raises(UnknownNameError, match="metric 'prob'"):
        judge_protocols(results, metric="prob")
    with pytest.raises(UnknownNameError, match="positions 'first'"):
        judge_protocols(results, positions="first")
    with pytest.raises(DataError, match="mean_ablation, all;"):
        judge_protocols(results, method="mean_ablation", positions="all")
    empty = xr.DataTree.from_dict({"/": xr.Dataset(attrs=results["r"].attrs)})
    with pytest.raises(DataError, match="no scored task"):
        judge_protocols({"r": empty})


def test_a_warning_true_of_all_is_said_once():
    results = results_of({"denoising_patch@last": A, "noising_patch@last": A})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        judge_protocols({"r": results}, min_tasks=1)
    said = [str(one.message) for one in caught if "saturates" in str(one.message)]
    assert len(said) == 1
    assert "denoising_patch" not in said[0]


GROUPS = "denoising_patch:unit=kv_group@last"


def test_effects_of_groups_are_left_out_beside_those_of_heads():
    results = results_of({GROUPS: A, "denoising_patch@last": A}, attrs={GROUPS: {"unit": "kv_group"}})
    found = judge_protocols({"r": results})
    assert list(found.members) == [DENOISING]
    assert "groups of heads" in found.left_out[f"{GROUPS}, logit_diff"]
    # Asked for by name, or alone, they are judged.
    for only in (results, results_of({GROUPS: A}, attrs={GROUPS: {"unit": "kv_group"}})):
        method = None if only is not results else GROUPS.removesuffix("@last")
        assert list(judge_protocols({"r": only}, method=method).members) == [f"{GROUPS}, logit_diff"]


def test_heads_and_groups_are_not_compared():
    results = results_of({GROUPS: A, "denoising_patch@last": A}, attrs={GROUPS: {"unit": "kv_group"}})
    members = {
        label: hc.categorize(hc.score(results, method=label.removesuffix("@last")))
        for label in (GROUPS, "denoising_patch@last")
    }
    with pytest.raises(DataError, match="group, denoising_patch@last every head"):
        hc.evidence.agreement(members)


def test_the_grid_of_methods_is_of_heads_where_any_method_scores_these():
    results = results_of({GROUPS: A, "denoising_patch@last": A}, attrs={GROUPS: {"unit": "kv_group"}})
    strength = hc.evidence.method_scores(results)
    assert strength["method"].values.tolist() == ["denoising_patch@last"]
    assert "groups of heads" in json.loads(strength.attrs["left_out"])[GROUPS]
    assert "unit" not in strength.attrs
    with pytest.raises(DataError, match="judges every group"):
        hc.evidence.method_scores(results, methods=[GROUPS, "denoising_patch@last"])
    ablation = "mean_ablation:unit=kv_group@all"
    attrs = {GROUPS: {"unit": "kv_group"}, ablation: {"unit": "kv_group"}}
    alone = hc.evidence.method_scores(results_of({GROUPS: A, ablation: B}, attrs=attrs))
    assert alone.attrs["unit"] == "kv_group"
