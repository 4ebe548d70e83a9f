"""Constants of the relation scores, and the paper's presets."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from headcats.base.errors import OptionError
from headcats.base.registry import preset_of
from headcats.methods.spec import check_at_least, read_value


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
        head_limits: (number of heads, limit): a model with fewer heads than that has at most `limit` of them ablated.
        most_heads: The limit in larger models.
        random_sets: Random sequences of heads per relation.
        control_tasks: Maximum number of control relations.
        control_overlap: The heads of a control hold less than this share of the relation's heads.
        control_accuracy: Largest difference in accuracy between a control and the relation.
        least_accuracy: Relations that the model answers less accurately are not ablated.

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
    head_limits: tuple[tuple[int, int], ...] = ((300, 30), (500, 50), (1000, 100), (1500, 150))
    most_heads: int = 250
    random_sets: int = 5
    control_tasks: int = 5
    control_overlap: float = 0.15
    control_accuracy: float = 0.2
    least_accuracy: float = 0.1

    def __post_init__(self) -> None:
        check_at_least(1, self, "k", "copying_k", "min_pairs", "permutations", "most_heads")
        check_at_least(0, self, "random_sets", "control_tasks")
        if not 0 < self.threshold <= 1 or not 0 <= self.null_percentile <= 100:
            raise OptionError(
                f"threshold must be in (0, 1] and null_percentile in [0, 100]; got {self.threshold} and "
                f"{self.null_percentile}."
            )

    def k_for(self, *, copying: bool) -> int:
        """The k of a relation."""
        return self.copying_k if copying else self.k

    def most_ablated(self, n_heads: int) -> int:
        """Maximum number of heads ablated in a model of `n_heads` heads."""
        return next((limit for size, limit in self.head_limits if n_heads < size), self.most_heads)


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
