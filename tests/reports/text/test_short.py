"""Short answers of methods that judge heads over all tasks at once."""

import json

import xarray as xr

from headcats.reports.text.short import short_joint, suite_findings
from headcats.reports.text.suggestions import figure_file
from headcats.results.finding import line


def block(label, *sentences):
    return xr.Dataset(attrs={"label": label, "model": "mini", "method": label, "summary": json.dumps(sentences)})


def test_one_method_says_all_it_found():
    short = short_joint([block("lengths", "3 tasks.", "One is long.")], warnings=[line("answer.bundled")])
    first, second = map(str, short.verdict)
    assert first.startswith("lengths on mini: 3")
    assert second == "One is long."
    assert [each.id for each in short.warnings] == ["answer.bundled"]
    assert short.next_command == ""


def test_of_several_each_has_its_first_sentence_under_its_name():
    short = short_joint([block("a", "1 task.", "More."), block("b", "2 tasks.", "More."), block("c")], warnings=[])
    assert [str(each)[:10] for each in short.verdict] == ["a on mini:", "b on mini:", "c on mini"]
    assert "More" not in " ".join(map(str, short.verdict))


def test_options_of_a_method_are_in_the_name_of_its_figure():
    block = xr.Dataset(attrs={"label": "made_gates:preset=x,n_seeds=3"})
    assert figure_file(block, "gate_scores") == "gate_scores-preset=x-n_seeds=3.html"


def test_a_block_carries_its_summary():
    block = xr.Dataset(attrs={"method": "lengths", "summary": json.dumps(["3 tasks."])})
    assert suite_findings(block) == [line("methods.summary", text="3 tasks.")]


def test_a_block_without_a_summary_says_nothing():
    assert suite_findings(xr.Dataset(attrs={"method": "lengths"})) == []
