"""Reference prompts of the tasks of a study, by the names under which methods ask for them."""

from collections.abc import Callable, Sequence
from typing import Literal

from headcats.base.errors import DataError
from headcats.methods.spec import MethodSpec
from headcats.prompts.batch import PromptBatch
from headcats.results.records import LEAST_PROMPTS_PER_ROLE
from headcats.sweeps.reference import Reference


def reference_kind(spec: MethodSpec) -> str:
    """Name of the reference prompts that a method asks for; "" for none."""
    choices: Sequence[str] = spec.method.options.get("reference", ("",))
    return str(dict(spec.options).get("reference", choices[0]))


class References:
    """References of tasks by name, made when asked for and kept with the means that they have computed."""

    def __init__(
        self,
        tasks: Sequence[str],
        batches_of: Callable[[str], Sequence[PromptBatch]],
        *,
        seed: int,
        n_scored: Callable[[str], int],
    ) -> None:
        self.tasks, self.batches_of = tuple(tasks), batches_of
        self.seed, self.n_scored = seed, n_scored
        self._made: dict[tuple[str, str], Reference] = {}

    def forget(self) -> None:
        """Make them anew, as prompts have changed."""
        self._made.clear()

    def sources(self, task: str, kind: str) -> tuple[str, ...]:
        """Tasks whose prompts a reference is made of; none for the kind ""."""
        if not kind:
            return ()
        return self.tasks if kind in ("suite", "other_tasks") else (task,)

    def of(self, task: str, kind: str) -> Reference:
        """Reference prompts for a task: "suite" (all tasks, clean), "task" (its own, clean), "corrupted" (its own,
        corrupted), "other_tasks" (all tasks but its own, clean) or "other_items" (its own with another query, clean).
        """
        key = ("" if kind == "suite" else task, kind)
        if key not in self._made:
            if not (batches := [batch for name in self.sources(task, kind) for batch in self.batches_of(name)]):
                raise DataError(
                    f"Task {task!r} leaves no prompts for the {kind!r} reference: it needs at least "
                    f"{LEAST_PROMPTS_PER_ROLE} beside the {self.n_scored(task)} that are scored. Run with a smaller "
                    "n_prompts, or with more prompts."
                )
            run: Literal["clean", "corrupted"] = "corrupted" if kind == "corrupted" else "clean"
            self._made[key] = Reference(batches, run=run, seed=self.seed, name=kind.replace("_", " "))
        return self._made[key]
