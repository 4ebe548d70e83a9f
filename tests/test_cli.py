"""The command line as a user meets it: what is printed, what is written, and how it fails.

Most commands run in this process through the same `main` that the installed `headcats` calls; a few run as
`python -m headcats`, to see the exit code of a real process.
"""

import csv
import errno
import importlib.metadata
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import warnings
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go
import pytest
import typer
import xarray as xr
from counting import SUITE, counting_folder
from results.folders import change_manifest
from typer.testing import CliRunner

import headcats as hc
from headcats import cli, registry
from headcats.categories.map_tables import map_tables
from headcats.categories.new_task import NEW_TASK
from headcats.categories.reading import Reading
from headcats.cli.answer import Answer
from headcats.cli.commands import callback
from headcats.cli.finished_run import tell_run
from headcats.cli.settings import split_names
from headcats.errors import StatisticsWarning
from headcats.methods.spec import MethodSpec
from headcats.registry import names
from headcats.results.descriptors import DESCRIPTORS
from headcats.results.folder import ResultsFolder
from headcats.results.run_results import RunResults
from headcats.study.defaults import DEFAULT_PROMPTS

COMMANDS = (
    "run", "validate", "plan", "map", "report", "figure", "compare", "diff", "evidence", "views", "merge", "export",
    "push", "list",
)  # fmt: skip
QUICK = ["--suite", SUITE, "--n-prompts", "12", "--n-demos", "2"]
# Runs that are asked for something else than their pages do without those that take time.
RUN = [*QUICK, "--no-views"]


