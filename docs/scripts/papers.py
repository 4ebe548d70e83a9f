"""Write docs/papers.md again: every constant and position of five papers beside ours, from the rows of their methods.

`python docs/scripts/papers.py` does it.
"""

import importlib
import pkgutil
from pathlib import Path

from headcats import papers, registry
from headcats.methods.choices import Choice
from headcats.methods.presets import Preset

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "papers.md"
_INTRODUCTION = """# The papers, constant by constant

Each method follows a paper. Every constant and every position of the paper and of its published code stands here
beside ours: the same, or another one and why. A row names the test that pins ours; `headcats list presets` prints the
rows that differ. Ours are read from the code: `python docs/scripts/papers.py` writes this page.
"""
_HEAD = "| choice | paper | ours | pinned by |\n|:--|:--|:--|:--|\n"


def page() -> str:
    """The whole page."""
    return _INTRODUCTION + "".join(map(_section, sorted(_packages())))


def _packages() -> list[str]:
    """Folders of methods that say what they chose."""
    folders = [Path(path) for path in papers.__path__]
    names = [module.name for module in pkgutil.iter_modules(papers.__path__) if module.ispkg]
    return [name for name in names if any((folder / name / "choices.py").is_file() for folder in folders)]


def _section(package: str) -> str:
    choices: tuple[Choice, ...] = importlib.import_module(f"headcats.papers.{package}.choices").CHOICES
    presets: list[Preset] = [registry.lookup("preset", name) for name in registry.names("preset")]
    own = [preset for preset in presets if preset.choices == choices]
    names = ", ".join(f"`{preset.name}`" for preset in own)
    title = f"\n## {own[0].paper}\n\n`hc.papers.{package}`, preset{'s' if len(own) > 1 else ''} {names}: "
    n_same = sum(choice.same for choice in choices)
    return title + f"{n_same} of {len(choices)} choices are the paper's.\n\n" + _HEAD + "".join(map(_row, choices))


def _row(choice: Choice) -> str:
    ours = "same" if choice.same else f"**{_text(choice.ours)}**: {_text(choice.why)}"
    cells = (choice.what, f"{_text(choice.paper)} ({choice.where})", ours, f"`{choice.test}`")
    return f"| {' | '.join(map(_cell, cells))} |\n"


def _text(value: object) -> str:
    if isinstance(value, tuple | list):
        return ", ".join(map(_text, value))
    return repr(value) if "\n" in str(value) else str(value)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
