"""`headcats run`: what it prints and writes, where it may write, and how it is stopped."""

import errno
import json
import os
import re
import signal
import sys

import pytest
from cli.done import QUICK
from counting import SUITE

import headcats as hc
from headcats.cli.settings import split_names
from headcats.results.run_results import RunResults

ONE = ("--tasks", "always_a", "--methods", "zero_ablation", "--out", "r")


@pytest.fixture
def no_answer(monkeypatch):
    """The map is left out, too."""
    monkeypatch.setattr("headcats.cli.run.tell_run", lambda *given, **options: None)


def test_run_prints_heads_and_writes_map_and_results(run_quickly, tmp_path):
    done = run_quickly("--methods", "denoising_patch,mean_ablation", "--details")
    assert done.code == 0, done.err
    shown = "results/model-counting"
    folder = tmp_path / "here" / shown
    methods = ("denoising_patch@last", "mean_ablation@all")
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
    assert f"{shown}/overlap_map.html" in done.text
    assert f"map {shown} --csv" in done.text
    page = (folder / "overlap_map.html").read_text(encoding="utf-8")
    assert "L0H0" in page
    assert "<script src" not in page


@pytest.mark.usefixtures("no_page")
def test_a_run_that_extends_a_folder_maps_its_own_method(run_quickly, headcats, tmp_path):
    folder = tmp_path / "here" / "r"
    for method in ("denoising_patch", "other_item_patch@last"):
        done = run_quickly("--tasks", "always_a", "--methods", method, "--out", folder, "--details")
        assert done.code == 0, done.err
        assert f"{method.split('@')[0]} at last" in done.text
    assert f"--method {method}" in done.text
    for name, method in (("overlap_map", "denoising_patch"), ("overlap_map-other_item_patch@last", "other_item_patch")):
        assert f"{method} at last" in (folder / f"{name}.html").read_text(encoding="utf-8")
    # A control is called one, and only the category of the task is named.
    assert f"{method} is a control" in done.text
    text = headcats("map", "r").text
    assert not {"Linguistic", "Algorithmic"} & set(re.findall(r"\w+", text))
    assert "is a control" not in text


@pytest.mark.usefixtures("no_page")
def test_a_run_with_too_few_prompts_writes_its_map(headcats, counting_model_folder, tmp_path):
    few = ["--suite", SUITE, "--n-prompts", 3, "--n-demos", 2, "--methods", "denoising_patch", "--no-views"]
    done = headcats("run", "--model", counting_model_folder, *few, "--out", "r")
    assert done.code == 0, done.err
    assert "No head" in done.text
    assert (tmp_path / "here" / "r" / "overlap_map.html").exists()
    drawn = headcats("figure", "head_grid", "r", "--out", "f.html")
    assert drawn.code == 0, drawn.err
    assert "No head" not in drawn.text


@pytest.mark.usefixtures("no_answer")
def test_no_bar_where_nobody_looks_or_with_quiet(run_quickly, monkeypatch):
    shown = []
    from headcats.study import task_run

    original = task_run.progress_bar

    def bar(total, *, show=None, **options):
        shown.append(show)
        return original(total, show=show, **options)

    monkeypatch.setattr(task_run, "progress_bar", bar)
    for place, quiet in enumerate(([], ["--quiet"])):
        done = run_quickly(*ONE[:-1], f"r{place}", *quiet)
        assert done.code == 0, done.err
        assert "passed," not in done.err
        assert set(shown) == ({False} if quiet else {None})
        shown.clear()


@pytest.mark.usefixtures("no_answer")
def test_a_study_file_says_what_to_run_and_options_win(headcats, counting_model_folder, tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(
        f"""
        model = {json.dumps(str(counting_model_folder))}
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
    done = headcats("run", path, "--seed", 4, "--tasks", "always_c", "--out", "from-option", "--quiet", "--no-views")
    assert done.code == 0, done.err
    assert not os.path.exists("from-file")
    manifest = json.loads(hc.load("from-option").attrs["manifest"])
    assert manifest["plan"]["seed"] == 4
    assert manifest["plan"]["n_prompts"] == 12
    assert manifest["methods"] == ["zero_ablation@all"]
    assert list(manifest["tasks"]) == ["always_c"]


def test_methods_are_split_at_spaces_and_commas_but_not_between_options():
    assert split_names("kl,mean_ablation") == ["kl", "mean_ablation"]
    assert split_names("a:b=1,c=2@last d") == ["a:b=1,c=2@last", "d"]
    assert split_names(" a , b ") == ["a", "b"]


# ------------------------------------------------------------------------------------------------- where it may write
def test_results_of_another_plan_are_refused_with_the_difference(run_quickly, counting_run):
    before = {file: file.read_bytes() for file in counting_run.rglob("*") if file.is_file()}
    done = run_quickly("--seed", 5, "--out", counting_run)
    assert done.code == 2
    assert re.search(r"plan \(seed: 0 .*5", done.text)
    assert "Traceback" not in done.err
    assert {file: file.read_bytes() for file in counting_run.rglob("*") if file.is_file()} == before


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


def test_a_full_disk_is_one_message(run_quickly, tmp_path, monkeypatch):
    def full(source, target):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(os, "replace", full)
        done = run_quickly(*ONE, "--quiet")
    assert done.code == 2
    assert "No space left" in done.text
    assert "Traceback" not in done.err
    assert list((tmp_path / "here").iterdir()) == []


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


@pytest.mark.slow  # without models: results/test_two_writers.py
def test_two_runs_of_different_tasks_into_one_folder(tmp_path):
    """Both finish or one is told, and whoever reads sees whole results."""
    import contextlib
    import subprocess

    folder = tmp_path / "r"
    plan = ["--model=mini", "--methods=denoising_patch", "--n-prompts=4", "--n-demos=2", "--min-accuracy=0"]

    def begun(task):
        command = [sys.executable, "-m", "headcats", "run", f"--tasks={task}", f"--out={folder}", "-q", "--no-views"]
        return subprocess.Popen([*command, *plan], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, encoding="utf-8")

    with contextlib.ExitStack() as stack:
        runs = {task: stack.enter_context(begun(task)) for task in ("next_letter", "capital_country")}
        while any(run.poll() is None for run in runs.values()):
            if (folder / "manifest.json").exists():
                # A warning, of damage, would be an error.
                assert set(RunResults(hc.load(folder)).tasks) <= set(runs)
        said = {task: run.stderr.read() for task, run in runs.items()}
    done = {task for task, run in runs.items() if run.returncode == 0}
    assert done, said
    assert set(RunResults(hc.load(folder)).tasks) == done
    assert not list(folder.rglob("*.tmp"))
    for task in runs.keys() - done:
        assert runs[task].returncode == 2
        assert re.search(r"`headcats run` \(process \d+ on ", said[task])
        # Who was told repeats it.
        with begun(task) as again:
            assert again.wait() == 0
    assert set(RunResults(hc.load(folder)).tasks) == set(runs)
