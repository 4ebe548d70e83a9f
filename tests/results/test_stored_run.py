"""The table of what is kept and dropped adds up to what there was, and is in memory as in a folder."""

import xarray as xr
from counting import INPUTS, counting_suite

import headcats as hc
from headcats.results.stored_run import DROPS


def test_results_hold_it(tmp_path, counting_model):
    odd = hc.Task("odd", "knowledge", "made up", lambda n, *, seed: [*((word, "w40") for word in INPUTS), ("¤", "w40")])
    options = {
        "suite": counting_suite().with_tasks(odd),
        "tasks": ["odd"],
        "n_prompts": 4,
        "n_demos": 2,
        "methods": ["denoising_patch"],
    }
    memory, folder = (hc.run(counting_model, out=out, **options)[DROPS].to_dataset() for out in (None, tmp_path / "r"))
    xr.testing.assert_identical(memory, folder)
    pairs = folder.to_dataframe().query("what == 'word pairs'")
    assert pairs.n.sum() == 25
    ((_, _, reason, n, example),) = pairs.query("reason != 'kept'").values.tolist()
    assert n == 1
    assert "unknown" in reason
    assert "¤" in example
