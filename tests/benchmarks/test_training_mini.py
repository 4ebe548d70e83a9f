"""The bundled model: its folder, its tokenizer, what it can do, and the loop that trained it."""

import dataclasses
import json
from itertools import pairwise

import numpy as np
import pytest
import torch
from covering import some
from training.evaluation import (
    accuracy_by_demonstrations,
    accuracy_of_prompts,
    accuracy_table,
    logits_of,
    random_sequences,
)
from training.few_shot import answer_positions
from training.fit import Fit
from training.gate import GATE, GATE_PROMPTS, GATE_SEED, below_gate
from training.mini.card import write_card
from training.mini.material import N_DEMOS, evaluation_set, suite_categories, suite_pairs
from training.mini.recipe import gate
from training.mini.sequences import LIST_ANSWERS, MiniSettings, Sequences, held_out, repeated_words
from training.network import answer_logits, make_model
from training.shipped import SHIPPED_FILES, load, selected
from training.tokenizer import make_tokenizer, words_of

from headcats import registry
from headcats.statistics.random_streams import stream

pytestmark = pytest.mark.ci

FOLDER = registry.lookup("model", "mini")
TINY = MiniSettings(
    n_layers=2,
    n_heads=2,
    d_model=16,
    d_mlp=24,
    table_sequences=8,
    list_sequences=4,
    repeated_sequences=2,
    warm_up=5,
    first_cycle=12,
    later_cycle=4,
    most_cycles=2,
    check_every=6,
)


@pytest.fixture(scope="module")
def shipped():
    return load(FOLDER)


@pytest.fixture(scope="module")
def report():
    return json.loads((FOLDER / "train_report.json").read_text(encoding="utf-8"))


def number_of(tokens: np.ndarray, vocabulary: dict[str, int]) -> np.ndarray:
    values = np.zeros(len(vocabulary), int)
    for number in range(100):
        values[vocabulary[str(number)]] = number
    return values[tokens]


def tiny_sequences(seed: int) -> tuple[Sequences, dict[str, int]]:
    numbers = [str(number) for number in range(100)]
    few = numbers[:14]
    tables = {"next": list(pairwise(few)), "back": list(pairwise(few[::-1]))}
    words = ["dog", "house", "sun", "tree"]
    vocabulary = make_tokenizer([*numbers, *words], n_positions=64).get_vocab()
    return Sequences(tables, words, vocabulary, stream(seed, "test"), settings=TINY), vocabulary


def tiny_fit(seed: int = 0) -> Fit:
    sequences, vocabulary = tiny_sequences(seed)
    return Fit(TINY, sequences, n_tokens=len(vocabulary), seed=seed, compiled=False)


class TestFolder:
    def test_is_complete_and_small(self):
        for name in (*SHIPPED_FILES, "README.md", "train_report.json"):
            assert (FOLDER / name).is_file(), name
        assert sum(path.stat().st_size for path in FOLDER.iterdir() if path.is_file()) <= 10_000_000

    def test_loads_as_float32_llama_without_unknown_weights(self, shipped):
        model, tokenizer = shipped
        assert {weight.dtype for weight in model.parameters()} == {torch.float32}
        assert model.config.model_type == "llama"
        assert model.config.vocab_size == len(tokenizer)
        assert model.lm_head.weight is model.model.embed_tokens.weight

    def test_card_says_what_the_report_holds(self, report):
        assert (FOLDER / "README.md").read_text(encoding="utf-8") == write_card(report)

    def test_report_covers_the_suite_as_it_is(self, report):
        assert report["categories"] == suite_categories()
        assert list(report["measured"]) == list(suite_categories())
        assert len(report["measured"]) >= 30
        assert min(np.unique(list(report["categories"].values()), return_counts=True)[1]) >= 6

    def test_shipped_seed_follows_the_rule(self, report):
        assert [seed["seed"] for seed in report["seeds"]] == [0, 1, 2]
        assert report["seeds"][selected(report["seeds"])]["seed"] == report["shipped"]
        for seed in report["seeds"]:
            assert seed["passed"] == (not below_gate(seed["gates"][-1]))
        settings = [seed["settings"] for seed in report["seeds"]]
        assert settings == [vars(MiniSettings())] * 3

    def test_no_task_is_solvable_without_demonstrations(self, report):
        assert {task: cells["k"][0] for task, cells in report["measured"].items() if cells["k"][0] > 0.9} == {}

    @pytest.mark.parametrize("task", some(["list_last", "past_participle"], in_ci=1))
    def test_measuring_again_gives_the_number_of_the_card(self, shipped, report, task):
        model, tokenizer = shipped
        pairs = evaluation_set(tokenizer, GATE_SEED).pairs[task]
        sequences = random_sequences(pairs, GATE_PROMPTS, n_pairs=N_DEMOS + 1, draws=stream(GATE_SEED, task, "gate"))
        measured = accuracy_by_demonstrations(logits_of(model), sequences, tokenizer)
        # Rounding differs between machines, so a prompt or two may tip over.
        np.testing.assert_allclose(measured, report["measured"][task]["k"], atol=3 / GATE_PROMPTS)


