"""Gradients against finite differences in float64, against models without a curve, and what they leave behind."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from architectures import ARCHITECTURES, tiny_bridge
from batches import ROLES, random_batch, random_role_batch
from covering import ALL, each_value
from planted import planted_model, slot_batch
from toys import BACKENDS, LAYOUTS, Toy, tiny_model

import headcats as hc
from headcats.base.errors import MemoryLimitError
from headcats.metrics.definition import Targets, measure
from headcats.models.adapter import HookedModel, adapt
from headcats.papers import gradients
from headcats.sweeps.runs import BaseRuns

SMOOTH = ("logit_diff", "log_prob", "prob", "kl")
UNLIKE = ("gemma2", "gpt_oss", "bamba", "bloom")
START = "blocks.0.hook_resid_pre"


def estimate(
    model: Any, batch: hc.PromptBatch, *metrics: str, positions: str = "all", ig_steps: int = 0, **options: Any
) -> np.ndarray:
    """`[metric, prompt, layer, head]`."""
    runs = BaseRuns(adapt(model), batch, limit=options.pop("limit", None))
    names, mask = metrics or ("logit_diff",), batch.positions(positions)
    return gradients.estimated_changes(runs, metrics=names, mask=mask, ig_steps=ig_steps, **options).numpy()


def exact(model: Any, batch: hc.PromptBatch, *metrics: str, positions: str = "all") -> np.ndarray:
    ds = hc.sweep(
        model, batch, "denoising_patch", metrics=metrics or ("logit_diff",), positions=positions, path="hooked"
    )
    return (ds.patched - ds.corrupted).transpose("metric", "prompt", "layer", "head").values


@torch.no_grad()
def run(model: HookedModel, tokens: Any, start: Any = None, added: Any = None) -> tuple[torch.Tensor, dict[int, Any]]:
    """Last-position logits in the model's own dtype, and z; `added` = (layer, what is added to its z)."""
    z: dict[int, torch.Tensor] = {}

    def hook(layer: int) -> Callable[..., torch.Tensor]:
        def keep(value: torch.Tensor, hook: Any) -> torch.Tensor:
            z[layer] = value
            return value + added[1] if added is not None and added[0] == layer else value

        return keep

    hooks = [] if start is None else [(START, lambda value, hook: start)]
    hooks += [(f"blocks.{layer}.attn.hook_z", hook(layer)) for layer in model.layers]
    return model.model.run_with_hooks(tokens, fwd_hooks=hooks, return_type="logits")[:, -1], z


def embeddings(model: HookedModel, tokens: torch.Tensor) -> torch.Tensor:
    found: list[torch.Tensor] = []
    model.run(tokens, hooks={START: lambda value: found.append(value) or value})
    return found[0]


def in_float64(name: str, logits: torch.Tensor, targets: Targets) -> torch.Tensor:
    """The metrics, written once more."""
    rows = torch.arange(len(logits))
    log_probs, clean = logits.log_softmax(-1), targets.clean_logits.log_softmax(-1)
    answer, distractor = log_probs[rows, targets.answer], log_probs[rows, targets.distractor]
    divergence = (clean.exp() * (clean - log_probs)).sum(-1)
    return {"logit_diff": answer - distractor, "log_prob": answer, "prob": answer.exp(), "kl": -divergence}[name]


def straighten(model: Any) -> list[Any]:
    """Make everything behind z linear: no MLPs, no norms, the same attention whatever the query."""
    is_bridge = hasattr(model, "original_model")
    blocks = model.original_model.transformer.h if is_bridge else model.blocks
    names = ("ln_1", "ln_2") if is_bridge else ("ln1", "ln2")
    norms = [getattr(block, name) for block in blocks for name in names]
    norms.append(model.original_model.transformer.ln_f if is_bridge else model.ln_final)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if ".attn.q." in name or name.endswith((".attn.W_Q", ".attn.b_Q")):
                weight.zero_()
    handles = [norm.register_forward_hook(lambda module, args, out: args[0]) for norm in norms]
    return handles + [
        block.mlp.register_forward_hook(lambda module, args, out: torch.zeros_like(out)) for block in blocks
    ]


