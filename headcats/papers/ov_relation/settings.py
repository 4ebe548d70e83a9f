"""Constants of the relation scores, and the paper's presets."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from headcats.base.errors import OptionError
from headcats.methods.spec import read_value
from headcats.papers.settings import check_at_least, preset_of


@dataclass(frozen=True)
class RelationSettings:
    """Constants of scores and checks of relations; defaults follow Elhelo & Geva (2025), MAPS, arXiv 2412.11965.

    Attributes:
        k: A pair counts if fewer than k tokens score above its target.
        copying_k: The same for copying relations, whose pairs all have one word on both sides.
        first_mlp: Whether heads after layer 0 read the output of the first MLP instead of the embedding.
        min_pairs: Relations with fewer pairs of single tokens are skipped.
        threshold: Lowest score of a head that implements a relation.
        permutations: Permutations of the targets in the null.
        null_percentile: Percentile of the null that a calibrated threshold must reach.
        templates: Texts of the dynamic check; `<X>` is the source word.

    Raises:
        OptionError: A number out of range.
    """

    k: int = 10
    copying_k: int = 1
    first_mlp: bool = True
    min_pairs: int = 30
    threshold: float = 0.15
    permutations: int = 200
    null_percentile: float = 99.9
    templates: tuple[str, ...] = (
        "No <X> means no",
        "The story of <X> contains",
        "This is a document about <X>",
        "When I think about <X> I think about",
    )

    def __post_init__(self) -> None:
        check_at_least(1, self, "k", "copying_k", "min_pairs", "permutations")
        if not 0 < self.threshold <= 1 or not 0 <= self.null_percentile <= 100:
            raise OptionError(
                f"threshold must be in (0, 1] and null_percentile in [0, 100]; got {self.threshold} and "
                f"{self.null_percentile}."
            )

    def k_for(self, *, copying: bool) -> int:
        """The k of a relation."""
        return self.copying_k if copying else self.k


USUAL = "maps2025"
PRESETS: Mapping[str, RelationSettings] = MappingProxyType(
    {
        USUAL: RelationSettings(),
        "maps2025-llama3": RelationSettings(k=25, copying_k=3),
        "maps2025-llama3-70b": RelationSettings(k=25, copying_k=3, first_mlp=False),
    }
)
"""The paper's settings by family: for most models, for Llama 3, and for Llama-3.1-70B without the first MLP."""

FIRST_MLP = ("preset", "on", "off")


def settings_of(preset: str | RelationSettings, *, first_mlp: str = "preset") -> RelationSettings:
    """The settings of a preset, the first MLP "on", "off" or as the "preset" has it; unknown names are errors."""
    settings = preset_of("ov_relation", preset, PRESETS)
    read_value(FIRST_MLP, first_mlp, name="first_mlp", method="ov_relation")
    return settings if first_mlp == "preset" else replace(settings, first_mlp=first_mlp == "on")
