"""What the site shows beside the files of `docs/`: hooks that mkdocs calls (`hooks` in mkdocs.yml).

Tutorials become pages, names of the reference links, formulas MathML; pictures are made of a run of the bundled model,
and a live report of the published results.
"""

import html
import posixpath
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).parent))
from gallery import Picture, pictures_of
from live_report import report_of
from reference_names import linked
from reference_pages import reference_pages

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "tutorials" / "smollm2-icl"
# Pages that stand where their readers look for them; links to all other files lead to the repository.
_ELSEWHERE = ("CONTRIBUTING.md", "benchmarks/README.md", "benchmarks/RECOVERY.md", "tutorials/mini-checkpoints.md")
_LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")
_FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)

_gallery: list[Picture] = []


def on_config(config: MkDocsConfig) -> None:
    """Make the run that the site shows, as a reader would, if it is not there."""
    run = ROOT / config.extra["run"]
    for command, made in (("run", run / "manifest.json"), ("evidence", run / "evidence")):
        if not made.exists():
            where = ["--out", str(run)] if command == "run" else [str(run)]
            subprocess.run([sys.executable, "-m", "headcats", command, *where], check=True, stdout=sys.stderr)


@event_priority(100)
def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages and pictures that are not files of `docs/`."""
    run = ROOT / config.extra["run"]
    pictures = sorted((ROOT / "tutorials").rglob("*.[ps][nv]g"))
    for path in (*_ELSEWHERE, *(picture.relative_to(ROOT).as_posix() for picture in pictures)):
        files.append(File.generated(config, path, abs_src_path=str(ROOT / path)))
    made = {f"tutorials/{path.stem}.md": _as_page(path) for path in sorted((ROOT / "tutorials").glob("*.ipynb"))}
    made |= reference_pages()
    made |= {f"live/{path}": content for path, content in report_of(PUBLISHED).items()}
    _gallery[:] = pictures_of(run)
    made |= {f"gallery/{picture.name}.svg": picture.svg for picture in _gallery}
    for path, content in made.items():
        files.append(File.generated(config, path, content=content))
    return files


def _as_page(path: Path) -> str:
    """A notebook as Markdown: its outputs are stripped, so cells are text or code. Badges would be fetched."""
    cells = nbformat.read(path, as_version=4).cells
    for cell in cells:
        cell.source = re.sub(r"!\[([^\]]+)\]\(https:[^)]+\)", r"\1", cell.source)
    return "\n\n".join(
        cell.source if cell.cell_type == "markdown" else f"```python\n{cell.source}\n```" for cell in cells
    )


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Fill the gallery; lead links to where their targets stand on the site, and names to the reference."""
    uri = page.file.src_uri
    if uri == "gallery.md":
        markdown = markdown.replace("<!-- figures -->", "\n".join(map(_entry, _gallery)))
    if uri.startswith("reference/"):
        return markdown
    parts = re.split(r"(^```.*?^```$)", markdown, flags=re.MULTILINE | re.DOTALL)
    parts[::2] = [_LINK.sub(lambda link: f"]({_on_site(link[1], uri, config, files)}", part) for part in parts[::2]]
    return linked("".join(parts))


def _entry(picture: Picture) -> str:
    return (
        f'<div markdown="1">\n[![{picture.name}](gallery/{picture.name}.svg)](gallery/{picture.name}.svg)\n\n'
        f"[`{picture.name}`][headcats.figures.{picture.name}] {picture.caption}\n\n"
        f"```python\n{picture.code}\n```\n\n</div>\n"
    )


def _on_site(target: str, uri: str, config: MkDocsConfig, files: Files) -> str:
    """A relative link of the repository as a relative link of the site, or an address of the repository."""
    place = uri if uri in _ELSEWHERE or uri.startswith("tutorials/") else f"docs/{uri}"
    path = posixpath.normpath(posixpath.join(posixpath.dirname(place), target))
    here = re.sub(r"^(tutorials/.*)\.ipynb$", r"\1.md", path.removeprefix("docs/"))
    if files.get_file_from_path(here) is not None:
        return posixpath.relpath(here, posixpath.dirname(uri) or ".")
    return f"{config.extra['repository']}/blob/main/{path}" if (ROOT / path).exists() else target


def on_page_content(html_text: str, **_: Any) -> str:
    """Formulas as MathML, which browsers draw by themselves."""
    return _FORMULA.sub(_mathml, html_text)


def _mathml(found: re.Match[str]) -> str:
    return convert(html.unescape(found[2]), display="inline" if found[1] == "span" else "block")
