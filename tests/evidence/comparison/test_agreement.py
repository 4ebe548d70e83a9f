"""Agreement between memberships, and between methods, whose truth is known: identical, reversed, shuffled, missing."""

import json
import math
import warnings

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from simulated import NAMES

import headcats as hc
from headcats.base.errors import DataError, OptionError
from headcats.evidence.comparison.agreement import method_agreement, pairs
from headcats.statistics.agreement import chance_jaccard, jaccards, rank_correlation


def members_of(effect: object, *, cut: float = 0.5, attrs: dict | None = None) -> xr.Dataset:
    """Memberships of 2 layers from `effect (category, head)`: in from `cut` on, suppressing down to -cut."""
    effect = np.asarray(effect, dtype=float)
    effect = effect.reshape(len(effect), 2, -1)
    dims = ("category", "layer", "head")
    return xr.Dataset(
        {
            "member": (dims, np.where(effect >= cut, 1, np.where(np.isnan(effect), 0, -1)).astype(np.int8)),
            "effect": (dims, effect),
            "suppressing": (dims, np.where(effect <= -cut, 1, np.where(np.isnan(effect), 0, -1)).astype(np.int8)),
            "suppressing_effect": (dims, effect / 2),
            "n_tasks": ("category", np.arange(len(effect)) + 1),
        },
        coords={"category": NAMES[: len(effect)], "layer": [0, 1], "head": np.arange(effect.shape[2])},
        attrs=attrs or {},
    )


HEADS = np.array([[0.9, 0.8, 0.1, 0.0, -0.7, 0.2], [0.0, 0.1, 0.6, 0.9, -0.2, -0.9]])


@pytest.fixture(autouse=True)
def _no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def test_identical_memberships_agree_fully():
    found = hc.evidence.agreement({"a": members_of(HEADS), "b": members_of(HEADS)})
    assert (found["jaccard"] == 1).all()
    np.testing.assert_allclose(found["spearman"], 1)
    assert found["both"].sel(protocol="a", other="b").values.tolist() == [2, 2]
    assert found["size"].transpose("category", "protocol").values.tolist() == [[2, 2], [2, 2]]
    assert (found["n_heads"] == 6).all()
    assert found.sizes == {"category": 2, "protocol": 2, "other": 2}


def test_numbers_by_hand_and_symmetry():
    other = np.array([[0.9, 0.0, 0.7, 0.6, -0.7, 0.2], HEADS[1]])
    found = hc.evidence.agreement({"a": members_of(HEADS), "b": members_of(other)})
    cell = found.sel(category=NAMES[0], protocol="a", other="b")
    assert cell["jaccard"] == pytest.approx(1 / 4)  # {0, 1} and {0, 2, 3}
    assert cell["spearman"] == pytest.approx(stats.spearmanr(HEADS[0], other[0]).statistic)
    # 2 and 3 of 6 heads: 0, 1 or 2 shared in 3, 9 and 3 of 15 cases, of 5, 4 and 3 in either.
    assert cell["expected"] == pytest.approx((9 / 4 + 3 * 2 / 3) / 15)
    for name in ("jaccard", "spearman", "expected", "both", "n_heads"):
        np.testing.assert_array_equal(found[name], found[name].transpose("category", "other", "protocol"))


@pytest.mark.slow
def test_shuffled_heads_agree_as_expected_by_chance():
    rng = np.random.default_rng(0)
    effect = np.zeros((1, 48))
    effect[0, :10] = 1.0
    effect += 0.1 * rng.standard_normal((1, 48))
    members = {str(i): members_of(effect[:, rng.permutation(48)]) for i in range(40)}
    found = hc.evidence.agreement(members).isel(category=0)
    apart = ~np.eye(40, dtype=bool)
    assert found["jaccard"].values[apart].mean() == pytest.approx(found["expected"].values[apart].mean(), abs=0.01)
    assert abs(found["spearman"].values[apart].mean()) < 0.03


