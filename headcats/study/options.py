"""Options of a study. One field is a keyword of `hc.run`, an option of `headcats run` and a key of study.toml.

A field of `PlanOptions` is recorded too: another value is refused the results folder, and the command that repeats the
run has it. Loads no torch.
"""

import functools
import inspect
import os
import re
import textwrap
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields
from typing import Any, Concatenate, Literal, ParamSpec, Protocol, TypeVar, overload, runtime_checkable

from headcats.base.errors import OptionError, shown, unknown_name_message
from headcats.results.options import Option, PlanOptions, Stage, option, options_of
from headcats.tasks.definition import Task
from headcats.tasks.suites import Suite, suite, suite_defaults

P = ParamSpec("P")
A = TypeVar("A")
R = TypeVar("R")


@runtime_checkable
class Elsewhere(Protocol):
    """Other machines, such as an `hc.Cluster`."""

    def connected(self) -> AbstractContextManager[Callable[..., Any]]:
        """Reach them before a model is loaded here; yields what takes the arguments of `headcats.study.scorer.Here`."""


@runtime_checkable
class Share(Protocol):
    """Cells of one of several runs, such as an `hc.Shard`."""

    def narrow(self, study: Any) -> Any:
        """Restrict a study to these cells; an OptionError if there are too few for all runs."""


def check_cluster(cluster: Any) -> None:
    """Raise an OptionError for what is no cluster."""
    if not isinstance(cluster, Elsewhere | None):
        raise OptionError(f"cluster must be an hc.Cluster, such as hc.Cluster('auto'); got {shown(cluster)}.")


BY_SUITE = ("model", "n_demos", "min_accuracy", "min_logit_diff")
"""Options of which suites bring defaults of their own."""


def _check_names(example: str) -> Callable[[str, Any], None]:
    def check(name: str, value: Any) -> None:
        if value is not None and (isinstance(value, str) or callable(value) or not value):
            raise OptionError(f"{name} must be a list of names, such as {[example]}; got {value!r}.")

    return check


SPREAD = ("auto", "balanced", "balanced_low_0", "sequential")
"""Devices that spread the weights."""


class _Checked:
    """Options whose values are checked."""

    def __post_init__(self) -> None:
        for each in options_of(type(self)):
            object.__setattr__(self, each.name, each.checked(getattr(self, each.name)))


@dataclass(frozen=True, kw_only=True)
class ModelOptions(_Checked):
    """Options of the commands that choose and load the model; in Python they are arguments of `hc.load_model`.

    Attributes:
        model: 'mini' or 'mini-cognitive' (bundled), a folder, or a hub name.
        device: cuda, mps or cpu; auto or balanced spread the weights over all GPUs, as transformers' device_map does.
        dtype: float32, bfloat16, float16, or auto (that of the file).
        load_in: 8bit or 4bit: quantise the weights (needs bitsandbytes).
        revision: Revision of a hub model.
        revisions: Revisions to score by one plan: branches, tags or commits of a hub model, such as step1000,step2000,
            folders in that of --model, or paths of folders.
    """

    model: str = option("mini", "validate")
    device: str | None = option(None, "validate", unset="the first available of the three")
    dtype: Literal["float32", "bfloat16", "float16", "auto"] = option("float32", "validate")
    load_in: Literal["8bit", "4bit"] | None = option(None, "validate")
    revision: str | None = option(None, "validate")
    revisions: Sequence[str] | None = option(None, "run")


@dataclass(frozen=True, kw_only=True)
class StudyOptions(_Checked, PlanOptions):
    """Options of `hc.run`.

    Attributes:
        suite: Suite of tasks: its name, your file or folder of data (JSON, CSV, ...), or your code as
            path/to/file.py:name or module:name. Or a `Suite` (see `hc.suite`), or a list of tasks and task names. The
            results hold it, with its pairs: `hc.run_evidence` and the command line need nothing else.
        columns: What the columns of the suite's file are, as `role=column`: input=city,answer=country. In Python a
            mapping, as in `hc.suite`.
        metrics: Metrics, the first of which decides on the gap. Names, or functions, which are registered under theirs.
        template: Prompt format: arrow, question, or chat (that of the model's tokenizer).
        methods: Methods, each as `name`, `name:option=value,option=value` or `name:option=value@positions` (last,
            answer, all or a token role), such as `mean_ablation:reference=task@last`.
            "denoising_patch:unit=kv_group" takes heads at once that share keys and values. Positions default to the
            method's own. None takes the method that is made for a bundled suite, or else denoising patches, their two
            controls and mean ablation; of a suite of finished prompts those at the last position, without the control
            that needs a second corruption.
        tasks: Tasks to score. The suite's others remain distractors and reference.
        path: Path of the sweeps: auto (the fastest exact one) or hooked (the reference). See `hc.sweep`. The results
            folder records which one ran, and what its self-check found.
        memory: Memory to use beside the model's weights, such as 4GB. Of each process that scores. The estimate is
            logged before anything is scored; of workers it is known with a limit alone.
        out: Results folder. None keeps everything in memory. A killed run goes on where it stopped; more tasks or
            methods extend the folder; another model or plan is refused, with every difference named.
        progress: Progress bar, and lines on finished tasks and parts. Unless it is False, such lines (one every ten
            seconds at most) and the time left of each method are logged too; with None they are written to stderr
            where that is no terminal and no logging is set up.
        shard: i/n: score the i-th of n parts of the tasks and methods. An `hc.Shard`. `headcats merge` joins what the
            parts write to `out`.
        cluster: Score the tasks on the workers of a Ray cluster. An `hc.Cluster`. Joint methods run here.
    """

    suite: str | Suite | Task | Sequence[Task | str] = option(
        "icl", "prompts", command="That of the results in --out wins over this default."
    )
    columns: Mapping[str, str] | Sequence[str] | None = option(
        None, "prompts", unset="as their names or a suite.toml say"
    )
    metrics: Sequence[str | Callable[..., Any]] | None = option(
        None, "plan", unset="logit_diff (log_prob with shuffled labels)", check=_check_names("logit_diff")
    )
    template: str = option("arrow", "prompts")
    methods: Sequence[str] | None = option(
        None,
        "plan",
        unset="those of the suite",
        check=_check_names("denoising_patch"),
        command="`headcats list methods` names them.",
    )
    tasks: Sequence[str] | None = option(None, "plan", unset="all of the suite", check=_check_names("country_capital"))
    path: str = option("auto", "validate")
    memory: str | int | None = option(None, "validate", unset="half of what is free")
    out: str | os.PathLike[str] | None = option(None, "run", command="Default: results/MODEL-SUITE.")
    progress: bool | None = option(None, "run", unset="where somebody is there to see it")
    shard: Share | None = option(None, "run", command="Its folder is OUT/shard-i-of-n, without pages.")
    cluster: Elsewhere | None = option(
        None,
        "run",
        unset="this process",
        command="Its address as host:port, or auto; here: on the Ray of this machine, else on its cores (needs "
        "`headcats[ray]`). With `,gpus=2` behind it each worker has two GPUs. This machine needs memory for the whole "
        "model too.",
    )


