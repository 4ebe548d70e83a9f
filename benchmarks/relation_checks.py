"""Do heads that implement a relation by their weights write it in running text, and does the model need them?

`python benchmarks/relation_checks.py` (bundled model): Pearson correlation of static and dynamic scores over heads and
templates, and accuracy on a relation's prompts while its heads are zeroed, beside random heads and other relations'
prompts; read, as in the paper's table, where accuracy first is 0 or all heads of the relation are gone.
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
    parser.add_argument("--demos", type=int, default=5)
    parser.add_argument("--prompts", type=int, default=64)
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

    texts = {
        name: hc.methods.task_texts(name, suite=suite, n_prompts=chosen.prompts, n_demos=chosen.demos)
        for name in scored
    }
    curve = hc.papers.ov_relation.relation_ablation(model, relations, texts)
    ends = curve.sel(k=curve.n_removed)
    for name in map(str, curve.task.values):
        start, end = float(curve.accuracy.sel(task=name, k=0)), float(ends.accuracy.sel(task=name))
        by_chance, other = (float(ends[kind].sel(task=name).mean()) for kind in ("random", "control"))
        print(
            f"  {name}: {start:.2f}, without {int(curve.n_removed.sel(task=name))} of its heads {end:.2f}, without "
            f"random heads {by_chance:.2f}, other relations without its heads {other:.2f}"
        )
    compared = ends.random.mean("sequence")
    known = np.isfinite(compared.values)
    fell = (ends.accuracy.values < compared.values - 0.05)[known].sum()
    print(
        f"  {fell} of {known.sum()} relations fall by .05 more than without as many random heads, where there are such"
    )
    print(f"  left out: {curve.attrs['dropped']}")


if __name__ == "__main__":
    main()