def test_helping_and_suppressing_are_never_merged():
    found = hc.evidence.agreement({"a": members_of(HEADS), "b": members_of(np.abs(HEADS))}, sign="suppressing")
    assert found["size"].transpose("category", "protocol").values.tolist() == [[1, 0], [1, 0]]
    assert found.attrs["sign"] == "suppressing"
    with pytest.raises(OptionError, match="got 'both'"):
        hc.evidence.agreement({"a": members_of(HEADS)}, sign="both")


def test_overlaps_of_suppressing_heads_are_read_as_what_they_hold():
    table = members_of(HEADS)
    whole = table.assign({f"suppressing_{name}": table["n_tasks"] for name in ("size",)})
    overlap = hc.overlap(whole, sign="suppressing")
    found = hc.evidence.agreement({"a": overlap, "b": table}, sign="suppressing")
    assert (found["jaccard"] == 1).all()
    assert (found["spearman"] > 0.999).all()
    assert found["size"].transpose("category", "protocol").values.tolist() == [[1, 1], [1, 1]]
    with pytest.raises(OptionError, match=r"a holds suppressing"):
        hc.evidence.agreement({"a": overlap, "b": table})
    assert (hc.evidence.agreement({"a": hc.overlap(whole), "b": table})["jaccard"] == 1).all()


def test_empty_constant_and_unknown_are_nan_without_a_warning():
    nothing, constant = np.zeros((2, 6)), np.full((2, 6), 0.3)
    unknown = HEADS.copy()
    unknown[1] = np.nan
    found = hc.evidence.agreement(
        {"a": members_of(nothing), "b": members_of(constant), "c": members_of(unknown), "d": members_of(HEADS)}
    )
    first, second = found.sel(category=NAMES[0]), found.sel(category=NAMES[1])
    assert np.isnan(first["jaccard"].sel(protocol="a", other="b")), "both are empty"
    assert np.isnan(first["spearman"].sel(protocol="a", other="d")), "constant effects"
    assert first["jaccard"].sel(protocol="a", other="d") == 0
    assert first["jaccard"].sel(protocol="c", other="d") == 1
    assert second["jaccard"].sel(protocol="c").isnull().all(), "no numbers"
    assert second["spearman"].sel(protocol="c").isnull().all()
    assert second["n_heads"].sel(protocol="c", other="d") == 0


def test_undecided_heads_are_in_neither_and_missing_numbers_are_left_out():
    some = HEADS[:1].copy()
    some[0, 0] = np.nan
    cell = hc.evidence.agreement({"a": members_of(HEADS[:1]), "b": members_of(some)}).isel(
        category=0, protocol=0, other=1
    )
    assert (cell["both"], cell["jaccard"], cell["n_heads"]) == (1, 0.5, 5)
    assert cell["spearman"] == pytest.approx(1)


def test_categories_are_matched_by_name():
    both, reverse = members_of(HEADS), members_of(HEADS).isel(category=[1, 0])
    assert (hc.evidence.agreement({"a": both, "b": reverse})["jaccard"] == 1).all()
    one = hc.evidence.agreement({"a": both, "b": both.sel(category=[NAMES[1]])})
    assert one["category"].values.tolist() == [NAMES[1]]
    with pytest.raises(DataError, match=r"a has .*; b has "):
        hc.evidence.agreement({"a": both.sel(category=[NAMES[0]]), "b": both.sel(category=[NAMES[1]])})


def test_other_heads_and_no_protocol_are_named():
    with pytest.raises(DataError, match=r"a and b have different heads \(3 and 2\)"):
        hc.evidence.agreement({"a": members_of(HEADS), "b": members_of(HEADS[:, :4])})
    with pytest.raises(DataError, match="no protocol"):
        hc.evidence.agreement({})


