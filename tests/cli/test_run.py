"""`headcats run`: what it prints and writes, where it may write, and how it is stopped."""

import json
import re
import shlex
import signal
from pathlib import Path

import pytest
import xarray as xr
from cli.done import QUICK
from counting import SUITE, counting_checkpoints
from results.folders import folder as results_folder

from headcats.cli.answer import Answer
from headcats.cli.options import split_names
from headcats.cli.run import _tell_shard
from headcats.results.manifest import Manifest
from headcats.scale.shard import Shard

ONE = ("--tasks", "always_a", "--methods", "zero_ablation", "--out", "r")


def test_run_prints_heads_and_writes_map_and_results(run_quickly, tmp_path):
    done = run_quickly("--methods", "denoising_patch,mean_ablation", "--details")
    assert done.code == 0, done.err
    shown = "results/model-counting"
    folder = tmp_path / "here" / shown
    methods = ("denoising_patch@last", "mean_ablation@all")
    blocks = {f"blocks/{method}.nc" for method in methods}
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert {file for file in files if file.startswith(".kept/")}
    files = {file for file in files if not file.startswith(".kept/")}
    others = {"manifest.json", "suite.json", "descriptors.nc", "overlap_map.html", "report.html"}
    assert files == others | blocks | {".writer.lock"}
    assert "3 of 4 tasks" in done.text
    assert "shifted: " in done.text
    assert "denoising_patch at" in done.text
    assert "2 of 2 1 0.0 L0H0" in done.rows
    assert f"{shown}/overlap_map.html" in done.text
    assert f"map {shown} --csv" in done.text
    page = (folder / "overlap_map.html").read_text(encoding="utf-8")
    assert "L0H0" in page
    assert "<script src" not in page


@pytest.mark.usefixtures("no_page")
def test_a_run_that_extends_a_folder_maps_its_own_method(run_quickly, headcats, monkeypatch, tmp_path):
    folder = tmp_path / "here" / "r"
    method = "other_item_patch@last"
    with monkeypatch.context() as untold:
        untold.setattr("headcats.cli.run.print_run_summary", lambda *given, **options: None)
        assert run_quickly("--tasks", "always_a", "--methods", "denoising_patch", "--out", folder).code == 0
    done = run_quickly("--tasks", "always_a", "--methods", method, "--out", folder, "--details")
    assert done.code == 0, done.err
    assert "--method other_item_patch" in done.text
    assert "other_item_patch at last" in (folder / f"overlap_map-{method}.html").read_text(encoding="utf-8")
    # A control is called one, and only the category of the task is named.
    assert "other_item_patch is a control" in done.text
    text = headcats("map", "r").text
    assert not {"Linguistic", "Algorithmic"} & set(re.findall(r"\w+", text))
    assert "is a control" not in text


@pytest.fixture
def asked(monkeypatch):
    """The options of every study that was to be loaded, and how it was to be run; nothing is."""
    studies = []
    monkeypatch.setattr("headcats.study.loading.load_study", lambda options: (None, {"asked": options}))

    def run(model, *, asked, **options):
        studies.append(asked | options)
        raise KeyboardInterrupt

    monkeypatch.setattr("headcats.study.runner.run", run)
    return studies


def test_a_bar_where_somebody_looks_and_none_with_quiet(run_quickly, asked):
    assert run_quickly(*ONE).code == run_quickly(*ONE, "--quiet").code == 130
    assert [study.get("progress") for study in asked] == [None, False]


