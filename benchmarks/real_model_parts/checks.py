"""Checks of finished studies against what is known, each with a figure; a line says what is missing."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import xarray as xr
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score
from transformer_lens.head_detector import detect_head

import headcats as hc
from headcats.base.errors import DataError, StorageError
from headcats.categories.map_spec import MapSpec
from headcats.categories.run_maps import scored_map
from headcats.models.adapter import HookedModel
from headcats.models.head import Head
from headcats.models.hooks import hook_z
from headcats.models.patterns import attention_patterns
from headcats.results.loading import open_results
from headcats.results.place import find_place

_LARGEST = 10
_EQUAL = 1e-4
_METHOD = "denoising_patch"


def check_all(model: Path, out: Path, *, threads: int) -> None:
    """Print every check of the studies that are there."""
    torch.set_num_threads(threads)
    loaded = hc.load_model(model, device="cpu")
    checks: tuple[Callable[[HookedModel, Path], Iterator[str]], ...] = (
        induction, previous_tokens, indirect_objects, weights, two_roads, replication,
    )  # fmt: skip
    for check in checks:
        print(f"\n{(check.__doc__ or '').splitlines()[0]}")
        try:
            for sentence in check(loaded, out):
                print(f"- {sentence}", flush=True)
        except (StorageError, DataError, LookupError) as missing:
            print(f"- not there: {missing}")


def mean_effect(folder: Path) -> xr.DataArray:
    """Mean effect over tasks, `(layer, head)`."""
    results = hc.load(folder)
    return hc.score(results, method=_METHOD)["effect"].mean("task").transpose("layer", "head")


def induction_scores(model: HookedModel, *, n: int = 8, length: int = 50, seed: int = 0) -> np.ndarray:
    """TransformerLens' induction score `(layer, head)` on random tokens that repeat once, mean over sequences."""
    draws = torch.Generator().manual_seed(seed)
    pattern = torch.zeros(2 * length, 2 * length)
    rows = torch.arange(length, 2 * length)
    pattern[rows, rows - length + 1] = 1.0
    scores = []
    for _ in range(n):
        half = torch.randint(100, model.d_vocab - 100, (length,), generator=draws)
        tokens = torch.cat([half, half])[None]
        _, patterns = attention_patterns(model, tokens, {layer: lambda of: of for layer in model.layers})
        scores.append(np.stack([(patterns[layer][0][:, rows, rows - length + 1]).mean(-1) for layer in model.layers]))
    return np.mean(scores, axis=0)


def induction(model: HookedModel, out: Path) -> Iterator[str]:
    """Induction: the causal map of `induction` beside an independent score."""
    scores = induction_scores(model)
    positive = scores >= np.sort(scores, axis=None)[-_LARGEST]
    for name in ("induction", "induction-seed1", "induction-gap"):
        effect = mean_effect(out / name).values
        first = Head(*map(int, np.unravel_index(effect.argmax(), effect.shape)))
        auc, of_size = (roc_auc_score(positive.ravel(), values.ravel()) for values in (effect, abs(effect)))
        rank = spearmanr(scores, effect, axis=None).statistic
        lowest = Head(*map(int, np.unravel_index(np.where(positive, effect, np.inf).argmin(), effect.shape)))
        yield (
            f"{name}: AUC of the effect for the {_LARGEST} heads with the largest induction score {auc:.3f} (of its "
            f"size {of_size:.3f}: {lowest} has {effect[lowest.layer, lowest.head]:.3f}), rank correlation over all "
            f"heads {rank:.2f}; first {first} (effect {effect.max():.3f}, score {scores[first.layer, first.head]:.3f})"
        )
    text = "".join(f" {word}" for word in ["table", "river", "stone", "cloud", "table", "river", "stone", "cloud"])
    theirs = detect_head(model.model, text, "induction_head").numpy()
    ours, first = (set(of.ravel().argsort()[::-1][:_LARGEST].tolist()) for of in (scores, theirs))
    yield f"TransformerLens' detect_head on a short text has {len(ours & first)} of its first {_LARGEST} among these"


def previous_tokens(model: HookedModel, out: Path) -> Iterator[str]:
    """Previous-token heads by path: ablating them lowers the induction score of later heads."""
    described = hc.describe_heads(model)
    previous = described["previous_token"].values
    scores = induction_scores(model)
    target = Head(*map(int, np.unravel_index(scores.argmax(), scores.shape)))
    earlier = [head for head in model.heads if head.layer < target.layer]
    by_score = sorted(earlier, key=lambda head: -previous[head.layer, head.head])
    draws = np.random.default_rng(0)
    random = [earlier[place] for place in draws.choice(len(earlier), 5, replace=False)]
    for name, heads in (
        ("the 5 heads with most attention to the token before", by_score[:5]),
        ("5 random heads", random),
    ):
        yield (
            f"{name} ({', '.join(map(str, heads))}) ablated to their mean: induction score of {target} "
            f"{scores[target.layer, target.head]:.2f} -> {_ablated_score(model, heads, target):.2f}"
        )


