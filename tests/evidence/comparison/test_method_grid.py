"""Strengths of heads on one grid: each method's declared reduction, written once more, and what is left out."""

import json

import numpy as np
import pytest
import xarray as xr
from example_joint import ANSWERS, gates_of, probe_of, weights_of
from simulated import CATEGORIES, block, tree

from headcats.base.errors import DataError, UnknownNameError
from headcats.evidence.comparison.method_grid import method_scores
from headcats.methods import Declaration, Strength, causal_method
from headcats.methods.causal import Sources, Tensor

SHAPE = (2, 3)
TASKS = {"capitals": "Knowledge", "currencies": "Knowledge", "antonyms": "Linguistic"}
RNG = np.random.default_rng(0)
EFFECTS = {task: RNG.normal(size=SHAPE) for task in TASKS}


def causal(effects: np.ndarray, *, gap: float = 2.0, n: int = 12) -> xr.Dataset:
    """A block whose heads have these effects, in the metric's own unit, on every prompt."""
    return block(np.repeat(effects[None], n, axis=0), gaps=np.full(n, gap))


def draw(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=[*shape, *SHAPE])


WORDS = weights_of(
    draw(1, 3), tasks=["a", "b", "c"], belongs=["Knowledge", "Translation", "Knowledge"], threshold=[0.0] * 3
)
GATES_BLOCK = gates_of(draw(2, 2, 2), datasets=["Linguistic", "Math"])
PROBES = probe_of(draw(3, 3, 1), functions=["Knowledge"])


def results(**suite: xr.Dataset) -> xr.DataTree:
    made = tree({task: causal(EFFECTS[task]) for task in TASKS}, categories=TASKS)
    nodes = {f"/{task}": made[task].to_dataset() for task in TASKS}
    nodes |= {f"/{task}/denoising_patch@last": made[task]["denoising_patch@last"].to_dataset() for task in TASKS}
    nodes |= {f"/_suite/{name}": found for name, found in suite.items()}
    nodes["/"] = xr.Dataset(attrs=made.attrs)
    return xr.DataTree.from_dict(nodes)


def test_every_reduction_by_hand() -> None:
    found = method_scores(results(word_weights=WORDS, made_gates=GATES_BLOCK, class_probe=PROBES))
    assert found["strength"].dims == ("method", "group", "layer", "head")
    # Categories in the order of the results, then what they do not name.
    assert found["group"].values.tolist() == ["Knowledge", "Linguistic", "Translation", "Math"]
    strength = found["strength"]
    for layer in range(2):
        for head in range(3):
            at = {"layer": layer, "head": head}

            def of(method: str, group: str, at: dict = at) -> float:
                return float(strength.sel({"method": method, "group": group, **at}))

            effects = [EFFECTS[task][layer, head] / 2 for task in ("capitals", "currencies")]
            assert of("denoising_patch@last", "Knowledge") == pytest.approx(sum(effects) / 2)
            assert of("denoising_patch@last", "Linguistic") == pytest.approx(EFFECTS["antonyms"][layer, head] / 2)
            words = [float(WORDS["score"].sel(task=task, **at)) for task in ("a", "c")]
            assert of("word_weights", "Knowledge") == max(words)
            assert of("word_weights", "Translation") == float(WORDS["score"].sel(task="b", **at))
            gates = [float(GATES_BLOCK["facilitation"].sel(dataset="Math", seed=seed, **at)) for seed in (0, 1)]
            assert of("made_gates", "Math") == pytest.approx(sum(gates) / 2)
            probes = [abs(float(PROBES["importance"].sel(seed=seed, function="Knowledge", **at))) for seed in range(3)]
            assert of("class_probe", "Knowledge") == pytest.approx(sum(probes) / 3)
    counts = found["n"].to_series().unstack("group")
    assert counts.loc["denoising_patch@last"].to_dict() == {
        "Knowledge": 2,
        "Linguistic": 1,
        "Translation": 0,
        "Math": 0,
    }
    assert counts.loc["word_weights"].to_dict() == {"Knowledge": 2, "Linguistic": 0, "Translation": 1, "Math": 0}
    assert counts.loc["made_gates"].to_dict() == {"Knowledge": 0, "Linguistic": 2, "Translation": 0, "Math": 2}
    assert counts.loc["class_probe"].to_dict() == {"Knowledge": 3, "Linguistic": 0, "Translation": 0, "Math": 0}
    missing = strength.isnull().all(("layer", "head"))
    assert (missing == (found["n"] == 0)).all()
    assert found["kind"].values.tolist() == ["causal", "weights", "gates", "probe"]
    assert found["metric"].values.tolist() == ["logit_diff", "", "", ""]
    assert json.loads(found.attrs["categories"]) == CATEGORIES
    assert found.attrs["left_out"] == "{}"


