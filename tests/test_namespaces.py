"""What a tab key shows: public names, not what the modules happen to import."""

import pkgutil
import subprocess
import sys

import pytest

import headcats as hc
from headcats import registry


@pytest.mark.parametrize(("namespace", "kind"), [("methods", "method"), ("rules", "rule"), ("metrics", "metric")])
def test_names_of_a_kind_and_what_adds_one(namespace: str, kind: registry.Kind) -> None:
    module = getattr(hc, namespace)
    shown = dir(module)
    built_in = [name for name in registry.names(kind) if name in vars(module)]
    assert built_in
    assert set(built_in) <= set(shown)
    assert {"causal_method", "rule", "metric"} & set(shown)
    assert all(hasattr(module, name) for name in shown)
    assert not {"Any", "importlib", "pkgutil", "registry", "torch", "annotations"} & set(shown)
    assert [name for name in shown if name.startswith("_")] == []


def test_the_package_itself() -> None:
    assert dir(hc) == sorted(hc.__all__)


NAMESPACES = {"categories", "errors", "evidence", "figures", "methods", "metrics", "rules"}


def test_no_module_has_the_name_of_a_public_function() -> None:
    assert {module.name for module in pkgutil.iter_modules(hc.__path__)} & set(hc.__all__) == NAMESPACES


@pytest.mark.ci
@pytest.mark.parametrize("descending", [True, False])
def test_public_functions_are_found_after_importing_every_module(descending: bool) -> None:
    """A module of the name of a function of `hc` would take its place once imported."""
    code = (
        "import importlib, pkgutil, headcats as hc\n"
        "names = [m.name for m in pkgutil.walk_packages(hc.__path__, 'headcats.') if '__main__' not in m.name]\n"
        f"for name in sorted(names, reverse={descending}): importlib.import_module(name)\n"
        "assert callable(hc.report) and hc.report.__module__.startswith('headcats.reports')\n"
        f"assert all(callable(getattr(hc, name)) for name in set(hc.__all__) - {NAMESPACES} - {{'__version__'}})\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
