"""Relations with templates of their own: `{"name", "samples": [{"subject", "object"}], "prompt_templates"}`.

The layout of Linear Relational Embeddings (Hernandez et al., 2024).
"""

from collections.abc import Sequence
from typing import Any

from headcats.base.errors import DataError, pluralize
from headcats.tasks.files.file_task import FileTask
from headcats.tasks.files.json_file import json_records
from headcats.tasks.files.word_pairs import pair_task


def relation_task(content: dict[str, Any], *, file: str, templates: Sequence[str] = ()) -> FileTask:
    """Task of a relation: samples in its `prompt_templates`, else in `prompt_templates_zs`, else word pairs.

    Its `relation_type` is the category. Templates of a suite.toml go first.
    """
    samples = content["samples"]
    if not isinstance(samples, list):
        raise DataError(f"{file}: 'samples' must be a list of {{subject, object}}; got {samples!r:.60}.")
    records = json_records(samples, file=file)
    if missing := {"subject", "object"} - set(records.columns):
        raise DataError(f"{file}: samples lack {' and '.join(map(repr, sorted(missing)))}; got {samples[0]!r:.60}.")
    in_file = _texts(content, "prompt_templates", file) or _texts(content, "prompt_templates_zs", file)
    used = tuple(templates) or in_file
    layout = f"relation with {pluralize(len(used), 'template')}" if used else "relation (subject → object)"
    task = pair_task(records, "subject", "object", templates=used, layout=layout)
    properties = content.get("properties")
    category = properties.get("relation_type") if isinstance(properties, dict) else None
    return FileTask(task.layout, task.make, task.report, category if isinstance(category, str) else "")


def _texts(content: dict[str, Any], name: str, file: str) -> tuple[str, ...]:
    texts = content.get(name) or []
    if not isinstance(texts, list) or not all(isinstance(text, str) and text.strip() for text in texts):
        raise DataError(f"{file}: {name!r} must be a list of texts with {{}} for the subject; got {texts!r:.60}.")
    return tuple(dict.fromkeys(texts))
