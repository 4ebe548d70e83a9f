"""Help, version, lists and failures: common to all commands."""

import importlib.metadata
import json
import os
import re
import shlex
import shutil
import sys

import pytest
import typer
from typer.testing import CliRunner

import headcats as hc
from headcats import cli
from headcats.base import registry
from headcats.base.registry import names
from headcats.cli.commands import callback

COMMANDS = (
    "run", "validate", "plan", "map", "report", "figure", "compare", "evidence", "merge", "export",
    "push", "list",
)  # fmt: skip


def shown(*arguments):
    """Output of a command, in one line."""
    done = CliRunner().invoke(cli.app, list(arguments), terminal_width=200)
    assert done.exit_code == 0
    return " ".join(done.output.replace("│", " ").split())


def test_every_command_explains_itself():
    """Those that installed packages register, too."""
    commands = typer.main.get_command(cli.app).commands
    more = importlib.metadata.entry_points(group="headcats.command").names
    assert sorted(commands) == sorted({*COMMANDS, *more})
    listed = shown("--help")
    for name in commands:
        assert name in listed
        first = callback(name).__doc__.split("\n")[0].split(",")[0]
        printed = shown(name, "--help")
        assert " ".join(first.split()) in printed, name
        assert "Examples:" in printed, name


def test_every_example_is_one_that_the_command_takes():
    """They are parsed, not run: names and numbers of options are right."""
    app = typer.main.get_command(cli.app)
    for name in app.commands:
        lines = [line.strip() for line in callback(name).__doc__.splitlines()]
        examples = [line.removeprefix("- `").removesuffix("`") for line in lines if line.startswith("- `headcats ")]
        assert examples, name
        for line in examples:
            _, command, *arguments = shlex.split(line)
            app.get_command(None, command).make_context(command, arguments)


def test_version_names_the_three_that_matter(headcats):
    assert headcats("--version").out.splitlines() == [
        f"headcats {hc.__version__}",
        f"transformer-lens {importlib.metadata.version('transformer-lens')}",
        f"torch {importlib.metadata.version('torch')}",
    ]


def test_a_reader_that_has_gone_is_no_traceback(monkeypatch):
    """`headcats list tasks | head -1`."""
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w", encoding="utf-8") as gone:  # closing it writes again, as the end of a process does
        monkeypatch.setattr(sys, "stdout", gone)
        monkeypatch.setattr(cli, "app", lambda **options: print("to nobody", flush=True))
        with pytest.raises(SystemExit) as stop:
            cli.main()
    assert stop.value.code == 1


@pytest.mark.filterwarnings("default")
def test_an_answer_that_a_full_disk_does_not_take_is_one_sentence(monkeypatch, capfd, results):
    for arguments in (["--version"], ["list", "rules"], ["map", results], ["map", results, "--json"]):
        with open("/dev/full", "w", encoding="utf-8") as full:
            monkeypatch.setattr(sys, "stdout", full)
            monkeypatch.setattr(sys, "argv", ["headcats", *map(str, arguments)])
            with pytest.raises(SystemExit) as stop:
                cli.main()
        lines = [line for line in capfd.readouterr().err.splitlines() if not line.startswith("Note:")]
        assert stop.value.code == 1, arguments
        assert [line.partition(":")[0] for line in lines] == ["Error"], arguments


def test_commands_that_are_named_can_be_pasted(headcats, counting_run):
    shutil.copytree(counting_run, "my run")
    assert "headcats report 'my run'" in headcats("compare", "my run").text
    assert "`headcats run --out 'not there'`" in headcats("map", "not there").text


# --------------------------------------------------------------------------------------------------------- failing
def test_options_that_do_not_exist_are_usage_errors(headcats):
    done = headcats("run", "--n-promts", 3)
    assert done.code == 2
    assert "--n-promts" in done.text
    assert headcats("rnu").code == 2
    assert headcats("run", "--n-prompts", "many").code == 2


UNKNOWN = {
    "run --suite icll": ("suite 'icll'", "'icl'"),
    "run --model nowhere --methods mean_ablate": ("method 'mean_ablate'", "'mean_ablation'"),
    "run --n-prompts 1": ("n_prompts", "got 1"),
    "list task": ("kind 'task'", "'tasks'"),
    "figure overlapmap . --out x.html": ("figure 'overlapmap'", "'overlap_map'"),
    "map nowhere": ("nowhere",),
    "merge nowhere --out x": ("nowhere",),
    "compare nowhere nowhere": ("nowhere",),
    "run absent.toml": ("absent.toml", "`headcats"),
    "run .": ("folder",),
    "run --device abacus": ("'abacus'",),
}


def test_what_does_not_exist_is_one_clear_message(headcats, tmp_path):
    for line, parts in UNKNOWN.items():
        # stdout is as empty where JSON was asked for
        headcats(*line.split(), *(["--json"] if "nowhere" in line else [])).check_one_message(*parts)
    assert list((tmp_path / "here").iterdir()) == []


WRONG_FILES = {
    "n-promts = 3": ("'n-promts'", "study.toml", "'n_prompts'"),
    "n_prompts = ": ("study.toml",),
    "seed = true": ("seed", "got True"),
    "n_prompts = 3\nn-prompts = 4": ("n_prompts", "twice"),
}


def test_a_wrong_study_file_is_named(headcats, tmp_path):
    for text, parts in WRONG_FILES.items():
        (tmp_path / "study.toml").write_text(text, encoding="utf-8")
        headcats("run", tmp_path / "study.toml").check_one_message(*parts)


def test_memory_that_runs_out_before_any_sweep_is_one_sentence(headcats, monkeypatch):
    def full(**options):
        raise MemoryError("CUDA out of memory. GPU 1 has a total capacity of 8 GiB")

    monkeypatch.setattr(cli, "app", full)
    headcats("run").check_one_message("(CUDA", "GPU 1", "(--device)")


# --------------------------------------------------------------------------------------------------------- listing
@pytest.mark.usefixtures("joint_methods")
def test_list_names_everything_with_a_line_on_each(headcats):
    done = headcats("list")
    for kind in ("tasks", "suites", "methods", "rules", "metrics", "figures", "presets"):
        assert f"headcats list {kind}" in done.rows
        lines = headcats("list", kind).out.splitlines()
        for name in registry.names(kind.removesuffix("s")):
            line = next(line for line in lines if line.startswith(f"{name} "))
            assert len(line.split()) > 2, f"{name} has no description"
    assert re.search(r"words2020 .*2001\.00001", headcats("list", "presets").text)
    assert {"name": "rules", "n": len(names("rule"))} in json.loads(headcats("list", "--json").out)


def test_tasks_are_listed_suite_by_suite_or_those_of_one_alone(headcats):
    suites = [entry["suite"] for entry in json.loads(headcats("list", "tasks", "--json").out)]
    order = list(dict.fromkeys(suites))
    assert suites == sorted(suites, key=order.index)
    assert order[0] == "icl"
    listed = json.loads(headcats("list", "tasks", "--suite", "icl", "--json").out)
    assert [entry["name"] for entry in listed] == [task.name for task in hc.suite("icl").tasks]
    assert headcats("list", "suites", "--suite", "icl").code == 2
    assert "'icl'" in headcats("list", "tasks", "--suite", "icll").text