def test_pairs_say_what_they_differ_in():
    attrs = {"method": "denoising_patch", "metric": "logit_diff", "positions": "last", "rule": "fdr()"}
    members = {
        "a": members_of(HEADS, attrs=attrs),
        "b": members_of(HEADS, attrs=attrs | {"metric": "log_prob"}),
        "c": members_of(-HEADS, attrs=attrs | {"method": "other", "approximation": "first order"}),
    }
    total, specific = (members_of(HEADS, attrs=attrs | {"effect": kind}) for kind in ("total", "task_specific"))
    assert pairs(hc.evidence.agreement({"a": total, "b": specific}))["differ_in"].tolist() == ["effect", "effect"]
    found = hc.evidence.agreement(members)
    assert found["approximation"].values.tolist() == ["", "", "first-order approximation"]
    assert "plan" not in found.coords
    listed = pairs(found)
    assert listed.columns[:4].tolist() == ["category", "sign", "first", "second"]
    assert listed.loc[listed["category"] == NAMES[0], "differ_in"].tolist() == ["metric", "method", "method, metric"]
    assert listed["heads_first"].tolist() == [2] * 6
    assert listed.loc[0, ["both", "jaccard", "n_heads"]].tolist() == [2, 1, 6]


def test_pairs_name_what_differs_in_the_plan():
    plans = {"a": "", "b": {"corruption": "x"}, "c": {"seed": 1}, "d": {"seed": 2, "corruption": "x"}}
    plans = {name: json.dumps(plan) if plan else "" for name, plan in plans.items()}
    found = hc.evidence.agreement({name: members_of(HEADS[:1], attrs={"plan": plan}) for name, plan in plans.items()})
    listed = pairs(found).set_index(["first", "second"])["differ_in"]
    assert listed.to_dict() == {
        ("a", "b"): "corruption",
        ("a", "c"): "seed",
        ("a", "d"): "corruption, seed",
        ("b", "c"): "corruption, seed",
        ("b", "d"): "seed",
        ("c", "d"): "corruption, seed",
    }


@given(st.integers(0, 8), st.integers(0, 8), st.integers(8, 12))
def test_chance_jaccard_is_the_mean_over_all_placements(first, second, heads):
    found = chance_jaccard(first, second, heads=heads)
    if first + second == 0:
        assert math.isnan(found)
        return
    fixed = np.arange(heads) < first
    rng = np.random.default_rng(0)
    drawn = [jaccards(np.stack([fixed, rng.permutation(heads) < second]))[0, 1] for _ in range(300)]
    assert found == pytest.approx(np.mean(drawn), abs=5 * np.std(drawn) / math.sqrt(300) + 1e-12)
    assert found == pytest.approx(chance_jaccard(second, first, heads=heads))


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), max_size=9))
def test_rank_correlation_is_spearmans(values):
    first, second = np.array(values, dtype=float).reshape(-1, 2).T
    found = rank_correlation(first, second)
    if len(values) < 3 or len(set(first)) == 1 or len(set(second)) == 1:
        assert math.isnan(found)
    else:
        assert found == pytest.approx(stats.spearmanr(first, second).statistic)


RNG = np.random.default_rng(0)
STRENGTH = RNG.permutation(np.arange(48.0)).reshape(1, 6, 8) / 48 - 0.25  # a quarter is negative


def strengths(groups: list[str] | None = None, **methods: object) -> xr.Dataset:
    """`(group, layer, head)` per method."""
    values = np.stack([np.asarray(one, dtype=float) for one in methods.values()])
    return xr.Dataset(
        {"strength": (("method", "group", "layer", "head"), values)},
        coords={
            "method": list(methods),
            "group": groups or [f"g{i}" for i in range(values.shape[1])],
            "layer": np.arange(values.shape[2]),
            "head": np.arange(values.shape[3]),
            "kind": ("method", ["causal"] * len(values)),
        },
        attrs={"categories": "[]"},
    )


