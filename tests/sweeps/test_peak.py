"""Bytes of tensors that exist at a time."""

import torch

from headcats.sweeps.peak import peak_bytes

MEGABYTE = torch.empty(250_000)


def test_what_is_freed_no_longer_counts() -> None:
    def work() -> None:
        first = MEGABYTE.clone()
        second = first + 1  # two at a time
        del first
        third = second * 2
        del second
        third.add_(1)
        third.view(-1, 2).t()  # no storage of its own

    assert peak_bytes(work) == 2 * 4 * len(MEGABYTE)


def test_what_existed_before_does_not_count() -> None:
    assert peak_bytes(lambda: MEGABYTE.view(2, -1).sum()) < 100
    kept: list[torch.Tensor] = []
    assert peak_bytes(lambda: kept.append(MEGABYTE + 1)) == 4 * len(MEGABYTE)
