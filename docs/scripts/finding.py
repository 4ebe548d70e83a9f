"""The picture of README.md: the map of the bundled run under the first sentence of what was found.

    headcats run && python docs/scripts/finding.py results/mini-icl

`--check` writes nothing and ends with 1 if docs/pictures/finding.svg is another one, or README.md has other numbers.
"""

import sys
from pathlib import Path

import xarray as xr

import headcats as hc
from headcats.categories.map_result import MapResult, verdicts_of
from headcats.categories.map_spec import MapSpec
from headcats.categories.run_maps import scored_map
from headcats.figures.static.svg import svg
from headcats.reports.page.saved import saved_evidence
from headcats.reports.text.answer import contradictions, headline
from headcats.results.loading import open_results
from headcats.results.place import find_place

PICTURE = Path(__file__).parents[1] / "pictures" / "finding.svg"


def map_of(run: Path) -> MapResult:
    """Map of the bundled run, beside its other maps."""
    return scored_map(open_results(find_place(str(run))).without_untried(), MapSpec())


def facts(result: MapResult, run: Path) -> list[str]:
    """What the lines below the picture say, also of the verdicts where `headcats evidence` has been run."""
    verdicts = {verdict for tree in _tests(run).values() for verdict in verdicts_of(tree).values()}
    specific, other = (finding.fields for finding in contradictions(result))
    return [
        f"Task-specific effects leave {specific['left']} of these {specific['n']} memberships{specific['left_open']}",
        f"{other['method']} names {other['both']} of them{other['left_open']} and {other['others']} others",
        *(f"all four categories are {verdict}" for verdict in verdicts),
    ]


def _tests(run: Path) -> dict[str, xr.DataTree]:
    return saved_evidence(open_results(find_place(str(run)))).contents


def finding(result: MapResult) -> str:
    """The picture as SVG."""
    title = str(next(headline(result)))
    picture = svg(hc.figures.overlap_map(result.overlap, layout="hero", title=title))
    if picture is None:
        raise ValueError("The map of a run must have a static picture.")
    return picture + "\n"


if __name__ == "__main__":
    run, *options = sys.argv[1:]
    result = map_of(Path(run))
    made = finding(result)
    if options == ["--check"]:
        text = " ".join((PICTURE.parents[2] / "README.md").read_text(encoding="utf-8").split())
        if missing := [fact for fact in facts(result, Path(run)) if fact not in text]:
            sys.exit(f"README.md has to say: {'; '.join(missing)}.")
        if not _tests(Path(run)):
            print(f"The verdicts in README.md were not checked: `headcats evidence {run}` comes first.")
        sys.exit(0 if made == PICTURE.read_text(encoding="utf-8") else f"Write {PICTURE.name} again: {__doc__}")
    PICTURE.write_text(made, encoding="utf-8")
