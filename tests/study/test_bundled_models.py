"""The bundled models are those that were measured: their weights, their words, and what their cards promise."""

import hashlib
import json

import numpy as np
import pytest

import headcats as hc
from headcats.base import registry

# Of `model.safetensors`.
HASHES = {"mini": "49e27dab5fd2f5de0b1a139fa70087a2", "mini-cognitive": "29acf776f214edcb1ddbc16010456eff"}
TASKS = {"mini": ("icl", ["list_last"]), "mini-cognitive": ("cognitive", ["if_then"])}


@pytest.fixture(scope="module", params=HASHES)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def model(name, mini):
    return mini if name == "mini" else hc.load_model(name, device="cpu")


def test_weights_are_those_that_were_measured(name, model):
    assert (model.name, model.n_layers, model.max_heads) == (name, 6, 8)
    weights = (registry.lookup("model", name) / "model.safetensors").read_bytes()
    assert hashlib.blake2b(weights, digest_size=16).hexdigest() == HASHES[name]


def test_every_word_of_their_suites_is_one_known_token(name, model):
    suites = {"mini": ["icl"], "mini-cognitive": ["cognitive", "sentences"]}[name]
    suites = [suite for suite in suites if suite in registry.names("suite")]
    if not suites:
        return  # they are of papers
    pairs = [pair for suite in suites for task in hc.suite(suite).tasks for pair in task.pairs(200, seed=3)]
    texts = sorted({text for pair in pairs for text in pair})
    if name == "mini":  # one token for a piece between commas; in the other for a word
        words = sorted({piece.strip() for text in texts for piece in text.split(",")})
    else:
        words = sorted({word for text in texts for word in text.split()})
    ids = model.tokenizer(words, add_special_tokens=False)["input_ids"]
    unknown = model.tokenizer.unk_token_id
    assert [word for word, tokens in zip(words, ids, strict=True) if len(tokens) != 1 or unknown in tokens] == []
    assert [model.tokenizer.decode(tokens).strip() for tokens in ids] == words


def test_tasks_are_solved_as_their_cards_say(name, model):
    folder = registry.lookup("model", name)
    measured = json.loads((folder / "train_report.json").read_text(encoding="utf-8"))["measured"]
    card = (folder / "README.md").read_text(encoding="utf-8")
    suite, tasks = TASKS[name]
    for task in tasks if suite in registry.names("suite") else []:
        promised = measured[task]["k"][-1]
        (line,) = [line for line in card.splitlines() if line.startswith(f"| {task} |")]
        assert f" {promised:.3f} |" in line
        right = [
            answered == answer
            for batch in hc.task_prompts(model, task, suite=suite, n_prompts=32, n_demos=len(measured[task]["k"]) - 1)
            for answered, answer in zip(model.logits(batch.clean).argmax(-1), batch.answer, strict=True)
        ]
        # Two prompts of 32 less than expected: other prompts, and rounding differs between machines.
        assert np.mean(right) >= promised - 2.5 / 32, task
