"""Options of the commands: parameters made from the fields of `headcats.study.options`, and how a run merges them."""

import functools
import inspect
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from headcats.base.errors import DamagedFileError, OptionError, UnknownNameError, unknown_name_message
from headcats.cli.console import warn
from headcats.methods.presets import preset
from headcats.results.options import Option, Stage, options_of
from headcats.results.series import SeriesFolder
from headcats.results.whole_file import regular
from headcats.study.options import ModelOptions, StudyOptions, model_options, unset_text, usual_options
from headcats.tasks.files.written_columns import written_source
from headcats.tasks.stored import stored_suite
from headcats.tasks.suites import Suite, suite


def command_option(of: Option) -> Any:
    """Return the type of a parameter of a command, as typer reads it; its value is None where it is not given."""
    default, text = unset_text(of), of.text.split(". ")[0].removesuffix(".")
    text += ", separated by commas" * (of.kind is list) + f"; default: {default}" * bool(default)
    written = typer.Option(f"--{of.name.replace('_', '-')}", help=f"{text}. {of.command}".rstrip())
    return Annotated[(str if of.kind is list else of.kind) | None, written]


def takes_fields(*kinds: type, until: Stage = "run") -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the fields of classes of options; it gets those that are given as its first argument, by name.

    Without `progress`, which is a flag of the command.
    """
    taken = [each for kind in kinds for each in options_of(kind, until) if each.name != "progress"]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def of_fields(**arguments: Any) -> None:
            given = {each.name: _read(each, arguments.pop(each.name)) for each in taken if each.name in arguments}
            command({name: value for name, value in given.items() if value is not None}, **arguments)

        _, *own = inspect.signature(command).parameters.values()
        keyword = inspect.Parameter.KEYWORD_ONLY
        made = [inspect.Parameter(each.name, keyword, default=None, annotation=command_option(each)) for each in taken]
        of_fields.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [*made, *(each.replace(kind=keyword) for each in own)]
        )
        return of_fields

    return decorate


def split_names(text: str) -> list[str]:
    """Names split at spaces and commas; a comma between two options of one method is not a split."""
    names: list[str] = []
    for word in text.replace(",", " ").split():
        if names and "=" in word and ":" not in word:
            names[-1] += f",{word}"
        else:
            names.append(word)
    return names


def _read(of: Option, value: Any) -> Any:
    if value is None or of.kind is not list:
        return value
    # The path of a folder, which a revision may be, may hold spaces, and so may a column.
    whole = of.name in ("revisions", "columns")
    return [name.strip() for name in value.split(",") if name.strip()] if whole else split_names(value)


def settings(study_file: Path | None, given: Mapping[str, Any], *, preset_name: str | None = None) -> dict[str, Any]:
    """Merge options by name: those of the preset, then of the study file, then `given` on the command line.

    Suite (that of the results folder where none is named) and model are always there.
    """
    of_preset = preset(preset_name) if preset_name is not None else {}
    of_file = {} if study_file is None else _read_study(study_file)
    options = of_preset | of_file | dict(given)
    if preset_name is not None and options["methods"] != of_preset["methods"]:
        warn(f"--methods replaces {' and '.join(of_preset['methods'])} of preset {preset_name}.")
    if "suite" not in options:
        options["suite"] = _suite_of_folder(options.get("out")) or StudyOptions.suite
    if columns := options.pop("columns", None):
        options["suite"] = written_source(options["suite"], columns)
    suite = options["suite"]
    options = {"model": usual_options(suite.source if isinstance(suite, Suite) else suite)["model"]} | options
    model_options(options)
    return options


def check_names(options: Mapping[str, Any]) -> Suite:
    """The suite; a misspelt suite or task is refused before torch and a model are loaded."""
    chosen = suite(options["suite"])
    chosen.named(options.get("tasks"))
    return chosen


def _suite_of_folder(folder: str | Path | None) -> Suite | None:
    if folder is None:
        return None
    source = ""
    # What is damaged, the run says and makes again.
    try:
        results = SeriesFolder(folder).first
        text = results.read_suite()
    except DamagedFileError:
        return None
    try:
        manifest = results.read_manifest() if text else None
        source = "" if manifest is None else manifest.suite_source
    except DamagedFileError:
        pass
    return replace(stored_suite(text, source=str(results.suite_path))[0], source=source) if text else None


def _read_study(path: Path) -> dict[str, Any]:
    try:
        study = tomllib.loads(regular(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        reason = (
            "there is no such file. `headcats run` takes a TOML file with options, or options alone "
            "(`headcats run --help`)."
        )
    except IsADirectoryError:
        reason = "it is a folder. The results folder of a run is named with --out."
    except OSError as error:
        reason = f"{error.strerror or error}."
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        reason = f"it is no TOML file: {error}."
    else:
        return _study_options(path, study)
    raise OptionError(f"{path} cannot be read as a study: {reason}")


def _study_options(path: Path, study: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a study file by their names in Python; those of the command line (`n-prompts`) are known too."""
    known = {each.name: each for kind in (ModelOptions, StudyOptions) for each in options_of(kind)}
    options: dict[str, Any] = {}
    for written, value in study.items():
        key = written.removeprefix("--").replace("-", "_")
        if key not in known:
            raise UnknownNameError(unknown_name_message(f"option in {path}", written, known))
        if key in options:
            raise OptionError(f"{path} names {key} twice, once as {written}: leave out one of them.")
        known[key].check_kind(value, place=str(path))
        options[key] = value
    return options
