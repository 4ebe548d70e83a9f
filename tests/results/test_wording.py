"""The one place that pins wording: templates, their fields, and the sentences that they make."""

import re
from pathlib import Path

from for_each import for_each

import headcats
from headcats.results.finding import line, share_text, templates

PACKAGE = Path(headcats.__file__).parent
SOURCES = "\n".join(path.read_text(encoding="utf-8") for kind in ("*.py", "*.jinja") for path in PACKAGE.rglob(kind))


def test_every_template_is_used():
    """By its identifier, or by an f-string that makes it of its beginning."""
    made = [re.escape(start) + r"\w*" for start in re.findall(r'f"(\w+\.\w*)\{', SOURCES)]
    for id in templates():
        group = id.partition(".")[0]
        assert (
            f'"{id}"' in SOURCES
            or f"'{id}'" in SOURCES
            or group == "glossary"
            or any(re.fullmatch(one, id) for one in made)
        ), id


def test_what_infers_has_its_null_unit_rate_and_what_holds_it():
    """Every sentence stands below a comment of one of two kinds, and what a comment names is there."""
    kind, kinds = "", {}
    for text in (PACKAGE / "results" / "wording.toml").read_text(encoding="utf-8").splitlines():
        if text.startswith("["):
            section, kind = text.strip("[]"), ""
        elif text.startswith("# "):
            kind = text
        elif text:
            kinds[f"{section}.{text.partition(' = ')[0].strip(chr(34))}"] = kind
    assert set(kinds) == set(templates())
    for kind in set(kinds.values()) - {"# Descriptions: nothing is inferred."}:
        inferred = re.fullmatch(r"# null.*; held by: (\S+)(?: \((.+)\))?", kind)
        assert inferred, kind
        assert {"unit", "rate"} <= set(re.findall(r"\w+", kind)), kind
        holder = (Path(__file__).parents[2] / inferred[1]).read_text(encoding="utf-8")
        row = (inferred[2] or "").split(", ")
        assert any(all(part in text for part in row) for text in holder.splitlines()), kind


def test_every_identifier_has_a_template():
    used = set(re.findall(r'\b(?:line|item|note|paragraph|table)\(\s*"([^"]+)"', SOURCES))
    assert used <= set(templates())


@for_each("id,fields,text", [
    ("map.loose", {"names": ["L0H1 a (0.50)", "L0H2 b (0.60)"], "share": 0.8},
     "In fewer than 80% of the resamples of query items: L0H1 a (0.50), L0H2 b (0.60)."),
    ("map.shares", {"first": line("map.share", needed="the right task", median=50, least=-27, most=60,
                                  negative=line("map.share_negative", control="the other wrong task")),
                    "second": None, "option": line("map.task_specific_option")},
     ("50 % of the effect needs the right task (median task; -27 % to 60 %; negative: the other wrong task brings "
     "back more than the clean prompt). Task-specific effects alone: `--effect task_specific`.")),
    ("answer.sharing", {"n": 1, "mean": 4.22, "low": 2.0, "high": 6.0, "p": 0.013,
                        "meaning": line("answer.shares_fewer")},
     ("Categories share 1 head (sum over pairs); the same tasks under other labels share 4.2 (2 to 6; p 0.013): fewer, "
      "so these categories differ in their heads.")),
    ("caution.unfinished", {"tasks": list("abcdefghij")},
     "The run was stopped before it came to a, b, c, d, e, f, g, h and 2 more: the same command goes on with it."),
    ("evidence.size", {"n": 200, "tasks": 40, "sources": 19, "size": 0.015, "error": 0.0086},
     ("Size: of 200 relabellings of these 40 tasks (19 independent sources), 1.5% (Monte-Carlo error 0.9%) had a "
      "supported category. So often labels that mean nothing would pass, if sources are exchangeable.")),
    ("validation.ignored", {"n": 1, "names": ["a.txt"]}, "1 file left out, as it holds no task: a.txt"),
    ("validation.ignored", {"n": 9, "names": list("abcdefghi")},
     "9 files left out, as they hold no task: a, b, c, d, e, f, g, h and 1 more"),
    ("tasks.dropped_for", {"counted": "2 rows", "share": line("tasks.share", share=2 / 9, n=9), "reason": "empty row",
                           "example": line("tasks.example", of="f.csv, line 3")},
     "2 rows dropped (22% of 9): empty row (such as f.csv, line 3)"),
])  # fmt: skip
def test_sentences(id, fields, text):
    assert str(line(id, **fields)) == text


def test_small_shares_keep_a_third_decimal():
    assert [share_text(value) for value in (0.5, 0.1, 0.0996, -0.0004, -0.25, 0.0126)] == [
        "0.50", "0.10", "0.10", "0.000", "-0.25", "0.013",
    ]  # fmt: skip
