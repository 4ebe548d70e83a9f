"""The benchmark of `ov_relation` times the products that it makes, no more and no fewer."""

import importlib.util
from pathlib import Path

import pytest
import torch
from sweep_speed.shapes import SHAPES
from torch.utils.flop_counter import FlopCounterMode

from headcats.methods.ov_relation.pairs import single_tokens
from headcats.methods.ov_relation.settings import PRESETS
from headcats.methods.ov_relation.static import relation_counts
from headcats.models.circuit import Circuit
from headcats.models.random_weights import random_hooked_model

pytestmark = pytest.mark.ci

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "relations.py"


def script():
    spec = importlib.util.spec_from_file_location("relations_benchmark", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_products_alone_are_those_of_the_method(monkeypatch):
    benchmark = script()
    monkeypatch.setattr("headcats.methods.ov_relation.extremes._CHUNK", 17)
    monkeypatch.setattr("headcats.methods.ov_relation.extremes._BLOCK", 400)
    circuit = Circuit(random_hooked_model(SHAPES["tiny-gqa"], backend="bridge"))
    pairs = benchmark.token_pairs(circuit.d_vocab)
    assert len(pairs) == 20
    assert {len(own) for own in pairs.values()} == {100}
    relations = [single_tokens(name, own, tokenizer=None, d_vocab=circuit.d_vocab) for name, own in pairs.items()]
    sources = torch.cat([one.sources for one in relations]).unique()
    with FlopCounterMode(display=False) as method:
        relation_counts(circuit, relations, settings=PRESETS["maps2025"], seed=0)
    with FlopCounterMode(display=False) as alone:
        benchmark.products(circuit, sources)
    assert method.get_total_flops() == alone.get_total_flops() > 0


def test_the_least_of_the_repetitions_counts(monkeypatch):
    benchmark = script()
    clock = iter([0.0, 5.0, 5.0, 6.0, 10.0, 12.0, 12.0, 15.0])
    monkeypatch.setattr(benchmark.time, "perf_counter", lambda: next(clock))
    assert benchmark.least({"a": lambda: None, "b": lambda: None}, repeat=2) == {"a": 2.0, "b": 1.0}
