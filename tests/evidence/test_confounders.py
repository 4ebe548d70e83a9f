"""Properties of tasks that go together with their labels, planted and unrelated."""

import numpy as np
import pytest

from headcats.evidence.confounders import StratifiedLabellings, stratified_labellings

LABELS = np.repeat(np.arange(4), 5)
FIRST_TWO = LABELS < 2


def stratified(labels=LABELS, *, n=200, **covariates) -> StratifiedLabellings:
    named = {name: list(values) for name, values in covariates.items()}
    return stratified_labellings(labels, np.arange(len(labels)), None, named, n_categories=4, n=n, seed=0)


def of_two(one, other):
    return [one if place else other for place in FIRST_TWO]


@pytest.mark.parametrize(
    "values",
    [
        [f"template {label}" for label in LABELS],
        [{f"template {label}", "all"} for label in LABELS],
        (10.0 * LABELS).tolist(),
        list(range(20)),  # labels are exchanged within thirds of the ranks, and still go together with them
    ],
)
def test_a_property_equal_to_the_labels_cannot_be_told_from_any_category(values):
    found = stratified(template=values)
    assert found.coincide == ("template",)
    assert found.inseparable == dict.fromkeys(range(4), ("template",))
    # Ten labellings can show nothing, but the property is the label.
    assert stratified(np.repeat([0, 1], 3), template="xxxyyy").coincide == ("template",)


@pytest.mark.parametrize(
    "values",
    [of_two("shuffled", "other"), of_two(3, 7.5), [of_two({"x", f"{place % 2}"}, {"y"})[place] for place in range(20)]],
)
def test_a_property_of_two_categories_is_named_and_exchanges_labels_among_them_alone(values):
    found = stratified(corruption=values, unrelated=["x", "y"] * 10)
    assert (found.coincide, found.inseparable) == (("corruption",), {})
    labels = found.labellings.labels
    assert len(labels) == 201
    assert ((labels < 2) == FIRST_TWO).all()
    assert (labels[1:] != LABELS).any(axis=0).all()


def test_a_property_of_one_category_alone_cannot_be_told_from_that_one():
    found = stratified(corruption=["own" if label == 2 else "shared" for label in LABELS])
    assert (found.coincide, found.inseparable) == (("corruption",), {2: ("corruption",)})
    assert (found.labellings.labels[:, LABELS == 2] == 2).all()


def test_properties_that_leave_fewer_than_twenty_labellings_cannot_be_told_from_any():
    # Each splits the categories in two, both together in single ones.
    found = stratified(first=of_two("x", "y"), second=["x" if label % 2 else "y" for label in LABELS])
    assert found.coincide == ("first", "second")
    assert found.inseparable == dict.fromkeys(range(4), ("first", "second"))
    # Six labellings: which of the tasks with x is of the second category.
    found = stratified(np.repeat([0, 1], 5), template="xxxxxxyyyy")
    assert found.inseparable == dict.fromkeys(range(2), ("template",))
    # Ten labellings can show nothing, but the property is the label.
    assert stratified(np.repeat([0, 1], 3), template="xxxyyy").coincide == ("template",)


@pytest.mark.parametrize(
    ("labels", "values"), [(LABELS, ["template"] * 20), (LABELS, [2] * 20), (np.zeros(5, dtype=int), "abcde")]
)
def test_what_cannot_go_together_with_labels_is_not_named(labels, values):
    found = stratified(labels, template=values)
    assert (found.coincide, found.inseparable) == ((), {})


def test_labellings_that_go_with_a_property_most_are_a_fifth_of_all_with_the_true_one_if_it_does():
    lengths = np.arange(20) * 7 % 20 + 1.0 * LABELS
    made = stratified(length=lengths.tolist(), same=[1.0] * 20)
    assert made.coincide == ()
    rows = made.alike["length"]
    assert set(made.alike) == {"length"}
    assert 40 <= rows[1:].sum() <= 45, "more where labellings tie"

    def spread(labels):
        return np.var([lengths[labels == label].mean() for label in set(labels.tolist())])

    # By ranks, not by values: nearly the same order.
    spreads = np.array([spread(labels) for labels in made.labellings.labels])
    assert spreads[rows].mean() > 2 * spreads[~rows].mean()
    assert rows[0]
    assert not stratified(length=(np.arange(20) * 7 % 20).tolist()).alike["length"][0]


def test_a_category_without_tasks_is_not_called_inseparable():
    labels = np.where(LABELS == 3, 2, LABELS)
    assert set(stratified(labels, template=[f"template {label}" for label in labels]).inseparable) == {0, 1, 2}


def test_few_labellings_are_all_counted():
    assert stratified(np.repeat([0, 1], 3), n=200, length=[1.0, 2, 5, 3, 4, 6]).alike == {}


def test_tasks_of_one_source_count_once():
    """Nine of ten tasks of A are one source, so that its template is that of two units of ten."""
    labels, sources = np.repeat([0, 1], [10, 8]), np.array([0] * 9 + list(range(1, 10)))
    template = ["x"] * 9 + ["y"] * 9
    alone, joined = (
        stratified_labellings(labels, of_task, None, {"template": template}, n_categories=2, n=200, seed=0)
        for of_task in (np.arange(18), sources)
    )
    assert (alone.coincide, joined.coincide) == (("template",), ())


def test_unrelated_properties_are_named_in_one_study_of_twenty():
    draws, named = np.random.default_rng(0), 0
    for _ in range(200):
        name, number = draws.choice(["x", "y"], 20), draws.normal(size=20)
        named += bool(stratified(n=99, corruption=name.tolist(), length=number.tolist()).coincide)
    assert 2 <= named <= 18  # 99 % of a binomial variable with .05 lie between
