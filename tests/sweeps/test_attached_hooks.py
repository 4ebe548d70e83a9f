"""A model with hooks of its owner, or in train mode, is taken as it is, and said to be, once."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from covering import spread
from prefixes import prefixed_batch
from toys import BACKENDS, D_VOCAB, tiny_model

from headcats.base.errors import ModelError, ModelWarning
from headcats.models.adapter import adapt
from headcats.models.circuit import Circuit
from headcats.sweeps.batch_sweep import sweep

WHERE = "blocks.1.attn.hook_z"
Attach = Callable[[Any], Callable[[], Any]]


def halve(z: Any, hook: Any) -> Any:
    return z * 0.5


def as_a_hook(model: Any) -> Callable[[], Any]:
    model.add_hook(WHERE, halve)
    return model.reset_hooks


def for_good(model: Any) -> Callable[[], Any]:
    model.add_hook(WHERE, halve, is_permanent=True)
    return lambda: model.hook_dict[WHERE].remove_hooks("fwd", including_permanent=True)


def on_a_module(model: Any) -> Callable[[], Any]:
    """PyTorch's own, on the MLP."""
    return model.blocks[1].mlp.register_forward_hook(lambda module, args, output: output * 0.5).remove


ATTACHED = [as_a_hook, on_a_module, for_good]
HOOKED = pytest.mark.needs_tl3("HookedTransformer")


@pytest.mark.parametrize(
    ("attach", "positions", "backend"),
    [
        *(
            pytest.param(*case, "bridge", marks=pytest.mark.both_versions)
            for case in spread(ATTACHED, [("last",), ("each",)])
        ),
        *(pytest.param(*case, "hooked", marks=HOOKED) for case in spread(ATTACHED[:2], [("last",), ("each",)])),
    ],
)
def test_hooks_stay_in_force(attach: Attach, positions: str, backend: Any) -> None:
    model, batch = tiny_model("gpt2", backend).model, prefixed_batch(2, 6, 2)
    options: dict[str, Any] = {"positions": positions}
    without = sweep(model, batch, "denoising_patch", **options)
    detach = attach(model)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", ModelWarning)
        found = sweep(model, batch, "denoising_patch", **options)
    said = len(warned)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = sweep(model, batch, "denoising_patch", **options)  # once is enough
    plain = sweep(model, batch, "denoising_patch", path="hooked", **options)
    detach()
    assert float(abs(plain.patched - without.patched).max()) > 1e-2
    for ds in (found, again):
        assert float(abs(ds.patched - plain.patched).max()) < 1e-5
        assert float(abs(ds.clean - plain.clean).max()) < 1e-5
    # What acts in blocks that are run again needs no other path.
    assert said == ("hooked" in found.attrs["path"])
    after = sweep(model, batch, "denoising_patch", **options)
    assert after.attrs["path"] == without.attrs["path"]
    np.testing.assert_allclose(after.patched, without.patched, atol=1e-6)


def test_train_mode_is_said_once() -> None:
    model, batch = tiny_model("gpt2").model, prefixed_batch(2, 6, 2)
    expected = sweep(model, batch, "denoising_patch")
    model.train()
    with pytest.warns(ModelWarning, match="train mode") as warned:
        found = sweep(model, batch, "denoising_patch")
    assert len(warned) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sweep(model, batch, "denoising_patch")
    assert model.training
    assert found.attrs["path"] == "hooked"
    assert float(abs(found.patched - expected.patched).max()) < 1e-5


@pytest.mark.parametrize("backend", BACKENDS)
def test_weights_of_a_hooked_model_are_not_read(backend: Any) -> None:
    model = adapt(tiny_model("gpt2", backend).model)
    assert Circuit(model).d_vocab == D_VOCAB
    model.model.add_hook(WHERE, halve)
    with pytest.raises(ModelError, match=r"blocks\.1\.attn.*reset_hooks"):
        Circuit(model)