class TestNumbers:
    @pytest.mark.parametrize(("name", "layout", "ig_steps"), each_value(SMOOTH, LAYOUTS, [0, 2]))
    def test_equal_central_differences_in_float64(self, name: str, layout: Any, ig_steps: int) -> None:
        model, batch = adapt(tiny_model(layout, n_layers=2).model.to(torch.float64)), random_batch(2, 5)
        found = estimate(model, batch, name, ig_steps=ig_steps)[0]
        (clean_logits, clean), (_, corrupted) = (run(model, tokens) for tokens in (batch.clean, batch.corrupted))
        targets = Targets(batch.answer, batch.distractor, clean_logits)
        first, last = (embeddings(model, tokens) for tokens in (batch.corrupted, batch.clean))
        starts = [first + (i + 0.5) / ig_steps * (last - first) for i in range(ig_steps)] or [None]
        # transformers takes the norms of a Llama in fp32 whatever its dtype: a small step would show their rounding.
        step, tolerance = {"gpt2": (1e-3, 2e-6), "llama": (1e-2, 1e-4)}[layout]
        for layer in range(2):
            for head in range(4):
                along = torch.zeros_like(clean[layer])
                along[:, :, head] = step * (clean[layer] - corrupted[layer])[:, :, head]
                slopes = []
                for start in starts:
                    at = {
                        k: in_float64(name, run(model, batch.corrupted, start, (layer, k * along))[0], targets)
                        for k in (-2, -1, 1, 2)
                    }
                    slopes.append((8 * (at[1] - at[-1]) - (at[2] - at[-2])) / (12 * step))
                expected = torch.stack(slopes).mean(0).numpy()
                np.testing.assert_allclose(found[:, layer, head], expected, rtol=2e-5, atol=tolerance)
        assert np.abs(found).max() > 20 * tolerance

    @pytest.mark.both_versions
    @pytest.mark.parametrize("backend", BACKENDS)
    @pytest.mark.parametrize(("positions", "ig_steps"), [("last", 0), ("all", 3)])
    def test_are_exact_where_nothing_is_curved(self, positions: str, ig_steps: int, backend: Any) -> None:
        model, batch = tiny_model("gpt2", backend, n_layers=2).model, random_batch(3, 6)
        assert (
            np.abs(estimate(model, batch, positions=positions) - exact(model, batch, positions=positions)).max() > 0.01
        )
        straighten(model)
        expected = exact(model, batch, positions=positions)
        assert np.abs(expected).max() > 0.1
        assert np.abs(estimate(model, batch, positions=positions, ig_steps=ig_steps) - expected).max() < 2e-6

    def test_a_saturated_metric_is_seen_from_the_path_only(self, record_property: Any) -> None:
        # The planted head alone brings the answer, from a probability of 0 to 1: flat at both ends.
        model, batch = planted_model({(0, 2): 1}), slot_batch(1, n=8)
        patched = exact(model, batch, "prob", positions="last")[0, :, 0, 2].mean()
        found = {
            steps: float(estimate(model, batch, "prob", positions="last", ig_steps=steps)[0, :, 0, 2].mean())
            for steps in (0, 16)
        }
        record_property("patched effect, then estimates by ig_steps", f"{patched}, {found}")
        assert patched > 0.99
        assert found[0] < 0.01
        assert 0.8 < found[16] < 1.2

    def test_several_metrics_are_each_alone(self, toy: Toy) -> None:
        batch = random_batch(3, 6)
        together = estimate(toy.model, batch, *SMOOTH, ig_steps=1)
        for row, name in enumerate(SMOOTH):
            assert np.abs(together[row] - estimate(toy.model, batch, name, ig_steps=1)[0]).max() < 2e-6

    def test_positions_add_up(self, toy: Toy) -> None:
        batch = random_role_batch(4)
        roles = [estimate(toy.model, batch, positions=role) for role in ROLES]
        assert all(np.abs(one[:, :, 0]).max() > 1e-4 for one in roles[1:])  # the first token is the same in both runs
        assert np.abs(sum(roles) - estimate(toy.model, batch)).max() < 5e-6
        assert np.abs(roles[-1] - estimate(toy.model, batch, positions="last")).max() < 1e-6
        # What the last layer says earlier reaches no prediction at the last token.
        assert max(np.abs(one[:, :, 1]).max() for one in roles[:-1]) == 0

    def test_heads_that_a_layer_lacks_are_nan(self, monkeypatch: pytest.MonkeyPatch) -> None:
        model = adapt(tiny_model("gpt2", n_layers=2).model)
        monkeypatch.setattr(HookedModel, "max_heads", 6)
        found = estimate(model, random_batch(2, 5))
        assert np.isnan(found[..., 4:]).all()
        assert np.isfinite(found[..., :4]).all()

    @pytest.mark.parametrize("name", ARCHITECTURES if ALL else UNLIKE)
    def test_every_architecture_has_them(self, name: str, record_property: Any) -> None:
        model, batch = adapt(tiny_bridge(name)), random_batch(2, 10)
        found = estimate(model, batch)[0].sum(-1)
        (_, clean), (_, corrupted) = (model.capture(tokens) for tokens in (batch.clean, batch.corrupted))
        targets, differences = BaseRuns(model, batch).targets, []
        for place, layer in enumerate(model.layers):
            # So small that no router and no ReLU switches on the way.
            along = 0.001 * (clean[layer] - corrupted[layer])
            sides = []
            for sign in (1, -1):
                edits = {layer: lambda z, along=along, sign=sign: z + sign * along}
                sides.append(measure(("logit_diff",), model.logits(batch.corrupted, edits=edits), targets)[0])
            differences.append(np.abs(found[:, place] - ((sides[0] - sides[1]) / 0.002).numpy()).max())
        record_property("largest difference", float(max(differences)))
        assert max(differences) < 3e-3
        assert np.abs(found).max() > 0.1
        assert np.isfinite(estimate(model, batch, ig_steps=1)).all()


