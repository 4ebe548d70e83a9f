"""The memory plan: how work is cut to a limit."""

import re
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from toys import tiny_model

from headcats.base.errors import MemoryLimitError, OptionError
from headcats.models.adapter import HookedModel, adapt
from headcats.sweeps.memory import Footprint, MemoryPlan, Sizes, plan, readable_bytes
from headcats.sweeps.within_memory import budget

CPU = torch.device("cpu")
SHAPE = (24, 20, 19)
"""Prompts, tokens, first position that changes."""


@pytest.fixture(scope="module")
def model() -> HookedModel:
    return adapt(tiny_model("gpt2").model)


class TestPlan:
    def test_everything_at_once_where_it_fits(self, model: HookedModel) -> None:
        whole = plan(Footprint(Sizes.of(model), *SHAPE, "replayed"), rows=12, budget=10**9)
        assert (whole.prompts, whole.rows, whole.budget) == (24, 12, 10**9)
        # Those of plain transformers, and a few bytes of buffers.
        weights = sum(weight.nbytes for weight in tiny_model("gpt2").oracle.parameters())
        assert weights <= whole.weights < 1.01 * weights
        assert 0 < whole.peak < 10**8

    @given(
        limit=st.integers(5 * 10**5, 10**7),
        prompts=st.integers(1, 40),
        rows=st.integers(1, 40),
        length=st.integers(2, 60),
        path=st.sampled_from(["hooked", "replayed"]),
        data=st.data(),
    )
    @settings(max_examples=40)
    def test_the_peak_stays_below_the_limit(
        self, model: HookedModel, limit: int, prompts: int, rows: int, length: int, path: str, data: st.DataObject
    ) -> None:
        footprint = Footprint(Sizes.of(model), prompts, length, data.draw(st.integers(0, length - 1)), path)
        try:
            cut = plan(footprint, rows=rows, budget=limit)
        except OptionError:
            # Refused only where less work at a time does not help.
            assert footprint.peak(1, 1, budget=limit) > limit
            return
        assert cut.peak == footprint.peak(cut.prompts, cut.rows, budget=limit) <= limit
        assert 1 <= cut.prompts <= prompts
        assert 1 <= cut.rows <= rows
        for part, whole in ((cut.prompts, prompts), (cut.rows, rows)):
            assert part == whole or part.bit_count() == 1

    @pytest.mark.parametrize("path", ["hooked", "replayed"])
    def test_less_memory_means_less_at_a_time_in_a_few_steps(self, model: HookedModel, path: str) -> None:
        footprint = Footprint(Sizes.of(model), *SHAPE, path)
        least = footprint.peak(1, 1, budget=1)
        plans = [plan(footprint, rows=12, budget=int(least * 10 ** (step / 20))) for step in range(60)]
        sizes = [cut.prompts * cut.rows for cut in plans]
        assert sizes[0] < sizes[len(sizes) // 4] < sizes[-1] == 24 * 12
        # A step back where all recordings begin to fit: they are kept then, and not made again.
        assert all(later >= earlier / 2 for earlier, later in pairwise(sizes))
        # So that a resumed run is cut as the first one was.
        assert len({(cut.prompts, cut.rows) for cut in plans}) <= 10

    @pytest.mark.parametrize("path", ["hooked", "replayed"])
    def test_too_little_is_refused_with_what_is_needed(self, model: HookedModel, path: str) -> None:
        footprint = Footprint(Sizes.of(model), *SHAPE, path)
        with pytest.raises(MemoryLimitError, match="limit is 1 kB") as caught:
            plan(footprint, rows=12, budget=1000)
        suggested = budget(str(caught.value).split("memory='")[1].split("'")[0], CPU)
        assert plan(footprint, rows=12, budget=suggested).peak <= suggested

    def test_what_is_announced(self) -> None:
        text = MemoryPlan(16, 48, 8 * 10**9, 1_200_000_000, 500_000_000).describe()
        assert re.findall(r"\d\S* \w+", text) == ["1.2 GB", "500 MB", "16 prompts", "48 rows", "8.0 GB"]
        assert re.findall(r"\d \w+", MemoryPlan(1, 1, 9, 9, 9).describe())[2:4] == ["1 prompt", "1 row"]
        assert [readable_bytes(size) for size in (3, 10_400, 34_400_000, 999_600_000, 2 * 10**12)] == [
            "3 B", "10 kB", "34 MB", "1.0 GB", "2.0 TB",
        ]  # fmt: skip
