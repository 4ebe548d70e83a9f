"""From tasks to prompts: the same prompts whichever tasks are scored, and reference prompts that are never scored."""

from collections import Counter
from dataclasses import replace

import pytest
from batches import misaligned
from counting import INPUTS, OUTPUTS, SUITE, constant, counting_suite, finished_pairs, several_tokens

from headcats.base.errors import DataError, UnknownNameError
from headcats.prompts.drop_report import DropReport
from headcats.prompts.pair import PromptPair, Span
from headcats.study.plan import REFERENCE_PROMPTS, plan
from headcats.study.preparation import Preparation
from headcats.tasks.definition import Task
from headcats.tasks.suites import make_suite


def prepare(model, source=SUITE, **options):
    study = plan(**({"suite": source, "n_prompts": 8, "n_demos": 2} | options))
    return Preparation(model, study)


def fingerprints(prepared):
    return [batch.fingerprint() for batch in prepared.scored + prepared.reference]


def texts(model, batches):
    return [model.tokenizer.decode(row) for batch in batches for row in batch.clean]


def test_scored_and_reference_prompts_are_as_many_as_asked_and_disjoint(model, preparation):
    for prepared in preparation.prepared.values():
        scored, reference = (texts(model, part) for part in (prepared.scored, prepared.reference))
        assert len(scored) == 8
        assert len(reference) == REFERENCE_PROMPTS >= 100
        assert not set(scored) & set(reference)
        assert prepared.words.kept == len(INPUTS)
        assert prepared.problem == ""


def test_a_task_asked_for_alone_is_that_of_the_whole_suite(model, preparation):
    fresh = prepare(model)
    alone = fresh.of("always_b")
    assert fingerprints(alone) == fingerprints(preparation.prepared["always_b"])
    assert fresh.of("always_b") is fresh.prepared["always_b"] is alone
    with pytest.raises(UnknownNameError, match="mean 'always_b'"):
        fresh.of("always_bb")


def test_answers_of_several_tokens_are_prompts_with_the_rest_of_each(model):
    suite = counting_suite().with_tasks(Task("long", "knowledge", "made up", several_tokens))
    whole, first = (prepare(model, suite, answers=answers).of("long") for answers in ("whole", "first_token"))
    for prepared in (whole, first):
        assert (prepared.words.kept, prepared.prompts.kept) == (len(INPUTS), 8)
        assert prepared.problem == ""
    for batch in (*whole.scored, *whole.reference):
        assert batch.answer_rest.shape == (len(batch), 2)
        assert all(model.tokenizer.decode(row) == ", w50" for row in batch.answer_rest)
        assert (batch.distractor_rest == -1).all()
    assert all(batch.answer_rest is None for batch in first.scored)


def test_a_task_without_company_is_corrupted_by_shuffled_labels(model):
    alternating = Task("lonely", "knowledge", "made up", lambda n, *, seed: list(zip(INPUTS, OUTPUTS * 3, strict=True)))
    prepared = prepare(model, [alternating]).prepared["lonely"]
    assert (prepared.problem, prepared.corruption) == ("", "shuffled_labels")
    assert {name for batch in prepared.scored for name in batch.distractor_tasks} == {"shuffled_labels"}
    asked = prepare(model, [alternating], corruption="shuffled_labels").prepared["lonely"]
    assert fingerprints(asked) == fingerprints(prepared)


def test_finished_pairs_are_taken_as_they_are(model):
    prepared = prepare(model, [Task("pairs", "knowledge", "made up", finished_pairs)]).prepared["pairs"]
    assert [key for batch in prepared.scored for key in batch.keys] == [f"pair w{i}" for i in range(8)]
    assert sum(len(batch) for batch in prepared.reference) == len(INPUTS) - 8
    assert prepared.scored[0].labels is None


def test_prompts_whose_roles_do_not_align_are_kept_whichever_methods_are_asked_for(model):
    """The prompts of a task must not depend on what else is scored."""

    def uneven(n, *, seed):
        roles = {"y1": (Span(0, 3), Span(4, 6))}
        return [
            PromptPair(f"p{i}", f"i{i}", f"w40\nw{i} →", f"w41\nw{i} →", " w40", " w41", roles=roles) for i in range(2)
        ]

    suite = make_suite([Task("uneven", "knowledge", "made up", uneven)])
    for methods in (["noising_patch"], ["zero_ablation"]):
        (batch,) = prepare(model, suite, methods=methods).of("uneven").scored
        assert misaligned(batch) == ["p0", "p1"]