def unset_text(of: Option) -> str:
    """Return words for an option that nobody sets; "" where there is nothing to say."""
    general = of.unset or ("" if of.default is None else f"{of.default}")
    return f"that of the suite, else {general}" if of.name in BY_SUITE else general


def usual_options(source: str) -> dict[str, Any]:
    """Every option with the default that it has for a suite of this source."""
    general = {each.name: each.default for kind in (ModelOptions, StudyOptions) for each in fields(kind)}
    return general | {"metrics": ["logit_diff"]} | suite_defaults(source)


def model_options(given: Mapping[str, Any]) -> ModelOptions:
    """Return the options of the model among others; an UnknownNameError for a word that does not exist."""
    return ModelOptions(**{each.name: given[each.name] for each in fields(ModelOptions) if each.name in given})


def study_options(given: Mapping[str, Any]) -> StudyOptions:
    """Return checked options; one that is missing or None has the default of the suite, or else the general one.

    An UnknownNameError, an OptionError (out of range, an empty list) or a DataError (an empty suite).
    """
    source = given.get("suite")
    chosen = suite(StudyOptions.suite if source is None else source, columns=given.get("columns"))
    values = {name: value for name, value in given.items() if value is not None and name != "columns"}
    usual = {**suite_defaults(chosen.source), **chosen.defaults}
    usual.pop("model", None)
    return StudyOptions(**usual | values | {"suite": chosen})


@overload
def takes_options(
    options: Callable[P, StudyOptions],
) -> Callable[[Callable[[A, StudyOptions], R]], Callable[Concatenate[A, P], R]]: ...
@overload
def takes_options(
    options: Callable[..., StudyOptions], *, until: Stage = "run", without: Collection[str] = ()
) -> Callable[[Callable[..., R]], Callable[..., R]]: ...
def takes_options(options: Any, *, until: Stage = "run", without: Collection[str] = ()) -> Any:
    """Give a function with a parameter `options` the fields of the options as keywords, in signature and docstring.

    Without those of stages after `until`, and those in `without`. A call with an unknown option is a TypeError that
    lists near matches.
    """
    taken = [each for each in options_of(options, until) if each.name not in without]
    keywords = [
        inspect.Parameter(each.name, inspect.Parameter.KEYWORD_ONLY, default=each.default, annotation=each.type)
        for each in taken
    ]

    def decorate(function: Callable[..., R]) -> Callable[..., R]:
        signature = inspect.signature(function)
        others = [each for name, each in signature.parameters.items() if name != "options"]
        signature = signature.replace(parameters=[*others, *keywords])

        @functools.wraps(function)
        def by_keyword(*positional: Any, **given: Any) -> R:
            for name in given.keys() - signature.parameters.keys():
                raise TypeError(_unknown(name, given[name], signature))
            bound = signature.bind(*positional, **given).arguments
            of_study = {each.name: bound.pop(each.name) for each in taken if each.name in bound}
            return function(**bound, options=study_options(of_study))

        text = inspect.cleandoc(function.__doc__ or "")
        by_keyword.__doc__ = re.sub(r"(?m)^ {4}options: (.*)\n( {8}.*\n)*", "".join(map(_entry, taken)), text)
        by_keyword.__signature__ = signature  # type: ignore[attr-defined]
        return by_keyword

    return decorate


def _unknown(name: str, value: Any, signature: inspect.Signature) -> str:
    if name == "preset":
        return (
            f"There is no option preset: unpack what it says, hc.run(model, **hc.methods.preset({value!r})), with "
            "options of your own after it as **hc.methods.preset(...) | {...}."
        )
    known = [each.name for each in signature.parameters.values() if each.kind is inspect.Parameter.KEYWORD_ONLY]
    return unknown_name_message("option", name, known)


def _entry(of: Option) -> str:
    """Return the lines of an option below `Args:`."""
    default = unset_text(of)
    first, _, more = of.text.partition(". ")
    says_more = default not in ("", f"{of.default}")
    words = f"{of.name}: {first.removesuffix('.')}{f' (default: {default})' * says_more}. {more}"
    return textwrap.indent("\n    ".join(textwrap.wrap(words, 112, break_on_hyphens=False)), "    ") + "\n"
