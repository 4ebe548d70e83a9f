"""Figures: labelled data in, plotly figure out. One file per figure; they read saved tables only.

Every figure comes with its numbers (`data(fig)`) and can be written to a page that opens offline, or to a picture
(`write(fig, path)`). Those that tell categories apart by colour take `palette="colour_blind"`, too; those of heads are
drawn as in their papers, without marks on cells, by `layout="paper", marks="none"`.
A file in this folder that holds a function decorated with `@figure` is found by itself; figures registered
elsewhere (a notebook, another package) are reached by name in the same way: `hc.figures.my_figure`.
"""

import importlib
import pkgutil
import sys
from typing import Any

from headcats.base.errors import UnknownNameError
from headcats.base.registry import lookup, names
from headcats.figures.figure import data, figure, write

__all__ = ["data", "figure", "write"]

# A figure's file has the figure's name, and importing a file binds the module to that name here; the loop ends by
# binding the function instead. A later `import headcats.figures.<name>` finds the module loaded and binds nothing.
for _file in pkgutil.iter_modules(__path__):
    for _name, _item in list(vars(importlib.import_module(f"{__name__}.{_file.name}")).items()):
        if getattr(_item, "is_headcats_figure", False):
            globals()[_name] = _item
            __all__.append(_name)

# Its import takes IPython, which a notebook has anyway.
if "ipykernel" in sys.modules:
    from headcats.figures.static.renderer import show_pictures

    show_pictures()


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    try:
        return lookup("figure", name)
    except UnknownNameError as problem:
        raise AttributeError(str(problem)) from None


def __dir__() -> list[str]:
    return sorted({*__all__, *names("figure")})
