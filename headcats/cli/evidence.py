"""`headcats evidence`: are the categories supported? Needs the model."""

import json
import shlex
from typing import Annotated, Any

import typer
import xarray as xr

from headcats.categories.map_spec import EVIDENCE_TABLES, MapSpec, resolve_tested
from headcats.categories.run_maps import scored_map
from headcats.cli.answer import Answer, put
from headcats.cli.arguments import AsJson, Details, Effect, Folder, Metric, ModelOfResults, SuiteOfResults
from headcats.cli.console import note_unfinished
from headcats.cli.map_answer import short_run
from headcats.reports.text.evidence import evidence_findings
from headcats.reports.text.suggestions import check_scored
from headcats.reports.text.tasks import source_findings
from headcats.results.finding import by_category, paragraph
from headcats.results.loading import open_results
from headcats.results.place import find_place
from headcats.results.sources import source_of
from headcats.scale.ray_cluster import Cluster

_METHOD = "Method to choose heads by, as name or name@positions; default: the first."
_MEMORY = "Memory to use beside the model's weights, such as 4GB; default: half of what is free."
_CLUSTER = "Ablate on the workers of a Ray cluster, as in `headcats run`; default: in this process."
_POSITIONS = "Where heads are ablated: last, or all (many times slower)."


def evidence_command(
    folder: Folder,
    model: ModelOfResults = None,
    suite: SuiteOfResults = None,
    method: Annotated[str | None, typer.Option("--method", help=_METHOD)] = None,
    metric: Metric = None,
    effect: Effect = "total",
    positions: Annotated[str, typer.Option("--positions", help=_POSITIONS)] = "last",
    n_prompts: Annotated[int, typer.Option("--n-prompts", min=2, help="Held-out prompts per task.")] = 16,
    relabellings: Annotated[
        int, typer.Option("--relabellings", min=19, help="Labellings of the tasks beside the true one.")
    ] = 200,
    seed: Annotated[int, typer.Option("--seed", help="Seed of halves and relabellings.")] = 0,
    memory: Annotated[str | None, typer.Option("--memory", help=_MEMORY)] = None,
    cluster: Annotated[str | None, typer.Option("--cluster", help=_CLUSTER)] = None,
    details: Details = False,
    as_json: AsJson = False,
) -> None:
    """Test whether each category is supported: relabel the tasks, and ablate heads on prompts the run has not seen.

    Examples:
    - `headcats evidence results/mini-icl`
    - `headcats evidence results/mini-icl --details`
    - `headcats evidence results/mini-icl --method mean_ablation --relabellings 1000`

    Keys of `--json`: `options` (with the defaults that were taken), `reading` (the sentences), `verdicts` (of every
    `category`: `verdict`, `p`, `inseparable`), `size` and `size_error` (null where nothing could be supported),
    `tables` (each as `xarray.Dataset.from_dict` reads it), `folder`, `files`.
    """
    # A misspelt value should not wait until the model is loaded.
    reading = MapSpec.parse(method=method, metric=metric, effect=effect)
    run = open_results(find_place(folder))
    note_unfinished(run)
    check_scored(run, method, by="`headcats evidence`")
    workers = None if cluster is None else Cluster.parse(cluster)
    if workers is not None:
        workers.check_reachable()
    from headcats.study.evidence_run import run_evidence

    target = folder / resolve_tested(reading, run).evidence_folder(run, ablated=positions)
    replaced = " These replace earlier ones." if (target / f"{EVIDENCE_TABLES[0]}.nc").exists() else ""
    evidence = run_evidence(
        model or source_of(run.manifest.model, folder),
        folder,
        suite=suite,
        method=method,
        metric=metric,
        effect=effect,
        positions=positions,
        n_prompts=n_prompts,
        relabellings=relabellings,
        seed=seed,
        memory=memory,
        cluster=workers,
    )
    files = [f"{name}.nc" for name in EVIDENCE_TABLES]
    if as_json:
        put(_numbers(evidence) | {"folder": target, "files": files})
        return
    answer = Answer(as_json, details=details)
    tested = run.without_untried()
    answer.short = short_run(tested, scored_map(tested, resolve_tested(reading, tested)), evidence)
    written = f"Numbers: {target} ({', '.join(files)}).{replaced}"
    sources = source_findings(run.scored_records)
    answer.detail([*evidence_findings(evidence), *sources, paragraph("text.plain", text=written)])
    answer.close(f"`headcats report {shlex.quote(str(folder))}` puts this on the page.")
    answer.end()


def _numbers(evidence: xr.DataTree) -> dict[str, Any]:
    tables = {name: node.to_dataset() for name, node in evidence.children.items()}
    table = tables["relabelling"]
    return {
        "options": json.loads(evidence.attrs["options"]),
        "reading": evidence.attrs["reading"].splitlines(),
        "verdicts": [
            {"category": name, **{column: row[column].item() for column in ("verdict", "p", "inseparable")}}
            for name, row in by_category(table)
        ],
        **{name: table[name].item() for name in ("size", "size_error")},
        "tables": tables,
    }
