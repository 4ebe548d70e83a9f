"""What methods say of themselves: read without torch, carried by blocks, and known by no other file."""

import ast
import functools
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import xarray as xr

import headcats as hc
from headcats import registry
from headcats.methods.spec import MethodSpec
from headcats.results.declaration import (
    Declaration,
    Strength,
    controls_of,
    declaration_of,
    default_methods,
    registered,
    registered_declarations,
)
from headcats.results.run_results import RunResults


def test_declarations_are_read_without_torch():
    code = (
        "import sys, headcats.cli.map, headcats.reports.page\n"
        "from headcats.results.declaration import registered_declarations\n"
        "print(len(registered_declarations()), 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, encoding="utf-8")
    assert done.stdout.split() == [str(len(registered_declarations())), "False"]


@pytest.mark.parametrize("name", registry.names("method"))
class TestEveryMethod:
    def test_survives_being_written(self, name: str) -> None:
        about = registered(name)
        assert Declaration.from_text(about.as_text()) == about
        assert about.name == name == registry.lookup("method", name).name

    def test_names_what_exists(self, name: str) -> None:
        about = registered(name)
        assert {about.figure, *about.more_figures} <= {"", *registry.names("figure")}
        assert about.control_of in ("", *registry.names("method"))
        assert {about.suite, about.default_suite} <= {"", *registry.names("suite")}
        assert about.paper
        assert about.cost


def test_an_earlier_version_may_lack_fields():
    for name in ("head_gating", "ov_relation"):
        content = json.loads(registered(name).as_text())
        content["sorts_heads"] = True
        del content["selection"], content["more_figures"]
        assert Declaration.from_text(json.dumps(content)) == registered(name)


def test_a_later_version_may_add_fields():
    content = json.loads(registered("head_gating").as_text())
    content["strength"]["later"] = content["later"] = 1
    assert Declaration.from_text(json.dumps(content)) == registered("head_gating")


def test_the_methods_of_a_run_that_names_none():
    labels = [MethodSpec.parse(name).label for name in default_methods()]
    assert labels == [
        "denoising_patch@last",
        "second_corruption_patch@last",
        "other_item_patch@last",
        "mean_ablation@all",
    ]


def test_controls_belong_to_a_method():
    assert controls_of("denoising_patch") == {"task": "second_corruption_patch", "item": "other_item_patch"}
    assert controls_of("mean_ablation") == {}


class TestOfABlock:
    def test_is_the_one_that_it_carries(self) -> None:
        about = Declaration(
            name="mine", kind="joint", strength=Strength("norm", "task", "category"), figure="norm_grid"
        )
        block = xr.Dataset(attrs={"method": "ov_relation", "declaration": about.as_text()})
        assert declaration_of(block) == about

    def test_is_the_registered_one_where_it_carries_none(self) -> None:
        assert declaration_of(xr.Dataset(attrs={"method": "ov_relation"})) == hc.methods.ov_relation.declaration

    def test_of_an_unknown_method_is_bare(self) -> None:
        assert declaration_of(xr.Dataset(), name="nobody") == Declaration("nobody")

    def test_results_say_which_methods_are_joint(self) -> None:
        nodes = {"/a/denoising_patch@last": xr.Dataset(), "/_suite/nobody:x=1": xr.Dataset()}
        declared = RunResults(xr.DataTree.from_dict(nodes)).declarations
        assert {label: about.kind for label, about in declared.items()} == {
            "denoising_patch@last": "task",
            "nobody:x=1": "joint",
        }
        assert declared["denoising_patch@last"].default == 1


def test_a_lazy_method_has_the_signature_and_the_docstring_of_its_code():
    import inspect

    assert list(inspect.signature(hc.methods.ov_relation).parameters)[:2] == ["model", "pairs"]
    assert "word pairs" in (inspect.getdoc(hc.methods.ov_relation) or "")
    assert not hasattr(hc.methods.ov_relation, "work_of_another")


# --------------------------------------------------------------------------------------------- nobody else knows names
PACKAGE = Path(hc.__file__).parent
# Rooms and files that belong to one paper, until they lie in its folder.
PAPERS = {
    "function_vector_patch": ("methods/function_vector",),
    "zero_ablation": ("methods/ov_relation/ablation.py",),
    "denoising_patch": ("methods/token_probe/role_patching.py",),
}


def belongs(path: Path, method: str) -> bool:
    """Whether a file is that of a method, or of its paper."""
    inside = path.relative_to(PACKAGE).as_posix()
    controls = controls_of(method).values()  # a control names its method
    rooms = [f"methods/{name}{end}" for name in (method, *controls) for end in ("", ".py")] + [*PAPERS.get(method, ())]
    return any(inside == room or inside.startswith(f"{room}/") for room in rooms)


@functools.cache
def mentions(path: Path) -> set[str]:
    """Strings, names and imports of a file, without docstrings and the examples of `headcats ... --help`."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found: set[str] = set()
    skipped = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    helps = [node.value for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg == "help"]
    help_names = {inner.id for value in helps for inner in ast.walk(value) if isinstance(inner, ast.Name)}
    for node in tree.body:
        if isinstance(node, ast.Assign) and help_names & {getattr(target, "id", "") for target in node.targets}:
            skipped |= {id(inner) for inner in ast.walk(node.value)}
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "help":
            skipped |= {id(inner) for inner in ast.walk(node.value)}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
            found.add(node.value)
        elif isinstance(node, ast.Name | ast.Attribute):
            found.add(node.id if isinstance(node, ast.Name) else node.attr)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {getattr(node, "module", None) or "", *(alias.name for alias in node.names)}
    return found


@pytest.mark.parametrize("name", registry.names("method"))
def test_no_other_file_knows_a_method(name: str) -> None:
    knowing = {
        path.relative_to(PACKAGE).as_posix(): sorted(text for text in mentions(path) if re.search(rf"\b{name}\b", text))
        for path in PACKAGE.rglob("*.py")
        if not belongs(path, name)
    }
    assert {path: texts for path, texts in knowing.items() if texts} == {}
