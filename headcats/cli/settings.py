"""Options of a run: defaults, suite, preset, study file, command line, each winning over the one before."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from headcats.cli.console import warn
from headcats.errors import DamagedFileError, OptionError, UnknownNameError
from headcats.methods.presets import preset
from headcats.registry import unknown_name_message
from headcats.results.label import Label
from headcats.results.series import first_results
from headcats.results.whole_file import regular
from headcats.study.defaults import BITS, DEFAULTS, OF_SUITE
from headcats.tasks.stored import stored_suite
from headcats.tasks.suites import Suite, suite

LISTS = ("methods", "tasks", "metrics", "revisions")
NUMBERS = ("n_prompts", "n_demos", "seed")
FRACTIONS = ("min_accuracy", "min_logit_diff")
DTYPES = ("float32", "bfloat16", "float16", "auto")


def run_options(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a run among the arguments of a command, with lists of names split; `--chat` is a template."""
    options = {name: value for name, value in arguments.items() if name in DEFAULTS}
    if arguments.get("chat"):
        if options.get("template") not in (None, "chat"):
            raise OptionError(
                f"--chat means --template chat, but --template {options['template']} is given too: leave out one of "
                "them."
            )
        options["template"] = "chat"
    splits = {name: _split_at_commas if name == "revisions" else split_names for name in LISTS}
    return options | {name: split(options[name]) for name, split in splits.items() if options.get(name) is not None}


def split_names(text: str) -> list[str]:
    """Names split at spaces and commas; a comma between two options of one method is not a split."""
    names: list[str] = []
    for word in text.replace(",", " ").split():
        if names and "=" in word and ":" not in word:
            names[-1] += f",{word}"
        else:
            names.append(word)
    return names


def _split_at_commas(text: str) -> list[str]:
    """Revisions: the path of a folder may hold spaces."""
    return [name.strip() for name in text.split(",") if name.strip()]


def settings(study_file: Path | None, options: dict[str, Any], *, preset_name: str | None = None) -> dict[str, Any]:
    """Defaults, then those of the suite, then the preset, then the study file, then the command line.

    Where no suite is named, it is the one that the results folder holds, as a `Suite`. Where methods are named beside a
    preset, a note on stderr says what is left of the preset's.
    """
    of_preset = preset(preset_name) if preset_name is not None else {}
    of_file = {} if study_file is None else _read_study(study_file)
    of_user = dict(of_preset) | of_file | {key: value for key, value in options.items() if value is not None}
    if preset_name is not None and of_user["methods"] != of_preset["methods"]:
        of_user["methods"] = _beside_preset(preset_name, of_preset, of_user["methods"])
    if "suite" not in of_user and (stored := _suite_of_folder(of_user.get("out"))) is not None:
        of_user["suite"] = stored
    suite_name = name_of_suite(of_user.get("suite", DEFAULTS["suite"]))
    merged = DEFAULTS | OF_SUITE.get(suite_name, {}) | of_user
    for option, known in (("dtype", DTYPES), ("load_in", (None, *BITS))):
        if merged[option] not in known:
            raise UnknownNameError(unknown_name_message(option, merged[option], [name for name in known if name]))
    return merged


def check_names(options: Mapping[str, Any]) -> Suite:
    """The suite; a misspelt suite or task is refused before torch and a model are loaded."""
    chosen = suite(options["suite"])
    chosen.named(options["tasks"])
    return chosen


def name_of_suite(source: str | Suite) -> str:
    """A suite as it is named in what a suite changes in the defaults: by where it is from, whatever it calls itself."""
    return source.source if isinstance(source, Suite) else source


def _suite_of_folder(folder: str | Path | None) -> Suite | None:
    if folder is None:
        return None
    source = ""
    # What is damaged, the run says and makes again.
    try:
        results = first_results(folder)
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
    """The options of a study file, by their names in Python; those of the command line (`n-prompts`) are known too."""
    options: dict[str, Any] = {}
    for written, value in study.items():
        key = written.removeprefix("--").replace("-", "_")
        if key == "chat" and isinstance(value, bool) and study.get("template", "chat") == "chat":
            options |= {"template": "chat"} if value else {}
            continue
        if key not in DEFAULTS:
            raise UnknownNameError(unknown_name_message(f"option in {path}", written, DEFAULTS))
        if key in options and written != key:
            raise OptionError(f"{path} names {key} twice, as {key} and as {written}: leave out one of them.")
        _check_type(path, key, value)
        options[key] = value
    return options


def _beside_preset(name: str, of_preset: Mapping[str, Any], methods: Sequence[str]) -> list[str]:
    """The methods to run where a preset and the user name some: options of the same method are joined."""
    preset_labels = {label.name: label for label in map(Label.parse, of_preset["methods"])}
    labels = [Label.parse(text) for text in methods]
    joined, overruled = [], list[str]()
    for label, text in zip(labels, methods, strict=True):
        first = preset_labels.get(label.name)
        joined.append(text if first is None else str(_joined(first, label)))
        overruled += [] if first is None else _overruled(first, label)
    lost = [str(label) for method, label in preset_labels.items() if method not in {label.name for label in labels}]
    if lost and set(of_preset) == {"methods"}:
        raise OptionError(
            f"Preset {name} is nothing but {' and '.join(lost)}, and the methods named are {' and '.join(methods)}: "
            f"leave out one of the two, or name both methods: --methods {','.join([*lost, *methods])}."
        )
    if lost:
        remaining = ", ".join(option for option in of_preset if option != "methods")
        runs = f"{', '.join(joined)} runs with the preset's {remaining}"
        warn(f"{' and '.join(lost)} of preset {name} is not run: {runs}.")
    elif joined != list(methods):
        warn(f"With the options of preset {name}: {', '.join(joined)}.")
    if overruled:
        warn(f"--methods wins over preset {name}: {', '.join(overruled)}.")
    return joined


def _joined(first: Label, second: Label) -> Label:
    """Two labels of one method as one; where both set an option, the second wins."""
    options = dict(first.options) | dict(second.options)
    return Label(first.name, tuple(options.items()), second.positions or first.positions)


def _overruled(first: Label, second: Label) -> list[str]:
    """What both labels set to different values."""
    before, after = (dict(label.options) | {"positions": label.positions} for label in (first, second))
    both = [key for key, value in before.items() if value and after.get(key)]
    return [f"{key}={after[key]}, not {key}={before[key]}" for key in both if after[key] != before[key]]


def _check_type(study_file: Path, key: str, value: Any) -> None:
    kinds = {"memory": str | int} | dict.fromkeys(FRACTIONS, float | int) | dict.fromkeys(NUMBERS, int)
    kind: Any = kinds.get(key, str)
    expected = {int: "a whole number", str: "a text", float | int: "a number"}.get(kind, "a text or a whole number")
    fits = isinstance(value, kind) and not isinstance(value, bool)
    if key in LISTS:
        fits, expected = isinstance(value, list) and all(isinstance(name, str) for name in value), "a list of texts"
    if not fits:
        raise OptionError(f"{key} in {study_file} must be {expected}; got {value!r}.")