class Done(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        """Everything printed, in one line."""
        return " ".join((self.out + self.err).split())

    @property
    def rows(self) -> str:
        """What was printed on stdout, cells of tables separated by single spaces."""
        return " ".join(self.out.replace("│", " ").split())


@pytest.fixture
def headcats(capfd, monkeypatch, tmp_path):
    """Function: arguments -> exit code, stdout, stderr of one command, run in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def command(*arguments) -> Done:
        monkeypatch.setattr(sys, "argv", ["headcats", *map(str, arguments)])
        capfd.readouterr()
        code = 0
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("default")
                cli.main()
        except SystemExit as stop:
            code = stop.code or 0
        return Done(code, *capfd.readouterr())

    return command


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory):
    return counting_folder(tmp_path_factory.mktemp("cli") / "counting-model")


@pytest.fixture(scope="session")
def results(model_folder, tmp_path_factory):
    """A finished run of the small suite; tests only add what `map` writes."""
    path = tmp_path_factory.mktemp("cli") / "results"
    model = hc.load_model(model_folder, device="cpu")
    hc.run(model, suite=SUITE, n_prompts=12, n_demos=2, methods=["denoising_patch", "mean_ablation"], out=path)
    return path


def process(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "headcats", *map(str, arguments)],
        capture_output=True, encoding="utf-8", check=False, env=os.environ | environment,
    )  # fmt: skip


# --------------------------------------------------------------------------------------------------- help, version
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command):
    done = CliRunner().invoke(cli.app, [command, "--help"], terminal_width=200)
    assert done.exit_code == 0
    assert "Usage:" in done.output
    first = callback(command).__doc__.split("\n")[0].split(",")[0]
    assert " ".join(first.split()) in " ".join(done.output.split())
    assert "Examples:" in done.output


def test_the_commands_there_are():
    assert sorted(typer.main.get_command(cli.app).commands) == sorted(COMMANDS)
    listed = CliRunner().invoke(cli.app, ["-h"]).output
    assert all(command in listed for command in COMMANDS)


def test_version_names_the_three_that_matter():
    done = process("--version")
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        f"headcats {hc.__version__}",
        f"transformer-lens {importlib.metadata.version('transformer-lens')}",
        f"torch {importlib.metadata.version('torch')}",
    ]


def examples():
    """Every example of every command's help."""
    for command in COMMANDS:
        for line in (callback(command).__doc__ or "").splitlines():
            if line.strip().startswith("- `headcats "):
                yield line.strip().removeprefix("- `").removesuffix("`")


@pytest.mark.parametrize("line", list(examples()))
def test_every_example_is_one_that_the_command_takes(line):
    """They are parsed, not run: names and numbers of options are right."""
    _, name, *arguments = shlex.split(line)
    command = typer.main.get_command(cli.app).commands[name]
    command.make_context(name, arguments)


def test_every_command_has_an_example():
    assert {line.split()[1] for line in examples()} == set(COMMANDS)


def test_help_says_what_exit_codes_mean_and_how_to_complete():
    shown = " ".join(CliRunner().invoke(cli.app, ["--help"]).output.split())
    for code in ("0 done", "2 wrong input", "3 headcats validate", "130 or 143"):
        assert code in shown
    assert "headcats --install-completion" in shown


def test_memory_that_runs_out_before_any_sweep_is_one_sentence(headcats, model_folder, monkeypatch):
    from headcats.models.adapter import HookedModel

    def full(*arguments, **options):
        raise MemoryError("CUDA out of memory. GPU 1 has a total capacity of 8 GiB")

    monkeypatch.setattr(HookedModel, "run", full)
    done = headcats("run", "--model", model_folder, "--suite", SUITE, "--out", "results", "-q")
    assert done.code == 2
    assert "Error: Memory ran out (CUDA out of memory. GPU 1 has" in done.err
    assert "Traceback" not in done.err
    assert not os.path.exists("results")


def test_options_that_do_not_exist_are_usage_errors(headcats):
    done = headcats("run", "--n-promts", 3)
    assert done.code == 2
    assert "--n-promts" in done.text
    assert headcats("rnu").code == 2
    assert headcats("run", "--n-prompts", "many").code == 2


# --------------------------------------------------------------------------------------------------------- failing
def assert_one_message(done, message):
    """Exit code 2, one message on stderr (after notes on thin evidence), nothing on stdout, no traceback."""
    assert done.code == 2, done
    assert done.out == ""
    assert re.match(r"(Note: (?!Error).*\n)*Error: ", done.err)
    assert "Traceback" not in done.err
    assert re.search(message, " ".join(done.err.split())), done.err


UNKNOWN = {
    "suite": (["run", "--suite", "icll"], "Unknown suite 'icll'. Did you mean 'icl'"),
    "task": (["run", "--tasks", "plurals"], "Unknown task 'plurals' of suite 'icl'. Did you mean 'plural'"),
    # The model is not there either: names are looked at before a model is loaded.
    "method": (["run", "--model", "nowhere", "--methods", "mean_ablate"], "Unknown method 'mean_ablate'. Did you mean"),
    "method option": (["run", "--methods", "mean_ablation:ref=task"], "Unknown option 'ref' of mean_ablation"),
    "option value": (["run", "--methods", "mean_ablation:reference=tasks"], "takes 'suite', 'task'.*got 'tasks'"),
    "metric": (["run", "--metrics", "logits"], "Unknown metric 'logits'. Did you mean 'logit_diff'"),
    "template": (["validate", "--template", "arow"], "Unknown template 'arow'. Did you mean 'arrow'"),
    "two templates": (["run", "--chat", "--template", "arrow"], "--chat means --template chat, but --template arrow"),
    "corruption": (["validate", "--corruption", "shuffled"], "Unknown corruption 'shuffled'. Did you mean 'shuffled_l"),
    "answers": (["validate", "--answers", "hole"], "Unknown answers 'hole'. Did you mean 'whole'"),
    "number": (["run", "--n-prompts", "1"], "n_prompts must be a whole number of at least 2; got 1"),
    "dtype": (["run", "--dtype", "float31"], "Unknown dtype 'float31'. Did you mean 'float32'"),
    "backend": (["run", "--backend", "brigde"], "Expected backend 'bridge' or 'hooked'; got 'brigde'"),
    "kind": (["list", "task"], "Unknown kind 'task'. Did you mean 'tasks'"),
    "figure": (["figure", "overlapmap", ".", "--out", "x.html"], "Unknown figure 'overlapmap'. Did you mean 'overlap_"),
    "folder": (["map", "nowhere"], "nowhere is not a results folder"),
    "folders": (["compare", "nowhere", "nowhere"], "nowhere is not a results folder"),
    "study file": (["run", "absent.toml"], "absent.toml cannot be read as a study: there is no such file. `headcats"),
    "study folder": (["run", "."], "cannot be read as a study: it is a folder. The results folder of a run is named"),
    "model": (["run", "--model", "./nowhere"], "Folder './nowhere' does not exist"),
    "device": (["run", "--device", "abacus"], "Device 'abacus' cannot be used here"),
}  # fmt: skip


@pytest.mark.parametrize("what", UNKNOWN)
def test_what_does_not_exist_is_one_clear_message(headcats, tmp_path, what):
    arguments, message = UNKNOWN[what]
    assert_one_message(headcats(*arguments), message)
    assert list(tmp_path.iterdir()) == []


def test_a_tokenizer_without_chat_template_is_one_clear_message(headcats, tmp_path):
    done = headcats("validate", "--chat")
    note, error = done.err.splitlines()
    assert (done.code, done.out, note.split(":")[0]) == (2, "", "Model mini")
    assert error.startswith("Error: The tokenizer of this model has no chat template: leave out --chat")
    assert list(tmp_path.iterdir()) == []


RESULTS_UNKNOWN = {
    "rule": (["--rule", "fdrr"], "Unknown rule 'fdrr'. Did you mean 'fdr'"),
    "rule option": (["--rule", "fdr:alfa=0.1"], "Unknown option 'alfa' of rule fdr. Did you mean 'alpha'"),
    "rule value": (["--rule", "fdr:alpha=small"], "Option alpha of rule fdr must be a number, got 'small'"),
    "rule null": (["--rule", "fdr:alpha=null"], "Option alpha of rule fdr must be a number, got 'null'"),
    "rule text": (["--rule", 'threshold:value="a"'], "Option value of rule threshold must be a number"),
    "rule list": (["--rule", "sd_above_mean:k=[1]"], "Option k of rule sd_above_mean must be a number"),
    "rule range": (["--rule", "fdr:alpha=1.5"], "alpha"),
    "min tasks": (["--min-tasks", "most"], "min_tasks is 'half' or a whole number of at least 1; got 'most'"),
    "too many tasks": (["--min-tasks", "9"], "min_tasks=9 needs at least 9"),
    "method": (["--method", "denoising"], "denoising"),
    "metric": (["--metric", "prob"], "prob"),
    "positions": (["--method", "mean_ablation", "--positions", "first"], "first"),
}


@pytest.mark.parametrize("what", RESULTS_UNKNOWN)
def test_what_results_do_not_hold_is_one_clear_message(headcats, results, what):
    arguments, message = RESULTS_UNKNOWN[what]
    assert_one_message(headcats("map", results, *arguments), message)


def test_a_real_process_ends_with_code_2_and_no_traceback():
    done = process("run", "--suite", "icll")
    assert done.returncode == 2
    assert done.stdout == ""
    assert re.match(r"Error: .*'icll'.* 'icl'\?", done.stderr)
    assert "Traceback" not in done.stderr


def test_a_hub_that_cannot_be_reached_names_the_ways_out(headcats, monkeypatch, tmp_path):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    done = headcats("run", "--model", "somebody/gpt-22")
    assert_one_message(done, "Could not load 'somebody/gpt-22' from the Hugging Face hub")
    for way in ("HF_HOME", "HF_HUB_OFFLINE=1", "a local folder such as './my-model'"):
        assert way in done.text
    assert done.err.count("\n") == 1, "one sentence"


def test_results_of_another_plan_are_refused_with_the_difference(headcats, model_folder, results):
    before = {file: file.read_bytes() for file in results.rglob("*") if file.is_file()}
    done = headcats("run", "--model", model_folder, *RUN, "--seed", 5, "--out", results)
    assert done.code == 2
    assert re.search(r"plan \(seed: 0 .*5", done.text)
    assert "Traceback" not in done.err
    assert {file: file.read_bytes() for file in results.rglob("*") if file.is_file()} == before


@pytest.mark.parametrize("out", ["file/r", "/proc/headcats", "taken"])
def test_places_that_cannot_take_results(headcats, model_folder, tmp_path, out):
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "thesis.tex").write_text("mine", encoding="utf-8")
    done = headcats("run", "--model", model_folder, *RUN, "--out", out, "--quiet")
    assert done.code == 2
    assert "Error: " in done.err
    assert "Traceback" not in done.err
    expected = {
        "file/r": "file is a file, and no folder can be below it. Remove it, or name another folder.",
        "/proc/headcats": "Cannot write",
        "taken": "is not empty and holds no manifest.json",
    }
    assert expected[out] in done.text
    assert "Memory: " not in done.err, "before anything is computed"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "taken", "thesis.tex"]


