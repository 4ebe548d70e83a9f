"""What the suites of known circuits bring to a study: options, methods, models, and prompts of any tokenizer."""

import pytest
from tokenizer_zoo import ZOO, trained

import headcats as hc
from headcats.base import registry
from headcats.cli.options import settings
from headcats.methods.spec import MethodSpec
from headcats.prompts.encode import encode_pairs
from headcats.results.declaration import default_methods, registered
from headcats.study.plan import methods_of_suite, plan

SUITES = ("induction", "ioi", "greater_than", "agreement")
N_PROMPTS = 24


def test_any_right_answer_will_do_where_there_are_many():
    chosen = plan(suite="greater_than", n_prompts=8)
    assert (chosen.min_accuracy, chosen.min_logit_diff, chosen.n_demos) == (0, 0, 5)
    assert plan(suite="greater_than", n_prompts=8, min_accuracy=0.3).min_accuracy == 0.3


def test_finished_prompts_are_scored_at_their_last_position():
    for name in SUITES:
        specs = [MethodSpec.parse(text) for text in methods_of_suite(hc.suite(name))]
        assert [spec.positions for spec in specs] == ["last"] * 3
        names = [each for each in default_methods() if registered(each).control != "task"]
        assert [spec.name for spec in specs] == names


def test_three_take_a_model_of_the_hub():
    models = {name: settings(None, {"suite": name})["model"] for name in SUITES}
    assert models == dict.fromkeys(SUITES, "gpt2") | {"induction": "mini-cognitive"}
    assert "gpt2" not in registry.names("model")


@pytest.mark.parametrize("name", ZOO)
def test_every_finished_prompt_is_kept(name):
    for task in (task for suite in SUITES for task in hc.suite(suite).tasks):
        _, report = encode_pairs(task.pairs(N_PROMPTS, seed=0)[:N_PROMPTS], trained(name), task=task.name)
        assert (report.kept, report.dropped) == (N_PROMPTS, {})
