"""The token probe: a planted direction is found where it is, its controls are at chance, and bad input is told."""

import dataclasses
import json
import re
from typing import Any
from unittest import mock

import numpy as np
import pytest
import xarray as xr
from joint_inputs import suite_inputs
from scripted import EXACT, ScriptedModel, scripted
from sklearn.metrics import roc_auc_score

import headcats as hc
from headcats.base.errors import DataError, ModelError, OptionError, StatisticsWarning, UnknownNameError
from headcats.methods.method import SuiteInputs
from headcats.papers.token_probe import token_map as tokens_map
from headcats.papers.token_probe.items import Question
from headcats.papers.token_probe.probe import probe_scores
from headcats.papers.token_probe.settings import PRESETS

# Some scripted answers are too short on purpose.
pytestmark = pytest.mark.filterwarnings(
    r"ignore:\d+ of \d+ questions left out. .*answer of fewer than 5 tokens:headcats.base.errors.StatisticsWarning"
)

ROLE, HOOK = "exact_answer_last", "blocks.1.hook_resid_post"
PAPER = PRESETS["orgad2025"]


@pytest.fixture(scope="module")
def planted() -> xr.Dataset:
    """A map of two tasks, one much harder, with the direction in one place."""
    model, questions = scripted(150, share=(0.3, 0.7))
    model.planted, model.strength = (HOOK, ROLE), 0.3
    return hc.methods.token_probe(model, questions, representation="resid_post")


def test_the_planted_place_is_the_maximum_of_the_map(planted: xr.Dataset) -> None:
    best = planted.auc.argmax(("layer", "role"))
    assert (int(planted.layer[best["layer"]]), planted.role[best["role"]].item()) == (1, ROLE)
    cell = planted.sel(layer=1, role=ROLE)
    assert cell.auc > 0.85
    assert cell.within_task > 0.8
    assert cell.low > 0.75
    # The same tokens are read elsewhere (at other roles where answers are as long) and in the layer below.
    assert planted.sel(layer=0, role=ROLE).auc < 0.7
    within = planted.within_task.where((planted.layer != 1) | (planted.role != ROLE))
    assert within.max() < cell.within_task - 0.05


def test_shuffled_labels_are_at_chance_within_tasks(planted: xr.Dataset) -> None:
    inside = (planted.shuffled_within_low <= 0.5) & (planted.shuffled_within_high >= 0.5)
    assert inside.sel(layer=1, role=ROLE)
    assert inside.mean() >= 0.8
    assert abs(planted.shuffled_within.mean() - 0.5) < 0.08


def test_probes_of_shuffled_labels_are_judged_by_those_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    model, questions = scripted(40)
    monkeypatch.setattr(tokens_map, "shuffled_labels", lambda wrong, *_, **__: ~wrong)
    with small():
        found = hc.methods.token_probe(model, questions, representation="resid_post")
    # Right for wrong everywhere: the mirror image is as easy to tell.
    np.testing.assert_allclose(found.shuffled, found.auc, atol=1e-6)
    np.testing.assert_allclose(found.shuffled_within, found.within_task, atol=1e-6)


def test_the_task_baseline_knows_the_training_part_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    model, questions = scripted(60, share=(0.3, 0.7))
    asked: list[np.ndarray] = []

    def rates(wrong: np.ndarray, tasks: list[str], test: np.ndarray) -> np.ndarray:
        asked.append(test)
        return -np.arange(len(wrong), dtype=float)

    monkeypatch.setattr(tokens_map, "task_error_rates", rates)
    with small():
        found = hc.methods.token_probe(model, questions, representation="resid_post")
    assert asked[0].tolist() == (found.split == "test").values.tolist()
    held = found.isel(prompt=np.flatnonzero(asked[0]))
    assert float(found.task_baseline) == pytest.approx(roc_auc_score(held.wrong, -np.arange(held.sizes["prompt"])))


def test_the_task_alone_is_told_apart_from_the_answer(planted: xr.Dataset) -> None:
    # Right in 70 and 30 of 100: the task alone gives .7 * .7 + (.7 * .3 + .3 * .7) / 2 = .7.
    assert abs(planted.task_baseline - 0.7) < 0.06
    # Where nothing shows the answer, the question still shows the task, and inside it nothing.
    question = planted.sel(role="last_q")
    assert (question.auc > 0.55).all()
    assert ((question.within_low <= 0.5) & (question.within_high >= 0.5)).any()
    # Shuffled labels keep the tasks' difficulty.
    assert planted.shuffled.mean() > 0.55


