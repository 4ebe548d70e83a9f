"""The suite of a run as JSON text: `suite.json` in a results folder, the attribute `suite` of results.

`headcats.tasks.stored` writes and reads what the text says; here it is compared, without a suite being made of it.
"""

import json
from collections.abc import Mapping
from typing import Any

from headcats.base.errors import StorageError

SUITE_FILE = "suite.json"


def parse_suite(text: str, *, source: str) -> dict[str, Any]:
    """The JSON object; a StorageError if it is none, or lists no tasks."""
    try:
        stored = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise damaged_suite(source, str(error)) from None
    if not isinstance(stored, dict):
        raise damaged_suite(source, f"it holds a {type(stored).__name__}")
    tasks = stored.get("tasks")
    if not (isinstance(tasks, list) and all(isinstance(task, dict) and "name" in task for task in tasks)):
        raise damaged_suite(source, "it lists no tasks")
    return stored


def suite_tasks(text: str, *, source: str) -> dict[str, Mapping[str, Any]]:
    """Task -> all that the text says of it; {} for "", where results do not hold their suite."""
    return {task["name"]: task for task in parse_suite(text, source=source)["tasks"]} if text else {}


def damaged_suite(source: str, problem: str) -> StorageError:
    """Error for a suite that cannot be read."""
    return StorageError(
        f"{source} is damaged: {problem}. Delete it, and name the suite with --suite (suite=...); a run with the same "
        "suite writes it anew."
    )