def test_a_study_file_says_what_to_run_and_options_win(headcats, asked, tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(
        f"""
        model = "elsewhere"
        suite = "{SUITE}"
        methods = ["zero_ablation"]
        tasks = ["always_a", "always_b"]
        n-prompts = 12
        n_demos = 2
        seed = 3
        out = "from-file"
        """,
        encoding="utf-8",
    )
    done = headcats(
        "run", path, "--seed", 4, "--tasks", "always_c", "--out", "from-option", "--quiet", "--no-attention"
    )
    assert done.code == 130
    (study,) = asked
    expected = {"model": "elsewhere", "seed": 4, "n_prompts": 12, "n_demos": 2, "methods": ["zero_ablation"],
                "tasks": ["always_c"]}  # fmt: skip
    assert {name: study[name] for name in expected} == expected
    assert str(study["out"]) == "from-option"


def test_methods_are_split_at_spaces_and_commas_but_not_between_options():
    assert split_names("kl,mean_ablation") == ["kl", "mean_ablation"]
    assert split_names("a:b=1,c=2@last d") == ["a:b=1,c=2@last", "d"]
    assert split_names(" a , b ") == ["a", "b"]


# ------------------------------------------------------------------------------------------------- where it may write
def test_places_that_cannot_take_results(run_quickly, tmp_path):
    here = tmp_path / "here"
    (here / "file").write_text("mine", encoding="utf-8")
    (here / "taken").mkdir()
    (here / "taken" / "thesis.tex").write_text("mine", encoding="utf-8")
    for out, named in {"file/r": "file is a file", "/proc/headcats": "/proc", "taken": "manifest.json"}.items():
        done = run_quickly("--out", out, "--quiet")
        assert done.code == 2
        assert named in done.text
        assert "Traceback" not in done.err
        assert "Memory: " not in done.err, "before anything is computed"
    assert sorted(path.name for path in here.rglob("*")) == ["file", "taken", "thesis.tex"]


# ----------------------------------------------------------------------------------------------------------- stopping
@pytest.fixture
def usual_signals():
    """Ctrl-C and SIGTERM as in a terminal: what is started in the background may be made to ignore them."""
    kept = {sent: signal.getsignal(sent) for sent in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    for sent, handler in kept.items():
        signal.signal(sent, handler)


@pytest.mark.usefixtures("usual_signals")
@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_stopping_says_that_the_same_command_goes_on(run_quickly, monkeypatch, tmp_path, sent, code):
    before = signal.getsignal(signal.SIGTERM)

    def stop(*arguments, **options):
        signal.raise_signal(sent)
        pytest.fail("the signal changed nothing")

    monkeypatch.setattr("headcats.study.loading.load_study", lambda options: (None, {}))
    monkeypatch.setattr("headcats.study.runner.run", stop)
    done = run_quickly("--out", "r")
    assert done.code == code
    assert "holds nothing yet" in done.err
    (tmp_path / "here" / "r").mkdir()
    (tmp_path / "here" / "r" / "manifest.json").touch()
    done = run_quickly("--out", "r")
    assert done.code == code
    assert "saved in r" in done.text
    assert "Traceback" not in done.text
    assert signal.getsignal(signal.SIGTERM) is before


def test_stopping_while_a_model_is_loaded_is_one_line_too(run_quickly, headcats, monkeypatch):
    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("headcats.study.loading.load_model", stop)
    assert run_quickly("--out", "r").err.startswith("Note: Stopped")
    done = headcats("validate", "--model", "mini", *QUICK)
    assert done.code == 130
    assert re.fullmatch(r"Note: Stopped.*\n", done.err)


# Of a run: its options, how many prompts the file `own.csv` has that it may be on, and the command that it ends in.
THREE = ("--tasks", "always_a,always_b,always_c")
SHORT = ("--methods", "denoising_patch")
ENDINGS = [
    ((*THREE[:1], "always_a,always_c", *SHORT, "--n-prompts", "2"), 0, "report"),
    (("--suite", "own.csv"), 30, "evidence"),
    (("--suite", "own.csv", *SHORT), 2, "report"),
]
MORE_ENDINGS = [
    (THREE, 0, "evidence"),
    (("--methods", "denoising_patch,attribution_patch,other_item_patch"), 0, "evidence"),
    (("--methods", "mean_ablation:reference=task", *THREE), 0, "compare"),
    (("--suite", "own.csv"), 20, "compare"),
    (("--suite", "own.csv"), 120, "evidence"),
    (("--suite", "own.csv", "--n-prompts", "2", *SHORT), 30, "report"),
]


def own_file(n: int) -> str:
    """Finished prompts that the counting model can do, with different words."""
    rows = ["clean,corrupted,answer,wrong"]
    for i in range(n):
        answer, wrong = f"w{40 + i % 8}", f"w{40 + (i + 1) % 8}"
        rows.append(
            f'"w{30 + i // 24} → {answer}\nw{i % 24} →","w{30 + i // 24} → {wrong}\nw{i % 24} →", {answer}, {wrong}'
        )
    return "\n".join(rows)


@pytest.mark.parametrize(
    ("options", "n", "following"), [*ENDINGS, *(pytest.param(*each, marks=pytest.mark.slow) for each in MORE_ENDINGS)]
)
def test_the_commands_that_a_run_ends_in_can_be_run(headcats, counting_model_folder, tmp_path, options, n, following):
    (tmp_path / "here" / "own.csv").write_text(own_file(n), encoding="utf-8")
    usual = [] if n else QUICK
    done = headcats("run", "--model", counting_model_folder, *usual, "--no-attention", *options)
    assert done.code == 0, done.err
    told = re.findall(r"`(headcats [^`]*)`", done.out)
    assert [command.split()[1] for command in told] == [following, "map"]
    if n == 2:
        assert re.findall(r"--n-prompts \d+|least \d+", done.out) == ["least 40"]
    for command in told:
        again = headcats(*shlex.split(command)[1:])
        assert again.code == 0, (command, again.err)


@pytest.mark.slow
def test_the_command_that_a_series_ends_in_can_be_run(headcats, tmp_path):
    checkpoints = counting_checkpoints(tmp_path / "checkpoints")
    options = ("--revisions", "step10,step20", *QUICK, *THREE, *SHORT, "--out", "series")
    done = headcats("run", "--model", checkpoints, *options)
    assert done.code == 0, done.err
    for command in re.findall(r"`(headcats [^`]*)`", done.out):
        again = headcats(*shlex.split(command)[1:])
        assert again.code == 0, (command, again.err)


# ------------------------------------------------------------------------------------------------ clusters and shards
NONSENSE = {
    "--shard=5/4": "i/n",
    "--shard=1/3": "2 cells",
    "--shard=1/2 --revisions=a,b": "--revisions",
    "--cluster=here --revisions=a,b": "--revisions",
    "--cluster=here,gpus=-1": "here,gpus=-1",
    "--cluster=here,cpus=1": "here,cpus=1",
    "--cluster=127.0.0.1:port": "answers at",
}


def test_nonsense_is_refused_and_nothing_is_written(headcats, tmp_path, monkeypatch):
    monkeypatch.setattr("headcats.study.loading.load_model", lambda *source, **options: pytest.fail("loaded"))
    small = ["--tasks=capital_country,next_letter", "--methods=zero_ablation@last", "--n-prompts=4", "--n-demos=2"]
    for options, says in NONSENSE.items():
        headcats("run", *small, "--quiet", *options.split(), "--out=r").check_one_message(says)
        assert list((tmp_path / "here").iterdir()) == []


def test_a_part_that_is_not_joined_is_named(headcats, tmp_path):
    part = results_folder(tmp_path / Shard(1, 2).folder, "a")
    assert "2/2" in headcats("merge", part, "--out", "half").err


def test_the_command_that_joins_the_parts_can_be_pasted(capsys):
    results = xr.DataTree(xr.Dataset(attrs={"manifest": Manifest().to_json()}))
    answer = Answer(as_json=True)
    _tell_shard(results, Shard(1, 2), Path("my parts; rm") / "shard-1-of-2", answer)
    answer.end()
    sentences = json.loads(capsys.readouterr().out)["sentences"]
    command = re.findall(r"`(headcats merge .*?)`", sentences[-1])[0]
    assert shlex.split(command) == ["headcats", "merge", "my parts; rm/shard-*-of-2", "--out", "my parts; rm/all"]
