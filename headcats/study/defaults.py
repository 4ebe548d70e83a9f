"""Defaults of a study and of the commands; imports nothing."""

from typing import Any

# That of `hc.rules.fdr()`, as it is written on the command line.
DEFAULT_RULE = "fdr:alpha=0.05,min_effect=0.05"
# As many as a plain `headcats run` scores within 3 minutes on 2 cores.
DEFAULT_PROMPTS = 64
# To how many bits `--load-in` quantises.
BITS = ("8bit", "4bit")
# What a study takes where DEFAULTS has None.
OF_STUDY: dict[str, Any] = {
    "n_prompts": DEFAULT_PROMPTS,
    "metrics": ["logit_diff"],
    "n_demos": 5,
    "min_accuracy": 0.5,
}
DEFAULTS: dict[str, Any] = {
    "model": "mini",
    "suite": "icl",
    "methods": None,
    "tasks": None,
    "metrics": None,
    "n_prompts": None,
    "n_demos": None,
    "template": "arrow",
    "corruption": "other_task",
    "answers": "whole",
    "seed": 0,
    "min_accuracy": None,
    "min_logit_diff": None,
    "out": None,
    "device": None,
    "device_map": None,
    "load_in": None,
    "dtype": "float32",
    "revision": None,
    "revisions": None,
    "backend": "bridge",
    "path": "auto",
    "memory": None,
    "store": None,
}
# What a bundled suite changes in them: what its tasks are made for and, on the command line, a model that can do it.
OF_SUITE: dict[str, dict[str, Any]] = {
    "icl": {"model": "mini"},
    "cognitive": {"model": "mini-cognitive", "n_demos": 4},
    "sentences": {"model": "mini-cognitive", "n_demos": 0},
    "induction": {"model": "mini-cognitive"},
    "ioi": {"model": "gpt2"},
    # Many answers are right, so none has to be the most likely one; but it has to be likelier than its distractor.
    "greater_than": {"model": "gpt2", "min_accuracy": 0.0, "min_logit_diff": 0.0},
    "agreement": {"model": "gpt2", "min_accuracy": 0.0, "min_logit_diff": 0.0},
    "relations": {"model": "gpt2"},
}