class TestTokenizer:
    def test_every_word_of_the_suite_is_one_token_and_comes_back(self, shipped):
        _, tokenizer = shipped
        words = sorted(set().union(*map(words_of, suite_pairs(seed=3).values())))
        ids = tokenizer(words)["input_ids"]
        assert {len(tokens) for tokens in ids} == {1}
        assert [tokenizer.decode(tokens) for tokens in ids] == words
        assert any(" " in word for word in words)

    def test_spaces_around_a_piece_do_not_matter(self, shipped):
        _, tokenizer = shipped
        tight, wide = "house→maison\nsun,tree,dog→", " house  →  maison \n sun, tree , dog → "
        assert tokenizer(tight)["input_ids"] == tokenizer(wide)["input_ids"]
        assert tokenizer.decode(tokenizer(tight)["input_ids"]).strip() == "house → maison\nsun, tree, dog →"

    def test_file_is_what_the_script_makes(self, shipped):
        _, tokenizer = shipped
        again = make_tokenizer(tokenizer.get_vocab(), n_positions=MiniSettings().n_positions)
        assert json.loads(again.backend_tokenizer.to_str()) == json.loads(tokenizer.backend_tokenizer.to_str())
        assert again.model_max_length == tokenizer.model_max_length

    def test_unknown_words_are_marked_and_nothing_is_prepended(self, shipped):
        _, tokenizer = shipped
        assert tokenizer("flibbertigibbet")["input_ids"] == [tokenizer.unk_token_id]
        assert tokenizer.bos_token_id == tokenizer.eos_token_id == tokenizer.pad_token_id == 0


class TestAbility:
    def test_small_gate(self, shipped):
        model, tokenizer = shipped
        table = accuracy_table(logits_of(model), tokenizer, evaluation_set(tokenizer, 30_000_000), n=60)
        assert {task: by_k[N_DEMOS] for task, by_k in table.items() if by_k[N_DEMOS] < 0.9} == {}
        assert list(table) == list(suite_categories())

    @pytest.mark.slow
    def test_gate(self, shipped):
        model, tokenizer = shipped
        assert below_gate(gate(logits_of(model), tokenizer)) == {}

    def test_accuracy_counts_the_answers_of_a_known_model(self):
        """A "model" that always says `b`: right on every query whose answer is `b`, and sure of it."""
        tokenizer = make_tokenizer(["a", "b", "c"], n_positions=64)
        token = tokenizer.get_vocab()["b"]

        def logits(tokens, answers):
            scores = torch.zeros(len(tokens), len(answers), len(tokenizer))
            scores[..., token] = 100.0
            return scores

        sequences = [[("a", "b"), ("b", "c")], [("c", "b"), ("a", "b")]]
        assert accuracy_by_demonstrations(logits, sequences, tokenizer).tolist() == [1.0, 0.5]
        assert accuracy_of_prompts(logits, ["a →", "c →"], [" b", " a"], tokenizer) == (0.5, 0.5)


