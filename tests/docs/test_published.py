"""The published results of a real model open in one line, say what they are of, and name no place of a machine."""

from pathlib import Path

import pytest

from headcats.categories.map_spec import MapSpec
from headcats.categories.run_maps import scored_map
from headcats.results.loading import open_results
from headcats.results.place import find_place

FOLDER = Path(__file__).parents[2] / "tutorials" / "smollm2-icl"


@pytest.mark.filterwarnings("ignore::headcats.base.errors.StatisticsWarning")
def test_the_published_results() -> None:
    assert sum(path.stat().st_size for path in FOLDER.rglob("*") if path.is_file()) < 8_000_000
    run = open_results(find_place(str(FOLDER)))
    model = run.manifest.model
    assert (model.name, model.source) == ("SmolLM2-135M-Instruct-Q4_1", "./SmolLM2-135M-Instruct-Q4_1")
    assert len(run.scored_tasks) == 18
    result = scored_map(run.without_untried(), MapSpec())
    members = (result.overlap["member"] == 1).transpose("category", "layer", "head")
    assert int(members.sum()) == 8
    assert members.sel(layer=20, head=5)["category"][members.sel(layer=20, head=5)].values.tolist() == [
        "Algorithmic", "Knowledge", "Linguistic",
    ]  # fmt: skip
