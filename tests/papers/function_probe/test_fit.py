"""The function probe on models: a planted head is found, seeds are parts of a study, and bad input is told."""

import importlib
import itertools
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from function_worlds import QUICK
from joint_inputs import suite_inputs
from planted import planted_model
from toy_cases import shared_toy
from toys import word_tokenizer

import headcats as hc
from headcats.base.errors import DataError, OptionError, StatisticsWarning, UnknownNameError
from headcats.methods.method import SuiteInputs
from headcats.methods.spec import MethodSpec
from headcats.models.adapter import HookedModel
from headcats.models.head import Head
from headcats.papers.function_probe.summary import SEPARATES_TASKS
from headcats.prompts.answered import AnsweredText
from headcats.prompts.pair import Span

SLOT = Head(0, 1)
AT_ANSWER = replace(QUICK, at="answer")
GROUPS = ("low", "middle", "high")


def slot_texts() -> list[AnsweredText]:
    """Tokens [bos, word, mark, answer]; the function is that of the word, and marks and answers say nothing of it."""
    draws = np.random.default_rng(0)
    made = []
    for word, mark, copy in itertools.product(range(18), "→\n,", range(3)):
        prompt = f"w{word}{mark}"
        text = f"{prompt}w{draws.integers(18)}"
        made.append(
            AnsweredText(
                text,
                (Span(len(prompt), len(text)),),
                item=f"{text} {copy}",
                task=f"{GROUPS[word // 6]} {word % 2}",
                category=GROUPS[word // 6],
            )
        )
    return made


@pytest.fixture(scope="module")
def planted() -> HookedModel:
    """One head shows the word at the answer, another the mark; the rest look at positions alone."""
    return HookedModel(planted_model({tuple(SLOT): 1, (1, 2): 2}), tokenizer=word_tokenizer())


@pytest.fixture(scope="module")
def probed(planted: HookedModel) -> xr.Dataset:
    return hc.methods.function_probe(planted, slot_texts(), preset=AT_ANSWER, n_seeds=3)


def test_the_head_that_shows_the_function_ranks_first_in_most_seeds(probed: xr.Dataset) -> None:
    assert dict(probed.importance.sizes) == {"seed": 3, "function": 3, "layer": 2, "head": 4}
    assert (probed.accuracy_low > probed.chance).all()
    ranked = np.abs(probed.importance.values).reshape(3, 3, -1).argmax(-1)
    assert ((ranked == SLOT.layer * 4 + SLOT.head).sum(0) >= 2).all()
    chosen = hc.categorize(probed).member
    assert (chosen.sel(layer=0, head=1) == 1).all()


def test_words_that_were_never_seen_are_not_recognised(probed: xr.Dataset) -> None:
    # The head copies the word itself: the probe knows words of functions, and no function beyond them.
    assert probed.attrs["verdict"] == SEPARATES_TASKS
    assert probed.left_out_low[0] <= probed.left_out_chance[0] == pytest.approx(1 / 3)
    assert probed.left_out_accuracy[1:].isnull().all()
    assert probed.task_left_out_accuracy.isel(seed=0).notnull().all()
    assert any(SEPARATES_TASKS in line for line in hc.methods.function_probe.summary(probed))


def test_options_are_settings(planted: HookedModel, probed: xr.Dataset) -> None:
    """Where z is read."""

    def settings(one: xr.Dataset) -> dict[str, object]:
        return json.loads(one.attrs["provenance"])["settings"]

    same = hc.methods.function_probe(planted, slot_texts(), preset=QUICK, at="answer", n_seeds=1)
    np.testing.assert_array_equal(same.importance, probed.importance.isel(seed=[0]))
    assert settings(same)["at"] == settings(probed)["at"] == "answer"


def test_functions_with_too_few_items_are_skipped_by_name(planted: HookedModel) -> None:
    texts = slot_texts()
    few = [replace(text, category="few", task="few") for text in texts[:9]]
    lost = AnsweredText("nobody→w1", (Span(7, 9),), item="nobody", category="lost")
    with pytest.warns(StatisticsWarning) as warned:
        found = hc.methods.function_probe(planted, [*texts, *few, lost], preset=AT_ANSWER, n_seeds=1)
    said = [str(warning.message) for warning in warned]
    assert [line.split(" (")[0].split("; ")[0] for line in said] == [
        "Left out: few", "Left out: lost", "Texts: 171 kept",
    ]  # fmt: skip
    assert "few (9 " in said[0]
    assert found.function.values.tolist() == ["high", "low", "middle"]
    assert found.n.values.tolist() == [54] * 3
    assert list(json.loads(found.attrs["provenance"])["left_out"]) == ["few", "lost"]
    assert set(said) <= set(hc.methods.function_probe.summary(found))


def test_what_cannot_be_probed_is_refused(planted: HookedModel) -> None:
    texts = slot_texts()
    order = np.random.default_rng(1).permutation(len(texts))
    shuffled = [replace(text, category=texts[other].category) for text, other in zip(texts, order, strict=True)]
    with pytest.raises(DataError, match=r"2 of 2 seeds .*above chance"):
        hc.methods.function_probe(planted, shuffled, preset=AT_ANSWER, n_seeds=2)
    for data, options, error, message in (
        (texts, {"preset": "cogmirrors"}, UnknownNameError, "'cogmirrors2025'"),
        (texts, {"at": "before"}, OptionError, "'predicting', 'answer'"),
        ((texts, "report"), {}, DataError, "list in it"),
        (texts, {"n_seeds": 0}, OptionError, "n_seeds"),
        ([text for text in texts if text.category == "low"], {}, DataError, "2 functions"),
    ):
        with pytest.raises(error, match=message):
            hc.methods.function_probe(planted, data, **options)


def test_a_seed_that_fails_leaves_the_others(planted: HookedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("headcats.papers.function_probe.fit")
    whole = module.probe_seed

    def refusing(*args, probe: int, **kwargs):
        if probe == 0:
            raise DataError("did not converge")
        return whole(*args, probe=probe, **kwargs)

    monkeypatch.setattr(module, "probe_seed", refusing)
    with pytest.warns(StatisticsWarning, match=r"^Failed: seed 0\. "):
        found = hc.methods.function_probe(planted, slot_texts(), preset=AT_ANSWER, n_seeds=3)
    assert found.seed.values.tolist() == [1, 2]
    summary = hc.methods.function_probe.summary(found)
    assert any(line.startswith("Failed: seed 0.") for line in summary)
    assert any(line.startswith("1 of 3 seeds") for line in summary)


def pairs(offset: int, first: int) -> list[tuple[str, str]]:
    return [(f"w{first + number}", f"w{first + (number + offset) % 26}") for number in range(26)]


@pytest.fixture
def inputs(monkeypatch: pytest.MonkeyPatch) -> SuiteInputs:
    module, toy = importlib.import_module("headcats.papers.function_probe.fit"), shared_toy()
    monkeypatch.setattr(module, "PRESETS", {"cogmirrors2025": QUICK})
    words = {"up1": pairs(1, 0), "up2": pairs(2, 0), "down1": pairs(-1, 26), "down2": pairs(-2, 26)}
    categories = {name: name[:-1].capitalize() for name in [*words, "finished"]}
    return suite_inputs(HookedModel(toy.model, tokenizer=toy.tokenizer), words, categories, n_prompts=52, seed=3)


def test_the_parts_of_a_study_are_seeds_and_join_to_what_a_call_gives(
    inputs: SuiteInputs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    method = hc.methods.function_probe
    reads = method.parts(inputs, n_seeds=2)
    assert reads == {f"seed {number}": ("up1", "up2", "down1", "down2") for number in range(2)}
    assert method.parts(inputs, n_seeds=2, preset="cogmirrors2025", at="answer") == reads
    steps: list[tuple[float, str]] = []
    runs: list[int] = []
    capture = HookedModel.capture
    monkeypatch.setattr(HookedModel, "capture", lambda self, *a, **k: (runs.append(1), capture(self, *a, **k))[1])
    parts = {
        part: method.on_part(inputs.reporting(lambda *step: steps.append(step)), part, n_seeds=2) for part in reads
    }
    first_reading = len(runs)
    assert all(0 <= share <= 1 for share, _ in steps)
    assert len({what for _, what in steps}) > 1
    assert method._kept is None  # nothing is held after the last part
    joined = method.join(parts)
    assert joined.seed.values.tolist() == [0, 1]
    assert joined.function.values.tolist() == ["Down", "Up"]
    assert joined.attrs["method"] == "function_probe"
    assert joined.attrs["preset"] == "cogmirrors2025"
    assert joined.attrs["verdict"] not in ("too few seeds", "")
    assert method.join({"seed 0": parts["seed 0"]}).attrs["verdict"] == "too few seeds"  # 1 of 2
    assert list(json.loads(joined.attrs["provenance"])["left_out"]) == ["finished"]
    called = method(
        inputs.model,
        [text for task in reads["seed 0"] for text in inputs.texts(task, n=52, purpose="function_probe")],
        n_seeds=1,
        seed=3,
    )
    assert len(runs) <= 2 * first_reading + 2  # both parts were read once, and the call looks at the model first
    xr.testing.assert_equal(joined.sel(seed=[0]), called)  # a seed equals itself among others
    assert joined.left_out_accuracy.sel(seed=1).isnull()
    other = method.on_part(replace(inputs, seed=4), "seed 1", n_seeds=2)
    assert (other.importance != joined.importance.sel(seed=[1])).any()
    joined.to_netcdf(tmp_path / "probe.nc", engine="h5netcdf")
    xr.testing.assert_identical(xr.load_dataset(tmp_path / "probe.nc", engine="h5netcdf"), joined)


def test_the_seeds_that_leave_tasks_out_are_more_work(inputs: SuiteInputs) -> None:
    method = hc.methods.function_probe
    # Two functions of two tasks each: one training, and one for each of two rounds of left-out tasks.
    assert [method.work(inputs, f"seed {number}", n_seeds=3) for number in range(3)] == [3.0, 1.0, 1.0]
    alone = replace(inputs, pairs={name: found for name, found in inputs.pairs.items() if name != "up2"})
    assert method.work(alone, "seed 0") == 1.0  # nothing is left out if only one function has two tasks


def test_the_paper_preset_and_options_are_what_the_command_line_offers() -> None:
    method = hc.methods.function_probe
    assert (method.declaration.kind, method.declaration.figure) == ("joint", "importance_grid")
    assert method.options["preset"] == ("cogmirrors2025",)
    assert method.options["at"] == ("predicting", "answer")
    assert MethodSpec.parse("function_probe:at=answer").options == (("at", "answer"),)
    assert method.options["n_seeds"].default == 5
