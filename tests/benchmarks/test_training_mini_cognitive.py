"""The bundled model "mini-cognitive": its folder, its tokenizer, what it can do, and its training sequences."""

import json
from itertools import pairwise

import numpy as np
import pytest
import torch
from toys import BACKENDS
from training.evaluation import accuracy_by_demonstrations, encode, logits_of, random_sequences
from training.fit import Fit
from training.gate import GATE, GATE_PROMPTS, GATE_SEED
from training.mini_cognitive.card import write_card
from training.mini_cognitive.material import (
    LARGE,
    N_DEMOS,
    few_shot_pairs,
    fresh_pairs,
    held_out,
    questions,
    trained_pairs,
)
from training.mini_cognitive.recipe import failures, gate
from training.mini_cognitive.sentences import greedy, sentence_accuracy
from training.mini_cognitive.sequences import CognitiveSequences, CognitiveSettings
from training.shipped import SHIPPED_FILES, load, selected
from training.tokenizer import make_space_tokenizer

from headcats import registry
from headcats.models.loading import load_model
from headcats.statistics.random_streams import stream
from headcats.tasks.sentences import TAUGHT
from headcats.tasks.suites import suite

pytestmark = pytest.mark.ci

FOLDER = registry.lookup("model", "mini-cognitive")
TINY = CognitiveSettings(
    n_layers=2,
    n_heads=2,
    d_model=16,
    d_mlp=24,
    sequences_per_task=3,
    question_sequences=6,
    cycle_sequences=5,
    warm_up=5,
    first_cycle=12,
    later_cycle=4,
)


@pytest.fixture(scope="module")
def shipped():
    return load(FOLDER)


@pytest.fixture(scope="module")
def report():
    return json.loads((FOLDER / "train_report.json").read_text(encoding="utf-8"))


TASKS = {task.name: task for task in suite("cognitive").tasks}


@pytest.fixture(scope="module")
def fresh():
    """Few pairs of every task, of large ones such as are never trained."""
    some = {name: few_shot_pairs(task, LARGE + 1, 30_000_000) for name, task in TASKS.items()}
    return {name: [pair for pair in pairs if len(pairs) <= LARGE or held_out(pair[0])] for name, pairs in some.items()}


def tiny_sequences(seed: int) -> tuple[CognitiveSequences, dict[str, int]]:
    names = [f"w{number}" for number in range(30)]
    numbers = [str(number) for number in range(40)]
    tasks = {
        "next": list(pairwise(numbers)),
        "same": [(number, number) for number in numbers],
        "third": [(" ".join(names[place : place + 7]), names[place + 2]) for place in range(20)],
        "second": [(f"{a} {b} {c} {d}", b) for a, b, c, d in zip(names, names[1:], names[2:], names[3:], strict=False)],
    }
    said = {
        "short": [(f"{a} plus {b}", f"it is {a + b} now") for a in range(4) for b in range(4)],
        "long": [(f"{a} plus {b} plus 1", f"now it is {a} {b} again") for a in range(4) for b in range(4)],
    }
    words = [*names, *numbers, "plus", "it", "is", "now", "again"]
    vocabulary = make_space_tokenizer(words, n_positions=96).get_vocab()
    return CognitiveSequences(tasks, said, vocabulary, stream(seed, "test"), settings=TINY), vocabulary


class TestFolder:
    def test_is_complete_and_small(self):
        for name in (*SHIPPED_FILES, "README.md", "train_report.json"):
            assert (FOLDER / name).is_file(), name
        assert sum(path.stat().st_size for path in FOLDER.iterdir() if path.is_file()) <= 6_000_000

    def test_is_the_size_that_was_declared(self, shipped):
        model, tokenizer = shipped
        assert {weight.dtype for weight in model.parameters()} == {torch.float32}
        config = model.config
        assert (config.model_type, config.num_hidden_layers, config.num_attention_heads) == ("llama", 6, 8)
        assert (config.hidden_size, config.max_position_embeddings) == (128, 96)
        assert config.vocab_size == len(tokenizer)

    @pytest.mark.parametrize("backend", BACKENDS)
    def test_its_name_loads_it(self, shipped, backend):
        model, (plain, tokenizer) = load_model("mini-cognitive", backend=backend, device="cpu"), shipped
        tokens = encode(["owl crow hat swan → crow\nleaf sun hat box →"], tokenizer)
        expected = plain(tokens).logits[:, -1].detach().log_softmax(-1)
        assert (model.logits(tokens).log_softmax(-1) - expected).abs().max() < 2e-5
        assert (model.name, model.n_layers, model.max_heads) == ("mini-cognitive", 6, 8)

    def test_card_says_what_the_report_holds(self, report):
        assert (FOLDER / "README.md").read_text(encoding="utf-8") == write_card(report)

    def test_report_covers_the_suites_as_they_are(self, report):
        assert report["categories"] == {task.name: task.category for task in suite("cognitive").tasks}
        assert list(report["measured"]) == list(report["categories"])
        assert list(report["sentences"]) == [task.name for task in suite("sentences").tasks]

    def test_shipped_seed_follows_the_rule(self, report):
        seeds = [seed["seed"] for seed in report["seeds"]]
        assert seeds == [0, 1, 2][: len(seeds)]
        assert report["seeds"][selected(report["seeds"])]["seed"] == report["shipped"] == seeds[-1]
        for seed in report["seeds"]:
            assert seed["passed"] == (not failures(seed["gates"][-1]))
            assert seed["settings"] == vars(CognitiveSettings())

    @pytest.mark.parametrize("task", ["kind_of", "if_then"])
    def test_measuring_again_gives_the_number_of_the_card(self, shipped, report, task):
        model, tokenizer = shipped
        draws = stream(GATE_SEED, task, "gate")
        pairs = fresh_pairs(TASKS[task], GATE_SEED)
        sequences = random_sequences(pairs, GATE_PROMPTS, n_pairs=N_DEMOS + 1, draws=draws)
        measured = accuracy_by_demonstrations(logits_of(model), sequences, tokenizer)
        # Rounding differs between machines, so a prompt or two may tip over.
        np.testing.assert_allclose(measured, report["measured"][task]["k"], atol=3 / GATE_PROMPTS)