def test_what_was_generated_can_be_read(planted: xr.Dataset) -> None:
    _, questions = scripted(150, share=(0.3, 0.7))
    by_prompt = {question.prompt: question for question in questions}
    for place in range(planted.sizes["prompt"]):
        row = planted.isel(prompt=place)
        question = by_prompt[row.question.item()]
        assert (row.task.item(), row.item.item()) == (question.task, question.item)
        assert row.exact.item() in row.generated.item()
        assert bool(row.wrong) == (row.exact.item() != question.exact_answer)
    test = planted.split == "test"
    assert not set(planted.item[test].values) & set(planted.item[~test].values)
    assert int(planted.n_test) == int(test.sum())
    assert int(planted.n) == planted.sizes["prompt"] == 300 - int(planted.n_left_out)
    assert int(planted.n_wrong) == int(planted.wrong.sum())
    assert "than 5 tokens" in planted.left_out


def test_the_dataset_is_as_figures_and_files_take_it(planted: xr.Dataset, tmp_path: Any) -> None:
    assert planted.auc.dims == ("layer", "role")
    assert tuple(planted.role.values) == PAPER.roles
    assert planted.attrs["exact_roles"].splitlines() == list(PAPER.roles[3:7])
    assert (planted.attrs["method"], planted.attrs["representation"]) == ("token_probe", "resid_post")
    provenance = json.loads(planted.attrs["provenance"])
    assert provenance["settings"]["max_iter"] == 1000
    assert list(provenance["left_out"].values()) == [int(planted.n_left_out)]
    same = planted.same_position
    assert (np.diag(same) == 1).all()
    assert 0 < same.sel(role="first_answer", other_role=PAPER.roles[3]) < 1
    planted.to_netcdf(tmp_path / "map.nc", engine="h5netcdf")
    again = xr.load_dataset(tmp_path / "map.nc", engine="h5netcdf")
    xr.testing.assert_identical(planted, again)


def test_the_summary_says_what_to_hold_the_map_against(planted: xr.Dataset) -> None:
    text = "\n".join(hc.methods.token_probe.summary(planted))
    cell, question = planted.sel(layer=1, role=ROLE), planted.within_task.sel(role="last_q").max()
    shares = [100 * float(planted.wrong[planted.task == f"task {task}"].mean()) for task in (0, 1)]
    assert f"{int(planted.n)} answers, {100 * float(planted.wrong.mean()):.0f} %" in text
    for value in (planted.auc.max(), cell.within_task):
        assert f"{ROLE}, AUC {float(value):.2f} [" in text
    assert f": {float(planted.task_baseline):.2f}" in text
    assert f" {float(question):.2f} [" in text
    assert "Shuffled labels" in text
    assert [f"task {task} {share:.0f} %" in text for task, share in enumerate(shares)] == [True, True]
    assert re.search(r"Questions: \d+ kept; \d+ ", text)
    assert "read `within_task`" not in text
    blind = planted.drop_sel(layer=1)  # a map of the task alone is called that
    assert float(blind.auc.max()) > 0.65
    assert "read `within_task`" in "\n".join(hc.methods.token_probe.summary(blind))


def small() -> Any:
    """Two roles, and classes of a few answers, for tests of everything else."""
    settings = dataclasses.replace(PAPER, roles=("last_q", ROLE), min_class=5, resamples=50)
    return mock.patch.dict(PRESETS, {"orgad2025": settings})


def test_nothing_to_predict_is_refused() -> None:
    for share, n_wrong, advice in ((0.0, "0", "harder"), (1.0, r"(\d+)", "easier")):
        model, questions = scripted(40, share=(share,), wordings=1)
        questions = [question for question in questions if len(question.exact_answer) >= 3]
        with pytest.raises(DataError, match=rf"{n_wrong} of \d+ .*20 right.* 20 wrong.*{advice}"):
            hc.methods.token_probe(model, questions)


def test_too_few_of_a_class_are_refused_with_both_numbers() -> None:
    model, questions = scripted(60, share=(0.1,))
    with pytest.raises(DataError, match=r"predict: [1-9]\d* of \d+ .*harder"):
        hc.methods.token_probe(model, questions)
    one_item = [dataclasses.replace(question, item="all") for question in questions]
    with small(), pytest.raises(DataError, match="1 query item"):
        hc.methods.token_probe(model, one_item)


def test_probes_that_do_not_converge_are_counted_named_and_nan(monkeypatch: pytest.MonkeyPatch) -> None:
    model, questions = scripted(40)
    calls: list[int] = []

    def failing(*arguments: Any) -> Any:
        calls.append(1)
        return (None, False) if len(calls) in (1, 4) else probe_scores(*arguments)

    monkeypatch.setattr(tokens_map, "probe_scores", failing)
    with small(), pytest.warns(StatisticsWarning, match=r"2 cells .*:max_iter="):
        found = hc.methods.token_probe(model, questions, representation="resid_post")
    assert int(found.n_not_converged) == 2
    first, second = found.attrs["not_converged"].splitlines()
    assert (first, second) == ("layer 0, last_q", f"layer 0, {ROLE} (shuffled labels)")
    assert np.isnan(found.auc.sel(layer=0, role="last_q"))
    assert np.isnan(found.shuffled_within.sel(layer=0, role=ROLE))
    assert int(np.isfinite(found.auc).sum()) == int(np.isfinite(found.shuffled).sum()) == 3
    assert "converge: 2 cells" in "\n".join(hc.methods.token_probe.summary(found))


