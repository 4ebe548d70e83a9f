"""Heads of a relation taken out one after the other: a literal replica, random heads, and other tasks beside them."""

import json

import numpy as np
import pytest
import torch
import xarray as xr
from planted import planted_model
from toys import BACKENDS, D_VOCAB, tiny_model, word_tokenizer

from headcats.errors import DataError
from headcats.methods.ov_relation.ablation import _controls, _Task, relation_ablation
from headcats.methods.ov_relation.settings import RelationSettings
from headcats.models.adapter import HookedModel
from headcats.models.head import Head
from headcats.prompts.answered import AnsweredText
from headcats.prompts.pair import Span

FIRST_WORD = 6  # ids before it are special tokens and marks


def text(prompt, answer):
    return AnsweredText(prompt + answer, (Span(len(prompt), len(prompt) + len(answer)),))


def relations(model, **scores):
    """Relation scores made up: task -> head -> score."""
    grids = np.zeros((len(scores), len(model.layers), model.max_heads))
    for row, heads in enumerate(scores.values()):
        for (layer, head), score in heads.items():
            grids[row, layer, head] = score
    return xr.Dataset(
        {"score": (("task", "layer", "head"), grids)},
        coords={"task": list(scores), "layer": list(model.layers), "head": list(range(model.max_heads))},
    )


@pytest.fixture(scope="module")
def copier():
    """Two heads copy the first word after BOS: either is enough."""
    return HookedModel(planted_model({(0, 1): 1, (1, 2): 1}), tokenizer=word_tokenizer())


COPIES = [text(f"w{i},→", f"w{i}") for i in range(12)]


def test_accuracy_falls_when_the_last_of_the_heads_is_gone(copier):
    scored = relations(copier, copying={(1, 2): 0.9, (0, 1): 0.8, (1, 0): 0.1})
    found = relation_ablation(copier, scored, {"copying": COPIES})
    assert found["head"].values.tolist() == [["", "L1H2", "L0H1", "L1H0"]]
    assert found.accuracy.values.tolist() == [[1.0, 1.0, 0.0, 0.0]]
    assert found.random.shape == (1, 5, 4)
    assert (found.random == 1).all()
    assert found.control.isnull().all()
    assert found.control_task.values.tolist() == [[""] * 5]
    assert (found.n_heads.item(), found.n_prompts.item()) == (3, 12)


def test_random_heads_end_where_there_are_no_more(copier):
    scored = relations(copier, copying={(layer, head): 0.5 for layer in (0, 1) for head in (0, 1, 2)})
    found = relation_ablation(copier, scored, {"copying": COPIES})
    assert found["head"].values[0, 1:].tolist() == ["L0H0", "L0H1", "L0H2", "L1H0", "L1H1", "L1H2"], "ties in order"
    assert found.random.notnull().sum("k").values.tolist() == [[3] * 5]  # k = 0, and the two heads left


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("layout", ["gpt2", "llama"])
def test_curves_are_those_of_the_literal_replica(layout, backend):
    toy = tiny_model(layout, backend)
    model = HookedModel(toy.model, tokenizer=toy.tokenizer)
    prompts = {}
    for task, first in (("one", 0), ("two", 20)):
        # The model's own answers, where they are words, and one wrong one: accuracy 4/5 without ablation.
        starts = [f"w{first + i},w{first + i + 1}→" for i in range(20)]
        answers = {start: _answer(toy, start) for start in starts}
        said = [start for start in starts if answers[start] >= FIRST_WORD and answers[start] != D_VOCAB - 1]
        prompts[task] = [text(start, toy.tokenizer.decode([answers[start]])) for start in said[:4]]
        prompts[task].append(text(said[4], "w53"))
    scored = relations(model, one={(0, 1): 0.3, (2, 3): 0.9, (1, 1): 0.5}, two={(1, 0): 0.2, (0, 3): 0.6, (2, 0): 0.1})
    found = relation_ablation(model, scored, prompts, seed=4)
    orders = {"one": [(2, 3), (1, 1), (0, 1)], "two": [(0, 3), (1, 0), (2, 0)]}
    for task, order in orders.items():
        one = found.sel(task=task)
        assert one["head"].values[1:].tolist() == [str(Head(*head)) for head in order]
        assert one.accuracy.values.tolist() == _literal_curve(model, toy, prompts[task], order)
        (other,) = set(orders) - {task}
        assert one.control_task.values.tolist() == [other, "", "", "", ""]
        assert one.control.values[0].tolist() == _literal_curve(model, toy, prompts[other], order)
        for sequence in one.random.values:
            assert len(sequence) == 4
            assert sequence[0] == one.accuracy.values[0]
    assert len({tuple(row) for row in found.accuracy.values.tolist()} | {(0.8,) * 4}) > 1, "something must change"


