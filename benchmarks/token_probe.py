"""Where does a model show that its answer is wrong? The token probe on a suite of sentences, its controls and times.

Run `python benchmarks/token_probe.py` (the bundled model, some minutes on one core), or with `--help`.
"""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

REPRESENTATIONS = ("mlp_post", "mlp_out", "resid_post", "head_z")


def options(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add = parser.add_argument
    add("--model", default="mini-cognitive", help="name, hub name or folder (default: mini-cognitive)")
    add("--suite", default="sentences", help="a suite whose tasks say how the exact answer is found")
    add("--tasks", nargs="+", metavar="NAME", help="these tasks of the suite alone; one task cannot give itself away")
    add("--template", default="arrow", help="how a question is written (default: arrow)")
    add("--representations", nargs="+", default=list(REPRESENTATIONS), metavar="NAME")
    add("--questions", type=int, default=1000, help="per task, at most (default 1000)")
    add("--seeds", nargs="+", type=int, default=[0], help="seeds of questions, split and labels (default 0)")
    add("--solvers", action="store_true", help="time the solvers of scikit-learn on the representations, too")
    add("--figure", type=Path, metavar="FILE", help="write the first map, within tasks, as HTML")
    return parser.parse_args(arguments)


def main() -> None:
    """Measure and print."""
    chosen = options(sys.argv[1:])
    import headcats as hc

    model = hc.load_model(chosen.model, device="cpu")
    for seed in chosen.seeds:
        for representation in chosen.representations:
            started = time.perf_counter()
            steps: dict[str, float] = {}

            def step(share: float, what: str, started: float = started, steps: dict[str, float] = steps) -> None:
                steps[what.split(",")[0]] = time.perf_counter() - started

            found = probed(model, chosen, representation, seed=seed, advance=step)
            print(f"\n## {chosen.suite} on {model.name}, {representation}, seed {seed}\n")
            print(*hc.methods.token_probe.summary(found), sep="\n")
            print("done after: " + ", ".join(f"{what} {seconds:.1f} s" for what, seconds in steps.items()))
            if representation == chosen.representations[0]:
                print("\n" + by_task(found))
            print("\nAUC\n" + table(found.auc))
            print("\nAUC within tasks\n" + table(found.within_task))
            print("\nshuffled labels, within tasks\n" + table(found.shuffled_within))
            if chosen.figure and (seed, representation) == (chosen.seeds[0], chosen.representations[0]):
                hc.figures.layer_token(found, variable="within_task").write_html(chosen.figure)
    if chosen.solvers:
        print("\n" + solvers(model, chosen))


def suite_inputs(model: Any, chosen: argparse.Namespace, *, seed: int, advance: Any = None) -> Any:
    """What a study would hand the method."""
    import headcats as hc
    from headcats.base.registry import lookup
    from headcats.methods.joint.inputs import SuiteInputs

    tasks = tuple(task for task in hc.suite(chosen.suite).tasks if not chosen.tasks or task.name in chosen.tasks)
    if not tasks:
        raise SystemExit(f"Suite {chosen.suite!r} has none of the tasks {', '.join(chosen.tasks)}.")
    return SuiteInputs(
        model=model,
        tasks=tasks,
        categories={task.name: task.category for task in tasks},
        pairs={task.name: task.pairs(max(1024, chosen.questions), seed=seed) for task in tasks},
        template=lookup("template", chosen.template),
        n_demos=0,
        n_prompts=64,
        seed=seed,
        advance=advance or (lambda share, what: None),
    )


def probed(model: Any, chosen: argparse.Namespace, representation: str, *, seed: int, advance: Any) -> Any:
    """The map of one representation."""
    import headcats as hc

    inputs = suite_inputs(model, chosen, seed=seed, advance=advance)
    return hc.methods.token_probe.on_part(
        inputs, representation, representation=representation, questions=chosen.questions
    )


def by_task(found: Any) -> str:
    """Answers, wrong ones and an example of each task."""
    lines = []
    for task in dict.fromkeys(found.task.values.tolist()):
        here = found.isel(prompt=(found.task == task).values)
        failed = here.isel(prompt=(here.wrong == 1).values)
        example = ""
        if failed.sizes["prompt"]:
            one = failed.isel(prompt=0)
            example = f"; {one.question.item()!r} -> {one.generated.item()!r} (right: {one.right_answer.item()!r})"
        lines.append(f"{task}: {here.sizes['prompt']} answers, {100 * float(here.wrong.mean()):.0f} % wrong{example}")
    return "\n".join(lines)


def table(values: Any) -> str:
    """Layer x role, two decimals."""
    return str(values.to_pandas().round(2).to_string())


def solvers(model: Any, chosen: argparse.Namespace) -> str:
    """Seconds per fit of scikit-learn's solvers at one cell in the middle, and how far their scores are apart."""
    import warnings

    import numpy as np
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from headcats.papers.token_probe import token_probe
    from headcats.papers.token_probe.answers import answer_questions
    from headcats.papers.token_probe.passes import representations
    from headcats.papers.token_probe.settings import PRESETS

    settings, seed = PRESETS["orgad2025"], chosen.seeds[0]
    inputs = suite_inputs(model, chosen, seed=seed)
    answers, _ = answer_questions(model, token_probe.ask(inputs, questions=chosen.questions), settings)
    places = [[one.shape.position("exact_answer_last")] for one in answers]
    found = dict(representations(model, [one.tokens for one in answers], places, representation="mlp_post"))
    features = found[model.layers[len(model.layers) // 2]][:, 0].astype(np.float64)
    wrong = np.array([one.wrong for one in answers])
    lines = [f"solvers, {len(features)} x {features.shape[1]}:"]
    reference = None
    for solver in ("lbfgs", "newton-cg", "newton-cholesky", "liblinear"):
        started = time.perf_counter()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fitted = make_pipeline(StandardScaler(), LogisticRegression(solver=solver, max_iter=settings.max_iter))
            scores = fitted.fit(features, wrong).decision_function(features)
        seconds = time.perf_counter() - started
        reference = scores if reference is None else reference
        apart = np.abs(scores - reference).max()
        warned = f", warned: {caught[0].category.__name__}" if caught else ""
        lines.append(f"  {solver}: {1000 * seconds:.0f} ms, at most {apart:.3f} from lbfgs{warned}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