def pair(found: xr.Dataset, first: str = "a", second: str = "b") -> xr.Dataset:
    return found.sel({"method": first, "other": second}).isel(group=0)


def test_identical_methods_agree_fully() -> None:
    found = pair(method_agreement(strengths(a=STRENGTH, b=10 * STRENGTH + 0.0)))
    assert float(found["rank_correlation"]) == pytest.approx(1)
    assert int(found["n_heads"]) == 48


def test_numbers_by_hand() -> None:
    first, second = np.zeros((1, 2, 4)), np.zeros((1, 2, 4))
    first[0], second[0] = [[8, 7, 6, 5], [4, 3, 2, -1]], [[8, 1, 6, 5], [-4, 3, 2, 7]]
    found = pair(method_agreement(strengths(a=first, b=second)))
    assert float(found["rank_correlation"]) == pytest.approx(stats.spearmanr(first.ravel(), second.ravel()).statistic)


def test_methods_that_know_layers_alone_are_told_from_those_that_know_heads() -> None:
    draws = np.random.default_rng(2)
    layers = np.linspace(0, 1, 6)[None, :, None]
    first, second, third = (layers + 0.05 * draws.standard_normal((1, 6, 8)) for _ in range(3))
    found = method_agreement(strengths(a=first, b=second, c=first + 0.01 * third))
    alike = pair(found)
    assert float(alike["rank_correlation"]) > 0.8
    assert float(alike["rank_correlation"]) == pytest.approx(float(alike["layer_correlation"]), abs=0.05)
    permuted = [stats.spearmanr(draws.permuted(first[0], axis=1).ravel(), second.ravel()).statistic for _ in range(500)]
    assert float(alike["layer_correlation"]) == pytest.approx(np.mean(permuted), abs=0.005)
    known = pair(found, "a", "c")
    assert float(known["rank_correlation"]) > float(known["layer_correlation"]) + 0.01


def test_missing_groups_and_heads_are_counted() -> None:
    lacking = np.stack([STRENGTH[0], np.full((6, 8), np.nan)])
    some = np.stack([STRENGTH[0], STRENGTH[0]])
    some[0, 0, 0] = np.nan
    constant = np.ones((2, 6, 8))
    found = method_agreement(strengths(["x", "y"], a=lacking, b=some, c=constant))
    at = found.sel({"method": "a", "other": "b"})
    assert at["n_heads"].values.tolist() == [47, 0]
    assert at["rank_correlation"].values[0] == pytest.approx(1)
    for name in ("rank_correlation", "layer_correlation"):
        assert np.isnan(at[name].values[1]), name
    assert found["rank_correlation"].sel(other="c").isnull().all(), "a constant orders nothing"


def test_it_is_symmetric_and_does_not_depend_on_the_other_methods_or_their_order() -> None:
    draws = np.random.default_rng(5)
    three = {name: draws.standard_normal((2, 6, 8)) for name in "abc"}
    found = method_agreement(strengths(**three))
    for name in ("rank_correlation", "layer_correlation", "n_heads"):
        np.testing.assert_array_equal(found[name], found[name].transpose("group", "other", "method"))
    turned = method_agreement(strengths(**{name: three[name] for name in "cb"}))
    for name in ("rank_correlation", "layer_correlation"):
        np.testing.assert_allclose(
            turned[name].sel({"method": "c", "other": "b"}), found[name].sel({"method": "b", "other": "c"})
        )
    assert found["kind"].values.tolist() == ["causal"] * 3
    assert found.attrs["categories"] == "[]"


def test_what_is_refused() -> None:
    table = strengths(a=STRENGTH, b=STRENGTH)
    with pytest.raises(DataError, match="two methods"):
        method_agreement(table.isel(method=[0]))
    with pytest.raises(DataError, match=r"`strength`.*method_scores"):
        method_agreement(table.rename(strength="effect"))
    with pytest.raises(DataError, match="over method, group"):
        method_agreement(table.isel(group=0))
