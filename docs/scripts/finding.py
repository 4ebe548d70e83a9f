"""The picture of README.md and what its lines below say: the published results of a language model.

    python docs/scripts/finding.py

draws docs/pictures/finding.svg again and prints the facts; tests/docs/test_published.py holds README.md to both.
"""

from collections.abc import Iterator
from pathlib import Path

import headcats as hc
from headcats.categories.head_roles import head_roles
from headcats.categories.map_result import MapResult, verdicts_of
from headcats.categories.map_spec import MapSpec
from headcats.categories.run_maps import scored_map
from headcats.figures.static.svg import svg
from headcats.reports.page.saved import saved_evidence
from headcats.reports.text.answer import contradictions, headline
from headcats.results.loading import open_results
from headcats.results.place import find_place
from headcats.results.run_results import RunResults

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "pictures" / "finding.svg"
PUBLISHED = ROOT / "tutorials" / "smollm2-icl"


def published() -> RunResults:
    """The published results."""
    return open_results(find_place(str(PUBLISHED)))


def map_of(run: RunResults) -> MapResult:
    """Map of all categories, beside the other maps of the run."""
    return scored_map(run.without_untried(), MapSpec())


def facts(result: MapResult, run: RunResults) -> Iterator[str]:
    """What the lines below the picture say."""
    yield f"{len(run.scored_tasks)} of {len(run.manifest.tasks)} tasks"
    members = (result.overlap["member"] == 1).any("category")
    yield f"{int(members.sum())} of its {members.size} heads"
    yield from (f"{role.head} is {role.name.split(' in ')[0]}" for role in head_roles(result.overlap)[:1])
    for number, found in enumerate(contradictions(result)):
        of = found.fields
        if number == 0:
            yield f"Task-specific effects leave {of['left']} of these {of['n']} memberships{of['left_open']}"
        else:
            yield f"{of['method']} names {of['both']} of them{of['left_open']} and {of['others']} others"
    for test in saved_evidence(run).contents.values():
        (verdict,) = set(verdicts_of(test).values())  # README.md has one sentence for all of them
        yield f"all categories are [{verdict}]"


def picture(result: MapResult) -> str:
    """The picture as SVG."""
    drawn = svg(hc.figures.overlap_map(result.overlap, layout="hero", title=str(next(headline(result)))))
    if drawn is None:
        raise ValueError("The map of a run must have a static picture.")
    return drawn + "\n"


if __name__ == "__main__":
    run = published()
    result = map_of(run)
    PICTURE.write_text(picture(result), encoding="utf-8")
    print(*facts(result, run), sep="\n")
