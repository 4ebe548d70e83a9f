"""Presets: every constant as in the paper."""

import headcats as hc
from headcats.base import registry
from headcats.study.plan import REFERENCE_PROMPTS


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


def test_the_reading_of_maps() -> None:
    # Elhelo & Geva (2025): a head implements a relation from 15 % on, and has a category from one relation on.
    for name in ("maps2025", "maps2025-llama3", "maps2025-llama3-70b"):
        assert dict(registry.lookup("preset", name).reading) == {"rule": "threshold:value=0.15", "min_tasks": "1"}


def test_what_other_papers_choose() -> None:
    chosen = {name: hc.methods.preset(name) for name in registry.names("preset") if name != "todd2024"}
    assert chosen == {
        "maps2025": {"methods": ["ov_relation"]},
        "maps2025-llama3": {"methods": ["ov_relation:preset=maps2025-llama3"]},
        "maps2025-llama3-70b": {"methods": ["ov_relation:preset=maps2025-llama3-70b"]},
        "chg2025": {"methods": ["head_gating"]},
        "chg-mini": {"methods": ["head_gating:preset=chg-mini"]},
        "cogmirrors2025": {"suite": "cognitive", "methods": ["function_probe"]},
        "orgad2025": {"suite": "sentences", "n_demos": 0, "methods": ["token_probe"]},
        "orgad2025-code": {"suite": "sentences", "n_demos": 0, "methods": ["token_probe:preset=orgad2025-code"]},
    }
