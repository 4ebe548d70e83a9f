"""Does the function vector of a task raise accuracy without demonstrations on the bundled model? Run by hand.

    OMP_NUM_THREADS=1 python benchmarks/steering.py [--heads 2 10] [--seed 0] [--tasks plus_ten plural]

Heads are ranked by function_vector_patch on the query items of one half, once in prompts with shuffled labels as in
Todd et al. (2024), once in prompts that show another task. 25 prompts a task, 100 reference prompts, P(answer); the
arrow template and 5 shots, which are what the bundled model reads and what half of a small table can give. The other
half is asked without demonstrations. Some minutes for two numbers of heads and 40 tasks.

Measured with 10 of 48 heads, means over 40 tasks (unsteered .37, with demonstrations 1.00), seeds 0 and 1: ranked by
another task .93 and .93 after block 1 (random heads .41 and .40 there), 38 of 40 tasks raised in both; ranked by
shuffled labels .48 and .48 at best (random heads .52 and .52 there), 17 and 14 of 40 tasks raised.
"""

import argparse
import time

import headcats as hc
from headcats.papers import function_vector

SETTINGS = function_vector.SteeringSettings(n_demos=5, template="arrow")
CORRUPTIONS = ("shuffled_labels", "other_task")


def main() -> None:
    """Print each ranking, and for each number of heads the reading and the curve over blocks by category."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--heads", type=int, nargs="+", default=[2, 10])
    parser.add_argument("--tasks", nargs="+", default=None)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    model = hc.load_model("mini")
    for corruption in CORRUPTIONS:
        plan = {
            **hc.methods.preset("todd2024"),
            "template": "arrow",
            "n_demos": SETTINGS.n_demos,
            "corruption": corruption,
        }
        ranking = function_vector.steering_heads(
            hc.run(model, **plan, seed=asked.seed, tasks=asked.tasks), max(asked.heads), seed=asked.seed
        )
        print(f"\n# {corruption}")
        for name, effect in zip(ranking["name"].values, ranking["effect"].values, strict=True):
            print(f"{name}  {effect:.4f}")
        for n in asked.heads:
            started = time.monotonic()
            found = function_vector.steer(
                model, "icl", ranking.isel(rank=slice(n)), tasks=asked.tasks, settings=SETTINGS, seed=asked.seed
            )
            print(f"\n{n} heads, {time.monotonic() - started:.0f} s\n{found.attrs['reading']}\n")
            means = found[["accuracy", "base", "control"]].mean("draw").groupby("category").mean()
            for category in means["category"].values:
                here = means.sel(category=category)
                curves = ["  ".join(f"{value:.2f}" for value in here[key].values) for key in ("accuracy", "control")]
                print(f"{category:12} unsteered {float(here['base']):.2f}  steered {curves[0]}  random {curves[1]}")


if __name__ == "__main__":
    main()
