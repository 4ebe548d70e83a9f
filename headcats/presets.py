"""Studies as papers made them: options of `hc.run` and of the map under the paper's name.

The constants inside a method (learning rates, numbers of tokens) belong to that method, as the values of its option
`preset`; here stands what a study has to choose around it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from headcats.registry import lookup, register


@dataclass(frozen=True)
class Preset:
    """A study under a name.

    Attributes:
        name: Its name on the command line.
        paper: What it follows.
        run: Options of `hc.run`.
        reading: Options of `headcats map` that the paper's figures correspond to: `rule`, `min_tasks`.
        differs: What the paper did otherwise, or "".
    """

    name: str
    paper: str
    run: Mapping[str, Any]
    reading: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    differs: str = ""

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        read = " ".join(f"--{name.replace('_', '-')} {value}" for name, value in self.reading.items())
        said = [f"{self.paper}: {', '.join(self.run['methods'])}."]
        said += [f"Its map: headcats map {read}."] if read else []
        said += [f"Differs: {self.differs}."] if self.differs else []
        return " ".join(said)


def preset(name: str) -> dict[str, Any]:
    """Options of `hc.run` as a paper had them: `hc.run(model, **hc.preset("todd2024"))`.

    Args:
        name: One of `headcats list presets`.

    Returns:
        A fresh dictionary; add or change options before passing it on.

    Raises:
        UnknownNameError: No such preset; the message lists near matches.

    Example:
        >>> import headcats as hc
        >>> hc.preset("todd2024")["metrics"]
        ['prob']
        >>> options = hc.preset("todd2024") | {"template": "arrow", "n_prompts": 8}  # hc.run(model, **options)
    """
    found = lookup("preset", name)
    return {key: list(value) if isinstance(value, tuple) else value for key, value in found.run.items()}


def _add(made: Preset) -> None:
    register("preset", made.name, made)


_add(
    Preset(
        "todd2024",
        "Todd et al. (2024), Function Vectors, arXiv 2310.15213",
        {
            "methods": ("function_vector_patch",),
            "n_prompts": 25,
            "n_demos": 10,
            "template": "question",
            "corruption": "shuffled_labels",
            "metrics": ("prob",),
        },
        differs="tasks are those of the suite, not the paper's",
    )
)
_add(
    Preset(
        "maps2025",
        "Elhelo & Geva (2025), MAPS, arXiv 2412.11965",
        {"methods": ("ov_relation",)},
        {"rule": "threshold:value=0.15", "min_tasks": "1"},
        differs="relations are the tasks of the suite, not the paper's; a permuted-target null stands beside the .15",
    )
)
_add(
    Preset(
        "chg2025",
        "Nam et al. (2025), Causal Head Gating, arXiv 2505.13737",
        {"methods": ("head_gating",)},
        differs="data sets are the categories of the suite",
    )
)
_add(
    Preset(
        "chg-mini",
        "Nam et al. (2025) with smaller batches and fewer updates, for small models",
        {"methods": ("head_gating:preset=chg-mini",)},
    )
)
_add(
    Preset(
        "cogmirrors2025",
        "Ma et al. (2025), Cognitive Mirrors, arXiv 2512.10978",
        {"suite": "cognitive", "methods": ("function_probe",)},
        differs="tasks are ours, with the paper's eight functions; items are shuffled, standardised, in batches of 32",
    )
)
_add(
    Preset(
        "orgad2025",
        "Orgad et al. (2025), LLMs Know More Than They Show, arXiv 2410.02707",
        {"suite": "sentences", "n_demos": 0, "methods": ("token_probe",)},
        differs="questions are those of the suite; items are split by question",
    )
)
