"""What the heads of a run do, kept beside its blocks: written once, and added to when tasks are added."""

from headcats.results.descriptors import join_descriptors
from headcats.study.output import Output
from headcats.study.preparation import Preparation
from headcats.sweeps.descriptors.describing import describe_model, describe_prompts


def describe_run(output: Output, preparation: Preparation) -> None:
    """Keep what `hc.describe_heads` says of the model, and of the scored prompts of every task of this run."""
    study, model, records = preparation.study, preparation.model, output.manifest.tasks
    stored = output.descriptors()
    done = [] if stored is None or "task" not in stored.dims else stored["task"].values.tolist()
    tasks = study.tasks if study.task_methods else ()
    names = [task.name for task in tasks if task.name not in done and task.name in records]
    missing = [name for name in names if not records[name].refusal]
    if stored is not None and not missing:
        output.list_descriptors()
        return
    described, paths = describe_model(model, seed=study.seed)
    if missing:
        of_tasks = describe_prompts(model, paths, {name: preparation.of(name).scored for name in missing})
        of_tasks = of_tasks.assign_coords(category=("task", [records[name].category for name in missing]))
        described = join_descriptors(described, of_tasks)
    output.keep_descriptors(described if stored is None else join_descriptors(stored, described))
