"""Do heads that implement a relation by their weights write it in running text?

`python benchmarks/relation_checks.py` (bundled model): Pearson correlation of static and dynamic scores over heads and
templates.
"""

import argparse
import warnings

import numpy as np
import torch

import headcats as hc
from headcats.base.errors import HeadcatsWarning


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", default="mini")
    parser.add_argument("--suite", default="icl")
    parser.add_argument("--template", nargs="+", default=["<X> →"], help="texts that sources are put into")
    parser.add_argument("--bos", default="once", help='"own": as the tokenizer puts it; the bundled ones put none')
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore", HeadcatsWarning)  # of relations with too few pairs, which are counted below

    model, suite = hc.load_model(chosen.model), hc.suite(chosen.suite)
    pairs = {task.name: task.pairs(1024, seed=0) for task in suite.tasks if task.exact is None}
    relations = hc.methods.ov_relation(model, pairs)
    scored = {str(name): pairs[str(name)] for name in relations.task.values}
    best = relations.score.max(("layer", "head"))
    found = [name for name in scored if float(best.sel(task=name)) >= float(relations.threshold.sel(task=name))]
    print(f"{chosen.model}: {len(scored)} of {len(pairs)} relations scored, {len(found)} implemented by some head")

    dynamic = hc.papers.ov_relation.dynamic_relation(
        model, scored, relations, templates=chosen.template, bos=chosen.bos
    )
    for context in dynamic.context.values:
        r = dynamic.pooled_r.sel(context=context, task=found).values
        print(f"  r of static and dynamic scores, {context} context: median {np.nanmedian(r):.2f}", end="")
        print(f" ({np.nanmin(r):.2f} to {np.nanmax(r):.2f} over {np.isfinite(r).sum()} relations)")


if __name__ == "__main__":
    main()
