"""Arguments and options that several commands have, with what a shell offers for them."""

from pathlib import Path
from typing import Annotated

import typer

from headcats.cli import completion
from headcats.prompts.answers import ANSWERS
from headcats.study.defaults import BITS, DEFAULT_RULE

# ------------------------------------------------------------------------------------------------ finished results
Folder = Annotated[Path, typer.Argument(help="A results folder.", autocompletion=completion.results_folders)]
_READ = "A results folder, or hf://owner/name[@revision] on the hub."
Source = Annotated[str, typer.Argument(help=_READ, metavar="FOLDER", autocompletion=completion.results_folders)]
_READ_SEVERAL = "One or several results folders, or hf://owner/name[@revision] on the hub."
Sources = Annotated[
    list[str],
    typer.Argument(help=_READ_SEVERAL, metavar="FOLDERS...", autocompletion=completion.results_folders),
]
_MODEL_OF_RESULTS = "Model of the results; default: the name in their manifest."
ModelOfResults = Annotated[
    str | None, typer.Option("--model", help=_MODEL_OF_RESULTS, autocompletion=completion.models)
]
_SUITE_OF_RESULTS = "The same tasks with more pairs, as in `headcats run`; default: the suite that the results hold."
SuiteOfResults = Annotated[
    str | None, typer.Option("--suite", help=_SUITE_OF_RESULTS, autocompletion=completion.suites)
]
_METHOD = "Method, as name or name@positions; default: the first exact one of the run."
Method = Annotated[str | None, typer.Option("--method", help=_METHOD, autocompletion=completion.methods_of_results)]
Positions = Annotated[str | None, typer.Option("--positions", help="Positions, if the method was run at several.")]
_AND = "A second method: heads that are in a category by both, beside the number expected by chance."
SecondMethod = Annotated[str | None, typer.Option("--and", help=_AND, autocompletion=completion.methods_of_results)]
_METRIC = "Metric to read; default: the first of the run."
Metric = Annotated[str | None, typer.Option("--metric", help=_METRIC, autocompletion=completion.metrics_of_results)]
_RULE = f"Rule as `name:option=value,...`; default: {DEFAULT_RULE}, of a joint method that of its paper."
RuleText = Annotated[str | None, typer.Option("--rule", help=_RULE, autocompletion=completion.rules)]
_EFFECT = "total, or task_specific (denoising_patch minus its control)."
Effect = Annotated[
    str, typer.Option("--effect", help=_EFFECT, autocompletion=completion.one_of("total", "task_specific"))
]
_SIGN = "Heads to show: helping (the default) or suppressing."
Sign = Annotated[str, typer.Option("--sign", help=_SIGN, autocompletion=completion.one_of("helping", "suppressing"))]
_MIN_TASKS = "Tasks of a category that must agree: 'half' (the default; of relations, one) or a number."
MinTasks = Annotated[str | None, typer.Option("--min-tasks", help=_MIN_TASKS, autocompletion=completion.one_of("half"))]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on stdout instead of text; notes go to stderr.")]

_DETAILS = "Print every table and test, not the answer alone."
Details = Annotated[bool, typer.Option("--details", help=_DETAILS)]