def _ablated_score(model: HookedModel, heads: list[Head], target: Head, *, length: int = 50) -> float:
    draws = torch.Generator().manual_seed(0)
    half = torch.randint(100, model.d_vocab - 100, (4, length), generator=draws)
    tokens, rows = torch.cat([half, half], 1), torch.arange(length, 2 * length)

    def edit(layer: int) -> Callable[[torch.Tensor], torch.Tensor]:
        numbers = [head.head for head in heads if head.layer == layer]

        def to_mean(z: torch.Tensor) -> torch.Tensor:
            z = z.clone()
            z[:, :, numbers] = z[:, :, numbers].mean((0, 1))
            return z

        return to_mean

    kept: dict[str, torch.Tensor] = {}

    def keep(pattern: torch.Tensor) -> torch.Tensor:
        kept["pattern"] = pattern[:, target.head].clone()
        return pattern

    hooks = {hook_z(layer): edit(layer) for layer in {head.layer for head in heads}}
    model.run(tokens, hooks={**hooks, f"blocks.{target.layer}.attn.hook_pattern": keep})
    return float(kept["pattern"][:, rows, rows - length + 1].mean())


def indirect_objects(model: HookedModel, out: Path) -> Iterator[str]:
    """IOI: where the heads with the largest direct and total effects look from the last token."""
    results = hc.load(out / "ioi")
    effect = hc.score(results, method=_METHOD)["effect"].mean("task").transpose("layer", "head")
    direct = results["_descriptors"].to_dataset()["direct_logit"].mean("task").transpose("layer", "head")
    (batch, *_) = hc.task_prompts(model, "ioi_give_abba", suite="ioi", n_prompts=64)
    shares = {}
    _, patterns = attention_patterns(model, batch.clean, {layer: lambda of: of[:, :, -1] for layer in model.layers})
    for role in ("io", "s2"):
        mask = batch.positions(role)
        shares[role] = np.stack([(patterns[layer] * mask[:, None]).sum(-1).mean(0) for layer in model.layers])
    for name, values in (("direct effect on the logits", direct.values), ("denoising effect", effect.values)):
        order = np.argsort(-np.nan_to_num(values), axis=None)[:4]
        cells = [np.unravel_index(place, values.shape) for place in order]
        told = "; ".join(
            f"{Head(*map(int, cell))} ({values[cell]:.2f}; io {shares['io'][cell]:.2f}, s2 {shares['s2'][cell]:.2f})"
            for cell in cells
        )
        yield f"largest {name}, with the attention to the indirect object and to the second subject: {told}"
    random = np.random.default_rng(0).choice(shares["io"].size, 20, replace=False)
    io, s2 = (shares[role].ravel()[random].mean() for role in ("io", "s2"))
    yield f"20 random heads: io {io:.3f}, s2 {s2:.3f}"


def weights(model: HookedModel, out: Path) -> Iterator[str]:
    """Copying: what the weights of the members of the map do."""
    result = scored_map(open_results(find_place(str(out / "icl"))), MapSpec())
    members = (result.overlap["member"] == 1).any("category").transpose("layer", "head").values
    copying = hc.describe_heads(model)["copying"].values
    of_members, of_all = copying[members].mean(), copying.mean()
    yield f"copying score of the {members.sum()} members {of_members:.2f}, of all heads {of_all:.2f}"
    block = hc.suite_blocks(hc.load(out / "relations"))["ov_relation"]
    score = block["score"].max("task").transpose("layer", "head").values
    of_members, of_all = score[members].mean(), score.mean()
    yield f"largest share of word pairs that the weights map: members {of_members:.3f}, all {of_all:.3f}"


