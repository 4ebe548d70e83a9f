"""The published results of a real model open in one line, README.md says what is in them, and they name no place."""

from pathlib import Path

import finding
import pytest

pytestmark = pytest.mark.filterwarnings("ignore::headcats.base.errors.StatisticsWarning")

ICL, GAP = finding.PUBLISHED, finding.PUBLISHED.with_name("smollm2-icl-gap")
EVERY = ["Algorithmic", "Knowledge", "Linguistic", "Translation"]


@pytest.mark.parametrize(
    ("folder", "n_tasks", "n_memberships", "of_widest"), [(ICL, 18, 8, EVERY[:3]), (GAP, 33, 6, EVERY)]
)
def test_the_published_results(folder: Path, n_tasks: int, n_memberships: int, of_widest: list[str]) -> None:
    files = [path for path in folder.rglob("*") if path.is_file() and ".kept" not in path.parts]
    assert sum(path.stat().st_size for path in files) < 8_000_000
    run = finding.published(folder)
    model = run.manifest.model
    assert (model.name, model.source) == ("SmolLM2-135M-Instruct-Q4_1", "./SmolLM2-135M-Instruct-Q4_1")
    assert len(run.scored_tasks) == n_tasks
    members = (finding.map_of(run).overlap["member"] == 1).transpose("category", "layer", "head")
    assert int(members.sum()) == n_memberships
    widest = members.sel(layer=20, head=5)
    assert widest["category"][widest].values.tolist() == of_widest


def test_the_readme_says_what_is_in_them() -> None:
    run = finding.published()
    result = finding.map_of(run)
    assert finding.PICTURE.read_text(encoding="utf-8") == finding.picture(result)
    text = " ".join((finding.ROOT / "README.md").read_text(encoding="utf-8").split())
    said = list(finding.facts(result, run))
    assert len(said) >= 10
    assert [fact for fact in said if fact not in text] == []
