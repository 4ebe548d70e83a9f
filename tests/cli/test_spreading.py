"""`headcats run --shard` and `--ray`: what is refused before a model is loaded, and the jobs of an array."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import xarray as xr
from counting import SUITE, counting_folder
from typer.testing import CliRunner

import headcats as hc
from headcats import cli
from headcats.cli.answer import Answer
from headcats.cli.merge import merge_command
from headcats.cli.spreading import tell_shard
from headcats.errors import ClusterError, OptionError
from headcats.results.manifest import Manifest
from headcats.study.shard import Shard

SMALL = [
    "--tasks=capital_country,next_letter",
    "--methods=zero_ablation@last",
    "--n-prompts=4",
    "--n-demos=2",
    "--quiet",
]


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        (["--shard=0/4"], OptionError, "i/n"),
        (["--shard=5/4"], OptionError, "i/n"),
        (["--shard=a/b"], OptionError, "i/n"),
        (["--shard=1/3"], OptionError, "2 cells"),
        (["--shard=1/2", "--revisions=a,b"], OptionError, "--revisions"),
        (["--ray", "--revisions=a,b"], OptionError, "--revisions"),
        (["--address=head:1"], OptionError, "--ray"),
        (["--gpus-per-worker=1"], OptionError, "--ray"),
        (["--ray", "--profile"], OptionError, "--profile"),
        (["--ray", "--gpus-per-worker=-1"], OptionError, "gpus_per_worker"),
        (["--ray", "--address=127.0.0.1:port"], ClusterError, "answers at"),
    ],
)
def test_nonsense_is_refused_and_nothing_is_written(
    options: list[str], error: type[Exception], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headcats.study.loading.load_model", lambda *source, **options: pytest.fail("loaded"))
    done = CliRunner().invoke(cli.app, ["run", *SMALL, *options, f"--out={tmp_path / 'r'}"])
    assert isinstance(done.exception, error)
    assert says in str(done.exception)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow  # study/test_runner.py has such folders from one process
@pytest.mark.ci
def test_the_jobs_of_an_array_are_joined_to_one_run(tmp_path: Path) -> None:
    """As `sbatch --array=1-2` starts them: processes at the same time, each with its number."""
    command = [sys.executable, "-m", "headcats", "run", *SMALL, "--no-views", "--json"]
    out = tmp_path / "parts"
    jobs = [
        subprocess.Popen(
            [*command, f"--out={out}", f"--shard={number}/2"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        for number in (1, 2)
    ]
    answers = [json.loads(job.communicate()[0]) for job in jobs]
    assert [job.returncode for job in jobs] == [0, 0]
    folders = [out / "shard-1-of-2", out / "shard-2-of-2"]
    assert [answer["folder"] for answer in answers] == list(map(str, folders))
    assert [answer["blocks"] for answer in answers] == [
        ["next_letter zero_ablation@last"],
        ["capital_country zero_ablation@last"],
    ]
    assert not list(out.rglob("*.html"))
    merge = [sys.executable, "-m", "headcats", "merge", *map(str, folders), f"--out={out / 'all'}"]
    subprocess.run(merge, check=True, capture_output=True)
    subprocess.run([*command, f"--out={tmp_path / 'one'}"], check=True, capture_output=True)
    assert set(hc.diff(out / "all", tmp_path / "one").state.values.tolist()) == {"same bits"}


def test_a_part_that_is_not_joined_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = hc.load_model(counting_folder(tmp_path / "model"), device="cpu")
    folder = tmp_path / Shard(1, 2).folder
    hc.run(model, suite=SUITE, tasks=["always_a"], n_prompts=8, n_demos=2, methods=["denoising_patch"], out=folder)
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