class TestSequences:
    def test_list_answers_are_those_of_the_suite(self, shipped):
        vocabulary = shipped[1].get_vocab()
        pairs = suite_pairs(seed=5)
        for task, answer in LIST_ANSWERS.items():
            items = np.array([[vocabulary[item] for item in given.split(", ")] for given, _ in pairs[task]])
            assert answer(items, number_of(items, vocabulary)).tolist() == [
                vocabulary[output] for _, output in pairs[task]
            ], task

    def test_lists_held_out_are_never_drawn(self):
        sequences, _ = tiny_sequences(0)
        batch = sequences.list_batch(200)
        inputs = answer_positions(6, input_length=5)
        items = np.stack([batch[:, inputs - back] for back in (5, 3, 1)], -1).reshape(-1, 3)
        assert not held_out(items).any()
        assert (items[:, 0] != items[:, 1]).all()
        share = held_out(np.random.default_rng(0).integers(5, 100, (4000, 3))).mean()
        assert 0.1 < share < 0.15

    def test_most_labels_follow_the_task_and_some_are_random(self):
        sequences, vocabulary = tiny_sequences(1)
        batch = sequences.table_batch(300)
        arrows = answer_positions(8, input_length=1)
        assert (batch[:, 0] == 0).all()
        steps = number_of(batch[:, arrows + 1], vocabulary) - number_of(batch[:, arrows - 1], vocabulary)
        clean = (np.abs(steps) == 1).all(1) & (steps == steps[:, :1]).all(1)
        assert 0.72 < clean.mean() < 0.92

    def test_same_seed_gives_the_same_sequences(self):
        first, again, other = (tiny_sequences(seed)[0].batches() for seed in (3, 3, 4))
        assert [batch.name for batch in first] == ["tables", "lists", "repeated words"]
        for one, same, different in zip(first, again, other, strict=True):
            assert (one.tokens == same.tokens).all()
            assert (one.tokens != different.tokens).any()

    def test_a_step_weighs_answers_alike_and_repeated_words_beside_them(self):
        tables, lists, repeated = tiny_sequences(0)[0].batches()
        answers = TINY.table_sequences * len(tables.answers), TINY.list_sequences * len(lists.answers)
        assert tables.weight / lists.weight == pytest.approx(answers[0] / answers[1])
        assert tables.weight + lists.weight == pytest.approx(1)
        assert repeated.weight == TINY.repeated_weight

    def test_words_are_repeated(self):
        batch = repeated_words(np.arange(5, 30), 4, boundary=0, weight=1.0, draws=stream(0, "test"))
        assert (batch.tokens[:, 1:11] == batch.tokens[:, 11:]).all()
        assert (batch.tokens[:, batch.answers + 1] == batch.tokens[:, batch.answers - 9]).all()


