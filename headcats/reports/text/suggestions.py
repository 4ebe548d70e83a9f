"""Suggest the command that produces a missing result, or repeats a run; refuse what the results do not hold."""

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import xarray as xr

from headcats.base.errors import OptionError, UnknownNameError
from headcats.base.registry import names, unknown_name_message
from headcats.methods.spec import MethodSpec
from headcats.results.declaration import Declaration, default_methods, registered, registered_declarations
from headcats.results.finding import Finding, line
from headcats.results.folder import slug
from headcats.results.label import Label
from headcats.results.manifest import Manifest
from headcats.results.options import options_of
from headcats.results.place import Place
from headcats.results.records import ModelRecord
from headcats.results.run_results import RunResults
from headcats.results.sources import located, shown_source
from headcats.study.options import SPREAD, ModelOptions, usual_options
from headcats.study.plan import methods_of_finished_prompts, methods_of_suite
from headcats.tasks.definition import Task
from headcats.tasks.suites import Suite, suite

# What a method may need (see `Declaration.needs`) -> whether tasks of a suite have it.
_NEEDS: dict[str, Callable[[Suite, Sequence[Task]], bool]] = {
    "exact answers": lambda suite, tasks: any(task.exact for task in tasks),
    "two categories": lambda suite, tasks: len({suite.category_of(task).name for task in tasks}) > 1,
}


def repeat_command(manifest: Manifest, *, results: Path | None = None) -> str:
    """The command that repeats a run, without a folder: `headcats run` with the options that are not the default.

    Paths of model and suite are those from here if `results`, the folder, is given; else as others may see them.
    A model, suite or task that no command can name (a model or a task of a notebook) gives the call in Python instead:
    `hc.run(model, ...)`, with the reader's own `model`.
    """
    source, run_tasks, methods = manifest.suite_source, _run_tasks(manifest), list(manifest.methods)
    suite_tasks = [task.name for task in suite(source).tasks] if source in names("suite") else []
    tasks = [name for name in suite_tasks if name in run_tasks] + sorted(run_tasks - set(suite_tasks))
    # A module or file of the user's is not run to look which tasks it has, so all of them are named.
    is_file = bool(source) and not suite_tasks
    by_command = (is_file or (suite_tasks and run_tasks <= set(suite_tasks))) and _loaded_by_command(manifest.model)
    named_tasks = None if run_tasks in (set(), set(suite_tasks)) else tasks
    if suite_tasks:
        of_suite = methods_of_suite(suite(source))
    else:
        has_words = any(record.word_pairs.kept is not None for record in manifest.tasks.values())
        of_suite = default_methods() if has_words else methods_of_finished_prompts()
    usual = [MethodSpec.parse(name).label for name in of_suite]
    # The first is the one that is mapped where none is named; the order of the others says nothing.
    is_usual = set(methods) == set(usual) and methods[:1] == usual[:1]
    named_methods = None if is_usual else methods
    shown = shown_source if results is None or not by_command else partial(located, results=results)
    options = _unusual_options(manifest, shown, tasks=named_tasks, methods=named_methods)
    if by_command:
        return f"headcats run{_in_command(options)}"
    of_model = {each.name for each in options_of(ModelOptions)}
    texts = {name: json.dumps(value) for name, value in options.items() if name not in of_model}
    if not source:
        texts["suite"] = "your_suite"
    return f"hc.run({', '.join(['model', *(f'{name}={text}' for name, text in texts.items())])})"


def how_to_add(name: str, manifest: Manifest) -> Finding:
    """Command for the results of a method that a folder lacks: it adds them, or makes another folder."""
    source, repeat = manifest.suite_source, line("suggestion.repeat", method=name)
    if source not in names("suite"):
        return repeat
    run_suite, run_tasks, declared = suite(source), _run_tasks(manifest), registered(name)
    has_what_it_needs = _NEEDS.get(declared.needs, lambda suite, tasks: True)
    need = line(f"suggestion.{declared.needs.replace(' ', '_')}") if declared.needs else None
    if not has_what_it_needs(run_suite, run_suite.tasks):
        return line("suggestion.other_suite", need=need, suite=source, method=name, suite_that_has_it=declared.suite)
    tasks = [task for task in run_suite.tasks if task.name in run_tasks]
    if not _loaded_by_command(manifest.model) or len(tasks) < len(run_tasks):
        return repeat
    needs_all = not has_what_it_needs(run_suite, tasks)
    subset = None if needs_all or len(tasks) in (0, len(run_suite.tasks)) else [task.name for task in tasks]
    reason = line("suggestion.all_tasks", need=need) if needs_all else None
    options = _in_command(_unusual_options(manifest, shown_source, tasks=subset))
    return line("suggestion.add", reason=reason, method=name, options=options)


def figure_file(block: xr.Dataset, figure: str) -> str:
    """File of a figure of a block in a results folder, with the options of the method that are not the default."""
    options = "-".join(f"{name}={value}" for name, value in Label.parse(block.attrs["label"]).options)
    return f"{figure}{'-' + slug(options) if options else ''}.html"


def quoted_figure_commands(run: RunResults, place: Place | Path, method: str | None = None) -> str:
    """The commands that draw the blocks of joint methods of results, in backticks, joined by "or".

    `method` may have options; None is for all of them.
    """
    return " or ".join(
        f"`headcats figure {figure} {shlex.quote(str(place))} --method {label} --out {figure_file(block, figure)}`"
        for label, block in run.joint_blocks.items()
        if method in (None, label, Label.parse(label).name) and (figure := run.declarations[label].figure)
    )


