"""Figures of gates seed by seed and of toggle curves: their numbers, marks and refusals."""

import json

import numpy as np
import pytest
import xarray as xr
from figures.reading import traces
from paper_tables import gates_of, scattered_gates, scattered_toggles

import headcats as hc
from headcats.base.errors import DataError, OptionError


class TestSeeds:
    def test_percentages_are_those_of_the_scores(self) -> None:
        gates = scattered_gates(4, 5)
        numbers = hc.figures.data(hc.figures.gate_seeds(gates, threshold=0.7))
        for (dataset, score, seed), rows in numbers.groupby(["dataset", "score", "seed"]):
            values = gates[score].sel(dataset=dataset, seed=seed).values.ravel()
            assert rows.n_heads.tolist() == np.histogram(values, np.arange(11) / 10)[0].tolist()
            assert rows.percent.sum() == pytest.approx(100)
            assert set(rows.n_reached) == {(values >= 0.7).sum()}
            assert rows.percent_reached.iloc[0] == pytest.approx(100 * (values >= 0.7).mean())
        assert len(numbers) == 2 * 3 * 3 * 10
        ones = np.ones((1, 1, 1, 2))
        numbers = hc.figures.data(hc.figures.gate_seeds(gates_of(ones, 0 * ones, datasets=["one"])))
        last = numbers[(numbers.score == "facilitation") & (numbers.low == 0.9)]
        assert last.n_heads.tolist() == [2]  # a score of 1 is in the last bin
        for threshold in (0.0, 1.0):
            with pytest.raises(OptionError, match="threshold"):
                hc.figures.gate_seeds(gates, threshold=threshold)

    def test_a_seed_that_is_missing_is_left_out_and_counted(self) -> None:
        gates = scattered_gates(2, 3)
        fitted = gates.where((gates.seed != 1) | (gates.dataset != "Math Calculation"))
        fig = hc.figures.gate_seeds(fitted.assign_attrs(n_seeds="3"))
        numbers = hc.figures.data(fig)
        assert set(numbers[numbers.dataset == "Math Calculation"].seed) == {0, 2}
        assert any("2 of 3" in text.text for text in fig.layout.annotations)
        with pytest.raises(DataError, match="one seed"):
            hc.figures.gate_seeds(gates.where(gates.seed < 0))


class TestToggles:
    def test_lines_are_means_over_the_seeds_that_were_measured(self) -> None:
        toggles = scattered_toggles(2, 3)
        fig = hc.figures.gate_toggles(toggles)
        numbers = hc.figures.data(fig)
        for (dataset, score), rows in numbers.groupby(["dataset", "score"]):
            curves = toggles.log_prob.sel(dataset=dataset, score=score)
            assert rows.log_prob.tolist() == pytest.approx(curves.mean("seed").values.tolist())
            assert rows.least.tolist() == pytest.approx(curves.min("seed").values.tolist())
            assert set(rows.n_seeds) == {3 if dataset == "Syntactic Understanding" else 2}
        assert len(traces(fig, "seeds, facilitation")) == 2
        assert {trace.line.dash for trace in traces(fig, "irrelevance")} == {"dash"}

    def test_the_pointer_names_the_heads_that_went_last(self) -> None:
        toggles = scattered_toggles(1, 2)
        numbers = hc.figures.data(hc.figures.gate_toggles(toggles))
        rows = numbers[(numbers.dataset == "Syntactic Understanding") & (numbers.score == "facilitation")]
        assert rows.heads.iloc[0] == ""
        for step in (1, 2):
            off = toggles.head_off.sel(dataset="Syntactic Understanding", score="facilitation", heads_off=step).values
            counts = {f"L0H{head}": int((off == head).sum()) for head in set(off)}
            named = [f"{name} ({n} seeds)" if n > 1 else name for name, n in counts.items()]
            assert set(rows.heads.iloc[step].split(", ")) == set(named)

    def test_notes_say_how_far_the_line_has_moved(self) -> None:
        toggles = scattered_toggles(2, 3)
        fig = hc.figures.gate_toggles(toggles)
        change = float(toggles.change.sel(dataset="Math Calculation", score="facilitation").mean())
        assert any(f"2 heads off, {change:+.2f} nats" in text.text for text in fig.layout.annotations)
        higher = hc.figures.gate_toggles(toggles.assign_attrs(provenance=json.dumps({"threshold": "0.7"})))
        assert any("≥ 0.7" in text.text for text in higher.layout.annotations)
        with pytest.raises(DataError, match="score"):
            hc.figures.gate_toggles(toggles.isel(score=[0]))

    def test_what_toggle_curves_returns_is_drawn_alone_and_together(self) -> None:
        toggles = scattered_toggles(1, 2)
        curves = [toggles.sel(dataset=name) for name in toggles.dataset.values]
        alone = hc.figures.data(hc.figures.gate_toggles(curves[1]))
        both = hc.figures.data(hc.figures.gate_toggles(xr.concat(curves, "dataset", combine_attrs="override")))
        assert both[both.dataset == curves[1].dataset.item()].log_prob.tolist() == alone.log_prob.tolist()
        assert len(hc.figures.data(hc.figures.gate_toggles(curves[0].drop_vars("dataset")))) == len(alone)
