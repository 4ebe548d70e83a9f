"""What is known of methods over the whole suite without asking them."""

import xarray as xr

from headcats import registry
from headcats.figures import reads
from headcats.findings import suite
from headcats.findings.suite import FIGURE_OF, METHOD_OF, SUITE_METHODS, figure_file, suite_findings


def test_every_method_over_the_whole_suite_has_a_figure_and_a_summary():
    methods = {name: registry.lookup("method", name) for name in registry.names("method")}
    whole = {name for name, method in methods.items() if getattr(method, "scope", None) == "suite"}
    assert whole == SUITE_METHODS == set(METHOD_OF.values()) == set(suite._SUMMARIES)
    assert {name: methods[name].figure for name in whole} == FIGURE_OF
    assert {name: reads(registry.lookup("figure", figure)) for name, figure in FIGURE_OF.items()} == {
        name: table for table, name in METHOD_OF.items()
    }


def test_options_of_a_method_are_in_the_name_of_its_figure():
    block = xr.Dataset(attrs={"label": "head_gating:preset=x,n_seeds=3"})
    assert figure_file(block, "always_any") == "always_any-preset=x-n_seeds=3.html"


def test_a_method_of_another_package_says_nothing():
    assert suite_findings(xr.Dataset(attrs={"method": "lengths"})) == []


def test_the_summary_is_that_of_the_method():
    block = xr.Dataset(
        {"score": (("task", "layer", "head"), [[[0.5, 0.1]]])}
        | {name: ("task", [0.3]) for name in ("threshold", "direct", "direct_later")}
        | {"null": ("task", [0.2])},
        coords={"task": ["a"], "category": ("task", ["c"]), "layer": [0], "head": [0, 1]},
        attrs={
            "method": "ov_relation",
            "provenance": '{"settings": {"threshold": 0.15, "null_percentile": 99.9}, "relations": {"a": '
            '{"copying": false}}}',
        },
    )
    said = suite_findings(block)
    assert said == registry.lookup("method", "ov_relation").summary(block)
    assert said[0].startswith("1 of 1 relations are implemented by at least one of 2 heads")
    assert said[2].startswith("Permuted targets reach 0.15 too, so their threshold is higher: a.")
