"""What a run answers, on maps whose every cell is set: by fields, as sentences have their words elsewhere."""

import numpy as np
import pytest
import xarray as xr

from headcats.categories.reading import Reading
from headcats.categories.run_maps import RunMap, RunMaps
from headcats.evidence.verdicts import INCONCLUSIVE, NOT_SUPPORTED, SUPPORTED
from headcats.reports.text.answer import (
    agreements,
    approximated,
    category_rows,
    certainty,
    contradictions,
    headline,
    verdicts_by_category,
)

CATEGORIES = ("Algorithmic", "Knowledge", "Linguistic")
# Of each category, the four heads of one layer: H0 is in the last two, H1 in the first alone.
MEMBER = [[-1, 1, 0, -1], [1, -1, 0, -1], [1, -1, -1, -1]]
EFFECT = [[0.0, 0.2, 0.06, 0.0], [0.3, 0.0, 0.06, 0.0], [0.1, 0.0, 0.0, 0.0]]


def a_map(member=MEMBER, effect=EFFECT, *, name="denoising patch", categories=CATEGORIES, probability=1.0, **attrs):
    """A map over these categories, the heads of one layer, and as many categories at a time."""
    axes = ("category", "layer", "head")
    member, effect = np.array(member, dtype=np.int8)[:, None], np.array(effect, dtype=float)[:, None]
    n_in = (member == 1).sum(0)
    k = np.arange(1, len(categories) + 1)
    overlap = xr.Dataset(
        {
            "member": (axes, member),
            "effect": (axes, effect),
            "undecided": (axes, (member == 0) & np.isfinite(effect)),
            "probability": (axes, np.broadcast_to(probability, member.shape)),
            "observed": ("k", [(n_in == n).sum() for n in k]),
            "expected_within_layers": ("k", np.full(len(k), 0.25)),
            "p_within_layers": ("k", np.full(len(k), 0.5)),
        },
        coords={"category": list(categories), "layer": [0], "head": range(member.shape[-1]), "k": k},
    )
    tables = {"scores": xr.Dataset(attrs=attrs), "members": xr.Dataset(attrs=attrs), "overlap": overlap}
    return RunMap(Reading(), tables, name)


def maps(mapped, *others, task_specific=None):
    return RunMaps(mapped, task_specific, others, {})


def evidence(*verdicts):
    table = xr.Dataset({"verdict": ("category", list(verdicts))}, coords={"category": list(CATEGORIES)})
    return xr.DataTree.from_dict({"/relabelling": table})


def test_the_headline_names_shared_heads_then_those_of_one_category():
    shared, alone = headline(maps(a_map()))
    assert (shared.id, alone.id) == ("answer.shared", "answer.alone")
    assert str(shared).startswith("L0H0 passes for")
    assert str(shared).index("Knowledge") < str(shared).index("Linguistic")
    assert "Algorithmic L0H1" in str(alone)


def test_the_headline_begins_with_the_verdicts_the_best_first():
    first, *_ = headline(maps(a_map()), evidence(NOT_SUPPORTED, INCONCLUSIVE, SUPPORTED))
    text = str(first)
    assert text.index("Linguistic") < text.index("Knowledge") < text.index("Algorithmic")


def test_a_verdict_on_all_categories_names_none():
    first, *_ = headline(maps(a_map()), evidence(*[INCONCLUSIVE] * 3))
    (verdict,) = first.fields["verdicts"]
    assert (verdict.fields["verdict"], verdict.fields["categories"].id) == (INCONCLUSIVE, "answer.all_categories")


def test_without_members_the_undecided_heads_are_counted():
    (none,) = headline(maps(a_map([[0, -1]], [[0.1, 0.0]], categories=["Knowledge"])))
    assert (none.id, none.fields["undecided"]) == ("answer.none", 1)


def test_nothing_is_found_where_nothing_can_be_judged():
    scores = xr.Dataset({"p_value": ("head", [0.5]), "n_items": 4.0, "n": 4.0})
    mapped = a_map(not_judged="too few query items")
    mapped = RunMap(mapped.reading, {**mapped.tables, "scores": scores}, mapped.name)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("headcats.reports.text.answer.items_wanted", lambda *given, **options: 20.0)
        (finding,) = headline(maps(mapped))
    assert (finding.id, finding.fields["n"]) == ("answer.not_judged", 32)
    assert list(contradictions(maps(mapped, a_map(name="other")))) == []


def test_certainty_counts_what_holds_and_what_chance_shares():
    held, chance = certainty(a_map(probability=np.array([0.7, 0.9, 0.8])[:, None, None]))
    assert {name: held.fields[name] for name in ("held", "n")} == {"held": 2, "n": 3}
    assert {name: chance.fields[name] for name in ("n", "k", "expected", "p")} == {
        "n": 1,
        "k": 2,
        "expected": 0.25,
        "p": 0.5,
    }


def test_contradictions_tell_what_is_gone_from_what_is_open_and_what_is_not_judged():
    specific = a_map(
        [[-1, 0, -1, -1], [1, -1, -1, -1], [0, 0, 0, 0]],
        [[0.0] * 4, [0.3, 0.0, 0.0, 0.0], [np.nan] * 4],
        name="denoising patch (task-specific)",
    )
    other = a_map([[-1, -1, 1, 1], [1, -1, 1, -1]], EFFECT[:2], name="mean ablation", categories=CATEGORIES[:2])
    of_specific, of_other = contradictions(maps(a_map(), other, task_specific=specific))
    assert (of_specific.fields["left"], of_specific.fields["n"]) == (1, 3)
    assert str(of_specific.fields["left_open"]) == " (1 undecided, 1 not judged)"
    assert of_specific.fields["counts"].fields["counts"] == ["Algorithmic 0", "Knowledge 1", "Linguistic 0"]
    assert (of_other.fields["both"], of_other.fields["others"]) == (1, 3)
    assert str(of_other.fields["left_open"]) == " (1 not judged)"


def test_a_map_with_the_same_members_agrees_and_contradicts_nothing():
    both = maps(a_map(), a_map(name="mean ablation"))
    assert list(contradictions(both)) == []
    (finding,) = agreements(both)
    assert finding.fields["methods"] == ["mean ablation"]


def test_estimates_are_said():
    assert list(approximated(a_map().tables["scores"])) == []
    (finding,) = approximated(a_map(approximation="first-order").tables["scores"])
    assert "first-order" in str(finding)


def test_rows_list_the_largest_effects_first_and_what_others_name():
    mapped = a_map([[1, -1, 1]], [[0.1, 0.0, -0.4]], categories=["Knowledge"])
    other = a_map([[1, -1, -1]], [[0.1, 0.0, 0.0]], name="mean ablation", categories=["Knowledge"])
    (row,) = category_rows(maps(mapped, other))
    assert row.heads == ("L0H2", "L0H0")
    assert row.named_too == {"mean ablation": ("L0H0",)}
    assert row.judged


def test_verdicts_are_by_category():
    assert verdicts_by_category(None) == {}
    assert verdicts_by_category(evidence(SUPPORTED, INCONCLUSIVE, SUPPORTED))["Knowledge"] == INCONCLUSIVE