def test_a_full_disk_is_one_message(headcats, model_folder, tmp_path, monkeypatch):
    def full(source, target):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(os, "replace", full)
        done = headcats("run", "--model", model_folder, *RUN, "--out", "r", "--quiet")
    assert done.code == 2
    assert "No space left" in done.text
    assert "Traceback" not in done.err
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------------------------------------ study.toml
def study_file(folder, text):
    path = folder / "study.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("n_promts = 3", "Unknown option 'n_promts' in .*study.toml. Did you mean 'n_prompts'"),
        ("n_prompts = ", "study.toml cannot be read as a study"),
        ("n_prompts = '3'", "n_prompts in .*study.toml must be a whole number; got '3'"),
        ("seed = true", "seed in .*study.toml must be a whole number; got True"),
        ("min_accuracy = '0'", "min_accuracy in .*study.toml must be a number; got '0'"),
        ("methods = 'denoising_patch'", "methods in .*study.toml must be a list of texts; got 'denoising_patch'"),
        ("tasks = [1]", "tasks in .*study.toml must be a list of texts"),
        ("model = 3", "model in .*study.toml must be a text; got 3"),
        ("[suite]\nname = 'icl'", "suite in .*study.toml must be a text"),
        ("n_prompts = 3\nn-prompts = 4", "names n_prompts twice"),
        ("n-promts = 3", "Unknown option 'n-promts' in .*study.toml. Did you mean 'n_prompts'"),
        ("suite = 'icll'", "Unknown suite 'icll'"),
    ],
)
def test_a_wrong_study_file_is_named(headcats, tmp_path, text, message):
    assert_one_message(headcats("run", study_file(tmp_path, text)), message)


