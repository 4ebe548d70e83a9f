"""Names that a browser, plotly, rich, a template, a terminal or a file system might obey instead of showing them."""

import re
from dataclasses import replace
from pathlib import Path

from reports.page.saved_runs import scored_run

from headcats.base.errors import LONGEST_NAME
from headcats.results.folder import ResultsFolder
from headcats.results.visible import visible

_OBEYED_BY_PAGES = (
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    "<img src=x onerror=alert(3)>",
    "<b>bold</b>",
    '<a href="javascript:alert(4)">go</a>',
    "<br>a<br/>b",
    "\"><svg onload='alert(5)'>",
    "&lt;i&gt; &amp; & &#38;",
    "</title></style><!-- numbers of the heads -->",
)
_OBEYED_BY_FIGURES_AND_TEMPLATES = (
    "%{x} %{z:.3f} %{nothing}",
    "%%{customdata[0]}<extra>e</extra>",
    "{y} {0} {category!r}",
    "[[title]] [[figure]]",
    "{{ 7*7 }} {% raw %}",
    "$x$ $$\\alpha$$",
    "a 'single' and \"double\" \\n \\ `back` `` `",
    "[red]x[/red] [/] [link=file:///]y[/link]",
)
_OBEYED_BY_TERMINALS = (
    "form\x0cfeed",
    "bell\x07 and \x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "back\x08\x7fspace",
    "return\rover",
    "tab\tand\nnewline",
    "\x9b31mC1\x85",
    "\u202erevo gnitirw",
)
_UNSEEN = (
    "zero\u200bwidth\ufeff\u00adhyphen",
    "line\u2028and\u2029paragraph",
    "e\u0301\u0323\u0489\u0489 marks",
    "\u0301first a mark",
    "\U0001f469\u200d\U0001f680 \U0001f3f3\ufe0f\u200d\U0001f308 flag",
    "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u05e9\u05dc\u05d5\u05dd",
    "private\ue000use \U000e0041tag",
)
_OF_FILES = (
    "..",
    "../../etc/passwd",
    "a/b\\c:d",
    "CON",
    "=1+1",
    "  blanks around  ",
    "L" * LONGEST_NAME,
    "long words " * 18,
)
GROUPS = (_OBEYED_BY_PAGES[:8], (_OBEYED_BY_PAGES[8], *_OBEYED_BY_FIGURES_AND_TEMPLATES[:7]))
GROUPS += ((*_OBEYED_BY_FIGURES_AND_TEMPLATES[7:], *_UNSEEN), _OBEYED_BY_TERMINALS, _OF_FILES)
"""Names of categories that are accepted, as many as a map shows at once."""
NAMES = tuple(name for group in GROUPS for name in group)
REFUSED = ("", " \t", "NUL\0", "half \ud800", "L" * (LONGEST_NAME + 1))
"""Names of categories that results cannot hold, or that nobody could read."""


def task_name(name: str) -> str:
    """The name as a task can have it; for what is refused a form feed, which HTML takes for a blank."""
    return re.sub(r"[/\\:@,\t\n ]", "\x0c", name).lstrip(".-_")[: LONGEST_NAME - 4] or "empty"


def hostile_run(folder: Path, names: tuple[str, ...]) -> Path:
    """Results whose categories, tasks, model and suite have these names: two tasks a category."""
    colours = {name: f"#{40 + 20 * place:02x}6699" for place, name in enumerate(names)}
    tasks = {f"{task_name(name)}{place}_{k}": name for place, name in enumerate(names) for k in "ab"}
    scored_run(folder, per_layer={0: 3, 1: 3}, tasks=tasks, kinds=colours)
    target = ResultsFolder(folder)
    manifest = target.read_manifest()
    assert manifest is not None
    manifest.model = replace(manifest.model, name=names[0])
    manifest.plan = replace(manifest.plan, suite=names[1])
    target.write_manifest(manifest)
    return folder


def seen(text: str) -> str:
    """What a reader sees of a text, without the blanks that pages and terminals fold."""
    return re.sub(r"\s+", "", visible(text))


def unseen(text: str, *, keep: str = "\n") -> set[str]:
    """Characters of a text that a terminal would obey or not show."""
    return {char for char in text if visible(char, keep=f"{keep}\u200c\u200d") != char}
