"""A suite as text and back: what a study asked its tasks for, so that nothing has to be found or registered again."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

from headcats.base.errors import HeadcatsError
from headcats.prompts.drop_report import DropReport
from headcats.prompts.pair import PromptPair, SecondCorruption, Span, WordPair
from headcats.prompts.template import Template
from headcats.results.categories import Category
from headcats.results.suite_text import damaged_suite, parse_suite
from headcats.tasks.definition import Task
from headcats.tasks.suites import Suite

Pairs = Sequence[WordPair] | Sequence[PromptPair]
_TASK = ("name", "category", "source", "suite", "needs_demonstrations", "exact", "group")
_TEMPLATE = tuple(each.name for each in fields(Template))
_TEXTS = ("key", "item", "clean", "corrupted", "answer", "distractor", "distractor_task")


def suite_text(suite: Suite, *, pairs: Mapping[str, Pairs], template: Template) -> str:
    """JSON of a suite, one line per task, with the pairs of each task, the template and what was dropped of files."""
    head = {
        "name": suite.name,
        "template": asdict(template),
        "categories": [asdict(category) for category in suite.categories],
    }
    if suite.ignored:
        head["ignored"] = suite.ignored
    tasks = (
        {name: getattr(task, name) for name in _TASK}
        | ({} if task.drops is None else {"rows": asdict(task.drops)})
        | _pairs_entry(pairs[task.name])
        for task in suite.tasks
    )
    return f'{_compact(head)[:-1]},"tasks":[\n' + ",\n".join(map(_compact, tasks)) + "\n]}\n"


def stored_suite(text: str, *, source: str) -> tuple[Suite, Template]:
    """Read a suite and its template back; `source` says where the text is, a damaged one is a StorageError."""
    stored = parse_suite(text, source=source)
    try:
        tasks = tuple(map(_task, stored["tasks"]))
        for task in tasks:
            task.pairs(0, seed=0)  # refuses what no task may give
        categories = tuple(Category(**entry) for entry in stored["categories"])
        suite = Suite(stored["name"], tasks, categories, **_of_files(stored, tasks))
        template = Template(**_texts(stored["template"], _TEMPLATE))
        for task in tasks:
            suite.category_of(task)
    except KeyError as error:
        raise damaged_suite(source, f"it lacks {error}") from None
    except (HeadcatsError, AttributeError, TypeError, ValueError) as error:
        raise damaged_suite(source, str(error)) from None
    return suite, template


def suite_differences(before: Suite, after: Suite) -> list[str]:
    """Tasks and categories in which a second suite differs from the first; [] where at most the pairs differ."""
    first, second = ({task.name: suite.category_of(task).name for task in suite.tasks} for suite in (before, after))
    new, gone = [name for name in second if name not in first], [name for name in first if name not in second]
    moved = [name for name in first if name in second and first[name] != second[name]]
    differences = {"new": new, "missing": gone}
    return [
        *(f"{kind}: {', '.join(names)}" for kind, names in differences.items() if names),
        *(f"{name} is of category {second[name]!r}, not {first[name]!r}" for name in moved),
    ]


def _compact(stored: Any) -> str:
    return json.dumps(stored, ensure_ascii=False, separators=(",", ":"))


def _pairs_entry(pairs: Pairs) -> dict[str, Any]:
    prompts = [_prompt_entry(pair) for pair in pairs if isinstance(pair, PromptPair)]
    return {"prompts": prompts} if prompts else {"pairs": pairs}


def _prompt_entry(pair: PromptPair) -> dict[str, Any]:
    entry: dict[str, Any] = {name: getattr(pair, name) for name in _TEXTS}
    if pair.roles:
        entry["roles"] = dict(pair.roles)
    if pair.second is not None:
        entry["second"] = {"text": pair.second.text, "distractor_task": pair.second.distractor_task}
        entry["second"] |= {"roles": dict(pair.second.roles)} if pair.second.roles else {}
    return entry


def _task(entry: Mapping[str, Any]) -> Task:
    pairs: list[Any]
    if "prompts" in entry:
        pairs = [_prompt(prompt) for prompt in entry["prompts"]]
    else:
        pairs = [(word, output) for word, output in entry["pairs"]]
    rows = _report(entry["rows"]) if "rows" in entry else None
    return Task(make=lambda n, *, seed: pairs, drops=rows, **{name: entry[name] for name in _TASK})


def _of_files(stored: Mapping[str, Any], tasks: Sequence[Task]) -> dict[str, Any]:
    """The fields of a suite from files; none where no row was counted."""
    reports = [task.drops for task in tasks if task.drops is not None]
    if not reports:
        return {}
    ignored = tuple(stored.get("ignored", ()))
    if not all(isinstance(name, str) for name in ignored):
        raise TypeError(f"ignored is {ignored!r:.60}, no names of files")
    return {"drops": DropReport.total(reports), "ignored": ignored}


def _report(entry: Mapping[str, Any]) -> DropReport:
    report = DropReport(**entry)
    whole = all(type(count) is int for count in (report.kept, *report.dropped.values()))
    if not whole or report.dropped.keys() != _texts(report.examples, list(report.examples)).keys():
        raise TypeError(f"{entry!r:.60} does not count rows")
    return report


def _prompt(entry: Mapping[str, Any]) -> PromptPair:
    second = entry.get("second")
    if second is not None:
        spans = {name: Span(*span) for name, span in second.get("roles", {}).items()}
        second = SecondCorruption(second["text"], second["distractor_task"], spans)
    roles = {name: (Span(*clean), Span(*corrupted)) for name, (clean, corrupted) in entry.get("roles", {}).items()}
    return PromptPair(**_texts(entry, _TEXTS), roles=roles, second=second)


def _texts(entry: Mapping[str, Any], names: Sequence[str]) -> dict[str, str]:
    texts = {name: entry[name] for name in names}
    for name, text in texts.items():
        if not isinstance(text, str):
            raise TypeError(f"{name} is {text!r}, not a text")
    return texts