@pytest.mark.usefixtures("raw_in_prob")
def test_a_method_may_have_raw_effects_in_a_metric_of_its_own() -> None:
    made = {task: causal(EFFECTS[task], gap=gap) for task, gap in zip(TASKS, (0.5, 4.0, 1.0), strict=True)}
    for task, found in made.items():
        thrice = found["corrupted"] + 3 * (found["patched"] - found["corrupted"])
        second = found.assign(patched=thrice.transpose(*found["patched"].dims))
        made[task] = xr.concat([found, second.assign_coords(metric=["prob"])], "metric").assign_attrs(found.attrs)
    nodes = tree(made, categories=TASKS, name="raw_patch@last")
    found = method_scores(nodes)
    expected = 3 * (EFFECTS["capitals"] + EFFECTS["currencies"]) / 2
    np.testing.assert_allclose(found["strength"].sel(group="Knowledge")[0], expected)
    assert found["metric"].values.tolist() == ["prob"]
    in_logits = method_scores(tree({t: causal(EFFECTS[t]) for t in TASKS}, categories=TASKS, name="raw_patch@last"))
    np.testing.assert_allclose(in_logits["strength"].sel(group="Knowledge")[0], expected / 3)
    assert in_logits["metric"].values.tolist() == ["logit_diff"]


@pytest.fixture
def raw_in_prob() -> None:
    strength = Strength("raw", metric="prob", text="raw effect, mean over tasks")
    declares = Declaration(figure="head_grid", paper="these tests", strength=strength)

    @causal_method(base="corrupted", positions="last", declares=declares)
    def raw_patch(sources: Sources) -> Tensor:
        """Put in the clean output."""
        return sources.clean


def test_tasks_without_a_gap_do_not_count() -> None:
    blocks = {task: causal(EFFECTS[task], gap=0.0 if task == "currencies" else 1.0) for task in TASKS}
    found = method_scores(tree(blocks, categories=TASKS))
    np.testing.assert_allclose(found["strength"].sel(group="Knowledge")[0], EFFECTS["capitals"])
    assert found["n"].sel(group="Knowledge").values.tolist() == [1]
    with pytest.raises(DataError, match=r"gap in 'logit_diff'"):
        method_scores(tree({task: causal(EFFECTS[task], gap=0.0) for task in TASKS}, categories=TASKS))


def test_what_says_nothing_of_heads_is_left_out_and_says_why() -> None:
    spoken_probe = xr.Dataset({"auc": (("layer", "role"), np.zeros((2, 2)))}, attrs={"declaration": ANSWERS.as_text()})
    made = results(
        spoken_probe=spoken_probe,
        class_probe=PROBES.assign_attrs(verdict="not above chance"),
        made_gates=GATES_BLOCK.drop_vars("facilitation"),
        **{"word_weights:preset=other": WORDS},
    )
    held = made["capitals/denoising_patch@last"].to_dataset()
    made["capitals/second_corruption_patch@last"] = xr.DataTree(held)
    made["capitals/attribution_patch@last"] = xr.DataTree(held.assign_attrs(approximation="first order"))
    found = method_scores(made)
    assert found["method"].values.tolist() == ["denoising_patch@last", "word_weights:preset=other"]
    left_out = json.loads(found.attrs["left_out"])
    assert set(left_out) == {
        "second_corruption_patch@last", "attribution_patch@last", "spoken_probe", "class_probe", "made_gates",
    }  # fmt: skip
    assert "control" in left_out["second_corruption_patch@last"]
    assert "approximation" in left_out["attribution_patch@last"]
    assert "not above chance" in left_out["class_probe"]
    assert "number per head" in left_out["spoken_probe"]
    assert "'facilitation' over seed" in left_out["made_gates"]
    # What is named is compared.
    named = method_scores(made, methods=["attribution_patch", "denoising_patch@last"])
    assert named["method"].values.tolist() == ["attribution_patch@last", "denoising_patch@last"]


def test_methods_are_chosen_by_name() -> None:
    made = results(word_weights=WORDS)
    found = method_scores(made, methods=["word_weights"])
    assert found["method"].values.tolist() == ["word_weights"]
    with pytest.raises(UnknownNameError, match="mean 'word_weights'"):
        method_scores(made, methods=["word_weightss"])
    with pytest.raises(UnknownNameError, match="metric 'prob'"):
        method_scores(made, metric="prob")


def test_other_heads_and_nothing_at_all() -> None:
    with pytest.raises(DataError, match=r"different heads \(3 and 2\)"):
        method_scores(results(word_weights=WORDS.isel(head=[0, 1])))
    with pytest.raises(DataError, match="different layers"):
        method_scores(results(word_weights=WORDS.assign_coords(layer=[1, 2])))
    with pytest.raises(DataError, match="nothing is scored"):
        method_scores(xr.DataTree.from_dict({"/": xr.Dataset(attrs={"categories": "[]"})}))


def test_heads_that_do_not_exist_stay_without_a_number() -> None:
    lacking = WORDS.copy(deep=True)
    lacking["score"].loc[{"layer": 1, "head": 2}] = np.nan
    found = method_scores(results(word_weights=lacking))["strength"].sel(
        {"method": "word_weights", "group": "Knowledge"}
    )
    assert np.isnan(found.values[1, 2])
    assert np.isfinite(found.values).sum() == 5
