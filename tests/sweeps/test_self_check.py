"""A fast path that gives wrong numbers, or a model with hooks or in train mode, is noticed and swept by plain hooks."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from batches import random_batch
from covering import some, spread
from prefixes import prefixed_batch
from toys import BACKENDS, D_VOCAB, tiny_model

from headcats.base.errors import ModelError, ModelWarning
from headcats.models.adapter import adapt
from headcats.models.circuit import Circuit
from headcats.models.continued import Continued
from headcats.models.replay.bridge import BridgeRecording
from headcats.models.replay.record import record
from headcats.sweeps import paths
from headcats.sweeps.batch_sweep import sweep

Block = Callable[..., torch.Tensor]
MODES = [("last",), ("all",)]
WHERE = "blocks.1.attn.hook_z"
Attach = Callable[[Any], Callable[[], Any]]


def adds_an_error(block: Block, recording: Any, layer: int, rows: Any, fresh: int, options: Any) -> torch.Tensor:
    after = block(recording, layer, rows, fresh=fresh, **options)
    return after if layer != 1 else after + 0.05 * torch.linspace(-1, 1, after.shape[-1])


def ignores_the_edit(block: Block, recording: Any, layer: int, rows: Any, fresh: int, options: Any) -> torch.Tensor:
    return block(recording, layer, rows, fresh=fresh, **{**options, "edit": None})


def edits_the_next_head(block: Block, recording: Any, layer: int, rows: Any, fresh: int, options: Any) -> torch.Tensor:
    edit = options["edit"]

    def shifted(z: torch.Tensor) -> torch.Tensor:
        return edit(z.roll(1, -2)).roll(-1, -2)

    return block(recording, layer, rows, fresh=fresh, **{**options, "edit": None if edit is None else shifted})


def sees_the_prefix_of_another_prompt(
    block: Block, recording: Any, layer: int, rows: Any, fresh: int, options: Any
) -> torch.Tensor:
    """Rows that changed before this layer get keys and values of other tokens."""
    after = block(recording, layer, rows, fresh=fresh, **options)
    if rows is None:
        return after
    tokens = recording.tokens.clone()
    tokens[:, : recording.first or 1] = 5
    other = record(adapt(recording._model), Continued.alone(tokens), first=recording.first)
    wrong = block(other, layer, rows, fresh=0, **{**options, "edit": None})
    return torch.cat([wrong, after[:, rows.shape[1] :]], 1)


def mixes_up_the_prompts(block: Block, recording: Any, layer: int, rows: Any, fresh: int, options: Any) -> torch.Tensor:
    after = block(recording, layer, rows, fresh=fresh, **options)
    return after if layer != 2 else after.roll(1, 0)


def raises(block: Block, recording: Any, layer: int, rows: Any, fresh: int, options: Any) -> torch.Tensor:
    raise RuntimeError("The size of tensor a (3) must match the size of tensor b (12)")


BROKEN = [adds_an_error, ignores_the_edit, edits_the_next_head, sees_the_prefix_of_another_prompt, mixes_up_the_prompts,
          raises]  # fmt: skip


@pytest.fixture
def breaking(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any, Any], None]:
    """Break the recordings of a model's class, for the rest of a test."""

    def break_it(model: Any, how: Any) -> None:
        kind = type(record(adapt(model), Continued.alone(torch.zeros(1, 2, dtype=torch.long)), first=1))
        right = kind.block

        def block(self: Any, layer: int, rows: Any, *, fresh: int, **options: Any) -> torch.Tensor:
            # Recordings that a broken block makes for itself use the right one, through `right`.
            return how(right, self, layer, rows, fresh, options)

        monkeypatch.setattr(kind, "block", block)

    return break_it


