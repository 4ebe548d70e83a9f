"""Direct effects by hand, and models in which a head's output does not simply add up."""

import numpy as np
import pytest
import torch
from batches import random_batch
from planted import planted_model
from specific import N_LAYERS, OWN, SLOTS, batches, tasks_of
from toys import BACKENDS, tiny_model

from headcats.evidence.damage import measure_damage
from headcats.evidence.self_repair import NOT_COMPARABLE, direct_effects, self_repair
from headcats.models.adapter import adapt
from headcats.models.head import Head
from headcats.prompts.batch import PromptBatch
from headcats.results.finding import line
from headcats.sweeps.donors import UncoveredRoles
from headcats.sweeps.reference import Reference


@pytest.fixture(scope="module")
def material():
    tasks = tasks_of("Knowledge", "Linguistic", each=1)
    held = batches(tasks, slots=SLOTS, first_seed=100)["knowledge0"]
    return held, Reference(list(batches(tasks, slots=SLOTS, first_seed=200, n=40).values()))


def log_prob(logits, batch):
    return logits.log_softmax(-1)[torch.arange(len(batch)), batch.answer]


def test_in_the_last_layer_nothing_can_react(material):
    """No MLP and no later layer: direct and total effect are one number."""
    held, reference = material
    last = N_LAYERS - 1
    model = adapt(planted_model({**OWN, (last, 0): 1}, n_layers=N_LAYERS))
    heads = [Head(last, 0), Head(last, 2)]
    direct = direct_effects(model, [held], heads, reference=reference)
    total = measure_damage(
        model, [held], [(head,) for head in heads], category="", reference=reference, positions="last"
    ).shares([(head,) for head in heads])
    assert total[0] > 0.02
    np.testing.assert_allclose([direct[head] for head in heads], total, atol=1e-5)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("layout", ["gpt2", "llama"])
def test_direct_effects_by_hand(layout, backend):
    """The head's change written into the final stream, its norm and unembedding applied once more."""
    toy = tiny_model(layout, backend)
    model, batch = adapt(toy.model), random_batch(6)
    reference = Reference(random_batch(5, seed=9), name="others")
    head = Head(1, 2)
    found = direct_effects(model, [batch], [head], reference=reference)[head]

    _, z = model.capture(batch.clean)
    _, other = model.capture(random_batch(5, seed=9).clean)
    change = (other[1][:, -1, 2].mean(0) - z[1][:, -1, 2]) @ model.W_O(1)[2]
    with torch.no_grad():
        twin = toy.oracle
        base = twin.transformer if layout == "gpt2" else twin.model
        norm = base.ln_f if layout == "gpt2" else base.norm
        seen = []
        handle = norm.register_forward_pre_hook(lambda module, given: seen.append(given[0][:, -1]))
        clean = twin(batch.clean).logits[:, -1]
        handle.remove()
        edited = twin.lm_head(norm(seen[0] + change))
        corrupted = twin(batch.corrupted).logits[:, -1]
    drop = (log_prob(clean, batch) - log_prob(edited, batch)).mean()
    gap = (log_prob(clean, batch) - log_prob(corrupted, batch)).mean()
    assert found == pytest.approx(float(drop / gap), abs=1e-4)


def test_heads_without_direct_effect_are_nan_with_the_reason(material):
    held, reference = material
    model = adapt(planted_model(OWN, n_layers=N_LAYERS))
    heads = (Head(0, 0), Head(1, 0))
    sets = [(heads[0],), (heads[1],), heads]
    measured = {"t": measure_damage(model, [held], sets, category="A", reference=reference, positions="last")}
    tested, note = {"A": heads, "B": ()}, line("direct.unknown", layer=1, error="no such hook")
    table = self_repair(tested, measured, {"t": {heads[0]: 0.25, heads[1]: float("nan")}}, notes={1: note})
    assert table["head"].values.tolist() == [["L0H0", "L1H0"], ["", ""]]
    assert table["note"].values.tolist() == [["", str(note)], ["", ""]]
    assert table["direct"].values[0, 0] == 0.25
    assert np.isnan(table["repaired"].values[0, 1])
    single = measured["t"].shares(sets[:2])
    assert table["sum_of_single"].values[0] == pytest.approx(single.sum())
    assert table["redundancy"].values[0] == pytest.approx(measured["t"].shares([heads])[0] - single.sum())
    assert np.isnan(table["joint"].values[1])
    assert table["n_tasks"].values.tolist() == [1, 0]


def test_total_effects_at_all_positions_are_not_compared_with_direct_ones(material):
    held, reference = material
    model = adapt(planted_model(OWN, n_layers=N_LAYERS))
    head = Head(0, 0)
    found = measure_damage(model, [held], [(head,)], category="A", reference=reference, positions="all")
    table = self_repair({"A": (head,)}, {"t": found}, {"t": {head: 0.25}}, notes={}, positions="all")
    assert np.isnan(table["repaired"].values).all()
    assert np.isfinite(table["total"].values).all()
    assert table["note"].values.tolist() == [[str(NOT_COMPARABLE)]]


def test_the_role_of_the_last_token_does_not_matter(material):
    held, reference = material
    model, heads = adapt(planted_model(OWN, n_layers=N_LAYERS)), [Head(0, 0), Head(2, 0)]
    odd = ("bos", "slot1", "slot2", "elsewhere")
    labels = tuple(odd if place < 6 else one for place, one in enumerate(held.labels))
    few = PromptBatch(**{**vars(held), "labels": labels, "corrupted_labels": labels})
    found = direct_effects(model, [few], heads, reference=reference)
    assert found == direct_effects(model, [held], heads, reference=reference)


class WithoutSome(Reference):
    """A reference that cannot match the last token of some prompts."""

    unknown: frozenset[str]

    def mean(self, model, batch, *arguments, **options):
        missing = [place for place, key in enumerate(batch.keys) if key in self.unknown]
        if missing:
            raise UncoveredRoles("unknown", missing)
        return super().mean(model, batch, *arguments, **options)


def test_half_of_the_prompts_are_enough_and_one_less_is_not(material):
    held, reference = material
    model, heads, half = adapt(planted_model(OWN, n_layers=N_LAYERS)), [Head(0, 0)], len(held) // 2
    some = WithoutSome(reference.batches)
    some.unknown = frozenset(held.keys[:half])
    found = direct_effects(model, [held], heads, reference=some)
    assert found == direct_effects(model, [held.select(range(half, len(held)))], heads, reference=reference)
    some.unknown = frozenset(held.keys[: half + 1])
    with pytest.raises(UncoveredRoles):
        direct_effects(model, [held], heads, reference=some)


def test_no_heads_need_nothing(material):
    held, reference = material
    assert direct_effects(adapt(planted_model(OWN)), [held], [], reference=reference) == {}
