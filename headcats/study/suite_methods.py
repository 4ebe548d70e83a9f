"""The methods of a run that names none."""

from collections.abc import Mapping, Sequence

from headcats.prompts.pair import PromptPair, WordPair
from headcats.results.declaration import default_methods, registered_declarations
from headcats.tasks.suites import Suite

# A task may have none if it is asked for one or two.
_ASKED_FOR = 64


def methods_of_suite(
    suite: Suite, pairs: Mapping[str, Sequence[WordPair | PromptPair]] | None = None
) -> tuple[str, ...]:
    """Methods that a run of this suite takes if none are named; `pairs` of each task, if they are at hand.

    A method that is made for the suite, or else the default ones, or those of finished prompts if all tasks are.
    """
    declared = registered_declarations()
    if of_suite := tuple(
        name for name, about in declared.items() if suite.source and about.default_suite == suite.source
    ):
        return of_suite
    of_tasks = pairs.values() if pairs else (task.pairs(_ASKED_FOR, seed=0) for task in suite.tasks)
    is_finished = all(isinstance(of_task[0], PromptPair) for of_task in of_tasks)
    return methods_of_finished_prompts() if is_finished else default_methods()


def methods_of_finished_prompts() -> tuple[str, ...]:
    """The default ones at the last position, as such prompts have few roles in common.

    Without the control that needs a second corruption, which few of them have.
    """
    declared = registered_declarations()
    return tuple(f"{name}@last" for name in default_methods() if declared[name].control != "task")