def two_roads(model: HookedModel, out: Path) -> Iterator[str]:
    """Two roads to one number: TransformerLens' patching, and hooks of PyTorch in plain transformers."""
    from transformer_lens import patching

    batch = hc.task_prompts(model, "ioi_give_abba", suite="ioi", n_prompts=4)[0].select(range(4))
    ours = hc.sweep(model, batch, _METHOD, positions="all").patched.values[0]
    _, cache = model.model.run_with_cache(batch.clean)
    place = torch.arange(len(batch))

    def metric(logits: torch.Tensor) -> torch.Tensor:
        last = logits[:, -1].float()
        return (last[place, batch.answer] - last[place, batch.distractor]).detach()

    few, by_library = _largest(ours), []
    for head in few:
        index = pd.DataFrame({"layer": [head.layer], "head": [head.head]})
        of_prompts: list[torch.Tensor] = []

        def kept(logits: torch.Tensor, of_prompts: list[torch.Tensor] = of_prompts) -> torch.Tensor:
            of_prompts.append(metric(logits))
            return of_prompts[-1].mean()

        patching.generic_activation_patch(  # of get_act_patch_attn_head_out_all_pos, for some of the heads
            model.model, batch.corrupted, cache, kept, patching.layer_head_vector_patch_setter, "z", index_df=index
        )
        by_library.append(of_prompts[-1].numpy())
    mine = np.stack([ours[:, head.layer, head.head] for head in few])
    difference = abs(np.stack(by_library) - mine).max()
    yield f"transformer_lens.patching, 4 prompts, {len(few)} heads: at most {difference:.1e} apart ({_EQUAL:g} asked)"
    last = hc.sweep(model, batch, _METHOD, positions="last").patched.values[0]
    few = _largest(last)
    plain = _by_hooks(model, batch, few)
    mine = np.stack([last[:, head.layer, head.head] for head in few])
    yield f"hooks of PyTorch, at the last token: at most {abs(plain - mine).max():.1e} apart ({_EQUAL:g} asked)"
    rounded = hc.load_model(Path(model.origin.source), device="cpu", dtype="bfloat16")
    theirs = hc.sweep(rounded, batch, _METHOD, positions="last").patched.values[0]
    theirs = np.stack([theirs[:, head.layer, head.head] for head in few])
    yield f"in bfloat16, the type of the original weights: at most {abs(theirs - mine).max():.1e} from float32"


def _largest(patched: np.ndarray, *, n: int = 6) -> list[Head]:
    """Heads `(layer, head)` that move the metric `(prompt, layer, head)` most."""
    moved = abs(patched - np.median(patched, axis=(1, 2), keepdims=True)).mean(0)
    return [Head(*map(int, np.unravel_index(place, moved.shape))) for place in moved.argsort(axis=None)[::-1][:n]]


@torch.no_grad()
def _by_hooks(model: HookedModel, batch: hc.PromptBatch, heads: list[Head]) -> np.ndarray:
    """Denoising at the last token in plain transformers, by hooks before the output projection."""
    from transformers import AutoModelForCausalLM

    hf = AutoModelForCausalLM.from_pretrained(
        model.origin.source, dtype=torch.float32, attn_implementation="eager"
    ).eval()
    clean: dict[int, torch.Tensor] = {}
    layers = hf.eval().model.layers

    def keep(layer: int) -> Callable[..., None]:
        return lambda module, args: clean.__setitem__(layer, args[0][:, -1].clone())

    handles = [block.self_attn.o_proj.register_forward_pre_hook(keep(n)) for n, block in enumerate(layers)]
    hf(batch.clean)
    for handle in handles:
        handle.remove()
    rows, place = [], torch.arange(len(batch))
    for head in heads:
        size = model.d_head[head.layer]
        columns = slice(head.head * size, (head.head + 1) * size)

        def put(module: object, args: tuple[torch.Tensor], columns: slice = columns, layer: int = head.layer) -> object:
            z = args[0].clone()
            z[:, -1, columns] = clean[layer][:, columns]
            return (z,)

        handle = layers[head.layer].self_attn.o_proj.register_forward_pre_hook(put)
        logits = hf(batch.corrupted).logits[:, -1]
        handle.remove()
        rows.append((logits[place, batch.answer] - logits[place, batch.distractor]).numpy())
    return np.stack(rows)


def replication(model: HookedModel, out: Path) -> Iterator[str]:
    """Replication: memberships that come back on other prompts, beside what resampling promised."""
    first, promised = _memberships(out / "icl")
    halves = [_of_half(out / "icl", half) for half in (0, 1)]
    both = halves[0] & halves[1]
    yield f"each half of the query items: {len(both)} in both, of {len(halves[0])} and {len(halves[1])}"
    for name in ("icl-seed1", "icl-question", "chat"):
        second, _ = _memberships(out / name)
        both = first.keys() & second.keys()
        yield f"{name}: {len(both)} of {len(first)} come back, of {len(second)} there; promised {promised:.2f}"


def _memberships(folder: Path) -> tuple[dict[tuple[str, str], float], float]:
    """Head and category -> share of resamples that have it; and the mean share."""
    overlap = scored_map(open_results(find_place(str(folder))), MapSpec()).overlap
    rows = hc.categories.head_table(overlap)
    shares = {(row.head, row.category): float(row.probability) for row in rows.itertuples()}
    return shares, float(np.mean(list(shares.values()))) if shares else float("nan")


def _of_half(folder: Path, half: int) -> set[tuple[str, str]]:
    """Head and category of the map on every second query item of each task."""

    def of_half(block: xr.Dataset) -> xr.Dataset:
        if "item" not in block.coords:
            return block
        items = np.unique(block["item"].values)[half::2]
        return block.isel(prompt=np.isin(block["item"].values, items))

    results = hc.load(folder)
    halved = results.map_over_datasets(of_half)
    halved.attrs = results.attrs
    members = hc.categorize(hc.score(halved, method=_METHOD))
    return set(hc.categories.head_table(members)[["head", "category"]].itertuples(index=False, name=None))