# -------------------------------------------------------------------------------------------------------- new runs
_MODEL = "'mini' or 'mini-cognitive' (bundled; default: the one for the suite), a folder, or a hub name."
Model = Annotated[str | None, typer.Option("--model", help=_MODEL, autocompletion=completion.models)]
_SUITE = (
    "Suite of tasks: its name, your file or folder of data (JSON, CSV, ...), or your code as path/to/file.py:name or "
    "module:name; default: that of the results in --out, else icl."
)
SuiteName = Annotated[str | None, typer.Option("--suite", help=_SUITE, autocompletion=completion.suites)]
_TASKS = "Tasks to score, separated by commas; default: all of the suite."
Tasks = Annotated[str | None, typer.Option("--tasks", help=_TASKS, autocompletion=completion.tasks)]
NPrompts = Annotated[int | None, typer.Option("--n-prompts", help="Scored prompts per task; default: 64.")]
_N_DEMOS = "Demonstrations per prompt; default: that of the suite, else 5."
NDemos = Annotated[int | None, typer.Option("--n-demos", help=_N_DEMOS)]
_TEMPLATE = "Prompt format: arrow (default), question, or chat."
Template = Annotated[str | None, typer.Option("--template", help=_TEMPLATE, autocompletion=completion.templates)]
_CHAT = "Write prompts with the chat template of the model's tokenizer; short for --template chat."
Chat = Annotated[bool, typer.Option("--chat", help=_CHAT)]
_CORRUPTIONS = ("other_task", "shuffled_labels")
Corruption = Annotated[
    str | None,
    typer.Option(
        "--corruption", help="other_task (default) or shuffled_labels.", autocompletion=completion.one_of(*_CORRUPTIONS)
    ),
]
_ANSWERS = "whole (default), first_token, or single (answers of several tokens are dropped)."
Answers = Annotated[str | None, typer.Option("--answers", help=_ANSWERS, autocompletion=completion.one_of(*ANSWERS))]
_METRICS = "Metrics, separated by commas; default: logit_diff (log_prob with --corruption shuffled_labels)."
Metrics = Annotated[str | None, typer.Option("--metrics", help=_METRICS, autocompletion=completion.metrics)]
Seed = Annotated[int | None, typer.Option("--seed", help="Seed of every random choice; default: 0.")]
_MIN_ACCURACY = "Tasks with a lower accuracy on clean prompts are skipped; default: that of the suite, else 0.5."
MinAccuracy = Annotated[float | None, typer.Option("--min-accuracy", help=_MIN_ACCURACY)]
_MIN_LOGIT_DIFF = (
    "Tasks whose logit difference on clean prompts is not clearly above this are skipped; default: that of the suite, "
    "else none. With --min-accuracy 0 it admits tasks that are not solved, but in which the model prefers the answer."
)
MinLogitDiff = Annotated[float | None, typer.Option("--min-logit-diff", help=_MIN_LOGIT_DIFF)]
Device = Annotated[str | None, typer.Option("--device", help="cuda, mps or cpu; default: the first available.")]
_DEVICE_MAP = (
    "auto or balanced: spread the weights over all GPUs, as transformers' device_map does; in place of --device."
)
DeviceMap = Annotated[str | None, typer.Option("--device-map", help=_DEVICE_MAP)]
_LOAD_IN = "8bit or 4bit: quantise the weights (needs bitsandbytes)."
LoadIn = Annotated[str | None, typer.Option("--load-in", help=_LOAD_IN, autocompletion=completion.one_of(*BITS))]
_DTYPE = "float32 (default), bfloat16, float16, or auto (that of the file)."
Dtype = Annotated[str | None, typer.Option("--dtype", help=_DTYPE)]
Revision = Annotated[str | None, typer.Option("--revision", help="Revision of a hub model.")]
_REVISIONS = (
    "Revisions to score by one plan, separated by commas, such as step1000,step2000: branches, tags or commits of a "
    "hub model, folders in that of --model, or paths of folders."
)
Revisions = Annotated[str | None, typer.Option("--revisions", help=_REVISIONS)]
Backend = Annotated[str | None, typer.Option("--backend", help="bridge, or hooked (transformer-lens 3 only).")]
_MEMORY = "Memory to use beside the model's weights, such as 4GB; default: half of what is free."
Memory = Annotated[str | None, typer.Option("--memory", help=_MEMORY)]
_PATH = "auto (the fastest exact one, the default) or hooked (the reference)."
SweepPath = Annotated[str | None, typer.Option("--path", help=_PATH)]
_STORE = "whole (default), or compact: blocks in half precision, with the loss measured (see hc.run)."
_STORES = completion.one_of("whole", "compact")
Store = Annotated[str | None, typer.Option("--store", help=_STORE, autocompletion=_STORES)]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress bar and no finished parts.")]
