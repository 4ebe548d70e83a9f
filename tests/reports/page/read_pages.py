"""Read the text of a page back from its HTML, or take the findings of one section before any HTML is made."""

import base64
import html
import json
import re
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from reports.by_id import by_id

import headcats as hc
from headcats.base.errors import HeadcatsWarning
from headcats.reports.page import first_screen, writing
from headcats.reports.page.markup import _sentence
from headcats.reports.page.parts import Code, Folded
from headcats.results.finding import Finding, line
from headcats.results.stored_run import StoredRun

_judge = writing._read_map
_judged: dict[Any, Any] = {}
_MAKERS = {make.__name__: make for makers in writing.TABS.values() for make in makers}


def written(results: Any, path: Path | None = None, **options: Any) -> str:
    """The report's HTML."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeadcatsWarning)
        return hc.report(results, path, **options).read_text(encoding="utf-8")


def parts_of(results: Any, names: str, path: Path | None = None, **options: Any) -> list[Any]:
    """Parts of some sections, also folded ones; of the "answer" its sentences, without maps and cards."""
    kept: list[Any] = []

    def keep(material: Any, tabs: Any, *, first: Any) -> str:
        if first is not None:
            kept.extend((first.ran, *first.headline, *first.sure, *first.but))
        kept.extend(part for tab in tabs for each in tab.sections for part in each.parts)
        return ""

    with pytest.MonkeyPatch.context() as patched:
        makers = tuple(_MAKERS[name] for name in names.split() if name != "answer")
        patched.setattr(writing, "TABS", {("tab", "Tab"): makers})
        patched.setattr(writing, "document", keep)
        patched.setattr(writing, "_read_map", _judged_once)
        if "answer" in names.split():
            patched.setattr(first_screen, "_shown", lambda *given: None)
        else:
            patched.setattr(writing, "first_screen", lambda material: None)
        written(results, path, **options)
    return list(_unfolded(kept))


def _judged_once(run: Any, reading: Any) -> Any:
    """Maps of the same blocks, tasks and reading, whatever else the manifest says."""
    if not isinstance(run, StoredRun) or run.missing or not all(run.blocks.checksums.values()):
        return _judge(run, reading)
    key = (*run.blocks.checksums.items(), *run.tasks, run.attrs["categories"], repr(reading))
    if key not in _judged:
        _judged[key] = _judge(run, reading)
    return _judged[key]


def _unfolded(parts: Any) -> Iterator[Any]:
    for part in parts:
        if isinstance(part, Folded):
            yield part.title
            yield from _unfolded(part.parts)
        else:
            yield part


def said(results: Any, names: str, path: Path | None = None, **options: Any) -> dict[str, Finding]:
    """Findings of some sections, by their identifier."""
    return by_id(part for part in parts_of(results, names, path, **options) if isinstance(part, Finding))


def codes(results: Any, names: str, **options: Any) -> list[str]:
    """Commands and lines of Python of some sections."""
    return [part.text for part in parts_of(results, names, **options) if isinstance(part, Code)]


def section(content: str, name: str) -> str:
    """Text of one section of a page, without its tags."""
    inner = content.partition(f'<section id="{name}"')[2].partition("</section>")[0]
    assert inner, f"there is no section {name}"
    return plain(inner)


def sentence(id: str, **fields: Any) -> str:
    """A finding as `section` has it."""
    return plain(_sentence(line(id, **fields)))


def plain(markup: str) -> str:
    """Text without its tags."""
    return " ".join(re.sub(r"<[^>]*>", " ", markup).replace("&#39;", "'").split())


def payload(content: str, name: str) -> bytes:
    """What the page holds packed under a name."""
    return zlib.decompress(base64.b64decode(re.search(rf'id="packed-{name}">([^<]*)<', content)[1]))


def described(content: str) -> dict[str, Any]:
    """What the page's script knows of the heads."""
    return json.loads(payload(content, "heads"))


def pasted(content: str) -> list[str]:
    """Commands and lines of Python on the page."""
    return [html.unescape(text) for text in re.findall(r"<pre[^>]*><code>(.*?)</code></pre>", content, re.DOTALL)]
