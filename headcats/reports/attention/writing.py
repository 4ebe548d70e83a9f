"""`hc.write_views`: the attention of a finished run's heads, as pages in its folder."""

import itertools
import json
import logging
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from headcats.base.errors import DataError, StatisticsWarning, check_count
from headcats.categories.argument_checks import check_rule
from headcats.categories.map_spec import MapSpec
from headcats.models.checks import check_model
from headcats.reports.attention.chosen import Chosen, choose
from headcats.reports.attention.examples import Example, examples, spread
from headcats.reports.attention.page import GENERATOR, Shared, thumbnails, view_page
from headcats.results.block_files import slug
from headcats.results.checksum import json_with_checksum, text_checksum
from headcats.results.finding import line
from headcats.results.folder import INDEX, VIEWS, ResultsFolder
from headcats.results.loading import open_results
from headcats.results.manifest import Manifest
from headcats.results.place import find_place
from headcats.results.run_results import STATE
from headcats.results.whole_file import write_whole
from headcats.rules.rule import Rule
from headcats.study.preparation import Preparation
from headcats.study.restore import check_order, check_prompts, restored_model, restored_study
from headcats.tasks.definition import Task
from headcats.tasks.suites import Suite

_log = logging.getLogger("headcats")


@dataclass(frozen=True)
class View:
    """One page.

    Attributes:
        file: Its name, within the folder `views`.
        category: Whose heads it shows.
        heads: Their names, such as "L9H6".
        tasks: Tasks that its prompts are of.
        what: What it shows, in a sentence.
    """

    file: str
    category: str
    heads: tuple[str, ...]
    tasks: tuple[str, ...]
    what: str


@dataclass(frozen=True)
class Views:
    """Views that `write_views` wrote.

    Attributes:
        folder: The folder of the pages.
        by: Method, metric and rule that the heads were chosen by.
        views: The pages, in the order of the categories.
        left_out: Category without a page -> why.
    """

    folder: Path
    by: str
    views: tuple[View, ...]
    left_out: Mapping[str, str]


def write_views(
    model: Any,
    results: str | os.PathLike[str],
    *,
    suite: str | Suite | Task | Sequence[Task | str] | None = None,
    method: str | None = None,
    metric: str | None = None,
    rule: Rule | None = None,
    min_tasks: int | str | None = None,
    heads: int = 4,
    prompts: int = 2,
) -> Views:
    """Pages that show where the heads of every category look, on prompts of the tasks that they are needed for.

    One page per category, `views/<category>.html` in the results folder: its `heads` members with the largest effect
    (without members, its undecided heads with the largest effect above 0, which the page says), each on `prompts`
    example prompts of the run, clean beside corrupted: the first that the model answers rightly, of the tasks that most
    of these heads pass. A picture holds the pattern `(from, to)`, every row summing to 1; a table the strongest weights
    of its last row, at the token after which the answer is read. Attention says where a head looks, not what that does
    to the answer. Pages need no network.

    Args:
        model: The model of the results, as in `hc.run_evidence`: what `hc.load_model` returns, or a name or folder.
        results: A results folder. Pages of an earlier call are replaced; those of categories that have none any more
            are removed. `views/index.json` lists file, category, heads and tasks of each page, and what is left out.
        suite: None takes the suite that the results hold. Another one, as in `hc.run`, such as one with more pairs,
            must have the same tasks and categories and give the prompts of the run.
        method: Method that heads are chosen by, as `name` or `name@positions`, or a joint method that sorts heads.
            None: the first exact method that was scored task by task, else the first joint one that sorts heads.
        metric: Metric that heads are chosen by; None takes the first of the run.
        rule: Rule of membership, as in `hc.categorize`; of a joint method None is that of its paper.
        min_tasks: As in `hc.categorize`; None is half of a category's tasks, of relations one.
        heads: Heads per category, at most.
        prompts: Example prompts per category; as even over its tasks as can be.

    Returns:
        `folder`, `by`, `views` (each with `file`, `category`, `heads`, `tasks`, `what`) and `left_out`: category ->
        why it has no page.

    Raises:
        OptionError: `heads` or `prompts` below 1, a control as `method`, or several positions of it and none chosen.
        UnknownNameError: A method or metric that the results do not hold.
        DataError: No category has a head to show, the message says why; results that are no folder, or swapped with
            the model.
        PlanError: Another model than that of the results, or another suite.
        ModelError: The model cannot be loaded or trusted, or computes no attention pattern.
        OccupiedError: Another process is writing the folder; the message says which.
        StorageError: The folder cannot be read or written.

    Example:
        >>> import headcats as hc
        >>> written = hc.write_views("mini", "results/mini-icl", heads=2, prompts=1)
        >>> [view.file for view in written.views][:2]
        ['algorithmic.html', 'knowledge.html']
        >>> (written.folder / "algorithmic.html").exists()
        True
    """
    check_count("heads", heads)
    check_count("prompts", prompts)
    check_rule(rule, by="hc.write_views")
    reading = MapSpec.parse(method=method, metric=metric, rule=rule, min_tasks=min_tasks)
    folder = _folder(model, results)
    with ResultsFolder(folder).adding("headcats views"):
        return _write(model, folder, reading, suite=suite, heads=heads, prompts=prompts)


