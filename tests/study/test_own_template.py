"""The template "chat", from a run to its evidence: the tokens of the tokenizer's own template."""

import itertools
import json
import logging

import pytest
from chat_layouts import WRAPPED, chat_ids, each, messages, with_chat
from counting import SUITE, finished_pairs
from toys import word_tokenizer

import headcats as hc
from headcats.base.errors import ModelError, OptionError, PlanError
from headcats.models.adapter import HookedModel
from headcats.prompts.answered import encode_answered
from headcats.prompts.chat import CHAT
from headcats.results.run_results import RunResults
from headcats.study.method_run import suite_inputs
from headcats.study.own_template import with_own_template
from headcats.study.plan import plan
from headcats.study.preparation import Preparation
from headcats.study.restore import restored_study
from headcats.study.validation import validate
from headcats.tasks.definition import Task

pytestmark = pytest.mark.filterwarnings("ignore::headcats.base.errors.StatisticsWarning")
SMALL = {"suite": SUITE, "n_prompts": 8, "n_demos": 2, "template": "chat"}
RUN = {**SMALL, "n_prompts": 24, "methods": ["denoising_patch"], "progress": False}
# The words of the template "arrow".
AS_ARROW = (
    "{{ bos_token }}{% for m in messages %}"
    "{{ m['content'] + ' →' if m['role'] == 'user' else ' ' + m['content'] + '\n' }}{% endfor %}"
)
DATED = "{{ bos_token + 'w50,w1\n' }}" + WRAPPED


@pytest.fixture(scope="module")
def chatty(model):
    """The counting model with a chat template."""
    return in_chat(model, WRAPPED)


def in_chat(model: HookedModel, chat_template: str | None) -> HookedModel:
    return hc.load_model(model, tokenizer=with_chat(word_tokenizer(), chat_template))


def expected_ids(model: HookedModel, labels, ids) -> list[int]:
    """The conversation in a prompt, by its roles, as the tokenizer writes it."""
    words = {label: model.tokenizer.decode([token]) for label, token in zip(labels, ids.tolist(), strict=True)}
    numbers = itertools.takewhile(lambda number: f"x{number}" in words, itertools.count(1))
    return chat_ids(model.tokenizer, messages([(words[f"x{n}"], words[f"y{n}"]) for n in numbers], words["x_query"]))


def test_task_prompts_are_conversations(model):
    for chat_template in (WRAPPED, DATED, AS_ARROW):
        chatty = in_chat(model, chat_template)
        (batch,) = hc.task_prompts(chatty, "always_a", **SMALL)
        assert len(batch) == 8
        clean = zip(batch.clean, batch.labels, strict=True)
        corrupted = zip(batch.corrupted, batch.corrupted_labels, strict=True)
        for ids, labels in itertools.chain(clean, corrupted):
            assert ids.tolist() == expected_ids(chatty, labels, ids)
            assert labels[-1].startswith("between_query")
            assert ("bos" in labels) == (chat_template != WRAPPED)


# ------------------------------------------------------------------------------------------------- into a folder
def test_a_run_goes_on_with_the_template_that_it_began_with(model, options, tmp_path, caplog):
    """Real ones name the day."""
    options = {**options, "template": "chat", "methods": ["zero_ablation@last"], "tasks": ["always_b"]}
    alone = hc.run(in_chat(model, DATED), **options)
    first = hc.run(in_chat(model, DATED), out=tmp_path, **options | {"tasks": ["always_a"]})
    caplog.set_level(logging.WARNING, "headcats")
    second = hc.run(in_chat(model, DATED.replace("w1", "w2")), out=tmp_path, **options)
    assert "'<bos>w50,w1" in caplog.text
    assert set(RunResults(second).tasks) == {"always_a", "always_b"}
    assert second.attrs["suite"] == first.attrs["suite"]
    name = "always_b/zero_ablation@last"
    assert second[name].patched.equals(alone[name].patched)