class TestTokenizer:
    def test_every_word_of_both_suites_is_one_token(self, shipped):
        _, tokenizer = shipped
        material = [few_shot_pairs(task, 1000, 3) for task in TASKS.values()]
        material += [pairs for halves in questions().values() for pairs in halves.values()]
        words = sorted({word for pairs in material for pair in pairs for text in pair for word in text.split()})
        for text in (words, [f" {word}" for word in words]):
            ids = tokenizer(text)["input_ids"]
            assert {len(tokens) for tokens in ids} == {1}
            assert tokenizer.unk_token_id not in {token for tokens in ids for token in tokens}
            assert [tokenizer.decode(tokens) for tokens in ids] == words

    def test_a_prompt_comes_back_as_it_was(self, shipped):
        _, tokenizer = shipped
        text = "4 7 plus 3 8 → the sum is 8 5 now\ndog run → runs\n"
        ids = tokenizer(text)["input_ids"]
        assert len(ids) == 5 + 1 + 6 + 1 + 2 + 1 + 1 + 1
        assert tokenizer.decode(ids) == text
        assert tokenizer("4  7 →the sum")["input_ids"] == tokenizer("4 7 → the sum")["input_ids"]

    def test_file_is_what_the_script_makes(self, shipped):
        _, tokenizer = shipped
        again = make_space_tokenizer(tokenizer.get_vocab(), n_positions=CognitiveSettings().n_positions)
        assert json.loads(again.backend_tokenizer.to_str()) == json.loads(tokenizer.backend_tokenizer.to_str())

    def test_prompts_of_four_demonstrations_fit(self, shipped, fresh):
        _, tokenizer = shipped
        longest = max(len(f"{given} →".split()) + 2 for pairs in fresh.values() for given, _ in pairs[:50])
        assert 1 + (N_DEMOS + 1) * longest <= tokenizer.model_max_length == 96


class TestAbility:
    def test_small_gate(self, shipped, fresh):
        model, tokenizer = shipped
        reached = {}
        for task, pairs in fresh.items():
            sequences = random_sequences(pairs, 60, n_pairs=N_DEMOS + 1, draws=stream(30_000_000, task))
            reached[task] = accuracy_by_demonstrations(logits_of(model), sequences, tokenizer)[N_DEMOS]
        assert {task: accuracy for task, accuracy in reached.items() if accuracy < 0.88} == {}

    def test_sentences_are_right_where_they_were_taught(self, shipped):
        model, tokenizer = shipped
        for task, halves in sentence_accuracy(logits_of(model), tokenizer, n=60).items():
            assert halves["taught"] > 0.7, task
            assert halves["untaught"] < 0.4, task

    def test_sentences_keep_their_wording(self, shipped):
        model, tokenizer = shipped
        for task, halves in questions().items():
            pairs = halves["taught"][:10] + halves["untaught"][:10]
            said = greedy(logits_of(model), [f"{given} →" for given, _ in pairs], tokenizer)
            words = [[word for word in text.split() if not word.isdigit()] for text in said]
            assert words == [[word for word in right.split() if not word.isdigit()] for _, right in pairs], task

    @pytest.mark.slow
    def test_gate(self, shipped):
        model, tokenizer = shipped
        assert failures(gate(logits_of(model), tokenizer)) == {}


