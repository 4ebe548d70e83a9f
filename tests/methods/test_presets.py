"""Presets: every constant as in the paper, and every one a plan that can be made."""

import pytest

import headcats as hc
from headcats import registry
from headcats.cli.settings import settings
from headcats.errors import UnknownNameError
from headcats.study.defaults import DEFAULT_PROMPTS, DEFAULTS
from headcats.study.plan import REFERENCE_PROMPTS, plan


def test_the_constants_of_function_vectors() -> None:
    # Todd et al. (2024): 10 shots "Q: x\nA: y\n\n", means over 100 clean prompts, 25 prompts with shuffled labels,
    # P(answer).
    assert hc.methods.preset("todd2024") == {
        "methods": ["function_vector_patch"],
        "n_prompts": 25,
        "n_demos": 10,
        "template": "question",
        "corruption": "shuffled_labels",
        "answers": "first_token",
        "metrics": ["prob"],
    }
    template = registry.lookup("template", "question")
    assert template.render([("x", "y")], "q")[0] + template.answer("a") == "Q: x\nA: y\n\nQ: q\nA: a"
    assert REFERENCE_PROMPTS == 100


@pytest.mark.parametrize("name", ["maps2025", "maps2025-llama3", "maps2025-llama3-70b"])
def test_the_reading_of_maps(name: str) -> None:
    # Elhelo & Geva (2025): a head implements a relation from 15 % on, and has a category from one relation on.
    assert dict(registry.lookup("preset", name).reading) == {"rule": "threshold:value=0.15", "min_tasks": "1"}


@pytest.mark.parametrize(
    ("name", "methods"),
    [
        ("maps2025", ["ov_relation"]),
        ("maps2025-llama3", ["ov_relation:preset=maps2025-llama3"]),
        ("maps2025-llama3-70b", ["ov_relation:preset=maps2025-llama3-70b"]),
        ("chg2025", ["head_gating"]),
        ("chg-mini", ["head_gating:preset=chg-mini"]),
    ],
)
def test_some_papers_choose_a_method_for_any_suite(name: str, methods: list[str]) -> None:
    assert hc.methods.preset(name) == {"methods": methods}


def test_the_probes_have_suites_of_their_own() -> None:
    assert hc.methods.preset("cogmirrors2025") == {"suite": "cognitive", "methods": ["function_probe"]}
    assert hc.methods.preset("orgad2025") == {"suite": "sentences", "n_demos": 0, "methods": ["token_probe"]}


@pytest.mark.parametrize("name", registry.names("preset"))
class TestEveryPreset:
    def test_is_a_plan(self, name: str) -> None:
        options = {"n_prompts": DEFAULT_PROMPTS, "suite": "icl", **hc.methods.preset(name)}
        study = plan(suite_source=options.pop("suite"), **options)
        assert [spec.name for spec in study.methods] == hc.methods.preset(name)["methods"]

    def test_names_its_paper(self, name: str) -> None:
        made = registry.lookup("preset", name)
        assert made.name == name
        assert "20" in made.paper
        assert made.__doc__.startswith(made.paper)

    def test_options_win_over_it(self, name: str) -> None:
        chosen = settings(None, {"n_prompts": 3, "seed": None}, preset_name=name)
        assert chosen["n_prompts"] == 3
        assert chosen["methods"] == hc.methods.preset(name)["methods"]
        assert set(chosen) == set(DEFAULTS)

    def test_what_comes_back_can_be_changed(self, name: str) -> None:
        hc.methods.preset(name)["methods"].append("other")
        assert "other" not in hc.methods.preset(name)["methods"]


def test_an_unknown_preset() -> None:
    with pytest.raises(UnknownNameError, match=r"'todd2023'.*'todd2024'"):
        hc.methods.preset("todd2023")
