"""Names find their items, unknown names say what there is, and other packages can add to every kind."""

import subprocess
import sys
import textwrap

import pytest
from for_each import for_each

from headcats.base.errors import DataError, UnknownNameError, unknown_name_message
from headcats.base.registry import lookup, names, register


def test_registering_again_replaces_as_a_notebook_cell_does():
    first, second = object(), object()
    assert register("metric", "mine", first) is first
    register("metric", "mine", second)
    assert lookup("metric", "mine") is second
    assert names("metric").count("mine") == 1


@for_each("name", ["", "a/b", "a b", "a:b", "a@b", "a,b", ".a", "-a", "_a", "a\\b", "a\n", "a\tb"])
def test_names_that_could_not_be_written_down_are_refused(name):
    with pytest.raises(DataError, match="needs a name") as problem:
        register("task", name, object())
    assert repr(name) in str(problem.value)
    assert name not in names("task")


@for_each("name", ["français", "a→b", "mini-2.0", "A_b"])
def test_names_may_hold_any_letter(name):
    register("task", name, "item")
    assert lookup("task", name) == "item"


@for_each(
    "kind,wrong,near",
    [
        ("task", "country_captial", "country_capital"),
        ("suite", "icll", "icl"),
        ("method", "denoising_path", "denoising_patch"),
        ("metric", "logitdiff", "logit_diff"),
        ("rule", "fdrr", "fdr"),
        ("rule", "top", "top_fraction"),
        ("figure", "overlapmap", "overlap_map"),
        ("template", "arow", "arrow"),
    ],
)
def test_an_unknown_name_lists_near_matches_and_the_first_names(kind, wrong, near):
    with pytest.raises(UnknownNameError) as problem:
        lookup(kind, wrong)
    message = str(problem.value)
    assert message.startswith(f"Unknown {kind} {wrong!r}. Did you mean {near!r}")
    assert all(name in message for name in names(kind)[:5])
    assert len(message) < 600
    assert isinstance(problem.value, KeyError)


def test_the_message_without_near_matches_or_items():
    assert unknown_name_message("rule", "xyz", ["fdr"]).endswith("'xyz'. Known: fdr.")
    assert unknown_name_message("rule", "xyz", []).endswith("none is registered.")
    assert "'fdr' or 'fdr2'?" in unknown_name_message("rule", "fdr1", ["fdr", "fdr2", "elbow"])


def test_an_installed_package_adds_items_by_entry_points(tmp_path):
    """As a third-party package: a module and the metadata that pip leaves, both on the path of a fresh process."""
    (tmp_path / "their_tasks.py").write_text(
        textwrap.dedent(
            """
            import headcats as hc

            @hc.task(category="knowledge", source="their package", suite="icl")
            def their_task(n, *, seed):
                return [("a", "b")]
            """
        ),
        encoding="utf-8",
    )
    metadata = tmp_path / "their_tasks-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: their-tasks\nVersion: 1.0\n", encoding="utf-8")
    (metadata / "entry_points.txt").write_text("[headcats.task]\ntheirs = their_tasks\n", encoding="utf-8")
    code = """
import sys
sys.path.insert(0, sys.argv[1])
from headcats.base.registry import lookup, names
assert "their_task" in names("task"), names("task")
assert [task.name for task in lookup("suite", "icl")().tasks][-1] == "their_task"
assert "torch" not in sys.modules
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr
