"""Suggest the command that produces a missing result, or repeats a run; refuse what the results do not hold."""

import json
import shlex

import xarray as xr

from headcats.base.errors import OptionError
from headcats.base.registry import names
from headcats.categories.map_result import MapResult
from headcats.categories.map_spec import MapSpec
from headcats.categories.run_maps import joint_map, scored_map
from headcats.methods.spec import MethodSpec
from headcats.results.block_files import slug
from headcats.results.declaration import Declaration, default_methods, registered, registered_declarations
from headcats.results.finding import line
from headcats.results.label import Label
from headcats.results.manifest import Manifest
from headcats.results.options import options_of
from headcats.results.records import ModelRecord
from headcats.results.run_results import RunResults
from headcats.results.sources import shown_source
from headcats.study.options import SPREAD, ModelOptions, usual_options
from headcats.study.plan import methods_of_finished_prompts, methods_of_suite
from headcats.tasks.suites import suite


def repeat_command(manifest: Manifest) -> str:
    """Return the command that repeats a run, without a folder, or the call in Python if no command can."""
    source, model, methods = manifest.suite_source, manifest.model, list(manifest.methods)
    run_tasks = {*manifest.tasks, *manifest.requested, *manifest.joint_tasks}
    suite_tasks = [task.name for task in suite(source).tasks] if source in names("suite") else []
    tasks = [name for name in suite_tasks if name in run_tasks] + sorted(run_tasks - set(suite_tasks))
    # A module or file of the user's is not run to look which tasks it has, so all of them are named.
    is_file = bool(source) and not suite_tasks
    # A command loads the model of the results by its name, and as a TransformerBridge.
    is_loaded = bool(model.source) and model.model_class != "HookedTransformer"
    by_command = is_loaded and (is_file or (suite_tasks and run_tasks <= set(suite_tasks)))
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
    options = _unusual_options(manifest, tasks=named_tasks, methods=named_methods)
    if by_command:
        values = {name: ",".join(value) if isinstance(value, list) else str(value) for name, value in options.items()}
        flags = (f" --{name.replace('_', '-')} {shlex.quote(value)}" for name, value in values.items())
        return f"headcats run{''.join(flags)}"
    of_model = {each.name for each in options_of(ModelOptions)}
    texts = {name: json.dumps(value) for name, value in options.items() if name not in of_model}
    if not source:
        texts["suite"] = "your_suite"
    return f"hc.run({', '.join(['model', *(f'{name}={text}' for name, text in texts.items())])})"


def figure_file(block: xr.Dataset, figure: str) -> str:
    """File of a figure of a block in a results folder, with the options of the method that are not the default."""
    options = "-".join(f"{name}={value}" for name, value in Label.parse(block.attrs["label"]).options)
    return f"{figure}{'-' + slug(options) if options else ''}.html"


def quoted_figure_commands(run: RunResults, method: str | None = None) -> str:
    """Return the commands that draw blocks of one or all joint methods, in backticks, joined by "or"."""
    place = shlex.quote(str(run.place or "results"))
    return " or ".join(
        f"`headcats figure {figure} {place} --method {label} --out {figure_file(block, figure)}`"
        for label, block in run.joint_blocks.items()
        if method in (None, label, Label.parse(label).name) and (figure := run.declarations[label].figure)
    )


def joint_block(
    run: RunResults, figure: str, *, method: str | None = None, any_method: bool = False
) -> xr.Dataset | None:
    """Return the block that a figure of a joint method shows, the only one if none is named; None for other figures.

    With `any_method` the figure also shows blocks of methods that declare another one.
    """
    blocks, name = run.joint_blocks, method and Label.parse(method).name
    registered_methods = registered_declarations()

    def is_shown(candidate: str, about: Declaration) -> bool:
        return name in (None, candidate) and (figure == about.figure or (any_method and name is not None))

    labels = [label for label in blocks if is_shown(Label.parse(label).name, run.declarations[label])]
    missing = [each for each, about in registered_methods.items() if about.kind == "joint" and is_shown(each, about)]
    if missing and not labels:
        advice = line("suggestion.repeat", method=missing[0])
        raise OptionError(str(line("suggestion.lacking", method=missing[0], advice=advice)))
    if not labels:
        return None
    if method in labels:
        return blocks[str(method)]
    if len(labels) > 1 or (method is not None and method != Label.parse(labels[0]).name):
        absent = "" if method is None else f", and not {method!r}"
        raise OptionError(f"These results hold {' and '.join(labels)}{absent}: choose one with --method.")
    return blocks[labels[0]]


def sorting_label(run: RunResults, method: str | None) -> str | None:
    """Return the joint method to map; None if `method` scores tasks, or if none is named and tasks are scored."""
    if method is None and not run.tasks:
        method = next(iter(run.sorting_methods or run.joint_blocks), None)
    if method is None:
        return None
    name = Label.parse(method).name
    declared = next((run.declarations[label] for label in run.joint_blocks if Label.parse(label).name == name), None)
    declared = declared or registered(name)
    if declared.kind != "joint":
        return None
    if declared.selection is None:
        drawn_by = quoted_figure_commands(run, method)
        raise OptionError(
            f"{method} sorts no heads into categories, so there is no map of it"
            + (f"; {drawn_by} draws it." if drawn_by else ", and these results hold no such method either.")
        )
    block = joint_block(run, declared.figure, method=method)
    assert block is not None  # it is held, or an error names how to get it
    return str(block.attrs["label"])


def check_scored(run: RunResults, method: str | None, *, by: str) -> None:
    """Refuse a joint method, and results without a scored task; the message says what fits them.

    `by` is what reads scores of tasks, as the beginning of a sentence: "`headcats evidence`".
    """
    joint, scored = list(run.joint_blocks), [str(label) for label in run.scored]
    label = Label.parse(method or "")
    if any(Label.parse(block).name == label.name for block in joint) or registered(label.name).kind == "joint":
        reason = line("suggestion.joint_method", method=label.method)
    elif joint and not scored:
        reason = line("suggestion.only_joint", labels=joint)
    else:
        return
    commands = quoted_figure_commands(run)
    choose = line("suggestion.choose", labels=scored) if scored else None
    look = line("suggestion.look", commands=commands) if commands else None
    raise OptionError(str(line("suggestion.no_scores", by=by, reason=reason, choose=choose, look=look)))


def _unusual_options(manifest: Manifest, **named: object) -> dict[str, object]:
    """Return the options of a run that are not the default of its suite; of paths the last part."""
    model = manifest.model
    options = {"model": shown_source(model.source), "revision": model.revision, "dtype": model.dtype or None}
    options |= manifest.plan.complete() | {"suite": shown_source(manifest.suite_source)} | _placing(model) | named
    usual = usual_options(manifest.suite_source)
    return {name: value for name, value in options.items() if value is not None and value != usual.get(name)}


def _placing(model: ModelRecord) -> dict[str, object]:
    """Return options of a command that spread or quantise a model; other arguments of the loader have none."""
    device_map, quantisation = (model.loader.get(name) for name in ("device_map", "quantization_config"))
    bits = [bits for bits in ("8bit", "4bit") if (quantisation or {}).get(f"load_in_{bits}")]
    return {"device": device_map if device_map in SPREAD else None, "load_in": bits[0] if bits else None}


def read_map(run: RunResults, spec: MapSpec) -> MapResult:
    """Map a run by scores of tasks, or by a joint method."""
    method = str(spec.label) if spec.label.name else None
    label = sorting_label(run, method)
    if label is not None:
        return joint_map(run, label, spec)
    check_scored(run, method, by="A map")
    return scored_map(run, spec)
