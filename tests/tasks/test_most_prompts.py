"""More prompts or demonstrations than there can be are refused before anything is made of them."""

import math

import psutil
import pytest
from covering import spread
from for_each import for_each

import headcats as hc
from headcats.base.errors import OptionError
from headcats.prompts.pair import PromptPair
from headcats.study.plan import plan
from headcats.tasks.most_prompts import check_n_prompts

ABSURD = 99_999_999_999_999_999_999


def of_words(count: int) -> hc.Task:
    return hc.Task("words", "A", "this test", lambda n, *, seed: [(f"a{k}", f"b{k}") for k in range(count)])


def finished(count: int) -> hc.Task:
    pairs = [PromptPair(f"k{k}", f"i{k}", f"clean {k}", f"corrupted {k}", " a", " b", "other") for k in range(count)]
    return hc.Task("finished", "A", "this test", lambda n, *, seed: pairs)


def endless() -> hc.Task:
    return hc.Task("drawn", "A", "this test", lambda n, *, seed: [(f"a{k}", f"b{k}") for k in range(n)])


@for_each("n_demos", [0, 1, 3])
def test_the_bound_is_the_number_of_different_prompts(n_demos: int) -> None:
    """A query and demonstrations in their order, all different; accepted is whatever some task can give."""
    most = math.perm(200, n_demos + 1)
    options = {"n_demos": n_demos, "seed": 0}
    n_prompts = max(most, 10_000) + 1
    with pytest.raises(OptionError, match=f"more than {most:,}"):
        check_n_prompts(n_prompts, [of_words(200), finished(30)], **options)
    if most * 1000 < psutil.virtual_memory().total:
        check_n_prompts(most, [of_words(200), finished(30)], **options)


def test_fewer_than_are_asked_for_is_no_error() -> None:
    check_n_prompts(10_000, [finished(30)], n_demos=5, seed=0)


def test_what_does_not_fit_into_memory() -> None:
    with pytest.raises(OptionError, match=r"at least .* GB"):
        check_n_prompts(ABSURD, [endless(), finished(30)], n_demos=5, seed=0)
    check_n_prompts(20_000, [endless()], n_demos=5, seed=0)


SUITES = ["icl", "ioi", "induction", ["country_capital", "country_language"]]


@for_each("suite,n_prompts", spread(SUITES, [(ABSURD,), (10**400,), (10**5000,)]))
def test_absurd_numbers_of_every_suite(suite: str | list[str], n_prompts: int) -> None:
    with pytest.raises(OptionError, match=r"^n_prompts is"):
        plan(suite=suite, n_prompts=n_prompts)


def test_demonstrations_are_different_pairs() -> None:
    with pytest.raises(OptionError, match=r"n_demos is 120\b"):
        plan(suite=[of_words(120), finished(300)], n_prompts=4, n_demos=120)
    assert plan(suite=[of_words(121), finished(300)], n_prompts=4, n_demos=120).n_demos == 120
    assert plan(suite=[finished(300)], n_prompts=4, n_demos=ABSURD).n_demos == ABSURD  # which have none


def test_seeds_have_64_bits() -> None:
    assert plan(suite=["plural"], n_prompts=4, seed=-(2**62)).seed == -(2**62)
    for seed in (2**63, -(10**5000)):
        with pytest.raises(OptionError, match=r"^seed"):
            plan(suite=["plural"], n_prompts=4, seed=seed)
