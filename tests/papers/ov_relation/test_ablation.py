"""Heads of a relation taken out one after the other: a literal replica, random heads, and other tasks beside them."""

import contextlib
import json
from dataclasses import replace

import numpy as np
import pytest
import torch
import xarray as xr
from planted import planted_model
from toys import D_VOCAB, tiny_model, word_tokenizer

from headcats.base.errors import DataError
from headcats.models.adapter import HookedModel
from headcats.models.head import Head
from headcats.papers.ov_relation.ablation import _controls, _Task, relation_ablation
from headcats.papers.ov_relation.settings import RelationSettings
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
    assert found["head"].values[0, 1:].tolist() == ["L1H2", "L1H1", "L1H0", "L0H2", "L0H1", "L0H0"]
    assert {tuple(row) for row in found.random_head.values[0, :, 3:].tolist()} == {("",) * 4}
    assert found.random.notnull().sum("k").values.tolist() == [[3] * 5]  # k = 0, and the two heads left


@pytest.mark.parametrize("layout", ["llama", pytest.param("gpt2", marks=pytest.mark.slow)])
def test_curves_are_those_of_the_literal_replica(layout):
    toy = tiny_model(layout)
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
        assert one.n_removed == (order_ends := [*one.accuracy.values.tolist(), 0]).index(0) - (0 not in order_ends[:-1])
        for sequence, names in zip(one.random.values, one.random_head.values, strict=True):
            drawn = [(int(name[1]), int(name[3])) for name in names[1:]]
            assert len(set(drawn)) == 3
            assert not set(drawn) & set(order)
            assert sequence.tolist() == _literal_curve(model, toy, prompts[task], drawn)
    assert len({tuple(row) for row in found.accuracy.values.tolist()} | {(0.8,) * 4}) > 1, "the same"


def _answer(toy, start):
    ids = [0, *toy.tokenizer(start, add_special_tokens=False)["input_ids"]]
    with torch.no_grad():
        return int(toy.oracle(torch.tensor([ids])).logits[0, -1].argmax())


def _literal_curve(model, toy, texts, order):
    """Texts of one length, each with the heads zeroed one by one."""
    ids = torch.tensor([[0, *toy.tokenizer(one.text, add_special_tokens=False)["input_ids"]] for one in texts])
    curve = []
    for k in range(len(order) + 1):

        def zeroed(layer):
            def edit(z):
                z = z.clone()
                for at, head in order[:k]:  # noqa: B023
                    if at == layer:
                        z[:, -1, head] = 0
                return z

            return edit

        logits = model.logits(ids[:, :-1], edits={layer: zeroed(layer) for layer in range(3)})
        curve.append(int((logits.argmax(-1) == ids[:, -1]).sum()) / len(texts))
    return curve


