"""What a tab key shows: public names, not what the modules happen to import."""

from for_each import for_each

import headcats as hc
from headcats.base import registry


@for_each("namespace,kind", [("methods", "method"), ("rules", "rule"), ("metrics", "metric")])
def test_names_of_a_kind_and_what_adds_one(namespace: str, kind: registry.Kind) -> None:
    module = getattr(hc, namespace)
    shown = dir(module)
    built_in = [name for name in registry.names(kind) if name in vars(module)]
    assert built_in
    assert set(built_in) <= set(shown)
    assert {"causal_method", "rule", "metric"} & set(shown)
    assert all(callable(getattr(module, name)) for name in (*built_in, *getattr(module, "__all__", ())))
    assert all(hasattr(module, name) for name in shown)
    assert not {"Any", "importlib", "pkgutil", "registry", "torch", "annotations"} & set(shown)
    assert [name for name in shown if name.startswith("_")] == []


def test_the_package_itself() -> None:
    assert dir(hc) == sorted(hc.__all__)
