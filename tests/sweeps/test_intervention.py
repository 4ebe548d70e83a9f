"""Interventions of one's own, and the two runs they can act in."""

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from batches import random_batch
from prefixes import prefixed_batch
from toys import Toy

from headcats.base.errors import DataError, ModelError, OptionError
from headcats.sweeps.batch_sweep import find_intervention, sweep
from headcats.sweeps.intervention import Intervention
from headcats.sweeps.sources import Sources


def test_the_default_positions_are_its_own(toy: Toy) -> None:
    def double(sources: Sources) -> torch.Tensor:
        return 2 * sources.clean

    everywhere = Intervention("double", "clean", double, positions="all")
    last = dataclasses.replace(everywhere, positions="last")
    batch = random_batch()
    found = {place: sweep(toy.model, batch, how) for place, how in (("all", everywhere), ("last", last))}
    assert {place: ds.attrs["positions"] for place, ds in found.items()} == {"all": "all", "last": "last"}
    assert (found["all"].attrs["method"], found["all"].attrs["base"]) == ("double", "clean")
    assert float(abs(found["all"].patched - found["last"].patched).max()) > 0.01
    chosen = sweep(toy.model, batch, everywhere, positions="last")
    assert bool((chosen.patched == found["last"].patched).all())


@pytest.mark.parametrize(
    ("changes", "came"),
    [(lambda z: z[:1], r"shape \(1"), (lambda z: z[:, -1:], r"shape \(4, 1"), (lambda z: z[:, :, 0], r"shape \(4, 7"),
     (lambda z: z[..., :1], r"shape \(.*1\)"), (lambda z: z.numpy(), "a ndarray"), (lambda z: None, "a NoneType")],
    ids=["one prompt", "one token", "one head", "one number", "numpy", "nothing"],
)  # fmt: skip
def test_a_replacement_that_is_no_z_is_refused(toy: Toy, changes: Any, came: str) -> None:
    wrong = Intervention("wrong", "clean", lambda sources: changes(sources.clean))
    with pytest.raises(ModelError, match=rf"'wrong' .*\(4, 7, 4, \d+\); got {came}"):
        sweep(toy.model, random_batch(), wrong, positions="all")


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_replacement_that_is_not_finite_is_refused(toy: Toy, value: float) -> None:
    wrong = Intervention("wrong", "clean", lambda sources: sources.clean.fill_(value))
    with pytest.raises(ModelError, match=r"'wrong' .* NaN .*layer 0"):
        sweep(toy.model, random_batch(), wrong)


@pytest.mark.usefixtures("unchecked_types")
def test_a_name_that_results_cannot_hold_is_refused() -> None:
    for name in ("", "a/b", "a@b", "a:b=1", "two words", 3):
        with pytest.raises(DataError, match="needs a name"):
            Intervention(name, "clean", lambda sources: sources.clean)


@pytest.mark.usefixtures("unchecked_types")
@pytest.mark.parametrize(
    "fields", [{"base": "other"}, {"replacement": 7}, {"positions": ""}], ids=lambda fields: next(iter(fields))
)
def test_what_makes_no_sense_is_refused_when_it_is_made(fields: dict[str, object]) -> None:
    whole = {"name": "mine", "base": "clean", "replacement": lambda sources: sources.clean}
    with pytest.raises(OptionError, match="intervention 'mine'"):
        Intervention(**{**whole, **fields})


@pytest.mark.usefixtures("unchecked_types")
def test_a_function_alone_is_told_what_it_lacks() -> None:
    def halved(sources: Sources) -> torch.Tensor:
        return sources.clean / 2

    with pytest.raises(OptionError, match=r"hc\.Intervention\('halved', 'clean', halved\)"):
        find_intervention(halved)


def test_the_second_corruption_is_declared(toy: Toy) -> None:
    undeclared = Intervention("mine", "corrupted", lambda sources: sources.second)
    batch = prefixed_batch(3, 7, 2)
    with pytest.raises(OptionError, match=r"'mine' reads 'second'.*uses_second=True"):
        sweep(toy.model, batch, undeclared)
    declared = sweep(toy.model, batch, dataclasses.replace(undeclared, uses_second=True))
    np.testing.assert_allclose(declared.patched, sweep(toy.model, batch, "second_corruption_patch").patched, atol=1e-5)


@pytest.mark.parametrize("source", ["mean", "resampled", "other_item"])
def test_reference_prompts_are_declared(toy: Toy, source: str) -> None:
    undeclared = Intervention("mine", "clean", lambda sources: getattr(sources, source))
    with pytest.raises(OptionError, match=rf"'{source}'.*uses_reference=True"):
        sweep(toy.model, random_batch(), undeclared)
    declared = sweep(toy.model, random_batch(), dataclasses.replace(undeclared, uses_reference=True))
    assert declared.attrs["reference"].startswith("this batch's")