def joint_block(
    run: RunResults, figure: str, *, method: str | None = None, any_method: bool = False
) -> xr.Dataset | None:
    """The block of a joint method that a figure shows; None where the figure shows something else.

    `method` is one of several, with its options, such as "attribution_patch:steps=8"; None takes the only one. With
    `any_method` the figure also shows blocks of methods that declare another one.

    Raises:
        OptionError: The results hold none, or several and none was named.
    """
    blocks, name = run.joint_blocks, method and Label.parse(method).name
    registered_methods = registered_declarations()

    def is_shown(candidate: str, about: Declaration) -> bool:
        draws = figure in (about.figure, *about.more_figures)
        return name in (None, candidate) and (draws or (any_method and name is not None))

    labels = [label for label in blocks if is_shown(Label.parse(label).name, run.declarations[label])]
    missing = [each for each, about in registered_methods.items() if about.kind == "joint" and is_shown(each, about)]
    if missing and not labels:
        advice = how_to_add(missing[0], run.manifest)
        raise OptionError(str(line("suggestion.lacking", method=missing[0], advice=advice)))
    if not labels:
        return None
    if method in labels:
        return blocks[str(method)]
    if len(labels) > 1 or (method is not None and method != Label.parse(labels[0]).name):
        absent = "" if method is None else f", and not {method!r}"
        raise OptionError(f"These results hold {' and '.join(labels)}{absent}: choose one with --method.")
    return blocks[labels[0]]


def sorting_label(run: RunResults, place: Place | Path, method: str | None) -> str | None:
    """The joint method to map: None where `method` scores task by task, or where none is named and tasks are scored.

    Raises:
        OptionError: A joint method that sorts no heads, that these results lack, or that they hold with other options.
    """
    if method is None:
        return next(iter(run.sorting_methods or run.joint_blocks), None) if not run.tasks else None
    name = Label.parse(method).name
    declared = next((run.declarations[label] for label in run.joint_blocks if Label.parse(label).name == name), None)
    declared = declared or registered(name)
    if declared.kind != "joint":
        return None
    if declared.selection is None:
        drawn_by = quoted_figure_commands(run, place, method)
        raise OptionError(
            f"{method} sorts no heads into categories, so there is no map of it"
            + (f"; {drawn_by} draws it." if drawn_by else ", and these results hold no such method either.")
        )
    block = joint_block(run, declared.figure, method=method)
    assert block is not None  # it is held, or an error names how to get it
    return str(block.attrs["label"])


def check_scored(run: RunResults, place: Place | Path, method: str | None, *, by: str) -> None:
    """Refuse a joint method, and results without a scored task; the message says what fits them.

    Results that hold nothing at all pass: whoever reads them says so.

    `method` is the one to read, with or without options and positions; None for any. `place` is for the commands that
    are named; `by` is what reads scores of tasks, as the beginning of a sentence: "`headcats evidence`".

    Raises:
        OptionError: A joint method, or no scored task.
        UnknownNameError: No scored task, and a method that does not exist.
    """
    joint, scored = list(run.joint_blocks), [str(label) for label in run.scored]
    label, commands = Label.parse(method or ""), quoted_figure_commands(run, place)
    look = line("suggestion.look", commands=commands) if commands else None
    if any(Label.parse(block).name == label.name for block in joint) or registered(label.name).kind == "joint":
        command = quoted_figure_commands(run, place, label.method)
        if command:
            answer, look = line("suggestion.drawn_by", command=command), None
        else:
            answer = line("suggestion.contents", labels=joint + scored or ["nothing"])
        more = line("suggestion.choose", by=by, labels=scored) if scored else look
        raise OptionError(str(line("suggestion.joint_method", method=label.method, answer=answer, more=more)))
    if scored or not joint:
        return
    message = line("suggestion.no_scores", by=by, labels=joint, look=look)
    if method is not None and label.method not in names("method"):
        raise UnknownNameError(f"{unknown_name_message('method', label.method, names('method'))} {message}")
    raise OptionError(str(message))


def _loaded_by_command(model: ModelRecord) -> bool:
    """True for a model that a command loads as the one of the results: it has a name, and is a TransformerBridge."""
    return bool(model.source) and model.model_class != "HookedTransformer"


def _run_tasks(manifest: Manifest) -> set[str]:
    """Names of the tasks that a run was asked for."""
    joint = (task for record in manifest.joint_blocks.values() for task in record.tasks)
    return {*manifest.tasks, *manifest.requested, *joint}


def _unusual_options(manifest: Manifest, shown: Callable[[str], str], **named: object) -> dict[str, object]:
    """Return the options of a run that are not the default of its suite; `shown` is how paths are named."""
    model = manifest.model
    options = {"model": shown(model.source), "revision": model.revision, "dtype": model.dtype or None}
    options |= manifest.plan.complete() | {"suite": shown(manifest.suite_source)} | _placing(model) | named
    usual = usual_options(manifest.suite_source)
    return {name: value for name, value in options.items() if value is not None and value != usual.get(name)}


def _in_command(options: Mapping[str, object]) -> str:
    texts = {name: ",".join(value) if isinstance(value, list) else str(value) for name, value in options.items()}
    return "".join(f" --{name.replace('_', '-')} {shlex.quote(text)}" for name, text in texts.items())


def _placing(model: ModelRecord) -> dict[str, object]:
    """Return options of a command that spread or quantise a model; other arguments of the loader have none."""
    device_map, quantisation = (model.loader.get(name) for name in ("device_map", "quantization_config"))
    bits = [bits for bits in ("8bit", "4bit") if (quantisation or {}).get(f"load_in_{bits}")]
    return {"device": device_map if device_map in SPREAD else None, "load_in": bits[0] if bits else None}
