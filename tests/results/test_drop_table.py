"""The table of what is kept and dropped adds up to what there was, and is in memory as in a folder."""

import pytest
import xarray as xr

import headcats as hc
from headcats.results.drop_table import DROPS, KEPT, drop_table
from headcats.results.manifest import Manifest
from headcats.results.records import BlockRecord, DropCounts, TaskRecord


def test_every_count_is_a_row():
    manifest = Manifest(
        tasks={
            "a": TaskRecord(word_pairs=DropCounts(5, {"too long": 2}, {"too long": "x"}), prompts=DropCounts(4)),
            "b": TaskRecord(),
        },
        blocks={"a": {"m@all": BlockRecord(dropped=3), "m@last": BlockRecord()}},
    )
    table = drop_table(manifest).to_dataframe()
    *words, of_method = table.values.tolist()
    assert words == [
        ["a", "word pairs", KEPT, 5, ""],
        ["a", "word pairs", "too long", 2, "x"],
        ["a", "prompts", KEPT, 4, ""],
    ]
    assert (of_method[1], of_method[3]) == ("m@all", 3)
    assert drop_table(Manifest()).sizes == {"drop": 0}


@pytest.fixture(scope="module")
def run(tmp_path_factory, mini):
    """A run that drops words, in memory and in a folder."""
    capitals = hc.suite("icl").named(["country_capital", "country_language"])
    odd = hc.Task(
        "odd", "knowledge", "made up", lambda n, *, seed: [*capitals[0].pairs(n, seed=seed)[:40], ("¤", "¤¤")]
    )
    folder = tmp_path_factory.mktemp("run") / "r"
    options = {
        "suite": [odd, *capitals],
        "tasks": ["odd"],
        "n_prompts": 4,
        "n_demos": 2,
        "methods": ["denoising_patch"],
    }
    return hc.run(mini, **options), hc.run(mini, out=folder, **options)


def test_results_hold_it(run):
    memory, folder = (results[DROPS].to_dataset() for results in run)
    xr.testing.assert_identical(memory, folder)
    pairs = folder.to_dataframe().query("what == 'word pairs'")
    assert pairs.n.sum() == 41
    ((_, _, reason, n, example),) = pairs.query("reason != 'kept'").values.tolist()
    assert n == 1
    assert "unknown" in reason
    assert "¤" in example
