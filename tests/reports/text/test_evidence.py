"""Findings of the result of `evidence`."""

import json

import pytest
import xarray as xr
from reports.by_id import by_id
from specific import study

from headcats.evidence.held_out import Options, examine
from headcats.reports.text.evidence import evidence_findings
from headcats.results.finding import Finding

OPTIONS = {"effect": "total", "method": "denoising_patch@last", "metric": "logit_diff", "n_prompts": 16}


@pytest.fixture(scope="module")
def evidence() -> xr.DataTree:
    model, batches, scores = study()
    tree = examine(model, batches, scores, options=Options())
    tree.attrs["options"] = json.dumps(json.loads(tree.attrs["options"]) | OPTIONS)
    return tree


def findings(evidence: xr.DataTree, **changed: xr.Dataset) -> dict[str, Finding]:
    """Findings of the evidence with some of its tables replaced."""
    tree = evidence.copy()
    for node, table in changed.items():
        tree[node] = xr.DataTree(table)
    return by_id(evidence_findings(tree))


def table_of(evidence: xr.DataTree, node: str) -> xr.Dataset:
    return evidence[node].to_dataset().copy(deep=True)


def test_tested_heads_are_listed_with_the_number_of_tasks(evidence):
    heads = findings(evidence)["evidence.heads"]
    assert heads.columns == ("heads of", "tested heads", "on tasks")
    assert sum(int(row[2]) for row in heads.rows) == 2 * 8


def test_how_heads_were_chosen_is_in_the_fields(evidence):
    tested = findings(evidence)["evidence.tested"].fields
    assert {name: tested[name] for name in ("method", "metric", "n_prompts", "effect")} == OPTIONS | {"effect": None}


def test_it_ends_with_the_verdicts(evidence):
    *_, verdicts, units = evidence_findings(evidence)
    assert (verdicts.id, units.id) == ("evidence.verdicts", "evidence.units")
    assert [(row[0], row[1], row[7]) for row in verdicts.rows] == [
        ("Knowledge", "supported", ""),
        ("Linguistic", "supported", ""),
    ]
    assert [row[2] for row in verdicts.rows] == ["0.029"] * 2


def test_every_sentence_of_the_reading_is_an_item(evidence):
    items = [finding for finding in evidence_findings(evidence) if finding.place == "item"]
    assert [item.fields["text"] for item in items] == evidence.attrs["reading"].splitlines()


def test_without_heads_there_are_no_tables(evidence):
    table = table_of(evidence, "specificity")
    table["heads"][:] = ""
    said = findings(evidence, specificity=table)
    assert "evidence.no_heads" in said
    assert "evidence.specificity" not in said