def test_a_study_file_says_what_to_run_and_options_win(headcats, model_folder, tmp_path):
    path = study_file(
        tmp_path,
        f"""
        model = {json.dumps(str(model_folder))}
        suite = "{SUITE}"
        methods = ["zero_ablation"]
        tasks = ["always_a", "always_b"]
        n-prompts = 12
        n_demos = 2
        seed = 3
        out = "from-file"
        """,
    )
    done = headcats("run", path, "--seed", 4, "--tasks", "always_c", "--out", "from-option", "--quiet")
    assert done.code == 0, done.err
    assert not (tmp_path / "from-file").exists()
    manifest = json.loads(hc.load(tmp_path / "from-option").attrs["manifest"])
    assert manifest["plan"]["seed"] == 4
    assert manifest["plan"]["n_prompts"] == 12
    assert manifest["methods"] == ["zero_ablation@all"]
    assert list(manifest["tasks"]) == ["always_c"]


# --------------------------------------------------------------------------------------------------------- working
def test_run_prints_heads_and_writes_map_and_results(headcats, model_folder, tmp_path):
    done = headcats("run", "--model", model_folder, *RUN, "--details")
    assert done.code == 0, done.err
    folder = tmp_path / "results" / "counting-model-counting"
    methods = ("denoising_patch@last", "second_corruption_patch@last", "other_item_patch@last", "mean_ablation@all")
    blocks = {f"blocks/always_{x}/{method}.nc" for x in "abc" for method in methods}
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert {file for file in files if file.startswith(".kept/")}
    files = {file for file in files if not file.startswith(".kept/")}
    others = {"manifest.json", "suite.json", "descriptors.nc", "overlap_map.html", "report.html"}
    assert files == others | blocks | {".writer.lock"}
    assert "3 of 4 tasks" in done.text
    assert "shifted: " in done.text
    assert "denoising_patch at" in done.text
    assert "2 of 2 1 0.0 L0H0" in done.rows
    shown = folder.relative_to(tmp_path)
    assert f"{shown}/overlap_map.html" in done.text
    assert f"map {shown} --csv" in done.text
    page = (folder / "overlap_map.html").read_text(encoding="utf-8")
    assert "L0H0" in page
    assert "<script src" not in page


def test_a_run_that_extends_a_folder_maps_its_own_method(headcats, model_folder, tmp_path):
    folder = tmp_path / "r"
    for method in ("denoising_patch", "noising_patch@last"):
        done = headcats("run", "--model", model_folder, *RUN, "--methods", method, "--out", folder, "--details")
        assert done.code == 0, done.err
        assert f"{method.split('@')[0]} at last" in done.text
    assert f"--method {method}" in done.text
    for name, method in (("overlap_map", "denoising_patch"), ("overlap_map-noising_patch@last", "noising_patch")):
        assert f"{method} at last" in (folder / f"{name}.html").read_text(encoding="utf-8")
    assert "smallest reachable p" in done.text


def test_a_map_of_another_method_does_not_replace_the_first(headcats, results):
    assert headcats("map", results).code == 0
    first = (results / "overlap_map.html").read_bytes()
    done = headcats("map", results, "--method", "mean_ablation")
    page = "overlap_map-mean_ablation@all.html"
    assert page in done.text
    assert (results / "overlap_map.html").read_bytes() == first
    assert "mean_ablation at" in (results / page).read_text(encoding="utf-8")


def test_a_method_can_be_named_as_run_names_it(headcats, results):
    method = "mean_ablation@all"
    done = headcats("map", results, "--method", method, "--csv", "--details")
    assert done.code == 0, done.err
    assert "mean_ablation at" in done.text
    assert (results / f"heads-{method}.csv").exists()
    refused = headcats("map", results, "--method", method, "--positions", "last")
    assert "positions last" in refused.text
    assert refused.code != 0


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
def test_stopping_says_that_the_same_command_goes_on(headcats, model_folder, monkeypatch, tmp_path, sent, code):
    before = signal.getsignal(signal.SIGTERM)

    def stop(*arguments, **options):
        signal.raise_signal(sent)
        pytest.fail("the signal changed nothing")

    monkeypatch.setattr("headcats.study.runner.run", stop)
    asked = ["run", "--model", model_folder, *RUN, "--out", "r"]
    done = headcats(*asked)
    assert done.code == code
    assert "holds nothing yet" in done.err
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "manifest.json").touch()
    done = headcats(*asked)
    assert done.code == code
    assert "saved in r" in done.text
    assert "Traceback" not in done.text
    assert signal.getsignal(signal.SIGTERM) is before


def test_stopping_while_a_model_is_loaded_is_one_line_too(headcats, model_folder, monkeypatch):
    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("headcats.study.loading.load_model", stop)
    assert headcats("run", "--model", model_folder, *RUN, "--out", "r").err.startswith("Note: Stopped")
    done = headcats("validate", "--model", model_folder, *QUICK)
    assert done.code == 130
    assert re.fullmatch(r"Note: Stopped.*\n", done.err)


def test_a_map_of_a_run_that_was_stopped_says_so(headcats, results, tmp_path):
    copy = shutil.copytree(results, tmp_path / "stopped")
    change_manifest(copy, lambda manifest: manifest["asked"].extend(["later", "last"]))
    done = headcats("map", copy)
    assert done.code == 0, done.err
    assert re.search(r"4 of 6 .*later, last", done.text)
    assert "not finished" not in headcats("map", results).text


