"""Measure what `hc.ablate` costs beside one forward pass: 20 heads of a model of GPT-2's shape, 64 prompts.

    python benchmarks/chosen_heads.py

Weights are random; a round does all measured things once each, and the smallest of the rounds counts.
"""

import argparse
import time
from collections.abc import Callable, Sequence

import torch
from random_weights import random_hooked_model

import headcats as hc
from headcats.models.adapter import HookedModel
from headcats.prompts.batch import PromptBatch
from headcats.scale.shape import named_shapes

N_HEADS, N_RANDOM, SEED = 20, 8, 0
POSITIONS = ("last", "all")


def seconds(work: Callable[[], object]) -> float:
    """Seconds of one call."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def solved_batch(model: HookedModel, prompts: int, tokens: int) -> PromptBatch:
    """Random prompts whose answers the model says more of after the clean one than after the corrupted one."""
    draws = torch.Generator().manual_seed(SEED)
    clean, corrupted = (torch.randint(model.d_vocab, (prompts, tokens), generator=draws) for _ in range(2))
    gained = model.run(clean, hooks={}) - model.run(corrupted, hooks={})
    return PromptBatch.from_tokens(clean, corrupted, gained.argmax(-1), gained.argmin(-1))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", default="gpt2")
    parser.add_argument("--prompts", type=int, default=64)
    parser.add_argument("--tokens", type=int, default=48)
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args(arguments)
    model = random_hooked_model(named_shapes()[chosen.shape], "bridge")
    batch = solved_batch(model, chosen.prompts, chosen.tokens)
    draws = torch.Generator().manual_seed(SEED)
    heads = [model.heads[place] for place in torch.randperm(len(model.heads), generator=draws)[:N_HEADS].tolist()]
    measured: dict[str, Callable[[], object]] = {"one forward pass": lambda: model.run(batch.clean, hooks={})}
    for positions in POSITIONS:
        for n in (0, N_RANDOM):

            def ablate(positions: str = positions, n: int = n) -> object:
                return hc.ablate(model, batch, heads=heads, method=f"mean_ablation@{positions}", n_random=n)

            measured[f"{positions} {n}"] = ablate
    least = dict.fromkeys(measured, float("inf"))
    for _ in range(chosen.rounds + 1):  # the first checks the paths, too
        least = {name: min(least[name], seconds(work)) for name, work in measured.items()}
    forward = least["one forward pass"]
    print(
        f"{N_HEADS} heads, {chosen.prompts} prompts of {chosen.tokens} tokens; one forward pass takes {forward:.2f} s"
    )
    for positions in POSITIONS:
        whole, more = least[f"{positions} 0"], least[f"{positions} {N_RANDOM}"]
        print(
            f"{positions}: the whole call with both unpatched runs {whole / forward:.2f} forward passes, every set of "
            f"heads after the first {(more - whole) / N_RANDOM / forward:.2f}"
        )


if __name__ == "__main__":
    main()
