"""The one place that pins wording: templates, their fields, and the sentences that they make."""

import re
from pathlib import Path

import pytest

import headcats
from headcats.results.finding import line, share_text, templates

PACKAGE = Path(headcats.__file__).parent
SOURCES = "\n".join(path.read_text(encoding="utf-8") for kind in ("*.py", "*.jinja") for path in PACKAGE.rglob(kind))


def test_every_template_is_used():
    """By its identifier, or by an f-string that makes it of its beginning."""
    made = [re.escape(start) + r"\w*" for start in re.findall(r'f"(\w+\.\w*)\{', SOURCES)]
    for id in templates():
        group = id.partition(".")[0]
        assert f'"{id}"' in SOURCES or group == "glossary" or any(re.fullmatch(one, id) for one in made), id


def test_every_identifier_has_a_template():
    used = set(re.findall(r'\b(?:line|item|note|paragraph|table)\(\s*"([^"]+)"', SOURCES))
    assert used <= set(templates())


@pytest.mark.parametrize(
    ("id", "fields", "text"),
    [
        ("map.loose", {"names": ["L0H1 a (0.50)", "L0H2 b (0.60)"], "share": 0.8},
         "In fewer than 80% of the resamples of query items: L0H1 a (0.50), L0H2 b (0.60)."),
        ("map.no_controls", {"controls": ["a", "b"]},
         "How much of these effects is specific to the task is not known: a and b were not run."),
        ("map.sign_differs", {"n": 1, "large": 10, "effect": 0.1},
         ("1 of 10 effects of at least 0.1 (head x task) changes its sign with the distractor task: read that per "
         "distractor task (`distractor_effect` of hc.score).")),
        ("map.shares", {"first": line("map.share", needed="the right task", median=50, least=-27, most=60,
                                      negative=line("map.share_negative", control="the other wrong task")),
                        "second": None, "option": line("map.task_specific_option")},
         ("50 % of the effect needs the right task (median task; -27 % to 60 %; negative: the other wrong task brings "
         "back more than the clean prompt). Task-specific effects alone: `--effect task_specific`.")),
        ("answer.chance", {"n": 1, "k": 2, "expected": 0.42, "p": 0.0003},
         "1 head is in 2 categories; chance within layers gives 0.4 (p 0.0003)."),
        ("agreement.lowest", {"category": "c", "jaccard": 0.5, "median": line("agreement.median", n=3, jaccard=0.75),
                              "first": "a", "n_first": 1, "second": "b", "n_second": 2, "spearman": float("nan")},
         ("c: the lowest agreement is Jaccard 0.50 (median of 3 pairs 0.75), between a (1 head) and b (2 heads); "
         "Spearman of effects -.")),
        ("agreement.one_finder", {"category": "c", "unjudged": line("agreement.unjudged_by", n=1, of=3),
                                  "empty": line("agreement.empty_named", n=1, of=2, names=["b"]), "name": "a", "n": 1},
         "c: not judged by 1 of 3 protocols; 1 of 2 protocols finds no head (b); only a finds 1 head."),
        ("caution.no_controls", {"controls": ["a"], "needs": ["query item"]},
         ("a was not run, so it is not known how much of the effects needs the right query item, and is not just the "
         "removal of a wrong one.")),
        ("caution.unfinished", {"tasks": list("abcdefghij")},
         "The run was stopped before it came to a, b, c, d, e, f, g, h and 2 more: the same command goes on with it."),
        ("evidence.untested", {"category": "a", "verdict": "inconclusive",
                               "reason": line("evidence.single_task", task="t")},
         "a: inconclusive because it cannot be tested apart from its only task, t."),
        ("evidence.error_rate", {"n": 200, "tasks": 40, "units": 19, "rate": 0.005},
         ("Of 200 relabellings of these 40 tasks (19 independent units), 0.5% had a supported category: so often "
         "labels that mean nothing pass here (at most 5 % by construction).")),
        ("evidence.redundancy", {"category": "a", "summed": 0.001, "joint": 0.22,
                                 "comparison": line("evidence.far_more")},
         ("a: the heads chosen with all of its tasks, ablated one at a time, cost 0.001 of the gap in sum, "
         "all at once 0.22: far more, a sign that they stand in for each other.")),
        ("validation.first_prompts", {"bos": line("validation.bos", token="<s>"), "parts": None},
         ("First prompt of each task, with the answer (clean) or the distractor (corrupted) behind `⇒`. `│` separates "
         "tokens, `↵` is a line end, `<s>` is BOS; the token before `⇒` is the position `last`.")),
        ("validation.first_prompt", {"task": "t", "category": "c", "source": "word pairs (x → y); f.csv"},
         "t (c): word pairs (x → y); f.csv"),
        ("validation.ignored", {"n": 1, "names": ["a.txt"]}, "1 file not read, as it holds no data: a.txt"),
        ("validation.ignored", {"n": 9, "names": list("abcdefghi")},
         "9 files not read, as they hold no data: a, b, c, d, e, f, g, h and 1 more"),
        ("tasks.dropped_for", {"counted": "2 rows", "reason": "empty row",
                               "example": line("tasks.example", of="f.csv, line 3")},
         "2 rows dropped: empty row (such as f.csv, line 3)"),
        ("tasks.kept_of", {"kept": 7, "n": 12}, "7 of 12"),
        ("validation.scored", {"usable": 1, "n": 2}, "1 of 2 tasks can be scored."),
    ],
)  # fmt: skip
def test_sentences(id, fields, text):
    assert str(line(id, **fields)) == text


def test_small_shares_keep_a_third_decimal():
    assert [share_text(value) for value in (0.5, 0.1, 0.0996, -0.0004, -0.25, 0.0126)] == [
        "0.50", "0.10", "0.10", "0.000", "-0.25", "0.013",
    ]  # fmt: skip