def literal_heads(scores, most):
    """The paper's choice: a stable sort upwards, turned round and cut, and of these the heads above 0."""
    flat = [value for layer in scores for value in layer]
    places = sorted(range(len(flat)), key=flat.__getitem__)
    places.reverse()
    width = len(scores[0])
    return [(place // width, place % width) for place in places[:most] if flat[place] > 0]


def test_ties_last_first(copier):
    """And so to the last head that fits into the limit: which of equal heads are zeroed depends on it."""
    for seed, most in ((0, 2), (1, 4), (2, 8)):
        scores = np.random.default_rng(seed).choice([0, 0.1, 0.25, 0.5], (2, 4))
        scored = relations(copier, copying=dict(np.ndenumerate(scores)))
        settings = RelationSettings(head_limits=((100, most),))
        found = relation_ablation(copier, scored, {"copying": COPIES}, settings=settings, seed=seed)
        order = literal_heads(scores.tolist(), most)
        assert found["head"].values[0, 1:].tolist() == [f"L{layer}H{head}" for layer, head in order]
        gone = [{*order[:k]} for k in range(len(order) + 1)]
        # Either of the two heads that copy is enough.
        assert found.accuracy.values[0].tolist() == [float(not {(0, 1), (1, 2)} <= heads) for heads in gone]


def made_up(accuracy, *heads):
    return _Task((), accuracy, tuple(Head(0, head) for head in heads))


def test_controls_share_few_heads_and_are_about_as_accurate():
    tasks = {
        "mine": made_up(0.8, *range(10)),
        "one head": made_up(0.7, 0, 20),
        "two heads": made_up(0.7, 0, 1),
        "shared later": made_up(0.7, *range(20, 30), 0, 1, 2),
        "too easy": made_up(1.0, 30),
        "too hard": made_up(0.6, 30),  # .8 - .6 > .2 in floating point, and neither is less than .2 away
        "easy": made_up(0.99, 31),
        "no heads": made_up(0.75),
    }
    found = _controls("mine", tasks, RelationSettings(), seed=0)
    assert set(found) == {"one head", "shared later", "easy", "no heads"}  # of the ten best heads


def test_controls_are_shuffled():
    """By seed and relation, and the first that qualify are taken; the paper's rule in plain loops says which do."""
    draw = np.random.default_rng(0)
    tasks = {
        f"task {number}": made_up(draw.integers(3, 9) / 10, *draw.choice(60, 12, replace=False)) for number in range(30)
    }
    settings, taken = RelationSettings(), set()
    for name, mine in tasks.items():
        valid = []
        for other, theirs in tasks.items():
            shared = 0
            for head in mine.heads:
                shared += head in theirs.heads
            if other != name and shared / 12 < 0.15 and abs(round(10 * (mine.accuracy - theirs.accuracy))) < 2:
                valid.append(other)
        found = [_controls(name, tasks, settings, seed=seed) for seed in (0, 0, 1)]
        assert found[0] == found[1]
        assert all(len(set(row)) == len(row) == min(5, len(valid)) and set(row) <= set(valid) for row in found)
        everything = [_controls(name, tasks, replace(settings, control_tasks=30), seed=seed) for seed in (0, 1)]
        assert [row[:5] for row in everything] == [found[0], found[2]]
        assert sorted(everything[0]) == sorted(valid)
        taken.add((len(valid) > 5, everything[0] == everything[1], found[0] == valid[:5]))
    assert (True, False, False) in taken


def test_a_relation_that_is_answered_too_rarely_may_be_a_control(copier):
    """As in the paper, where such relations are missing from the table alone."""
    scored = relations(copier, copying={(0, 1): 1}, rare={(1, 0): 1})
    wrong = [text(f"w{i},→", "w17") for i in range(12)]
    prompts = {"copying": [*COPIES[:3], *wrong[3:]], "rare": [*COPIES[:1], *wrong[1:]]}
    found = relation_ablation(copier, scored, prompts)
    assert found.task.values.tolist() == ["copying"]
    assert found.control_task.values[0, 0] == "rare"
    assert found.control.values[0, 0].tolist() == [pytest.approx(1 / 12)] * 2
    assert list(json.loads(found.attrs["dropped"])) == ["rare"]


def test_where_bos_stands_the_texts_say(copier):
    """The bundled tokenizer puts none by itself."""
    scored = relations(copier, copying={(0, 1): 1})
    lengths = []

    class Counting(HookedModel):
        def logits(self, tokens, **options):
            lengths.append(tokens.shape[1])
            return super().logits(tokens, **options)

    model = Counting(copier.model, tokenizer=copier.tokenizer)
    for bos in ("once", "own"):
        texts = [replace(one, bos=bos) for one in COPIES]
        with contextlib.suppress(DataError):  # without BOS the copied word stands elsewhere
            relation_ablation(model, scored, {"copying": texts})
    assert (max(lengths), min(lengths)) == (4, 3)


def test_relations_that_cannot_be_ablated_are_listed(copier):
    scored = relations(copier, copying={(0, 1): 1}, hard={(0, 1): 1}, nothing={}, absent={(0, 1): 1}, long={(0, 1): 1})
    kinds = ["Algorithmic", *["Knowledge"] * 4]
    scored = scored.assign_coords(category=("task", kinds)).assign_attrs(categories="[]")
    prompts = {
        "copying": [*COPIES, text("w1,→", "w1,")],
        "hard": [text(f"w{i},→", "w17") for i in range(12)],
        "nothing": COPIES,
        "long": [text("w1,→", "w1,")],
    }
    found = relation_ablation(copier, scored, prompts)
    assert found.task.values.tolist() == ["copying"]
    assert (found.category.values.tolist(), found.attrs["categories"]) == (["Algorithmic"], "[]")
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
