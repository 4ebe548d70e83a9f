"""The published results of a real model open in one line, README.md says what is in them, and they name no place."""

import finding
import pytest

pytestmark = pytest.mark.filterwarnings("ignore::headcats.base.errors.StatisticsWarning")


def test_the_published_results() -> None:
    files = [path for path in finding.PUBLISHED.rglob("*") if path.is_file() and ".kept" not in path.parts]
    assert sum(path.stat().st_size for path in files) < 8_000_000
    run = finding.published()
    model = run.manifest.model
    assert (model.name, model.source) == ("SmolLM2-135M-Instruct-Q4_1", "./SmolLM2-135M-Instruct-Q4_1")
    result = finding.map_of(run)
    members = (result.overlap["member"] == 1).transpose("category", "layer", "head")
    assert int(members.sum()) == 8
    assert members.sel(layer=20, head=5)["category"][members.sel(layer=20, head=5)].values.tolist() == [
        "Algorithmic", "Knowledge", "Linguistic",
    ]  # fmt: skip


def test_the_readme_says_what_is_in_them() -> None:
    run = finding.published()
    result = finding.map_of(run)
    assert finding.PICTURE.read_text(encoding="utf-8") == finding.picture(result)
    text = " ".join((finding.ROOT / "README.md").read_text(encoding="utf-8").split())
    said = list(finding.facts(result, run))
    assert len(said) >= 5
    assert [fact for fact in said if fact not in text] == []
