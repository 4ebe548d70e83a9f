"""Write the API reference: pages that open from disk, made from the docstrings of every public name.

    pip install -c constraints.txt -e ".[docs]" && python docs/reference.py

The pages go to `site/`, or to the folder named behind the command; `site/index.html` is the first. Pages and search are
pdoc's. What is done here: names that are loaded at first use are looked up, registered items become functions, and the
names of the first page stand in the order and under the headings of the docstring of `headcats`.
"""

import dataclasses
import inspect
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import pdoc
import pdoc.render
from jinja2 import pass_context
from jinja2.runtime import Context
from markupsafe import Markup
from pdoc.render_helpers import format_signature, relative_link, to_html
from public_names import NAMESPACES, PublicName, public_names
from signatures import short_signature

import headcats

HERE = Path(__file__).parent
PAGES = ("headcats", *(f"headcats.{name}" for name in NAMESPACES), "headcats.errors")
GUIDES = {
    "your_data": "Your own data",
    "schema": "Data at each step",
    "glossary": "Glossary",
    "relabelling": "How evidence tests categories",
}
"""Name of a file beside this one -> title of its page."""
_NAMES = {public.name for public in public_names()}


class Page(pdoc.doc.Module):
    """One page: a module with the public names that users reach through it."""

    def __init__(self, name: str, names: dict[str, PublicName]) -> None:
        super().__init__(sys.modules[name])
        self.names = names

    @property
    def _member_objects(self) -> dict[str, Any]:
        return {name: _shown(self.modulename, name, public) for name, public in self.names.items()}

    def _taken_from(self, member_name: str, obj: Any) -> tuple[str, str]:
        # pdoc shows members of a class below it if they were defined where the class was.
        return (obj.__module__, obj.__qualname__) if inspect.isclass(obj) else (self.modulename, member_name)

    @property
    def submodules(self) -> list[pdoc.doc.Module]:
        """The pages below this one, and no other module."""
        return [PAGE_OF[name] for name in PAGES[1:]] if self.modulename == "headcats" else []

    @property
    def groups(self) -> list[tuple[str, list[pdoc.doc.Doc[Any]]]]:
        """Headings of the docstring with the members it names below them, each under the first; then the others."""
        parts = re.split(r"^## (.+)$", self.docstring, flags=re.MULTILINE)
        found: list[tuple[str, list[pdoc.doc.Doc[Any]]]] = []
        left = dict(self.members)
        for title, text in zip(parts[1::2], parts[2::2], strict=True):
            named = [left.pop(name) for name in dict.fromkeys(re.findall(r"`(\w+)`", text)) if name in left]
            found += [(title, named)] if named else []
        return [*found, *([("", list(left.values()))] if left else [])]


PAGE_OF: dict[str, Page] = {}


def write_reference(folder: Path) -> None:
    """Write every page, the search index and the first page into a folder.

    Raises:
        UserWarning: A type in a signature that could not be read.
    """
    names = public_names()
    for page in PAGES:
        prefix = page.removeprefix("headcats").removeprefix(".")
        PAGE_OF[page] = Page(page, dict(_on_page(names, prefix)))
    pdoc.render.configure(
        docformat="google",
        include_undocumented=False,
        show_source=False,
        template_directory=HERE,
        footer_text=f"headcats {headcats.__version__}",
    )
    environment = pdoc.render.env
    environment.filters["format_signature"] = lambda signature, colon: format_signature(
        short_signature(signature), colon
    )
    environment.filters["with_links"] = _with_links
    environment.globals |= {"constructor": _constructor, "guides": GUIDES, "relative_link": relative_link}
    for name, module in PAGE_OF.items():
        path = folder.joinpath(*name.split(".")).with_suffix(".html")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(pdoc.render.html_module(module, PAGE_OF), encoding="utf-8")
    for name, title in GUIDES.items():
        text = (HERE / f"{name}.md").read_text(encoding="utf-8").replace(".md)", ".html)")
        html = environment.get_template("guide.html.jinja2").render(title=title, body=_linked(to_html(text), page=name))
        (folder / f"{name}.html").write_text(html, encoding="utf-8")
    (folder / "index.html").write_text(pdoc.render.html_index(PAGE_OF), encoding="utf-8")
    (folder / "search.js").write_text(pdoc.render.search_index(PAGE_OF), encoding="utf-8")


def _on_page(names: list[PublicName], prefix: str) -> list[tuple[str, PublicName]]:
    """The names directly below a module; pdoc finds the members of classes itself."""
    found = []
    for public in names:
        above, _, name = public.name.rpartition(".")
        if above == prefix:
            found.append((name, public))
    return found


def _shown(module: str, name: str, public: PublicName) -> Any:
    """A class as it is; everything else as a function of its own, with the signature and the words of the name."""
    if public.is_class:
        return public.item

    def shown() -> None: ...

    shown.__module__, shown.__name__, shown.__qualname__ = module, name, name
    shown.__doc__ = public.docstring
    shown.__signature__ = short_signature(public.signature)  # type: ignore[attr-defined]
    return shown


def _signature(signature: inspect.Signature, colon: bool) -> Markup:
    return format_signature(short_signature(signature), colon)


def _constructor(shown: pdoc.doc.Class) -> inspect.Signature | None:
    """How users make one, if they do: of data classes and named tuples."""
    made = dataclasses.is_dataclass(shown.obj) or issubclass(shown.obj, tuple)
    return inspect.signature(shown.obj).replace(return_annotation=inspect.Signature.empty) if made else None


@pass_context
def _with_links(context: Context, words: Markup) -> Markup:
    return _linked(words, page=context["module"].modulename)


def _linked(words: str, *, page: str) -> Markup:
    """Link names as users write them, `hc.rules.fdr`; pdoc links whole names of modules."""

    def link(match: re.Match[str]) -> str:
        name = match[1]
        if name not in _NAMES:
            return match[0]
        above = max((page for page in (*NAMESPACES, "errors") if name.startswith(f"{page}.")), key=len, default="")
        target = f"headcats.{above}" if above else "headcats"
        place = name.removeprefix(f"{above}.")
        return f'<a href="{relative_link(page, target)}#{place}">{match[0]}</a>'

    return Markup(re.sub(r"<code>hc\.([\w.]+)</code>", link, words))


if __name__ == "__main__":
    warnings.simplefilter("error", UserWarning)
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "site")
    write_reference(folder)
    print(f"Wrote {folder / 'index.html'}")
