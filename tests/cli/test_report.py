"""`headcats report` of several folders."""

import json

import pytest
from reports.page.synthetic_runs import written_run
from typer.testing import CliRunner

from headcats import cli
from headcats.base.errors import DataError

pytestmark = pytest.mark.filterwarnings("ignore::headcats.base.errors.StatisticsWarning")
MEMBERS = {"Knowledge": [(0, 1)]}


@pytest.fixture
def folders(tmp_path):
    return [written_run(tmp_path / name, MEMBERS, seed=seed) for seed, name in enumerate(("one", "two"))]


def invoked(*arguments):
    return CliRunner().invoke(cli.app, ["report", *map(str, arguments)])


def test_the_file_of_several_and_one_that_is_left_out(folders, tmp_path, caplog):
    target, empty = tmp_path / "page.html", written_run(tmp_path / "empty", {}, tasks={})
    done = invoked(*folders, empty, "--out", target, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["files"] == {"report": str(target)}
    assert "one, two</h1>" in target.read_text(encoding="utf-8")
    assert "empty" in caplog.text
    assert "empty" not in done.stdout


def test_of_a_series_the_single_revisions_are_named(folders, tmp_path):
    from simulated_series import STRONG, results_of, series_of, written

    series = written(series_of({"step1": results_of(STRONG), "step2": results_of(STRONG, seed=1)}), tmp_path / "series")
    done = invoked(folders[0], series, "--out", tmp_path / "page.html")
    assert isinstance(done.exception, DataError)
    assert str(series) in str(done.exception)