@pytest.mark.parametrize(("how", "positions"), spread(BROKEN, MODES))
def test_a_broken_path_is_caught(how: Any, positions: str, breaking: Any) -> None:
    model, batch = tiny_model("llama").model, prefixed_batch(3, 9, 3)
    options: dict[str, Any] = {"metrics": ["logit_diff", "log_prob"], "positions": positions}
    right = sweep(model, batch, "denoising_patch", path="hooked", **options)
    breaking(model, how)
    with pytest.warns(ModelWarning, match="hooked") as warned:
        fallen = sweep(model, batch, "denoising_patch", **options)
    assert len(warned) == 1
    assert fallen.attrs["path"] == "hooked"
    assert fallen.attrs["self_check"].startswith("not used: ")
    assert np.abs(fallen.patched - right.patched).max() < 1e-5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = sweep(model, batch, "denoising_patch", **options)  # warned once is enough
    assert again.attrs["path"] == "hooked"
    assert again.attrs["self_check"] == fallen.attrs["self_check"]


def test_what_passed_for_longer_prompts_is_taken_for_shorter_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    checked, right, model = list[int](), paths._check, tiny_model("llama").model
    monkeypatch.setattr(
        paths,
        "_check",
        lambda model, continued, change: checked.append(continued.length) or right(model, continued, change),
    )
    for n_pos in (9, 15, 15, 12):
        sweep(model, prefixed_batch(3, n_pos, 3), "denoising_patch")
    assert checked == [9, 15]


def test_a_check_without_an_effect_is_no_check(breaking: Any) -> None:
    """Prompts in which nothing changes cannot vouch for the path on others."""
    model = tiny_model("llama").model
    breaking(model, adds_an_error)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        sweep(model, prefixed_batch(3, 9, 9), "denoising_patch")
        ds = sweep(model, prefixed_batch(3, 9, 3), "denoising_patch")
    assert ds.attrs["path"] == "hooked"


def test_the_reference_path_is_not_checked() -> None:
    ds = sweep(tiny_model("llama").model, random_batch(2, 6), "denoising_patch", path="hooked")
    assert ds.attrs["path"] == "hooked"
    assert "passed" not in ds.attrs.get("self_check", "")


@pytest.mark.parametrize(("dtype", "positions"), some([(torch.bfloat16, "last"), (torch.float16, "all")], 1))
def test_a_wrong_path_is_noticed_in_16_bits_too(
    dtype: torch.dtype, positions: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, batch = tiny_model("gpt2", n_layers=3).model.to(dtype), random_batch()
    right = type(record(adapt(broken), Continued.alone(batch.clean), first=6)).block

    def adds(recording: Any, layer: int, rows: Any, *, fresh: int, **options: Any) -> torch.Tensor:
        after = right(recording, layer, rows, fresh=fresh, **options)
        return after if layer != 1 else after + torch.linspace(-1, 1, after.shape[-1]).to(dtype)

    monkeypatch.setattr(BridgeRecording, "block", adds)
    with pytest.warns(ModelWarning, match="differs"):
        assert sweep(broken, batch, "denoising_patch", positions=positions).attrs["path"] == "hooked"


def test_a_hook_on_the_last_token_alone_makes_the_check_run_again_and_is_noticed() -> None:
    """Among rows that stand along the positions it reaches the last one only, in the first block too."""
    model, batch = tiny_model("gpt2", n_layers=3).model, random_batch()
    assert sweep(model, batch, "denoising_patch").attrs["path"] == "last_position"

    def steers(module: Any, args: Any, output: Any) -> Any:
        steered = (output[0] if isinstance(output, tuple) else output).clone()
        steered[:, -1] += torch.linspace(-1, 1, steered.shape[-1])
        return (steered, *output[1:]) if isinstance(output, tuple) else steered

    handle = model.blocks[0].register_forward_hook(steers)
    with pytest.warns(ModelWarning, match="not used"):
        assert sweep(model, batch, "denoising_patch").attrs["path"] == "hooked"
    handle.remove()
    assert sweep(model, batch, "denoising_patch").attrs["path"] == "last_position"


def test_a_check_without_any_effect_is_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    model, batch = tiny_model("gpt2", n_layers=3).model, random_batch()
    with monkeypatch.context() as patch:
        patch.setattr(paths, "_limit", lambda *args: 1e9)
        with pytest.warns(ModelWarning, match="empty"):
            assert sweep(model, batch, "denoising_patch").attrs["path"] == "hooked"
    assert sweep(model, batch, "denoising_patch").attrs["path"] == "last_position"


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