def test_misspelt_options_are_told_before_anything_is_read(headcats, results):
    for option, said in (
        ("--rule", "Unknown rule 'most'"),
        ("--min-tasks", "min_tasks is 'half' or a whole number"),
        ("--sign", "sign must be 'helping' or 'suppressing'; got 'most'"),
        ("--effect", "effect must be 'total' or 'task_specific'; got 'most'"),
    ):
        for command in (["map", results / "nowhere"], ["figure", "head_grid", results / "nowhere", "--out", "x.html"]):
            assert said in headcats(*command, option, "most").text


def test_ctrl_c_in_a_map_is_one_line(headcats, results, monkeypatch):
    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("headcats.cli.map.open_results", stop)
    done = headcats("map", results)
    assert done.code == 130
    assert re.fullmatch(r"Note: Stopped.*\n", done.err)


def test_maps_of_other_options_do_not_replace_the_first(headcats, results):
    assert headcats("map", results, "--csv").code == 0
    first = {name: (results / name).read_bytes() for name in ("overlap_map.html", "heads.csv")}
    done = headcats("map", results, "--csv", "--min-tasks", 1, "--rule", "threshold:value=0.2", "--details")
    assert done.code == 0, done.err
    assert re.search(r"heads-\S+=0\.2-min_tasks=1\.", done.text)
    assert "at least 1 task" in done.text
    assert {name: (results / name).read_bytes() for name in first} == first


def test_a_control_is_called_one(headcats, model_folder):
    said = "other_item_patch is a control: it shows what donors"
    done = headcats("run", "--model", model_folder, *RUN, "--methods", "other_item_patch,zero_ablation", "--out", "r")
    assert done.code == 0, done.err
    assert said in done.text
    again = headcats("map", "r", "--method", "other_item_patch@last")
    assert said in again.text
    assert "is a control" not in headcats("map", "r", "--method", "zero_ablation").text


def test_a_run_with_too_few_prompts_writes_its_map(headcats, model_folder, tmp_path):
    few = [*QUICK[:2], "--n-prompts", 3, "--n-demos", 2, "--methods", "denoising_patch", "--no-views"]
    done = headcats("run", "--model", model_folder, *few, "--out", "r")
    assert done.code == 0, done.err
    assert "No head" in done.text
    assert (tmp_path / "r" / "overlap_map.html").exists()
    again = headcats("map", "r", "--min-tasks", 1)
    assert again.code == 0, again.err
    assert "No head" in again.text
    assert len(list((tmp_path / "r").glob("*-min_tasks=1.html"))) == 1
    for figure, told in (("overlap_map", True), ("head_grid", False)):
        drawn = headcats("figure", figure, "r", "--out", f"{figure}.html")
        assert drawn.code == 0, drawn.err
        assert ("No head" in drawn.text) is told


def test_no_bar_where_nobody_looks_or_with_quiet(headcats, model_folder, monkeypatch):
    shown = []
    from headcats.study import task_run

    original = task_run.progress_bar

    def bar(total, *, show=None, **options):
        shown.append(show)
        return original(total, show=show, **options)

    monkeypatch.setattr(task_run, "progress_bar", bar)
    for quiet in ([], ["--quiet"], ["-q"]):
        done = headcats(
            "run", "--model", model_folder, *RUN, "--tasks", "always_a", "--methods", "zero_ablation", *quiet
        )
        assert done.code == 0, done.err
        assert "passed," not in done.err
        assert set(shown) == ({False} if quiet else {None})
        shown.clear()


def test_methods_are_split_at_spaces_and_commas_but_not_between_options():
    assert split_names("kl,mean_ablation") == ["kl", "mean_ablation"]
    assert split_names("a:b=1,c=2@last d") == ["a:b=1,c=2@last", "d"]
    assert split_names(" a , b ") == ["a", "b"]


def test_map_writes_the_head_list(headcats, results):
    done = headcats("map", results, "--csv")
    assert done.code == 0, done.err
    assert "heads.csv" in done.text
    text = (results / "heads.csv").read_bytes().decode("utf-8")
    assert "\r" not in text
    rows = list(csv.DictReader(text.splitlines()))
    columns = ["head", "category", "kind", "kv_head", "effect", "low", "high", "q", "tasks", "probability", "doubtful"]
    assert list(rows[0]) == [*columns, *NEW_TASK, *DESCRIPTORS]
    assert ("L0H0", "Knowledge", "helping") in {(row["head"], row["category"], row["kind"]) for row in rows}
    scores = hc.score(hc.load(results), method="denoising_patch", metric="logit_diff")
    with pytest.warns(StatisticsWarning, match=r"Algorithmic\.$"), pytest.warns(StatisticsWarning, match="single task"):
        members = hc.categorize(scores, rule=hc.rules.fdr(alpha=0.05, min_effect=0.05), min_tasks="half")
    for note in (
        "Note: Categories without a task with numbers stay empty: Algorithmic.",
        "Note: Categories of a single task cannot be distinguished from that task: Linguistic (always_c).",
    ):
        assert note in " ".join(done.err.split())
    expected = hc.categories.head_table(hc.overlap(members))
    assert [row["head"] for row in rows] == expected["head"].tolist()
    assert [float(row["effect"]) for row in rows] == pytest.approx(expected["effect"].tolist())
    assert [float(row["q"]) for row in rows] == pytest.approx(expected["q"].tolist())
    assert [row["tasks"] for row in rows] == expected["tasks"].tolist()


