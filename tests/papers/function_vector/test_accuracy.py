"""Function vectors and what they do, beside plain hooks and loops."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from literal_steering import mean_output, predicted
from toy_cases import TOYS, shared_toy
from toys import random_tokens, tiny_model

from headcats.models.adapter import adapt
from headcats.models.head import Head
from headcats.papers.function_vector.accuracy import function_vectors, right_answers, steered_task
from headcats.papers.function_vector.prompts import Rows

SETS = [(Head(0, 1), Head(2, 3)), (Head(1, 0),)]


@torch.no_grad()
@pytest.mark.parametrize(("layout", "backend"), TOYS)
def test_equal_plain_hooks_and_loops(layout: Any, backend: Any) -> None:
    model = tiny_model(layout, backend).model
    shown = [random_tokens(5, 6), random_tokens(3, 8, seed=1)]
    found = function_vectors(adapt(model), shown, SETS)
    prompts = [tokens for batch in shown for tokens in batch]
    expected = torch.stack([sum(mean_output(model, prompts, *head) for head in heads) for heads in SETS])
    assert expected.norm(dim=-1).min() > 0.1
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)

    asked = random_tokens(6, 3, seed=2)
    changed = 0
    for layer in range(3):
        steered = torch.tensor(
            [[predicted(model, tokens, 5 * vector, layer) for tokens in asked] for vector in expected]
        )
        changed += int((steered[0] != steered[1]).sum())
        # Right for some prompts with the first vector, for others with the second.
        answer = torch.where(torch.arange(6) % 2 == 0, steered[0], steered[1])
        right = right_answers(adapt(model), asked, answer, 5 * found, layer=layer)
        assert torch.equal(right, steered == answer)
    assert changed > 0


def test_the_number_of_prompts_in_a_forward_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    model, tokens = adapt(shared_toy(n_layers=3).model), random_tokens(7, 4)
    vectors = 5 * function_vectors(model, [tokens], SETS)
    answer = model.logits(tokens).argmax(-1)
    together = right_answers(model, tokens, answer, vectors, layer=1)
    assert together.any()
    assert not together.all()
    monkeypatch.setattr("headcats.papers.function_vector.accuracy._ROWS", 4)
    assert torch.equal(right_answers(model, tokens, answer, vectors, layer=1), together)
    torch.testing.assert_close(5 * function_vectors(model, [tokens], SETS), vectors)


def sign_test(differences: torch.Tensor) -> float:
    """Chance that as many of the prompts that differ lie above 0, if both signs are as likely."""
    above, n = int((differences > 0).sum()), int((differences != 0).sum())
    return sum(math.comb(n, k) for k in range(above, n + 1)) / 2**n


def test_numbers_of_a_task_by_hand() -> None:
    model = adapt(shared_toy("llama", n_layers=3).model)
    shown = [Rows(random_tokens(4, 5), torch.zeros(4, dtype=torch.long), tuple("abcd"))]
    tokens = random_tokens(20, 2, seed=3)
    base = model.logits(tokens).argmax(-1)
    # Without a vector right on all but 4 prompts.
    answer = torch.where(torch.arange(20) < 4, (base + 1) % 60, base)
    asked = [Rows(tokens[:9], answer[:9], tuple(map(str, range(9)))),
             Rows(tokens[9:], answer[9:], tuple(map(str, range(9, 20))))]  # fmt: skip
    sets = [SETS[0], SETS[1], (Head(2, 2),)]
    table = steered_task(model, shown, asked, sets, task="t", seed=0)
    assert float(table["base"]) == 0.8
    assert float(table["base_low"]) == pytest.approx(0.584, abs=0.001)  # Wilson, 16 of 20
    assert float(table["base_high"]) == pytest.approx(0.919, abs=0.001)
    assert int(table["n"]) == 20
    assert table["control"].dims == ("layer", "draw")
    apart = 0
    vectors = function_vectors(model, [shown[0].tokens], sets)
    np.testing.assert_allclose(table["norm"], vectors[0].norm())
    np.testing.assert_allclose(table["control_norm"], vectors[1:].norm(dim=-1), rtol=1e-6)
    for layer in range(3):
        right = right_answers(model, tokens, answer, vectors, layer=layer).double()
        here = table.sel(layer=layer)
        assert float(here["accuracy"]) == float(right[0].mean())
        np.testing.assert_allclose(here["control"], right[1:].mean(1))
        np.testing.assert_allclose(here["gain"], right[0].mean() - 0.8)
        np.testing.assert_allclose(here["excess"], right[0].mean() - right[1:].mean())
        assert here["low"] <= here["accuracy"] <= here["high"]
        assert here["gain_low"] <= here["gain"] <= here["gain_high"]
        unsteered = (base == answer).double()
        p_values = [sign_test(right[0] - other) for other in (unsteered, right[1:].mean(0))]
        assert float(here["p_value"]) == pytest.approx(max(p_values))
        apart += p_values[0] != p_values[1]
    assert apart > 0
    assert (table["p_value"] > 0.5).all()  # nothing is raised above .8 by a random vector
