"""`--profile`: what the time of a command went into."""

import time

import psutil

from headcats.cli.answer import Answer
from headcats.results.finding import line, table
from headcats.spending import Purpose, spent

_INSIDE: tuple[Purpose, ...] = ("model", "metrics")
_NAMES: dict[Purpose, str] = {
    "model": "the model: blocks, embedding, unembedding",
    "metrics": "metrics",
    "sweeps": "sweeps: what goes into the model, and what comes out",
    "prompts": "prompts: written, tokenised, compared",
    "saving": "saving: blocks, manifest, suite",
    "statistics": "statistics: scores, memberships, overlap",
    "pages": "pages: figures, report, attention views",
    "loading": "loading the model",
}


def tell_profile(answer: Answer) -> None:
    """Seconds and shares by purpose, and how much longer all took than model and metrics alone.

    All is the life of this process: Python's start and imports, which come before anything can be counted, too.

    Args:
        answer: Where it is told.
    """
    total = time.time() - psutil.Process().create_time()
    seconds = {name: spent.get(name, 0.0) for name in _NAMES}
    inside, apart = sum(seconds[name] for name in _INSIDE), total - seconds["loading"]
    shown = {str(name): value for name, value in seconds.items()} | {"other": total - sum(seconds.values())}
    answer.numbers["profile"] = [{"purpose": name, "seconds": value} for name, value in shown.items()]
    names = {str(name): text for name, text in _NAMES.items()} | {"other": "all else: imports, checks, planning"}
    rows = [[names[name], f"{value:.1f}", f"{value / total:.1%}"] for name, value in shown.items()]
    columns = ["what", "seconds", "share"]
    answer.say([table("run.profile", columns, rows, numeric=columns[1:], total=total)])
    if inside:  # of a run that was finished before, nothing is
        answer.say([line("run.profile_ratio", ratio=apart / inside)])