def test_map_takes_another_method_rule_and_number_of_tasks(headcats, results):
    done = headcats(
        "map", results, "--method", "mean_ablation", "--rule", "threshold:value=0.2", "--min-tasks", "1", "--details"
    )
    assert done.code == 0, done.err
    assert "mean_ablation at" in done.text
    assert "rule threshold(value=0.2" in done.text
    assert "Note: min_tasks=1 " in done.err


def test_a_map_in_threads_is_the_same(headcats, results, tmp_path):
    printed = []
    for jobs in (1, 3):
        folder = tmp_path / str(jobs) / "results"
        shutil.copytree(results, folder, ignore=shutil.ignore_patterns(".kept"))
        done = headcats("map", folder, "--jobs", jobs)
        assert done.code == 0
        printed.append(done.out.replace(str(folder), ""))
    assert printed[0] == printed[1]
    refused = headcats("map", results, "--jobs", 0)
    assert refused.code == 2
    assert "jobs" in refused.err


def test_map_on_a_full_disk_leaves_the_old_files(headcats, results, monkeypatch):
    assert headcats("map", results, "--csv").code == 0
    before = {path: path.read_bytes() for path in results.rglob("*") if path.is_file()}

    def full(source, target):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(os, "replace", full)
        done = headcats("map", results, "--csv", "--method", "mean_ablation")
    assert done.code == 2
    assert "No space left" in done.text
    assert {path: path.read_bytes() for path in results.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("name", "shown"),
    [("overlap_map", "L0H0"), ("head_grid", "always_a"), ("layer_profile", "L0H0"), ("set_counts", "Knowledge")],
)
def test_figure_draws_every_figure(headcats, results, tmp_path, name, shown):
    done = headcats("figure", name, results, "--out", "drawn.html")
    assert done.code == 0, done.err
    assert "Wrote drawn.html" in done.text
    assert shown in (tmp_path / "drawn.html").read_text(encoding="utf-8")


def test_a_plain_plotly_figure_is_drawn_by_its_name(headcats, results, tmp_path, monkeypatch):
    monkeypatch.setitem(registry._tables, "figure", dict(registry._tables["figure"]))

    @hc.figures.figure
    def effect_counts(scores, *, bins=4):
        return go.Figure(go.Histogram(x=scores["effect"].values.ravel(), nbinsx=bins))

    done = headcats("figure", "effect_counts", results, "--set", "bins=7", "--out", "drawn.html")
    assert done.code == 0, done.err
    assert "histogram" in (tmp_path / "drawn.html").read_text(encoding="utf-8")


def test_figure_needs_a_known_suffix_and_a_folder(headcats, results):
    assert_one_message(
        headcats("figure", "head_grid", results, "--out", "x.bmp"), r"ending in .html, .png.*got 'x.bmp'"
    )
    assert_one_message(
        headcats("figure", "head_grid", results, "--out", "no/x.html"), "There is no folder no for x.html"
    )


def test_compare_says_what_differs_and_how_far_heads_agree(headcats, model_folder, results, tmp_path):
    model = hc.load_model(model_folder, device="cpu")
    hc.run(model, suite=SUITE, n_prompts=12, n_demos=2, methods=["denoising_patch"], seed=1, out=tmp_path / "other")
    same = headcats("compare", results, results, "--method", "denoising_patch", "--details")
    assert same.code == 0, same.err
    assert "Same plan" in same.out
    assert "Knowledge 1 1 1 1.00 1.00" in same.rows
    other = headcats("compare", results, "other", "--details")  # a short name, so that no cell of the table is folded
    assert other.code == 0, other.err
    assert "plan seed 0 1" in other.rows
    assert "logit_diff, seed 1" in other.rows


