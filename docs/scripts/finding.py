"""The picture of README.md: the map of the bundled run under the first sentence of what was found.

    headcats run && python docs/scripts/finding.py results/mini-icl

`--check` writes nothing and ends with 1 if docs/pictures/finding.svg is another one.
"""

import sys
from pathlib import Path

import headcats as hc
from headcats.categories.reading import Reading
from headcats.categories.run_maps import run_maps
from headcats.figures.static.svg import svg
from headcats.reports.text.answer import headline
from headcats.results.loading import open_results
from headcats.results.place import find_place

PICTURE = Path(__file__).parents[1] / "pictures" / "finding.svg"


def finding(run: Path) -> str:
    """The picture as SVG."""
    maps = run_maps(open_results(find_place(str(run))).without_untried(), Reading())
    title = str(next(headline(maps)))
    picture = svg(hc.figures.overlap_map(maps.mapped.tables["overlap"], layout="hero", title=title))
    if picture is None:
        raise ValueError("The map of a run must have a static picture.")
    return picture + "\n"


if __name__ == "__main__":
    run, *options = sys.argv[1:]
    made = finding(Path(run))
    if options == ["--check"]:
        sys.exit(0 if made == PICTURE.read_text(encoding="utf-8") else f"Write {PICTURE.name} again: {__doc__}")
    PICTURE.write_text(made, encoding="utf-8")
