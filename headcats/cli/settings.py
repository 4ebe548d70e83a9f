"""Options of a run: defaults, suite, preset, study file, command line, each winning over the one before."""

import tomllib
from pathlib import Path
from typing import Any

from headcats.errors import OptionError, UnknownNameError
from headcats.presets import preset
from headcats.registry import unknown_name_message

DEFAULT_RULE = "fdr:alpha=0.05,min_effect=0.05"
# None: what `headcats.study` takes, which loads torch and so is not asked here.
DEFAULTS: dict[str, Any] = {
    "model": "mini",
    "suite": "icl",
    "methods": None,
    "tasks": None,
    "metrics": None,
    "n_prompts": None,
    "n_demos": 5,
    "template": "arrow",
    "corruption": "other_task",
    "seed": 0,
    "out": None,
    "device": None,
    "dtype": "float32",
    "revision": None,
    "backend": "bridge",
    "path": "auto",
    "memory": None,
}
# What a bundled suite changes in them: the model that learned it, and what its tasks are made for.
OF_SUITE: dict[str, dict[str, Any]] = {
    "icl": {"model": "mini"},
    "cognitive": {"model": "mini-cognitive", "n_demos": 4},
    "sentences": {"model": "mini-cognitive", "n_demos": 0, "methods": ["token_probe"]},
}
LISTS = ("methods", "tasks", "metrics")
NUMBERS = ("n_prompts", "n_demos", "seed")
DTYPES = ("float32", "bfloat16", "float16")


def settings(study_file: Path | None, given: dict[str, Any], *, preset_name: str | None = None) -> dict[str, Any]:
    """Defaults, then those of the suite, then the preset, then the study file, then the command line.

    Raises:
        OptionError: The file cannot be read or is no TOML, or a value is of another type than its option takes.
        UnknownNameError: A key of the file that is no option, or an unknown preset.
    """
    wanted = preset(preset_name) if preset_name is not None else {}
    if study_file is not None:
        try:
            stored = tomllib.loads(study_file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise OptionError(f"{study_file} cannot be read as a study: {error}") from None
        for key in stored:
            if key not in DEFAULTS:
                raise UnknownNameError(unknown_name_message(f"option in {study_file}", key, DEFAULTS))
            _check_type(study_file, key, stored[key])
        wanted |= stored
    wanted |= {key: value for key, value in given.items() if value is not None}
    chosen = DEFAULTS | OF_SUITE.get(wanted.get("suite", DEFAULTS["suite"]), {}) | wanted
    if chosen["dtype"] not in DTYPES:
        raise UnknownNameError(unknown_name_message("dtype", chosen["dtype"], DTYPES))
    return chosen


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
