"""The page that people see on the hub beside shared results: what was run, and how to read it."""

import re

from headcats.base.errors import pluralize
from headcats.results.manifest import Manifest
from headcats.results.visible import visible

TAG = "headcats"
# An underscore within a word is one.
_MARKUP = re.compile(r"[\\`*\[\]<>&|~$#!]|(?<!\w)_|_(?!\w)")

# No viewer: it shows tables of text, not netCDF.
_CARD = """\
---
tags:
- {tag}
viewer: false
---

# {model} on the suite {suite}

Which attention heads of {model_code} serve which kind of task: what every head does to the answer, on every prompt, as
[headcats](https://github.com/headcats/headcats) measured it.

| | |
|:--|:--|
{facts}

```python
import headcats as hc

results = hc.load("{address}")
```

On the command line `headcats map {address}` lists the heads of every category, and `headcats report {address}`
writes one page with all that these results say. `headcats merge {address} --out DIR` makes a copy that can be tested
and extended.
"""


def card(manifest: Manifest, address: str) -> str:
    """README.md of a data set with the results of a manifest; `address` is what `hc.load` takes."""
    model, plan, skipped = manifest.model, manifest.plan, manifest.skipped()
    n_tasks, unfinished = len(manifest.tasks), manifest.unfinished()
    joint = {task for record in manifest.joint_blocks.values() for task in record.tasks}
    tasks = pluralize(n_tasks or len(joint), "task") + (f", {len(skipped)} of them skipped" if skipped else "")
    facts = {
        "model": _code(model.name) + (f", revision {_code(model.revision)}" if model.revision else ""),
        "weights": f"hash `{model.weights_hash}`, {model.dtype}, {model.model_class}",
        "suite": f"{_text(plan.suite)}: {tasks}" + (f", {len(unfinished)} still to come" if unfinished else ""),
        "categories": ", ".join(_text(category.name) for category in manifest.categories),
        "methods": ", ".join(map(_code, manifest.methods)),
        "metrics": ", ".join(map(_code, plan.metrics)),
        "prompts": f"{plan.n_prompts} per task, seed {plan.seed}",
        "headcats": manifest.versions.get("headcats", ""),
        "begun": manifest.created,
    }
    rows = "\n".join(f"| {key} | {value} |" for key, value in facts.items() if value)
    heading = {"model": _text(model.name), "model_code": _code(model.name), "suite": _text(plan.suite)}
    return _CARD.format(tag=TAG, facts=rows, address=address, **heading)


def _text(name: str) -> str:
    """A name in Markdown, shown as it is."""
    return _MARKUP.sub(r"\\\g<0>", visible(name))


def _code(name: str) -> str:
    """A name as code in Markdown, between more backticks than it has in a row; also within a table."""
    text = visible(name).replace("|", r"\|")
    if "`" not in text:
        return f"`{text}`"
    fence = "`" * (1 + max(map(len, re.findall("`+", text))))
    return f"{fence} {text} {fence}"