def _answer(toy, start):
    ids = [0, *toy.tokenizer(start, add_special_tokens=False)["input_ids"]]
    with torch.no_grad():
        return int(toy.oracle(torch.tensor([ids])).logits[0, -1].argmax())


def _literal_curve(model, toy, texts, order):
    curve = []
    for k in range(len(order) + 1):
        right = 0
        for one in texts:
            ids = [0, *toy.tokenizer(one.text, add_special_tokens=False)["input_ids"]]

            def zeroed(layer):
                def edit(z):
                    z = z.clone()
                    for at, head in order[:k]:  # noqa: B023
                        if at == layer:
                            z[:, -1, head] = 0
                    return z

                return edit

            logits = model.logits(torch.tensor([ids[:-1]]), edits={layer: zeroed(layer) for layer in range(3)})
            right += int(logits[0].argmax()) == ids[-1]
        curve.append(right / len(texts))
    return curve


def test_controls_share_few_heads_and_are_about_as_accurate():
    def task(accuracy, *heads):
        return _Task((), accuracy, tuple(Head(0, head) for head in heads))

    mine = task(0.8, *range(10))
    tasks = {
        "mine": mine,
        "one head": task(0.7, 0, 20),
        "two heads": task(0.7, 0, 1),
        "too easy": task(1.0 + 1e-9, 30),
        "too hard": task(0.6 - 1e-9, 30),
        "easiest": task(1.0, 31),
        "no heads": task(0.75),
    }
    settings = RelationSettings()
    assert _controls("mine", tasks, settings) == ["easiest", "no heads", "one head"]
    many = tasks | {f"more {number}": task(0.8, 40) for number in range(9)}
    assert len(_controls("mine", many, settings)) == 5


def test_most_heads_follow_the_size_of_the_model(copier):
    scored = relations(copier, copying={(layer, head): 0.5 for layer in (0, 1) for head in range(4)})
    few = RelationSettings(head_limits=((100, 2),))
    assert relation_ablation(copier, scored, {"copying": COPIES}, settings=few).n_heads.item() == 2


def test_relations_that_cannot_be_ablated_are_listed(copier):
    scored = relations(copier, copying={(0, 1): 1}, hard={(0, 1): 1}, nothing={}, absent={(0, 1): 1}, long={(0, 1): 1})
    prompts = {
        "copying": [*COPIES, text("w1,→", "w1,")],
        "hard": [text(f"w{i},→", "w17") for i in range(12)],
        "nothing": COPIES,
        "long": [text("w1,→", "w1,")],
    }
    found = relation_ablation(copier, scored, prompts)
    assert found.task.values.tolist() == ["copying"]
    assert found.n_prompts.item() == 12
    dropped = json.loads(found.attrs["dropped"])
    assert "answers 0%" in dropped["hard"]
    assert "above 0" in dropped["nothing"]
    assert "no prompts" in dropped["absent"]
    assert "several tokens" in dropped["long"]
    with pytest.raises(DataError, match=r"No relation .* hard:"):
        relation_ablation(copier, scored.sel(task=["hard"]), prompts)


def test_scores_of_another_model_are_refused(copier):
    scored = relations(copier, copying={(0, 1): 1})
    with pytest.raises(DataError, match="other layers"):
        relation_ablation(copier, scored.isel(head=[0, 1]), {"copying": COPIES})
    with pytest.raises(DataError, match="ov_relation returns"):
        relation_ablation(copier, xr.Dataset(), {"copying": COPIES})
