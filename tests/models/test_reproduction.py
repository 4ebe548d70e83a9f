from pathlib import Path
from typing import Any

import pytest
import torch
from toys import LAYOUTS, tiny_model

from headcats.base.errors import ModelError
from headcats.models import loading
from headcats.models.loading import load_model
from headcats.models.reproduction import check_reproduces, take_reference


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_same_weights_pass_and_slightly_other_ones_do_not(layout: Any) -> None:
    toy = tiny_model(layout)
    check_reproduces(toy.model, take_reference(toy.oracle))
    with torch.no_grad():
        next(p for name, p in toy.model.named_parameters() if "mlp" in name and p.ndim == 2).mul_(1.05)
    built = type(toy.model).__name__
    with pytest.raises(ModelError, match=rf"{built} .*{type(toy.oracle).__name__} .* by 0\.\d+ in"):
        check_reproduces(toy.model, take_reference(toy.oracle))


def test_a_conversion_that_makes_nan_does_not_pass() -> None:
    toy = tiny_model("llama")
    with torch.no_grad():
        next(p for name, p in toy.model.named_parameters() if "mlp" in name)[0] = float("nan")
    with pytest.raises(ModelError, match="by nan"):
        check_reproduces(toy.model, take_reference(toy.oracle))


def test_a_bridge_that_is_wrong_is_not_handed_out(folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    original = loading._bridge

    def wrong(*args: Any, **options: Any) -> Any:
        model = original(*args, **options)
        model.ln_final.weight.data.mul_(1.1)  # as a forgotten scale of the logits
        return model

    monkeypatch.setattr(loading, "_bridge", wrong)
    with pytest.raises(ModelError, match=r"differs .* a later version"):
        load_model(folders["llama"])
