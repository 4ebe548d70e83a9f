"""The methods of a run that names a bundled suite and no methods."""

from headcats.results.declaration import default_methods, registered_declarations
from headcats.study.defaults import FINISHED


def methods_of_suite(suite: str) -> tuple[str, ...]:
    """What `headcats run` takes in place of the default methods; empty for most suites.

    For finished prompts these are the default ones at the last position, but for the control that needs a second
    corruption.
    """
    declared = registered_declarations()
    if suite in FINISHED:
        return tuple(f"{name}@last" for name in default_methods() if declared[name].control != "task")
    return tuple(name for name, about in declared.items() if suite and about.default_suite == suite)
