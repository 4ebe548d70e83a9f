"""Short answers of methods that judge heads over all tasks at once."""

import json

import xarray as xr

from headcats.reports.text.short import short_joint
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
