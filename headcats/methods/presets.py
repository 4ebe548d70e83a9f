"""Presets of studies: options of `hc.run` and of the map under the name of a paper.

Constants inside a method (learning rates, numbers of tokens) are values of its option `preset`; a study's preset holds
what is chosen around it. Both stand beside the method.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from headcats.base.registry import lookup, register


@dataclass(frozen=True)
class Preset:
    """A study under a name; see `add_preset`."""

    name: str
    paper: str
    run: Mapping[str, Any]
    reading: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    differs: str = ""

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        options = " ".join(f"--{name.replace('_', '-')} {value}" for name, value in self.reading.items())
        sentences = [f"{self.paper}: {', '.join(self.run['methods'])}."]
        sentences += [f"Its map: headcats map {options}."] if options else []
        sentences += [f"Main differences: {self.differs}."] if self.differs else []
        return " ".join(sentences)


def preset(name: str) -> dict[str, Any]:
    """Options of `hc.run` as a paper had them: `hc.run(model, **hc.methods.preset(name))`.

    Args:
        name: One of `headcats list presets`.

    Returns:
        A new dictionary, whose options can be changed before the call.

    Raises:
        UnknownNameError: No such preset; the message lists near matches.

    Example:
        >>> import headcats as hc
        >>> hc.methods.add_preset("quick", "no paper", {"methods": ("denoising_patch",), "n_prompts": 8})
        >>> options = hc.methods.preset("quick") | {"template": "question"}  # hc.run(model, **options)
        >>> options["methods"], options["n_prompts"]
        (['denoising_patch'], 8)
    """
    options = lookup("preset", name).run
    return {key: list(value) if isinstance(value, tuple) else value for key, value in options.items()}


def add_preset(
    name: str,
    paper: str,
    run: Mapping[str, Any],
    *,
    reading: Mapping[str, str] = MappingProxyType({}),
    differs: str = "",
) -> None:
    """Register a preset, in the file of its method.

    Args:
        name: Its name on the command line.
        paper: The paper it follows.
        run: Options of `hc.run`.
        reading: Options of `headcats map` that the paper's figures correspond to: `rule`, `min_tasks`.
        differs: Main differences from the paper, part of a sentence; `headcats list presets` says so. "" if none.

    Returns:
        Nothing; `hc.methods.preset(name)` gives the options.

    Raises:
        DataError: A name that cannot be a word on the command line.

    Example:
        >>> import headcats as hc
        >>> hc.methods.add_preset("few", "no paper", {"methods": ("mean_ablation",)}, reading={"min_tasks": "1"})
        >>> hc.methods.preset("few")
        {'methods': ['mean_ablation']}
    """
    register("preset", name, Preset(name, paper, run, reading, differs))