class TestMaterial:
    def test_large_tasks_are_measured_on_inputs_that_are_never_trained(self, fresh):
        small = {name for name, pairs in fresh.items() if not all(held_out(given) for given, _ in pairs)}
        tables = {"capital_recall", "language_recall", "continent_recall", "kind_of", "plural_of"}
        assert small == tables | {name for name in TASKS if name.startswith("number_") or name.endswith("_term")}
        assert min(len(pairs) for pairs in fresh.values()) >= 60
        assert not {given for given, _ in trained_pairs(TASKS["if_then"])} & {given for given, _ in fresh["if_then"]}
        assert trained_pairs(TASKS["kind_of"]) == fresh_pairs(TASKS["kind_of"], GATE_SEED)
        seen = {given for name in small for given, _ in trained_pairs(TASKS[name])}
        met = {name for name in set(fresh) - small if seen & {given for given, _ in fresh[name]}}
        assert met == {"second_item"}, "only the progressions are trained as inputs of small tasks; the card says so"

    def test_half_of_the_questions_are_taught(self):
        for task in suite("sentences").tasks:
            taught, untaught = questions()[task.name].values()
            assert len(taught) == len(untaught) == TAUGHT
            assert set(taught) | set(untaught) == set(task.pairs(10_000, seed=1))
            assert not {given for given, _ in taught} & {given for given, _ in untaught}


class TestSequences:
    def test_few_shot_sequences_are_lines_of_pairs(self):
        sequences, vocabulary = tiny_sequences(0)
        short, long, *longest, _, _ = sequences.batches()
        assert [batch.tokens.shape for batch in (short, long, *longest)] == [(6, 33), *[(3, 50)] * 2, *[(3, 61)] * 2]
        assert short.weight / long.weight == pytest.approx(6 * 8 / (3 * 7))
        assert short.weight + long.weight + sum(batch.weight for batch in longest) == pytest.approx(1)
        for batch in (short, long, *longest):
            assert (batch.tokens[:, 0] == vocabulary["<|endoftext|>"]).all()
            assert (batch.tokens[:, batch.answers] == vocabulary["→"]).all()
            assert (batch.tokens[:, batch.answers + 2] == vocabulary["\n"]).all()

    def test_most_labels_follow_the_task_and_some_are_random(self):
        sequences, _ = tiny_sequences(1)
        tokens = sequences.few_shot_batch(4, 300)
        arrows = 5 + 7 * np.arange(7)
        right = (tokens[:, arrows + 1] == tokens[:, arrows - 3]).all(1)
        assert 0.72 < right.mean() < 0.92

    def test_questions_count_from_the_arrow_to_the_newline(self):
        sequences, vocabulary = tiny_sequences(2)
        words = {token: word for word, token in vocabulary.items()}
        batch = sequences.question_batch(40)
        for row, marks in zip(batch.tokens, batch.counted, strict=True):
            text = " ".join(words[token] for token in row[1:])
            question, sentence = text.split(" → ")
            learned = [words[token] for token in row[batch.answers[marks] + 1]]
            assert learned == [*sentence.rstrip("\n ").split(), "\n"]
            assert question.split() == [words[token] for token in row[1 : batch.answers[marks][0]]]

    def test_a_step_has_batches_of_every_kind(self):
        names = [batch.name for batch in tiny_sequences(0)[0].batches()]
        assert names == ["inputs of 1", *["inputs of 4"] * 2, *["inputs of 7"] * 2, "sentences", "cycles"]

    def test_words_in_cycles_follow_the_same_word_as_before(self):
        batch = tiny_sequences(0)[0].cycle_batch(80)
        assert batch.tokens.shape == (80, 21)
        for row, marks in zip(batch.tokens, batch.counted, strict=True):
            counted = batch.answers[marks].tolist()
            assert counted == list(range(counted[0], 20))
            after = {row[place]: row[place + 1] for place in range(1, counted[0])}
            assert [after[row[place]] for place in counted] == row[np.array(counted) + 1].tolist()
        assert {int(marks.argmax()) for marks in batch.counted} == set(range(7)), "cycles of every length"

    def test_same_seed_gives_the_same_sequences(self):
        first, again, other = (tiny_sequences(seed)[0].batches() for seed in (3, 3, 4))
        for one, same, different in zip(first, again, other, strict=True):
            assert (one.tokens == same.tokens).all()
            assert (one.tokens != different.tokens).any()

    def test_training_lowers_every_loss(self):
        sequences, vocabulary = tiny_sequences(0)
        fit = Fit(TINY, sequences, n_tokens=len(vocabulary), seed=0, compiled=False)
        losses = [fit.step(1e-2) for _ in range(40)]
        for name in ("inputs of 1", "inputs of 4", "sentences"):
            assert np.mean([loss[name] for loss in losses[-5:]]) < losses[0][name] - 0.5


def test_gate_holds_for_every_task_and_for_sentences_in_both_directions():
    reached, missed = [0.0] * N_DEMOS + [GATE], [1.0] * N_DEMOS + [GATE - 0.01]
    known, unknown = {"taught": 1.0, "untaught": 0.1}, {"taught": 0.4, "untaught": 0.1}
    on_prompts = {"a": 0.97, "b": 1.0}
    assert failures({"k": {"a": reached, "b": missed}, "prompts": on_prompts, "sentences": {"known": known}}) == {
        "b": 0.94
    }
    assert failures({"k": {"a": reached}, "prompts": {"a": 0.9}, "sentences": {}}) == {"a": 0.9}
    too_good = {"taught": 1.0, "untaught": 0.5}
    said = {"known": known, "unknown": unknown, "general": too_good}
    assert failures({"k": {}, "prompts": {}, "sentences": said}) == {"unknown": 0.25, "general": 0.75}
