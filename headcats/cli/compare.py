"""`headcats compare`: what a map depends on. Reads saved results; loads no torch."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headcats.cli import completion
from headcats.cli.arguments import AsJson, Folders, MinTasks, RuleText
from headcats.cli.as_json import Answer
from headcats.cli.comparisons import methods, methods_alone, protocols, structure
from headcats.errors import OptionError
from headcats.study.defaults import DEFAULT_RULE

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

Method = Annotated[
    str | None,
    typer.Option(
        "--method",
        help="Only this method; default: all (models: the first).",
        autocompletion=completion.methods_of_results,
    ),
]
Positions = Annotated[str | None, typer.Option("--positions", help="Only these positions; default: all.")]
Metric = Annotated[
    str | None,
    typer.Option(
        "--metric",
        help="Only this metric; default: all (models: the first).",
        autocompletion=completion.metrics_of_results,
    ),
]
Sign = Annotated[
    str,
    typer.Option(
        "--sign",
        help="Whose: helping (the default) or suppressing heads; they are never merged.",
        autocompletion=completion.one_of("helping", "suppressing"),
    ),
]
Splits = Annotated[int, typer.Option("--halves", help="Random splits of the prompts of a single folder; 0 for none.")]
Csv = Annotated[
    Path | None,
    typer.Option(
        "--csv",
        help="Write the numbers as a table to this file; the grid of all methods beside it, as NAME-methods.csv.",
    ),
]


def compare_command(
    folders: Folders,
    method: Method = None,
    positions: Positions = None,
    metric: Metric = None,
    rule: RuleText = DEFAULT_RULE,
    min_tasks: MinTasks = "half",
    sign: Sign = "helping",
    halves: Splits = 5,
    csv: Csv = None,
    as_json: AsJson = False,
) -> None:
    """What the heads of a category depend on: how far they agree between protocols, prompts, results or models.

    One folder: between all methods, positions and metrics it holds, between halves of its prompts, and, where it holds
    methods over the whole suite (ov_relation, head_gating, ...), between all methods on one grid of heads. This is
    saved in the folder for its report, unless --method, --positions or --metric choose among the protocols or --halves
    is 0. Several folders of one model: between all they hold. Either way also which heads are in a category under all
    protocols, at least half of them, or any. Folders of different models: the structure of their categories, since
    heads of different models do not correspond.

    Examples:
    - `headcats compare results/mini-icl`
    - `headcats compare results/mini-icl --method mean_ablation --halves 0`
    - `headcats compare results/seed0 results/seed1 --csv pairs.csv`

    Keys of `--json`: `differences` (of several folders: part of plan or model, or `tasks` -> value in each);
    `protocols` (`protocol`, and `heads`: category -> how many, null where it is not judged); `left_out`; `pairs` (of
    protocols, `first` and `second`, which `differ_in` something, by `category` and `sign`: `jaccard`, `expected`,
    `spearman`, and of the `n_heads` that both have judged those in it: `heads_first`, `heads_second`, `both`);
    `replicated` (`category`, `judged_by` how many protocols, heads that `always`, `half` or `any` of them have);
    `halves` (`title`, `splits`, `categories` with the means `jaccard`, `expected` and `spearman` over `n_splits`, their
    ends `jaccard_min`, `jaccard_max`, `spearman_min`, `spearman_max`, and `n_heads`; `not_judged`); `methods` (`method`
    and `other` by `group` of heads: `rank_correlation`, `layer_correlation`, `p_value`, `q_value`, `top_overlap`,
    `top_chance`); `models` (of different models, as `xarray.Dataset.from_dict` reads it); `said` (the sentences);
    `files`. What does not apply is null.
    """
    from headcats.categories.reading import Reading
    from headcats.reports.text.plans import differences, plan_findings
    from headcats.reports.text.suggestions import check_scored
    from headcats.results.folder import load
    from headcats.results.tree import drop_untried_categories, suite_blocks, task_nodes

    reading = Reading.parse(
        method=method, positions=positions, metric=metric, rule=rule, min_tasks=min_tasks, sign=sign
    )
    if halves < 0:
        raise OptionError(f"--halves is a number of splits, 0 for none; got {halves}.")
    loaded = [load(folder) for folder in folders]
    for results_of_folder, folder in zip(loaded, folders, strict=True) if len(folders) > 1 else ():
        check_scored(results_of_folder, folder, method, by="`headcats compare` of several folders")
    results = {
        name: drop_untried_categories(tree, *loaded) for name, tree in zip(_labels(folders), loaded, strict=True)
    }
    answer = Answer(as_json)
    answer.numbers = dict.fromkeys(_KEYS)
    if len(results) > 1:
        answer.say(plan_findings(results))
        answer.numbers["differences"] = {
            part: dict(zip(results, values, strict=True)) for part, values in differences(results).items()
        }
    alone = next(iter(results.values())) if len(results) == 1 else None
    tables: dict[str, pd.DataFrame] = {}
    if len(set(map(_weights, results.values()))) > 1:
        tables[""] = structure(results, reading, answer)
    elif alone is not None and not task_nodes(alone):
        tables[""] = methods_alone(alone, folders[0], metric, answer)
    else:
        if alone is not None:
            check_scored(alone, folders[0], method, by="`headcats compare` with --method")
        tables[""] = protocols(results, reading, answer, halves=halves, folder=folders[0])
        if alone is not None and suite_blocks(alone) and method is None:
            tables["-methods"] = methods(alone, metric, answer)
    if csv is not None:
        _write({csv.with_name(f"{csv.stem}{suffix}{csv.suffix}"): table for suffix, table in tables.items()}, answer)
    answer.end()


_KEYS = ("differences", "protocols", "left_out", "pairs", "replicated", "halves", "methods", "models")


def _labels(folders: list[Path]) -> list[str]:
    """Names that differ, also where one folder is named twice."""
    names = [str(folder) for folder in folders]
    before = [names[:place].count(name) for place, name in enumerate(names)]
    return [f"{name} ({times + 1})" if times else name for name, times in zip(names, before, strict=True)]


def _weights(results: "xr.DataTree") -> str:
    from headcats.results.tree import manifest_of

    return manifest_of(results).model.weights_hash


def _write(tables: Mapping[Path, "pd.DataFrame"], answer: Answer) -> None:
    from headcats.results.whole_file import write_whole

    for path, table in tables.items():
        write_whole(path, table.to_csv(index=False, lineterminator="\n").encode("utf-8"))
    message = f"Numbers: {' and '.join(map(str, tables))}"
    for place, (name, path) in enumerate(zip(("csv", "csv_methods"), tables, strict=False)):
        answer.wrote(name, path, "" if place else message)
