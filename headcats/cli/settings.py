"""Options of a run: defaults, suite, preset, study file, command line, each winning over the one before."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headcats.cli.console import warn
from headcats.errors import OptionError, UnknownNameError
from headcats.methods.presets import preset
from headcats.registry import unknown_name_message
from headcats.results.declaration import suite_methods
from headcats.results.label import Label
from headcats.study.defaults import DEFAULTS, OF_SUITE

LISTS = ("methods", "tasks", "metrics")
NUMBERS = ("n_prompts", "n_demos", "seed")
DTYPES = ("float32", "bfloat16", "float16")


def settings(study_file: Path | None, given: dict[str, Any], *, preset_name: str | None = None) -> dict[str, Any]:
    """Defaults, then those of the suite, then the preset, then the study file, then the command line.

    Where methods are named beside a preset, a note on stderr says what is left of the preset's own.

    Raises:
        OptionError: The file cannot be read or is no TOML, a value is of another type than its option takes, or
            methods that leave nothing of the preset.
        UnknownNameError: A key of the file that is no option, or an unknown preset.
    """
    of_preset = preset(preset_name) if preset_name is not None else {}
    wanted = dict(of_preset)
    if study_file is not None:
        stored = _stored(study_file)
        for key in stored:
            if key not in DEFAULTS:
                raise UnknownNameError(unknown_name_message(f"option in {study_file}", key, DEFAULTS))
            _check_type(study_file, key, stored[key])
        wanted |= stored
    wanted |= {key: value for key, value in given.items() if value is not None}
    if preset_name is not None and wanted["methods"] != of_preset["methods"]:
        wanted["methods"] = _beside_preset(preset_name, of_preset, wanted["methods"])
    suite = wanted.get("suite", DEFAULTS["suite"])
    of_suite = OF_SUITE.get(suite, {}) | {"methods": list(suite_methods(suite)) or None}
    chosen = DEFAULTS | of_suite | wanted
    if chosen["dtype"] not in DTYPES:
        raise UnknownNameError(unknown_name_message("dtype", chosen["dtype"], DTYPES))
    return chosen


def _stored(study_file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(study_file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise OptionError(
            f"{study_file} cannot be read as a study: there is no such file. `headcats run` takes a TOML file with "
            "options, or options alone (`headcats run --help`)."
        ) from None
    except IsADirectoryError:
        raise OptionError(
            f"{study_file} cannot be read as a study: it is a folder. The results folder of a run is named with --out."
        ) from None
    except OSError as error:
        raise OptionError(f"{study_file} cannot be read as a study: {error.strerror or error}.") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise OptionError(f"{study_file} cannot be read as a study, since it is no TOML file: {error}.") from None


def check_named(chosen: Mapping[str, Any]) -> None:
    """A misspelt suite or task is refused before torch and a model are loaded.

    Raises:
        UnknownNameError: The message lists near matches.
    """
    from headcats.tasks.suites import suite

    suite(chosen["suite"]).named(chosen["tasks"])


def _beside_preset(name: str, of_preset: Mapping[str, Any], named: Sequence[str]) -> list[str]:
    """The methods to run where a preset and the user name some: options of the same method are put together.

    Raises:
        OptionError: Nothing of the preset would be left.
    """
    preset_labels = {label.name: label for label in map(Label.parse, of_preset["methods"])}
    labels = [Label.parse(text) for text in named]
    joined = [
        str(_joined(preset_labels[label.name], label)) if label.name in preset_labels else text
        for label, text in zip(labels, named, strict=True)
    ]
    lost = [str(label) for name, label in preset_labels.items() if name not in {label.name for label in labels}]
    if lost and set(of_preset) == {"methods"}:
        raise OptionError(
            f"Preset {name} is nothing but {' and '.join(lost)}, and the methods named are {' and '.join(named)}: "
            f"leave out one of the two, or name both methods: --methods {','.join([*lost, *named])}."
        )
    if lost:
        others = ", ".join(option for option in of_preset if option != "methods")
        warn(
            f"{' and '.join(lost)} of preset {name} is not run: {', '.join(joined)} is run instead, with the preset's "
            f"{others}."
        )
    elif joined != list(named):
        warn(f"With the options of preset {name}: {', '.join(joined)}.")
    overruled = [
        conflict
        for label in labels
        if label.name in preset_labels
        for conflict in _overruled(preset_labels[label.name], label)
    ]
    if overruled:
        warn(f"What was named wins over preset {name}: {', '.join(overruled)}.")
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
    if key in LISTS:
        fits, wanted = isinstance(value, list) and all(isinstance(one, str) for one in value), "a list of texts"
    elif key in NUMBERS:
        fits, wanted = isinstance(value, int) and not isinstance(value, bool), "a whole number"
    elif key == "memory":
        fits, wanted = isinstance(value, str | int) and not isinstance(value, bool), "a text or a whole number"
    else:
        fits, wanted = isinstance(value, str), "a text"
    if not fits:
        raise OptionError(f"{key} in {study_file} must be {wanted}; got {value!r}.")
