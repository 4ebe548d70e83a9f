"""Constants of Todd et al. (2024): of the patch, and of steering."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import Any

from headcats.base.errors import check_count

PAPERS_TEMPLATE, PAPERS_DEMOS = "question", 10
PAPERS_RUN: Mapping[str, Any] = MappingProxyType(
    {
        "methods": ("function_vector_patch",),
        "n_prompts": 25,
        "n_demos": PAPERS_DEMOS,
        "template": PAPERS_TEMPLATE,
        "corruption": "shuffled_labels",
        "answers": "first_token",
        "metrics": ("prob",),
    }
)
"""Options of `hc.run`."""


@dataclass(frozen=True)
class SteeringSettings:
    """Constants of steering; defaults follow Todd et al. (2024), except `n_prompts` and `n_draws`.

    Attributes:
        n_demos: Demonstrations per few-shot prompt. None: as in the run that ranked the heads, if they carry it (those
            of `function_vector.steering_heads` do), else the paper's 10.
        template: How a prompt is written: the name of a template, "chat" for that of the model's tokenizer. None: as in
            that run, else the paper's "question".
        n_reference: Prompts that the function vector averages over.
        n_prompts: Maximum number of zero-shot prompts per task, each with its own query.
        n_draws: Sets of random other heads.

    Raises:
        OptionError: A number below 1.

    Example:
        >>> import headcats as hc
        >>> from headcats.papers import function_vector
        >>> function_vector.SteeringSettings(n_demos=5, template="arrow", n_prompts=20).n_reference
        100

    References:
        Todd et al. (2024), Function vectors in large language models, arXiv 2310.15213.
    """

    n_demos: int | None = None
    template: str | None = None
    n_reference: int = 100
    n_prompts: int = 100
    n_draws: int = 5

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if name == "template" or (name == "n_demos" and value is None):
                continue
            check_count(name, value)

    def completed(self, attrs: Mapping[Any, Any]) -> "SteeringSettings":
        """Settings with nothing left open, filled from the attributes of ranked heads, else from the paper.

        Args:
            attrs: Attributes of what `function_vector.steering_heads` returns.
        """
        return replace(
            self,
            template=str(self.template or attrs.get("template") or PAPERS_TEMPLATE),
            n_demos=int(self.n_demos or attrs.get("n_demos") or PAPERS_DEMOS),
        )
