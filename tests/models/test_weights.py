from typing import Any

import pytest
import torch
from torch import nn
from toys import Toy, tiny_model

from headcats.base.errors import ModelError
from headcats.models.adapter import adapt
from headcats.models.circuit import unprocessed_circuit
from headcats.models.weights import weights_hash


class TestWeights:
    def test_the_hash_is_stable_and_sees_every_bit(self, layout: Any) -> None:
        first, same, other = (adapt(tiny_model(layout, seed=seed).model) for seed in (0, 0, 1))
        before = first.weights_hash()
        assert len(before) == 32
        assert before == first.weights_hash() == same.weights_hash() != other.weights_hash()
        with torch.no_grad():
            next(first.model.parameters()).view(-1)[0] += 1
        assert first.weights_hash() != before

    def test_the_same_bytes_of_another_shape_or_dtype_are_other_weights(self) -> None:
        options = [(2, 3, torch.float16), (3, 2, torch.float16), (2, 3, torch.bfloat16)]
        models = [nn.Linear(n_in, n_out, bias=False, dtype=dtype) for n_in, n_out, dtype in options]
        for model in models:
            nn.init.zeros_(model.weight)
        assert len({weights_hash(model) for model in models}) == 3

    def test_bfloat16_weights_have_a_hash(self) -> None:
        model = tiny_model("llama").model
        before = adapt(model).weights_hash()
        assert adapt(model.to(torch.bfloat16)).weights_hash() != before

    def test_untouched_weights_are_called_so(self, toy: Toy) -> None:
        assert adapt(toy.model).weight_processing == "none"

    @pytest.mark.needs_tl3("HookedTransformer")
    def test_processed_weights_are_recognised(self) -> None:
        off = dict.fromkeys(["fold_ln", "center_unembed", "fold_value_biases", "center_writing_weights"], False)
        for option in ("fold_ln", "center_unembed", "fold_value_biases"):
            model = tiny_model("gpt2", "hooked").model
            assert adapt(model).weight_processing == "none"
            model.load_and_process_state_dict(model.state_dict(), **{**off, option: True})
            assert adapt(model).weight_processing == "processed", option
            with pytest.raises(ModelError, match="no_processing"):
                unprocessed_circuit(adapt(model))

    @pytest.mark.both_versions
    def test_compatibility_mode_is_recognised(self, layout: Any) -> None:
        model = tiny_model(layout).model
        model.enable_compatibility_mode(disable_warnings=True)
        assert adapt(model).weight_processing == "processed"
        with pytest.raises(ModelError, match="compatibility_mode"):
            unprocessed_circuit(adapt(model))
