"""The prompts of a study as a tokenizer alone writes them, for a model that is not there."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headcats.base.errors import DataError
from headcats.base.registry import lookup, names
from headcats.models.transformers_model import read_tokenizer
from headcats.study.options import ModelOptions
from headcats.study.own_template import with_own_template
from headcats.study.plan import Study
from headcats.study.preparation import Preparation
from headcats.tasks.suites import suite_defaults


@dataclass(frozen=True)
class _Writer:
    """The parts of a model that decide how prompts are written."""

    name: str
    tokenizer: Any
    n_ctx: int | None = None

    @property
    def text_tokenizer(self) -> Any:
        return self.tokenizer


def written(study: Study, source: Any, *, folder: Path | None) -> tuple[Preparation, str]:
    """The prompts of a study, and whose tokenizer wrote them.

    Args:
        study: The study.
        source: A tokenizer, or the folder or hub name of one; None takes that of `folder`, else the bundled one.
        folder: That of the model, if there is one.

    Raises:
        DataError: No tokenizer is named and none is bundled for the suite, or no task can be written.
    """
    if source is None and folder is not None and any(folder.glob("tokenizer*")):
        source = folder
    bundled = source is None
    if bundled:
        name = suite_defaults(study.suite.source).get("model", ModelOptions.model)
        if name not in names("model"):
            raise DataError(
                f"No bundled tokenizer is made for suite {study.suite.name!r}. Name the folder or hub name of one, "
                "such as --tokenizer gpt2 (tokenizer='gpt2')."
            )
        source = lookup("model", name)
    tokenizer = read_tokenizer(source)
    title = f"bundled tokenizer of {name!r}" if bundled else f"tokenizer of {getattr(tokenizer, 'name_or_path', '?')!r}"
    # Of a model, prompts depend on its tokenizer and its context alone.
    writer = _Writer(title, tokenizer)
    preparation = Preparation(writer, with_own_template(study, writer))
    problems = {task.name: preparation.of(task.name).problem for task in study.tasks}
    if all(problems.values()):
        task, problem = next(iter(problems.items()))
        raise DataError(
            f"The {title} can write none of {len(problems)} tasks ({task}: {problem}). Name that of the model with "
            "--tokenizer (tokenizer=...)."
        )
    return preparation, title