@pytest.fixture
def with_joint_methods(results, tmp_path):
    """The finished run with made-up blocks of two joint methods."""
    path = tmp_path / "whole"
    shutil.copytree(results, path)
    there = hc.load(path)
    one = next(
        RunResults(there).block(task, label) for task, labels in RunResults(there).tasks.items() for label in labels
    )
    grid = {name: one[name].values for name in ("layer", "head")}
    shape = [2, *(len(axis) for axis in grid.values())]
    values = np.random.default_rng(0).random(shape)
    about = {"categories": there.attrs["categories"], "model": "toy"}
    names = [entry["name"] for entry in json.loads(about["categories"])][:2]
    relations = xr.Dataset(
        {"score": (("task", "layer", "head"), values)},
        coords={"task": ["a", "b"], "category": ("task", names), **grid},
        attrs=about | {"method": "ov_relation"},
    )
    gates = xr.Dataset(
        {"facilitation": (("dataset", "seed", "layer", "head"), values[:, None])},
        coords={"dataset": names, "seed": [0], **grid},
        attrs=about | {"method": "head_gating"},
    )
    ResultsFolder(path).write_block("_suite", "ov_relation", relations)
    ResultsFolder(path).write_block("_suite", "head_gating:n_seeds=1", gates)
    change_manifest(path, lambda manifest: manifest["methods"].extend(["ov_relation", "head_gating:n_seeds=1"]))
    return path


def test_what_is_there_of_the_whole_suite_is_named_beside_a_map(capfd, monkeypatch, with_joint_methods):
    monkeypatch.setattr(
        "headcats.reports.page.writing.report", lambda folder: folder / "report.html"
    )  # the blocks are not whole
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsWarning)
        specs = [MethodSpec.parse("denoising_patch")]
        answer = Answer(as_json=False, details=True)
        tell_run(RunResults(hc.load(with_joint_methods)), specs, with_joint_methods, answer)
    text = " ".join(capfd.readouterr().out.split())
    assert re.search(r"mean_ablation@\w+, ov_", text)
    assert "head_gating:n_seeds=1" in text
    assert "figure always_any " in text


def test_compare_writes_the_grid_of_all_methods_beside_its_table(headcats, with_joint_methods):
    done = headcats("compare", with_joint_methods, "--csv", "pairs.csv", "--halves", 0)
    assert done.code == 0, done.err
    assert done.text.count("pairs-methods.csv") == 1
    with open("pairs-methods.csv", encoding="utf-8") as file:
        methods = {row["method"] for row in csv.DictReader(file)}
    assert {"ov_relation", "head_gating:n_seeds=1"} < methods
    with open("pairs.csv", encoding="utf-8") as file:
        assert "rank_correlation" not in file.readline()


def test_merge_joins_folders(headcats, model_folder, results, tmp_path):
    model = hc.load_model(model_folder, device="cpu")
    for name in ("always_a", "always_c"):
        hc.run(
            model, suite=SUITE, tasks=[name], n_prompts=12, n_demos=2, methods=["denoising_patch"], out=tmp_path / name
        )
    done = headcats("merge", "always_a", "always_c", "--out", "all")
    assert done.code == 0, done.err
    assert "Wrote all: 2 tasks" in done.text
    assert list(RunResults(hc.load(tmp_path / "all")).tasks) == ["always_a", "always_c"]
    assert_one_message(headcats("merge", "always_a", "nowhere", "--out", "more"), "nowhere is not a results folder")
    assert_one_message(headcats("merge", "always_a", "--out", "all"), "all holds results already")


@pytest.mark.parametrize("kind", ["tasks", "suites", "methods", "rules", "metrics", "figures"])
def test_list_names_everything_with_a_line_on_each(headcats, kind):
    done = headcats("list", kind)
    assert done.code == 0, done.err
    for name in registry.names(kind.removesuffix("s")):
        line = next(line for line in done.out.splitlines() if line.startswith(f"{name} "))
        assert len(line.split()) > 2, f"{name} has no description"


def test_without_a_kind_the_kinds_are_listed(headcats):
    done = headcats("list")
    assert done.code == 0, done.err
    for kind in ("tasks", "suites", "methods", "rules", "metrics", "figures", "presets"):
        assert f"headcats list {kind}" in done.rows
    listed = json.loads(headcats("list", "--json").out)
    assert {"name": "rules", "n": len(names("rule"))} in listed


@pytest.mark.filterwarnings("ignore::headcats.errors.StatisticsWarning")
def test_map_lists_every_head(headcats, results):
    done = headcats("map", results, "--csv", "--all")
    assert done.code == 0, done.err
    rows = list(csv.DictReader((results / "heads-all.csv").read_text(encoding="utf-8").splitlines()))
    overlap = map_tables(RunResults(hc.load(results)).without_untried(), Reading())["overlap"]
    assert len(rows) == overlap["member"].size
    for row in rows:
        layer, head = map(int, re.fullmatch(r"L(\d+)H(\d+)", row["head"]).groups())
        cell = overlap.sel(category=row["category"], layer=layer, head=head)
        has_number = bool(np.isfinite(cell["effect"]))
        state = "in" if cell["member"] == 1 else "undecided" if cell["undecided"] else "out"
        assert row["outcome"] == (state if has_number else "not judged")
        assert float(row["effect"] or "nan") == pytest.approx(cell["effect"].item(), nan_ok=True)
    assert_one_message(headcats("map", results, "--all"), "--all is about the head list")


