"""`headcats run --shard` and `--cluster`: what is refused before a model is loaded, and the jobs of an array."""

import json
import re
import shlex
from pathlib import Path

import pytest
import xarray as xr
from results.folders import folder as results_folder
from typer.testing import CliRunner

from headcats import cli
from headcats.base.errors import ClusterError, OptionError
from headcats.cli.answer import Answer
from headcats.cli.merge import merge_command
from headcats.cli.spreading import tell_shard
from headcats.results.manifest import Manifest
from headcats.scale.shard import Shard

SMALL = [
    "--tasks=capital_country,next_letter",
    "--methods=zero_ablation@last",
    "--n-prompts=4",
    "--n-demos=2",
    "--quiet",
]


NONSENSE = {
    "--shard=5/4": "i/n",
    "--shard=1/3": "2 cells",
    "--shard=1/2 --revisions=a,b": "--revisions",
    "--cluster=here --revisions=a,b": "--revisions",
    "--cluster=here,gpus=-1": "here,gpus=-1",
    "--cluster=here,cpus=1": "here,cpus=1",
    "--cluster=127.0.0.1:port": "answers at",
}


def test_nonsense_is_refused_and_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headcats.study.loading.load_model", lambda *source, **options: pytest.fail("loaded"))
    for options, says in NONSENSE.items():
        done = CliRunner().invoke(cli.app, ["run", *SMALL, *options.split(), f"--out={tmp_path / 'r'}"])
        error = ClusterError if "127.0.0.1" in options else OptionError
        assert isinstance(done.exception, error), options
        assert says in str(done.exception)
        assert list(tmp_path.iterdir()) == []


def test_a_part_that_is_not_joined_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = results_folder(tmp_path / Shard(1, 2).folder, "a")
    merge_command([str(folder)], tmp_path / "half")
    assert "2/2" in capsys.readouterr().err


def test_the_command_that_joins_the_parts_can_be_pasted(capsys: pytest.CaptureFixture[str]) -> None:
    results = xr.DataTree(xr.Dataset(attrs={"manifest": Manifest().to_json()}))
    answer = Answer(as_json=True)
    tell_shard(results, Shard(1, 2), Path("my parts; rm") / "shard-1-of-2", answer)
    answer.end()
    sentences = json.loads(capsys.readouterr().out)["sentences"]
    command = re.findall(r"`(headcats merge .*?)`", sentences[-1])[0]
    assert shlex.split(command) == ["headcats", "merge", "my parts; rm/shard-*-of-2", "--out", "my parts; rm/all"]
