"""Draw the gallery into a folder: `PYTHONPATH=tests python -m figures.gallery.render DIR [SHAPE...]`.

An SVG of every figure in every shape, and a PNG of each as Chromium shows it, light and dark.
"""

import argparse
from pathlib import Path

import plotly.graph_objects as go
from browser import opened_browser
from figures.chromium import take_picture
from figures.gallery.shapes import gallery
from playwright.sync_api import Browser

from headcats.figures import write
from headcats.figures.static.svg import svg


def main() -> None:
    """Write the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("shapes", nargs="*", help="such as 32x32; default: all")
    chosen = parser.parse_args()
    with opened_browser() as browser:
        for shape, figures in gallery():
            if chosen.shapes and shape not in chosen.shapes:
                continue
            folder = chosen.folder / shape
            folder.mkdir(parents=True, exist_ok=True)
            for name, fig in figures:
                render(fig, folder / name, browser=browser)


def render(fig: go.Figure, path: Path, *, browser: Browser) -> None:
    """Write a figure as PATH.svg, PATH.html, PATH.png and PATH_dark.png."""
    picture = svg(fig)
    if picture is None:
        raise ValueError(f"{path.name} has no static picture")
    path.with_suffix(".svg").write_text(picture, encoding="utf-8")
    page = write(fig, path.with_suffix(".html"))
    size = int(fig.layout.width), int(fig.layout.height)
    for theme, suffix in (("light", ".png"), ("dark", "_dark.png")):
        take_picture(browser, page, path.with_name(path.name + suffix), size=size, theme=theme)


if __name__ == "__main__":
    main()