def test_head_tasks_shows_the_heads_of_the_map(headcats, results, tmp_path):
    """Those of the rule that is asked for."""
    for rule, shown in (("threshold:value=0.2", ["L0H0"]), ("top_fraction:p=0.5", None)):
        done = headcats("figure", "head_tasks", results, "--rule", rule, "--min-tasks", 1, "--out", "heads.html")
        assert done.code == 0, done.err
        page = (tmp_path / "heads.html").read_text(encoding="utf-8")
        heads = sorted(set(re.findall(r"L\dH\d", page)))
        assert heads == shown if shown else len(heads) > 1


def test_tasks_of_one_suite_are_listed_alone(headcats):
    done = headcats("list", "tasks", "--suite", "sentences")
    assert done.code == 0, done.err
    assert [line.split()[0] for line in done.out.splitlines() if line.startswith("say_")] == [
        task.name for task in hc.suite("sentences").tasks
    ]
    assert "plural" not in done.out
    assert "--suite chooses" in headcats("list", "suites", "--suite", "icl").text
    assert "'sentences'?" in headcats("list", "tasks", "--suite", "sentence").text


def test_tasks_are_listed_suite_by_suite(headcats):
    listed = json.loads(headcats("list", "tasks", "--json").out)
    suites = [entry["suite"] for entry in listed if entry["suite"] in registry.names("suite")]
    order = list(dict.fromkeys(suites))
    assert suites == sorted(suites, key=order.index)
    assert order[:3] == ["icl", "cognitive", "sentences"]


def test_the_form_of_methods_is_in_the_help():
    printed = CliRunner().invoke(cli.app, ["run", "--help"], terminal_width=200).output
    help_text = " ".join(printed.replace("│", " ").split())
    for form in ("name:option=value,option=value", "name:option=value@positions"):
        assert form in help_text


def test_only_categories_of_the_run_are_listed(headcats, model_folder):
    run = ["run", "--model", model_folder, *RUN, "--out", "r", "--methods", "denoising_patch,mean_ablation"]
    done = headcats(*run, "--tasks", "always_a")
    assert done.code == 0, done.err
    assert re.search(r"Knowledge L0H0", done.rows)
    for text in (done.text, headcats("map", "r").text, headcats("compare", "r", "--halves", 0).text):
        assert "Knowledge" in text
        assert "Linguistic" not in text
        assert "Algorithmic" not in text


def test_validate_says_how_sentences_are_judged(headcats):
    done = headcats("validate", "--suite", "sentences", "--n-prompts", 8, "--tasks", "say_sum,say_product")
    assert done.code == 0, done.err
    assert re.search(r"say_product Arithmetic 8 0 0?\.?\d+ \d\.\d+", done.rows)
    assert re.search(r"2 of 2 .* 16 answers", done.text)
    assert "at least 20" in done.text
    done = headcats("validate", "--suite", "sentences", "--tasks", "say_sum", "--n-prompts", 60)
    assert "at least 20" in done.text
    assert "refused" not in done.text


def test_validate_prints_what_a_run_would_score(headcats, model_folder, tmp_path):
    done = headcats("validate", "--model", model_folder, *QUICK)
    assert done.code == 0, done.err
    assert re.search(r"Knowledge always_a 24 12 1.00 \d+\.\d+ \d+\.\d+ to \d+\.\d+", done.rows)
    assert "accuracy 0.00" in done.text
    assert "3 of 4 tasks" in done.text
    assert list(tmp_path.iterdir()) == []


def test_validate_prints_json_for_scripts(headcats, model_folder):
    done = headcats("validate", "--model", model_folder, *QUICK, "--json")
    found = json.loads(done.out)
    assert list(found) == ["always_a", "always_b", "always_c", "shifted"]
    assert found["always_a"]["prompts"] == {"kept": 12, "dropped": {}, "examples": {}}
    assert found["always_a"]["low"] <= found["always_a"]["gap"] <= found["always_a"]["high"]
    assert "accuracy 0.00" in found["shifted"]["refusal"]


def test_defaults_of_the_command_are_those_of_the_function():
    import inspect

    from headcats.study.defaults import DEFAULTS
    from headcats.study.plan import plan

    run, planned = inspect.signature(hc.run).parameters, inspect.signature(plan).parameters
    for name in ("suite", "seed"):
        assert DEFAULTS[name] == run[name].default
    assert DEFAULTS["methods"] is DEFAULTS["n_prompts"] is None
    for name in ("n_demos", "template", "corruption", "answers"):
        assert DEFAULTS[name] == planned[name].default
    assert run["n_prompts"].default == DEFAULT_PROMPTS >= 32


def test_a_reader_that_has_gone_is_no_traceback():
    """`headcats list tasks | head -1`."""
    code = "import sys; sys.argv = ['headcats', 'list', 'tasks']; from headcats.cli import main; main()"
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as gone:
        done = subprocess.run([sys.executable, "-c", code], stdout=gone, stderr=subprocess.PIPE, check=False)
    assert b"Traceback" not in done.stderr
    assert done.returncode in (0, 1)