def test_references_are_made_once_and_hold_what_they_say(preparation):
    assert preparation.references.of("always_a", "suite") is preparation.references.of("always_b", "suite")
    assert preparation.references.of("always_a", "task") is preparation.references.of("always_a", "task")
    own = preparation.references.of("always_a", "task")
    assert {batch.task for batch in own.batches} == {"always_a"}
    assert own.run == "clean"
    assert preparation.references.of("always_a", "corrupted").run == "corrupted"
    everything = {batch.task for batch in preparation.references.of("always_a", "suite").batches}
    assert everything == set(preparation.prepared)


# ------------------------------------------------------------------------------------------------- held-out prompts
def taken(batches):
    return [key for batch in batches for key in batch.keys]


def test_held_out_prompts_are_fresh(model, preparation):
    for name in ("always_a", "shifted"):
        prepared = preparation.prepared[name]
        batches, report = preparation.held_out(name, n=16, keep=lambda item: True)
        assert report.kept == len(taken(batches)) == 16
        assert not set(texts(model, batches)) & set(texts(model, prepared.scored + prepared.reference))
        assert {batch.task for batch in batches} == {name}
        assert batches[0].length == prepared.scored[0].length
        assert batches[0].labels[0] == prepared.scored[0].labels[0]
        again, _ = preparation.held_out(name, n=16, keep=lambda item: True)
        assert [batch.fingerprint() for batch in again] == [batch.fingerprint() for batch in batches]


def test_held_out_prompts_are_even_over_distractor_tasks_and_of_the_kept_queries(model, preparation):
    half = set(INPUTS[::2])
    batches, _ = preparation.held_out("always_a", n=13, keep=half.__contains__)
    assert {item for batch in batches for item in batch.items} <= half
    counts = Counter(name for batch in batches for name in batch.distractor_tasks)
    assert sum(counts.values()) == 13
    assert set(counts) == {"always_b", "always_c", "shifted"}
    assert max(counts.values()) - min(counts.values()) <= 1


def test_fewer_held_out_prompts_where_there_are_no_more(model, preparation):
    assert preparation.held_out("always_a", n=4, keep=lambda item: False) == ((), DropReport())
    assert preparation.held_out("always_a", n=0, keep=lambda item: True) == ((), DropReport())
    one_item, _ = preparation.held_out("always_a", n=400, keep=lambda item: item == "w3")
    assert 0 < len(taken(one_item)) < 400
    lonely = prepare(model, [constant("lonely", "w40", "knowledge")])
    assert lonely.held_out("lonely", n=4, keep=lambda item: True) == ((), DropReport())


def test_a_reference_without_prompts_names_the_task(model):
    preparation = prepare(
        model, [Task("few", "knowledge", "made up", lambda n, *, seed: finished_pairs(n, seed=seed)[:8])]
    )
    with pytest.raises(DataError, match=r"'few' .*'task' reference.* beside the 8 that"):
        preparation.references.of("few", "task")


@pytest.mark.parametrize(
    ("n", "shares"),
    [(27, (27, 0, 0)), (28, (8, 16, 4)), (95, (52, 16, 27)), (96, (64, 16, 16)), (120, (64, 28, 28))],
    ids=str,
)
def test_a_short_list_of_a_user_is_shared_out(model, n, shares):
    """Among the prompts that are scored, those for means, and those that are left for evidence."""
    pairs = [
        PromptPair(f"p{i}", f"p{i}", f"w{i % 24}\nw{i // 24} →", f"w41\nw{i // 24} →", " w40", " w41") for i in range(n)
    ]
    own = Task("own", "knowledge", "made up", lambda n, *, seed: pairs)
    preparation = prepare(model, [own], n_prompts=64)
    prepared, (left, _) = preparation.of("own"), preparation.held_out("own", n=99, keep=lambda item: True)
    assert (prepared.prompts.kept, prepared.references.kept, len(taken(left))) == shares
    assert prepared.n_left == shares[2]
    of_a_suite = prepare(model, [replace(own, suite="theirs")], n_prompts=64).of("own")
    assert of_a_suite.prompts.kept == min(n, 64)
    asked = prepare(model, [own], n_prompts=24)
    assert asked.of("own").prompts.kept == 24
    assert [preparation.least(own), asked.least(own)] == [28, 56]