class TestParts:
    def test_cut_prompts_give_the_same_numbers(self, toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
        batch, sizes, done = random_batch(7, 6), [], []
        whole = estimate(toy.model, batch, *SMOOTH, ig_steps=2)
        plan = gradients.gradient_plan(adapt(toy.model), batch, n_metrics=4, budget=1 << 40)
        assert plan.prompts == 7
        one, two = (gradients._bytes_kept(adapt(toy.model), batch.select(range(k)), n_metrics=4) for k in (1, 2))
        original = gradients._changes
        monkeypatch.setattr(
            gradients,
            "_changes",
            lambda model, part, *a, **k: sizes.append(len(part)) or original(model, part, *a, **k),
        )
        monkeypatch.setattr(gradients, "KEPT_BYTES", one + 2 * (two - one))
        cut = estimate(toy.model, batch, *SMOOTH, ig_steps=2, advance=done.append)
        assert sizes == [2, 2, 2, 1]  # three would fit; a power of two is taken
        assert np.abs(cut - whole).max() < 2e-6
        assert sum(done) == 8
        assert len(done) == 4

    def test_what_is_kept_stays_below_the_limit(self, toy: Toy) -> None:
        batch, model = random_batch(16, 24), adapt(toy.model)
        one, two = (gradients._bytes_kept(model, batch.select(range(k)), n_metrics=1) for k in (1, 2))
        limit = one + 4 * (two - one)
        weights = {weight.untyped_storage().data_ptr() for weight in toy.model.parameters()}
        alive: dict[int, int] = {}
        most = 0

        class Saved:
            def __init__(self, value: torch.Tensor) -> None:
                nonlocal most
                self.value, self.key = value.detach(), value.untyped_storage().data_ptr()
                if self.key not in weights:
                    alive[self.key] = value.untyped_storage().nbytes()
                    most = max(most, sum(alive.values()))

            def __del__(self) -> None:
                alive.pop(self.key, None)

        with torch.autograd.graph.saved_tensors_hooks(Saved, lambda saved: saved.value):
            limited = estimate(model, batch, limit=limit)
        assert limit / 4 < most < limit
        alive.clear()
        assert np.abs(limited - estimate(model, batch)).max() < 2e-6

    def test_a_limit_below_one_prompt_is_refused(self, toy: Toy) -> None:
        with pytest.raises(MemoryLimitError, match=r"6 tokens .* limit"):
            estimate(toy.model, random_batch(2, 6), limit=10)

    def test_running_out_while_the_plan_is_made(self, toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
        batch, original = random_batch(3, 6), gradients._traced
        whole = estimate(toy.model, batch)

        def small(model: Any, tokens: torch.Tensor, *rest: Any) -> Any:
            if len(tokens) > 1:
                raise RuntimeError("MPS backend out of memory")
            return original(model, tokens, *rest)

        monkeypatch.setattr(gradients, "_traced", small)
        assert np.abs(estimate(toy.model, batch) - whole).max() < 2e-5