def test_another_chat_template_is_refused(model, options, chatty, tmp_path, files):
    options = {**options, "template": "chat", "out": tmp_path / "r", "tasks": ["always_a"]}
    hc.run(chatty, **options)
    before = files(tmp_path / "r")
    with pytest.raises(PlanError, match=r"chat template.*'w53,' there, 'w51,' now.*--out"):
        hc.run(in_chat(model, WRAPPED.replace("w53", "w51")), **options)
    with pytest.raises(PlanError, match="template: 'chat' there, 'arrow'"):
        hc.run(chatty, **options | {"template": "arrow"})
    with pytest.raises(OptionError, match="no chat template"):
        hc.run(model, **options)
    assert files(tmp_path / "r") == before


# ----------------------------------------------------------------------------------------------- finished prompts
def test_finished_prompts_are_messages(chatty):
    def some(n, *, seed):
        return finished_pairs(n, seed=seed)

    options = {**SMALL, "suite": [Task("finished", "knowledge", "made up", some)], "n_demos": 0}
    (batch,) = hc.task_prompts(chatty, "finished", **options)
    pairs = {pair.key: pair for pair in some(0, seed=0)}
    for key, clean, corrupted in zip(batch.keys, batch.clean, batch.corrupted, strict=True):
        assert clean.tolist() == chat_ids(chatty.tokenizer, messages([], pairs[key].clean))
        assert corrupted.tolist() == chat_ids(chatty.tokenizer, messages([], pairs[key].corrupted))
    options |= {"methods": ["denoising_patch@last"], "min_accuracy": 0}
    results = hc.run(chatty, progress=False, **options)
    assert results["finished"]["denoising_patch@last"].patched.notnull().all()
    stored = json.loads(results.attrs["suite"])["tasks"][0]["prompts"]
    assert [entry["clean"] for entry in stored] == [pair.clean for pair in pairs.values()]  # as the task gave them
    assert validate(chatty, **options)["finished"]["prompts"]["kept"] == 8
    evidence = Preparation(chatty, restored_study(RunResults(results))).of("finished")
    assert [batch.fingerprint() for batch in evidence.scored] == [batch.fingerprint()]


# ------------------------------------------------------------------------------------- methods that write prompts
def test_joint_methods_read_conversations(chatty):
    study = with_own_template(plan(suite=SUITE, **{k: v for k, v in SMALL.items() if k != "suite"}), chatty)
    inputs = suite_inputs(chatty, study)
    texts = inputs.texts("always_a", n=4, purpose="test")
    (batch,), _ = encode_answered(texts, chatty.tokenizer)
    for text, tokens in zip(batch.texts, batch.tokens.tolist(), strict=True):
        assert tokens[-1:] == chatty.tokenizer.convert_tokens_to_ids(["w40"])
        words = [line.removeprefix("w53,") for line in text.text.splitlines() if line.startswith("w53,")]
        turns = messages([(word, "w40") for word in words[:-1]], words[-1])
        assert tokens[:-1] == chat_ids(chatty.tokenizer, turns)


def test_a_model_without_tokenizer_and_one_without_chat_template(model, chatty):
    study = plan(suite=SUITE, n_prompts=8, template="chat")
    assert study.template == CHAT
    assert study.record().template == "chat"
    with pytest.raises(OptionError, match="no chat template"):
        hc.task_prompts(model, "always_a", **SMALL)
    with pytest.raises(OptionError, match="no chat template"):
        validate(model, **SMALL)
    without = HookedModel(model.model)
    without.tokenizer = None
    with pytest.raises(ModelError, match="no tokenizer"):
        with_own_template(study, without)
    arrow = plan(suite=SUITE, n_prompts=8)
    assert with_own_template(arrow, chatty) is arrow
    # As many demonstrations as the study has.
    forgetful = in_chat(model, each("m['content']", of="messages[-9:]"))
    assert hc.task_prompts(forgetful, "always_a", **SMALL | {"n_demos": 4})
    with pytest.raises(OptionError, match="'w5' after 'w0', 'w40', 'w1'"):
        hc.task_prompts(forgetful, "always_a", **SMALL | {"n_demos": 5})
