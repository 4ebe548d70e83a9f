"""Are the numbers of every method on both bundled models the same to the bit, before and after a change?

    python benchmarks/same_numbers.py make BEFORE   # with the code before the change
    python benchmarks/same_numbers.py make AFTER    # with the code after it
    python benchmarks/same_numbers.py compare BEFORE AFTER

`make` runs every registered method at a small size, scores every method that is scored task by task, and sorts its
heads. `compare` looks at variables and coordinates, not at attributes, and exits with 1 if a number differs, is missing
or is new. Both folders have to be made on one machine.
"""

import argparse
import sys
import warnings
from pathlib import Path

import xarray as xr

import headcats as hc
from headcats.base.errors import HeadcatsError, HeadcatsWarning

CAUSAL = [
    "denoising_patch",
    "second_corruption_patch",
    "other_item_patch",
    "mean_ablation",
    "mean_ablation:reference=task@last",
    "noising_patch@all",
    "resample_ablation",
    "zero_ablation",
    "attribution_patch",
    "function_vector_patch",
]
JOINT = ["ov_relation", "function_probe:n_seeds=2", "head_gating:preset=chg-mini,n_seeds=1"]
ICL = ["successor", "list_first", "country_capital", "animal_class", "past_tense", "plural"]
ICL += ["english_french", "french_english"]
RUNS = {
    "icl": {"model": "mini", "suite": "icl", "tasks": ICL, "methods": CAUSAL, "metrics": ["logit_diff", "log_prob"]},
    "shuffled": {"model": "mini", "suite": "icl", "tasks": ICL, "methods": CAUSAL, "corruption": "shuffled_labels"},
    "weights": {"model": "mini", "suite": "icl", "methods": JOINT[:1]},
    "cognitive": {"model": "mini-cognitive", "suite": "cognitive", "methods": [*CAUSAL[:2], *JOINT], "n_demos": 4},
    "sentences": {"model": "mini-cognitive", "suite": "sentences", "methods": ["token_probe"], "n_demos": 0},
}


def make(out: Path) -> None:
    """Run everything into `out`."""
    warnings.simplefilter("ignore", HeadcatsWarning)
    for name, options in RUNS.items():
        options = dict(options)
        results = hc.run(options.pop("model"), n_prompts=8, out=out / "runs" / name, progress=False, **options)
        for node in results.subtree:
            _put(node, out / name / "results" / f"{node.path.strip('/').replace(':', '-')}.nc")
        for method in options["methods"]:
            if method in {*JOINT, "token_probe"}:
                continue
            for effect in ("total", "task_specific"):
                target = out / name / "scores" / f"{method.replace(':', '-')}-{effect}.nc"
                try:
                    scores = hc.score(results, method=method, effect=effect)
                except HeadcatsError:
                    continue  # only denoising has task-specific effects
                members = hc.categorize(scores, rule=hc.rules.threshold(value=0.1), min_tasks=1)
                _put(members, target.with_suffix(".members.nc"))
                _put(hc.overlap(members), target.with_suffix(".overlap.nc"))
                _put(scores, target)
    evidence = hc.run_evidence("mini", out / "runs" / "icl", n_prompts=4, relabellings=20)
    for name, node in evidence.children.items():
        _put(node, out / "icl" / f"evidence-{name}.nc")


def _put(table: xr.Dataset | xr.DataTree, path: Path) -> None:
    """Write the numbers of a table, if it has any, whichever files and attributes the package keeps them in."""
    table = table.to_dataset() if isinstance(table, xr.DataTree) else table
    if table.variables:
        path.parent.mkdir(parents=True, exist_ok=True)
        table.drop_attrs().drop_encoding().to_netcdf(path, engine="h5netcdf")


def compare(before: Path, after: Path) -> int:
    """Print what differs; the number of tables that do."""
    tables = [
        {path.relative_to(folder) for path in folder.rglob("*.nc") if path.relative_to(folder).parts[0] != "runs"}
        for folder in (before, after)
    ]
    problems = [f"only in {before}: {path}" for path in sorted(tables[0] - tables[1])]
    problems += [f"only in {after}: {path}" for path in sorted(tables[1] - tables[0])]
    for path in sorted(tables[0] & tables[1]):
        with xr.open_dataset(before / path) as first, xr.open_dataset(after / path) as second:
            if not first.load().equals(second.load()):
                differing = [
                    str(name)
                    for name in {**first.variables, **second.variables}
                    if name not in first or name not in second or not first[name].equals(second[name])
                ]
                problems.append(f"{path}: {', '.join(differing)}")
    print(*problems, sep="\n")
    print(f"{len(tables[0] & tables[1])} tables compared, {len(problems)} differ")
    return len(problems)


def main() -> None:
    """Parse, then make or compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("make").add_argument("out", type=Path)
    comparing = commands.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    arguments = parser.parse_args()
    if arguments.command == "make":
        make(arguments.out)
    else:
        sys.exit(bool(compare(arguments.before, arguments.after)))


if __name__ == "__main__":
    main()
