"""Time of `ov_relation` beside the time of its matrix products alone, on random weights of GPT-2 small's shape.

20 relations of 100 pairs, all heads, score and suppression, and the null of 200 permutations. The products are those
that `ov_relation` makes, in the same chunks of the vocabulary and blocks of rows: `E W_V` and `W_O W_U` of every head
and what comes of them, and `E W_U` without a head. The two take turns, and the least of the repetitions counts for
each, so that a slow minute hits both.

Run `OMP_NUM_THREADS=2 python benchmarks/relations.py`; `--shape tiny` shows that it works.
"""

import argparse
import os
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from random_weights import random_hooked_model
from sweep_speed.shapes import SHAPES

import headcats as hc
from headcats.models.circuit import Circuit
from headcats.papers.ov_relation import extremes
from headcats.papers.ov_relation.settings import PRESETS

RELATIONS, PAIRS = 20, 100


def token_pairs(d_vocab: int, *, seed: int = 0) -> dict[str, list[tuple[int, int]]]:
    """Relations of random tokens, no token twice where the vocabulary is large enough."""
    draws = torch.Generator().manual_seed(seed)
    repeats = -(-2 * RELATIONS * PAIRS // d_vocab)
    tokens = torch.cat([torch.randperm(d_vocab, generator=draws) for _ in range(repeats)])
    listed = tokens[: 2 * RELATIONS * PAIRS].view(RELATIONS, PAIRS, 2).tolist()
    return {f"relation {number}": [tuple(pair) for pair in own] for number, own in enumerate(listed)}


def products(circuit: Circuit, sources: torch.Tensor) -> None:
    """The matrix products of `ov_relation`, and nothing else."""
    embeddings = circuit.embeddings(sources)
    later = circuit.after_first_mlp(embeddings)
    for layer in circuit.layers:
        outputs = circuit.values(later if layer else embeddings, layer=layer)
        _over_vocabulary(circuit, outputs, circuit.W_O(layer))
    for rows in (embeddings, later):
        _over_vocabulary(circuit, rows[None], None)


def _over_vocabulary(circuit: Circuit, outputs: torch.Tensor, weight: torch.Tensor | None) -> None:
    heads, rows, _ = outputs.shape
    chunk = min(extremes._CHUNK, circuit.d_vocab)
    step = max(1, extremes._BLOCK // (heads * chunk))
    for start in range(0, circuit.d_vocab, chunk):
        columns = circuit.unembedding(start, min(start + chunk, circuit.d_vocab))
        written = columns.expand(heads, -1, -1)
        if weight is not None:
            written = (weight.flatten(0, 1) @ columns).unflatten(0, weight.shape[:2])
        for row in range(0, rows, step):
            torch.bmm(outputs[:, row : row + step], written)


def least(sides: dict[str, Callable[[], Any]], *, repeat: int) -> dict[str, float]:
    """Seconds of each side, in turns, the least of the repetitions."""
    seconds = dict.fromkeys(sides, float("inf"))
    for _ in range(repeat):
        for name, work in sides.items():
            started = time.perf_counter()
            work()
            seconds[name] = min(seconds[name], time.perf_counter() - started)
    return seconds


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--shape", choices=list(SHAPES), default="gpt2-small")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--layers", type=int, help="of the shape's layers, which cost the same, only so many")
    chosen = parser.parse_args()
    if os.environ.get("OMP_NUM_THREADS"):
        torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    shape = replace(SHAPES[chosen.shape], n_layers=chosen.layers or SHAPES[chosen.shape].n_layers)
    model = random_hooked_model(shape, backend="bridge")
    pairs = token_pairs(shape.d_vocab)
    sources = torch.tensor([source for own in pairs.values() for source, _ in own]).unique()
    circuit = Circuit(model)
    settings = PRESETS["maps2025"]
    heads = len(shape.heads)
    print(
        f"{chosen.shape}: {heads} heads, {RELATIONS} relations of {PAIRS} pairs, {len(sources)} sources, "
        f"{shape.d_vocab} tokens, {settings.permutations} permutations; {torch.get_num_threads()} threads"
    )
    sides = {
        "products alone": lambda: products(circuit, sources),
        "ov_relation": lambda: hc.methods.ov_relation(model, pairs),
    }
    seconds = least(sides, repeat=chosen.repeat)
    for name, taken in seconds.items():
        print(f"{name:>15}: {taken:8.2f} s")
    print(f"{'ratio':>15}: {seconds['ov_relation'] / seconds['products alone']:8.2f}")


if __name__ == "__main__":
    main()
