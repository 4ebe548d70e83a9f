"""Pages of the reference as Markdown: the words of each namespace, then its names for mkdocstrings."""

import inspect
import operator
import re

from public_names import NAMESPACES, public_names
from reference_names import linked

import headcats


def reference_pages() -> dict[str, str]:
    """Path on the site -> Markdown: the guide of the package and of every namespace, with the names of each part."""
    names = [public.name for public in public_names() if not public.is_member]
    pages = {"reference/index.md": "# " + _guide(inspect.cleandoc(headcats.__doc__ or ""), _below(names, ""))}
    for namespace in (*NAMESPACES, "errors"):
        words = inspect.cleandoc(operator.attrgetter(namespace)(headcats).__doc__ or "")
        # What links to a namespace leads to its page, unless the namespace is an item with an entry of its own.
        place = "" if namespace in names else f" {{ #headcats.{namespace} }}"
        title = f"# headcats.{namespace}{place}\n\n"
        pages[f"reference/{namespace}.md"] = title + _guide(words, _below(names, namespace))
    return pages


def _below(names: list[str], namespace: str) -> dict[str, str]:
    """Last part of a name -> the name, of those directly below a namespace."""
    return {name.rpartition(".")[2]: name for name in names if name.rpartition(".")[0] == namespace}


def _guide(words: str, left: dict[str, str]) -> str:
    """A docstring; under each heading the names that it mentions there, each once, and the others at the end."""
    first, *parts = re.split(r"^(?=## )", words, flags=re.MULTILINE)
    pages = [linked(_with_examples(first))]
    for part in parts:
        mentioned = [left.pop(name) for name in dict.fromkeys(re.findall(r"`(\w+)`", part)) if name in left]
        part = re.sub(r"`headcats\.([\w.]+)`", _to_page, linked(part))
        pages += [part.rstrip(), *map(_entry, mentioned)]
    others = [*(["## Others"] if parts and left else []), *map(_entry, left.values())]
    return "\n\n".join([*pages, *others]) + "\n"


def _to_page(found: re.Match[str]) -> str:
    """A namespace as a link to its page; `headcats.papers` has one for each paper, and none of its own."""
    return f"[{found[0]}]({found[1]}.md)" if found[1] in {*NAMESPACES, "errors"} else found[0]


def _with_examples(words: str) -> str:
    """Indented examples as blocks of code."""
    examples = re.compile(r"((?:^ {4}.*\n)+)", re.MULTILINE)
    return examples.sub(lambda block: f"```pycon\n{inspect.cleandoc(block[1])}\n```\n", words)


def _entry(name: str) -> str:
    return f"::: headcats.{name}"