def _write(
    model: Any,
    folder: Path,
    reading: MapSpec,
    *,
    suite: str | Suite | Task | Sequence[Task | str] | None,
    heads: int,
    prompts: int,
) -> Views:
    run = open_results(find_place(folder))
    manifest = run.manifest
    # Pages are about the same categories as the map, which says the same: here it goes onto the pages.
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", StatisticsWarning)
        choice = choose(run, reading, heads=heads)
    adapted = restored_model(run, model)
    check_model(adapted)
    preparation = Preparation(adapted, restored_study(run, suite))
    examples_of, left_out = dict[str, list[Example]](), dict(choice.left_out)
    for chosen in choice.categories:
        if shown := _examples(preparation, manifest, chosen, prompts):
            examples_of[chosen.category] = shown
        else:
            problem = preparation.of(chosen.tasks[0]).problem
            left_out[chosen.category] = line("attention.no_prompt", task=chosen.tasks[0], problem=problem)
    categories = tuple(chosen for chosen in choice.categories if chosen.category in examples_of)
    shared = Shared(
        manifest.model.name,
        manifest.plan.suite,
        replace(choice, categories=categories, left_out=left_out),
        files=_files(list(examples_of)),
        notes=list(dict.fromkeys(str(warning.message) for warning in caught)),
    )
    pages, views = {}, []
    for chosen in categories:
        file, shown = shared.files[chosen.category], examples_of[chosen.category]
        pages[file] = view_page(chosen, shown, shared).encode("utf-8")
        views.append(_view(chosen, shown, file))
    reasons = {name: str(reason) for name, reason in left_out.items()}
    written = Views(folder / VIEWS, choice.by, tuple(views), reasons)
    small = {
        chosen.category: thumbnails(examples_of[chosen.category][0], [each.head for each in chosen.heads])
        for chosen in categories
    }
    made_of = {"method": choice.label, STATE: run.state([choice.label])}
    _save(pages, written, small, made_of)
    return written


def _folder(model: Any, results: Any) -> Path:
    """Where the results lie; the model comes first, the results second."""
    check_order(model, results, by="hc.write_views")
    if not isinstance(results, str | os.PathLike):
        raise DataError(
            f"hc.write_views writes pages into a results folder, so it takes the folder; got {type(results).__name__}. "
            'Save the results, hc.run(..., out="results/mine"), and write hc.write_views(model, "results/mine").'
        )
    return Path(results)


def _examples(preparation: Preparation, manifest: Manifest, chosen: Chosen, prompts: int) -> list[Example]:
    """Example prompts of a category; none where no task of it has any."""
    # Of tasks that were not scored, prompts may not be there; each one that is asked takes time.
    usable = list(itertools.islice((task for task in chosen.tasks if preparation.of(task).scored), prompts))
    if not usable:
        return []
    numbers = spread(prompts, usable)
    check_prompts(preparation, manifest, tasks=numbers)
    heads = [shown_head.head for shown_head in chosen.heads]
    return [
        example
        for task, n in numbers.items()
        for example in examples(preparation.model, preparation.of(task).scored, heads, n=n)
    ]


def _files(categories: list[str]) -> dict[str, str]:
    """Category -> name of its page; of categories that differ in capitals alone, with a hash of the name."""
    plain = {name: name.lower().replace(" ", "-") for name in categories}
    taken = list(plain.values())
    return {name: f"{slug(text if taken.count(text) == 1 else name)}.html" for name, text in plain.items()}


def _view(chosen: Chosen, prompts: list[Example], file: str) -> View:
    tasks = tuple(dict.fromkeys(example.task for example in prompts))
    heads = tuple(str(shown_head.head) for shown_head in chosen.heads)
    description = line("attention.page", heads=heads, n=len(prompts), tasks=tasks, why=chosen.why)
    return View(file, chosen.category, heads, tasks, str(description))


def _save(
    pages: Mapping[str, bytes], written: Views, small: Mapping[str, Mapping[str, Any]], made_of: Mapping[str, str]
) -> None:
    """The pages, then the index of them with small pictures; then what earlier calls have left is removed."""
    views = [
        asdict(view) | {"checksum": text_checksum(pages[view.file]), "thumbnails": small[view.category]}
        for view in written.views
    ]
    index = {"by": written.by, **made_of, "views": views, "left_out": written.left_out}
    for name, data in pages.items():
        write_whole(written.folder / name, data)
    write_whole(written.folder / INDEX, json_with_checksum(json.dumps(index, indent=1, ensure_ascii=False)))
    ours = f'name="generator" content="{GENERATOR}"'.encode()  # other files are left alone
    for path in written.folder.glob("*.html"):
        if path.name not in pages and path.is_file() and ours in path.read_bytes()[:2000]:
            path.unlink(missing_ok=True)
            _log.info("Removed %s, which shows heads that are not shown any more.", path)
