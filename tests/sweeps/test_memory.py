"""The memory plan: what a limit means, and how work is cut to it."""

from itertools import pairwise
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from toys import tiny_model

from headcats.errors import OptionError
from headcats.models import HookedModel, adapt
from headcats.sweeps import footprint, memory
from headcats.sweeps.memory import MemoryPlan, budget, plan, readable_bytes

CPU = torch.device("cpu")
WORK = {"prompts": 24, "length": 20, "first": 19, "rows": 12}


@pytest.fixture(scope="module")
def model() -> HookedModel:
    return adapt(tiny_model("gpt2").model)


class TestBudget:
    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            (12, 12),
            ("4GB", 4 * 10**9),
            ("512 MB", 512 * 10**6),
            ("1.5GiB", 3 * 2**29),
            ("2g", 2 * 10**9),
            (" 10 kb ", 10_000),
            ("1TiB", 2**40),
            ("300 bytes", 300),
            ("4000", 4000),
        ],
    )
    def test_numbers_and_texts(self, given: Any, expected: int) -> None:
        assert budget(given, CPU) == expected

    def test_half_of_what_is_free(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(memory, "free_memory", lambda device: 1001)
        assert budget(None, CPU) == 500

    @pytest.mark.parametrize(
        "given", ["much", "", "GB", "-1GB", "0GB", "0", "1.GB", "4 XB", "4GB8", "1e9 B", "4,5 GB", 0, -5, True]
    )
    def test_anything_else_is_refused_with_examples(self, given: Any) -> None:
        with pytest.raises(OptionError, match=r"such as '4GB', '512 MB' or '1.5GiB'; got ") as caught:
            budget(given, CPU)
        assert repr(given) in str(caught.value)


class TestPlan:
    def test_everything_at_once_where_it_fits(self, model: HookedModel) -> None:
        found = plan(model, **WORK, path="replayed", budget=10**9)
        assert (found.prompts, found.rows, found.readouts) == (24, 12, 24 * 12)
        assert found.budget == 10**9
        # Those of plain transformers, and a few bytes of buffers.
        weights = sum(weight.nbytes for weight in tiny_model("gpt2").oracle.parameters())
        assert weights <= found.weights < 1.01 * weights
        assert 0 < found.peak < 10**8

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
        first = data.draw(st.integers(0, length - 1))
        try:
            found = plan(model, prompts=prompts, length=length, first=first, rows=rows, path=path, budget=limit)
        except OptionError:
            # Refused only where less work at a time does not help.
            least = plan(model, prompts=prompts, length=length, first=first, rows=1, path=path, budget=10**12)
            assert least.peak > limit or prompts > 1
            return
        assert found.peak <= limit
        assert 1 <= found.prompts <= prompts
        assert 1 <= found.rows <= rows
        for part, whole in ((found.prompts, prompts), (found.rows, rows)):
            assert part == whole or part.bit_count() == 1

    def test_less_memory_means_less_at_a_time_in_a_few_steps(self, model: HookedModel) -> None:
        for path in ("hooked", "replayed"):
            limits = [int(10 ** (5.9 + step / 20)) for step in range(40)]
            found = [plan(model, **WORK, path=path, budget=limit) for limit in limits]
            sizes = [one.prompts * one.rows for one in found]
            assert sizes[0] < sizes[len(sizes) // 4] < sizes[-1] == 24 * 12
            # A step back where all recordings begin to fit: they are kept then, and not made again.
            assert all(later >= earlier / 2 for earlier, later in pairwise(sizes))
            # So that a resumed run is cut as the first one was.
            assert len({(one.prompts, one.rows) for one in found}) <= 10

    @pytest.mark.parametrize("path", ["hooked", "replayed"])
    @pytest.mark.parametrize("limit", [10**9, 10**6])
    def test_a_third_run_keeps_its_z_too(self, model: HookedModel, path: str, limit: int) -> None:
        work = {**WORK, "first": 5, "rows": 1, "path": path, "budget": limit}
        two, three = (plan(model, **work, runs=runs) for runs in (2, 3))
        if limit == 10**9:
            assert three.peak - two.peak == footprint.z_bytes(model, 24, 15)
        assert three.peak <= limit

    def test_no_more_at_a_time_than_brings_something(self, model: HookedModel, monkeypatch: pytest.MonkeyPatch) -> None:
        enough = footprint.replay_bytes(model, 24, 5, length=20, first=19)
        monkeypatch.setattr(memory, "ENOUGH_BYTES", enough)
        found = plan(model, **WORK, path="replayed", budget=10**12)
        assert (found.prompts, found.rows) == (24, 4)

    def test_metrics_of_two_tokens_need_no_vocabulary(self, model: HookedModel) -> None:
        pair, whole = (
            footprint.readout_bytes(model, 10, names) for names in (["logit_diff"], ["logit_diff", "log_prob"])
        )
        assert pair == 0 < whole == footprint.readout_bytes(model, 10)

    @pytest.mark.parametrize("path", ["hooked", "replayed"])
    def test_too_little_is_refused_with_what_is_needed(self, model: HookedModel, path: str) -> None:
        with pytest.raises(
            OptionError, match=r"24 prompts of 20 tokens needs at least about .*; the limit is 1 kB"
        ) as e:
            plan(model, **WORK, path=path, budget=1000)
        suggested = str(e.value).split("memory='")[1].split("'")[0]
        assert plan(model, **WORK, path=path, budget=budget(suggested, CPU)).peak <= budget(suggested, CPU)

    def test_one_sentence(self) -> None:
        found = MemoryPlan(16, 48, 512, 8 * 10**9, 1_200_000_000, 500_000_000)
        assert found.describe() == (
            "about 1.2 GB beside 500 MB of weights: 16 prompts, 48 rows at a time; limit 8.0 GB"
        )
        assert "1 prompt, 1 row at a time" in MemoryPlan(1, 1, 1, 9, 9, 9).describe()
        assert [readable_bytes(size) for size in (3, 10_400, 34_400_000, 999_600_000, 2 * 10**12)] == [
            "3 B", "10 kB", "34 MB", "1.0 GB", "2.0 TB",
        ]  # fmt: skip