def test_a_map_of_probes_that_do_not_converge_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    model, questions = scripted(40)
    for converges, n in (((), 0), ((0, 3), 1)):  # of labels, then of shuffled ones, cell by cell
        calls = iter(range(100))

        def scores(features: Any, wrong: Any, test: np.ndarray, settings: Any) -> Any:
            return (np.arange(test.sum()), True) if next(calls) in converges else (None, False)  # noqa: B023

        monkeypatch.setattr(tokens_map, "probe_scores", scores)
        with small(), pytest.raises(DataError, match=rf"^{n} of 4 .*=7.*:max_iter="):
            hc.methods.token_probe(model, questions, representation="resid_post", max_iter=7)
        calls = iter(range(100))
        converges = (0, 2)  # half of the cells
    with small(), pytest.warns(StatisticsWarning, match="6 cells"):
        found = hc.methods.token_probe(model, questions, representation="resid_post")
    assert int(np.isfinite(found.auc).sum()) == 2
    assert "and 3 more" in "\n".join(hc.methods.token_probe.summary(found))
    monkeypatch.undo()
    with small(), pytest.raises(DataError, match="max_iter above 1 "):
        hc.methods.token_probe.on_part(inputs_of(model, questions), "mlp_post", max_iter=1)
    with pytest.raises(OptionError, match=r"'max_iter' .* got 0"):
        hc.methods.token_probe(model, questions, max_iter=0)


def test_unknown_names_and_kinds_are_refused() -> None:
    model, questions = scripted(1)
    for first, data, options, error, message in (
        (model, questions, {"preset": "orgad2024"}, UnknownNameError, "orgad2025"),
        (model, questions, {"representation": "mlp"}, OptionError, "got 'mlp'"),
        (model, [("1 →", "2")], {}, DataError, r"Question.* tuple"),
        ("mini", questions, {}, ModelError, None),
    ):
        with pytest.raises(error, match=message):
            hc.methods.token_probe(first, data, **options)


def inputs_of(model: ScriptedModel, questions: list[Question], *, exact: bool = True) -> SuiteInputs:
    pairs: dict[str, list[tuple[str, str]]] = {"other": [("1", "2")]}
    for one in questions:
        pairs.setdefault(one.task.replace(" ", "_"), []).append((one.prompt.removesuffix(" →"), one.answer))
    inputs = suite_inputs(model, pairs, dict.fromkeys(pairs, "Arithmetic"), n_demos=0)
    for task in inputs.tasks:
        if exact and task.name != "other":
            object.__setattr__(task, "exact", EXACT)
    return inputs


def test_a_study_gets_one_part_named_after_the_representation() -> None:
    model, questions = scripted(50)
    method = hc.methods.token_probe
    inputs = inputs_of(model, questions)
    assert (method.declaration.kind, method.declaration.figure) == ("joint", "layer_token")
    assert method.options["preset"] == ("orgad2025", "orgad2025-code")
    assert method.options["representation"] == ("mlp_post", "mlp_out", "resid_post", "head_z")
    assert method.parts(inputs) == {"mlp_post": ("task_0",)}
    assert method.parts(inputs, representation="head_z") == {"head_z": ("task_0",)}
    none = inputs_of(model, questions, exact=False)
    assert method.parts(none) == {"mlp_post": ()}
    with pytest.raises(DataError, match="suite 'sentences'"):
        method.on_part(none, "mlp_post")
    shares: list[float] = []
    phases: list[str] = []
    inputs = dataclasses.replace(
        inputs, advance=lambda share, what: (shares.append(share), phases.append(what.split()[0].rstrip(",")))
    )
    with small():
        block = method.on_part(inputs, "head_z", representation="head_z", questions=50)
    assert block.attrs["hook"] == "attn.hook_z"
    assert block.attrs["tasks_without_exact"] == "other"
    assert int(block.n) + int(block.n_left_out) == 50
    assert set(block.task.values) == {"task_0"}
    assert block.item.values[0] in {question.prompt.removesuffix(" →") for question in questions}
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert {phase for share, phase in zip(shares, phases, strict=True) if share} == {"probes"}
    assert {"answers", "representations"} <= set(phases)
    xr.testing.assert_identical(method.join({"head_z": block}), block)
    assert any(line.startswith("Tasks") and line.endswith(": other.") for line in method.summary(block))