class TestTraining:
    def test_forward_pass_equals_that_of_transformers(self):
        torch.manual_seed(1)
        model = make_model(n_tokens=50, n_positions=40, n_layers=3, n_heads=4, d_model=32, d_mlp=48)
        with torch.no_grad():
            for name, weight in model.named_parameters():
                weight.normal_(std=0.3).add_(1.0 if "norm" in name else 0.0)
        tokens, answers = torch.randint(50, (4, 20)), torch.tensor([2, 7, 19])
        parameters = dict(model.named_parameters())
        ours = answer_logits(parameters, tokens, answers, n_layers=3, n_heads=4, dtype=torch.float32)
        torch.testing.assert_close(ours, logits_of(model)(tokens, answers), atol=2e-5, rtol=1e-4)

    def test_lowers_the_loss(self):
        fit = tiny_fit()
        losses = [fit.step(1e-2) for _ in range(60)]
        for part in ("tables", "lists"):
            assert np.mean([loss[part] for loss in losses[-10:]]) < losses[0][part] - 0.5

    def test_answers_that_do_not_count_change_nothing(self):
        """A batch of which half of the answers count: its mean loss is that of the half."""
        fit = tiny_fit()
        batch = fit.sequences.batches()[0]
        counted = np.zeros((len(batch.tokens), len(batch.answers)), bool)
        counted[:, :3] = True
        some = dataclasses.replace(batch, counted=counted)
        alone = dataclasses.replace(batch, answers=batch.answers[:3])
        torch.testing.assert_close(fit._loss_of(some), fit._loss_of(alone), atol=2e-2, rtol=0)
        assert not torch.isclose(fit._loss_of(some), fit._loss_of(batch), atol=1e-4)

    def test_cycles_until_the_gate_and_fails_after_the_last(self):
        ends = []

        def passed(model):
            ends.append(model)
            return len(ends) == 2

        fit = tiny_fit()
        assert fit.run(lambda logits: {"next": 0.5, "back": 1.0}, passed)
        assert len(ends) == 2
        assert [(check["cycle"], check["step"]) for check in fit.progress.checks] == [(0, 6), (0, 12)]
        assert fit.progress.passed
        assert fit.sequences.weights["next"] == pytest.approx(3 * fit.sequences.weights["back"])
        assert not tiny_fit().run(lambda logits: {"next": 1.0}, lambda model: False)

    def test_learning_rate_warms_up_stays_and_falls_to_nothing(self):
        fit = tiny_fit()
        rates = [fit.learning_rate(step, 100) for step in range(101)]
        assert rates[0] == pytest.approx(TINY.learning_rate / TINY.warm_up)
        assert rates[10:30] == pytest.approx([TINY.learning_rate] * 20)
        assert rates[100] == pytest.approx(0.0, abs=1e-12)

    def test_resumed_run_equals_an_uninterrupted_one(self, tmp_path):
        def accuracy(logits):
            return {"next": 0.25}

        whole = tiny_fit()
        whole.run(accuracy, lambda model: False)

        class Stopped(Exception):
            pass

        def stop_at_the_second_check(logits):
            if first.progress.checks:
                raise Stopped
            return accuracy(logits)

        first = tiny_fit()
        with pytest.raises(Stopped):
            first.run(stop_at_the_second_check, lambda model: False, checkpoint=tmp_path / "checkpoint.pt")
        resumed = tiny_fit()
        resumed.run(accuracy, lambda model: False, checkpoint=tmp_path / "checkpoint.pt")
        for name, weight in whole.model.state_dict().items():
            assert torch.equal(weight, resumed.model.state_dict()[name]), name
        assert resumed.progress.checks == whole.progress.checks

    def test_steps_are_counted_over_all_cycles_and_looking_at_them_changes_nothing(self):
        def trained(**options):
            fit, passed = tiny_fit(), iter((False, True))
            assert fit.run(lambda logits: {"next": 1.0}, lambda model: next(passed), **options)
            return fit.model.lm_head.weight

        seen = []
        weights = trained(after_step=lambda model, n_steps: seen.append(n_steps))
        assert seen == list(range(1, TINY.first_cycle + TINY.later_cycle + 1))
        assert [TINY.steps_before(cycle) for cycle in range(3)] == [0, 12, 16]
        assert torch.equal(weights, trained())

    def test_a_run_that_passed_is_not_trained_further(self, tmp_path):
        path = tmp_path / "checkpoint.pt"
        done = tiny_fit()
        assert done.run(lambda logits: {"next": 1.0}, lambda model: True, checkpoint=path)
        again = tiny_fit()
        assert again.run(pytest.fail, pytest.fail, checkpoint=path)
        assert torch.equal(done.model.lm_head.weight, again.model.lm_head.weight)
        assert (again.progress.cycle, again.progress.step) == (1, 0)

    def test_selection_takes_the_lowest_seed_that_passed(self):
        reports = [{"seed": 2, "passed": True}, {"seed": 0, "passed": False}, {"seed": 1, "passed": True}]
        assert selected(reports) == 2
        with pytest.raises(SystemExit, match="No seed passed"):
            selected([{"seed": 0, "passed": False}])

    def test_gate_holds_on_both_kinds_of_prompts(self):
        reached = [0.0, 0.0, 0.0, 0.0, 0.0, GATE]
        missed = [1.0, 1.0, 1.0, 1.0, 1.0, GATE - 0.01]
        table = {"easy": reached, "hard": missed, "narrow": reached}
        prompts = {"easy": GATE, "hard": 1.0, "narrow": GATE - 0.02}
        assert below_gate({"k": table, "prompts": prompts}) == {"hard": 0.94, "narrow": 0.93}
