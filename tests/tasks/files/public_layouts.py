"""Files in the layouts of public data sets, with contents made up, and the first row that is meant.

Name of the file -> content, and (input, output) of word pairs, (end of the prompt, answer, distractor) of finished
prompts, or the text of the right option; where several tasks are meant, by what tells them apart.
"""

from collections.abc import Mapping, Sequence
from typing import Any

OPTIONS = ["first", "second", "third", "fourth"]
Meant = tuple[str, ...] | str | Mapping[str, tuple[str, str]]


def _rows(row: Mapping[str, Any], **second: Any) -> list[dict[str, Any]]:
    """A row, and one with other texts in some of its fields."""
    return [dict(row), {**row, **second}]


def _csv(rows: Sequence[Sequence[str]]) -> str:
    return "".join(",".join(f'"{cell}"' for cell in row) + "\n" for row in rows)


_ASKED = {"question": "Which is red?", "subject": "colours"}
_KEYED = {"label": ["A", "B", "C", "D"], "text": OPTIONS}
_CHOICES = [{"label": label, "text": text} for label, text in zip("ABCD", OPTIONS, strict=True)]
_PASSAGE = {"passage": "Ann went to the hall. Bob stayed.", "question": "is Ann in the hall"}
_EDIT = {
    "prompt": "The mother tongue of {} is", "relation_id": "P103", "subject": "Ann Lee",
    "target_new": {"str": "English", "id": "Q1"}, "target_true": {"str": "French", "id": "Q2"},
}  # fmt: skip
_OTHER_EDIT = _EDIT | {"subject": "Bob Ray", "target_true": {"str": "English"}, "target_new": {"str": "French"}}
_FACT = {"uuid": "1", "sub_label": "Paris", "obj_label": "France", "predicate_id": "P17"}
_CITY = {"Continent": "Europe", "Country": "France", "Language": "French"}
_OTHER_CITY = {"Continent": "Asia", "Country": "Japan", "Language": "Japanese"}
_FLIP = {"prompt": "Ann and Bob met, Bob told", "choices": ["Ann", "Bob"], "answerKey": 0}

PUBLIC: dict[str, tuple[Any, Meant]] = {
    "mmlu.csv": (
        _csv([["question", *"ABCD", "answer"], ["Which is red?", *OPTIONS, "1"], ["Which is blue?", *OPTIONS, "2"]]),
        "second",
    ),
    "mmlu_without_names.csv": (_csv([["Which is red?", *OPTIONS, "B"], ["Which is blue?", *OPTIONS, "C"]]), "second"),
    "mmlu_hub.jsonl": (_rows(_ASKED | {"choices": OPTIONS, "answer": 1}, question="Which is blue?"), "second"),
    "mmlu_pro.jsonl": (
        _rows(
            _ASKED
            | {"question_id": 70, "options": OPTIONS, "answer": "B", "answer_index": 1, "src": "a", "cot_content": ""},
            question="Which is blue?",
        ),
        "second",
    ),
    "arc.jsonl": (
        _rows(
            {"id": "a", "question": {"stem": "Which is red?", "choices": _CHOICES}, "answerKey": "B"},
            question={"choices": _CHOICES, "stem": "Blue?"},
        ),
        "second",
    ),
    "arc_in_one_text.csv": (
        "questionID,question,AnswerKey\n1,Which is red? (A) one (B) two,B\n2,Which is blue? (A) one (B) two,A\n",
        ("(B) two\nAnswer:", " B", " A"),
    ),
    "arc_hub.json": (_rows(_ASKED | {"choices": _KEYED, "answerKey": "B"}, question="Which is blue?"), "second"),
    "commonsense_qa.jsonl": (
        _rows(
            {"answerKey": "B", "question": {"question_concept": "red", "choices": _CHOICES, "stem": "Which?"}},
            question={"choices": _CHOICES, "stem": "Who?"},
        ),
        "second",
    ),
    "truthfulqa.csv": (
        _csv(
            [
                ["Type", "Category", "Question", "Best Answer", "Correct Answers", "Incorrect Answers", "Source"],
                [
                    "Adversarial",
                    "Myths",
                    "Which is red?",
                    "first",
                    "first; one",
                    "second; third",
                    "https://example.org",
                ],
                ["Adversarial", "Myths", "Which is blue?", "fourth", "four", "second; third", "https://example.org"],
            ]
        ),
        "first",
    ),
    "truthfulqa_mc.json": (
        [
            {"question": f"Which is {n}?", "mc1_targets": {"right": 1, "second": 0, "third": 0}, "mc2_targets": {}}
            for n in (1, 2)
        ],
        "right",
    ),
    "truthfulqa_hub.jsonl": (
        [{"question": f"Which is {n}?", "mc1_targets": {"choices": OPTIONS, "labels": [1, 0, 0, 0]}} for n in (1, 2)],
        "first",
    ),
    "openbookqa.jsonl": (
        _rows({"id": "1", "question_stem": "Red is", "choices": _KEYED, "answerKey": "D"}, question_stem="Blue is"),
        "fourth",
    ),
    "hellaswag.jsonl": (
        _rows(
            {"ind": 4, "activity_label": "a", "ctx_a": "Ann", "ctx": "Ann sits and", "endings": OPTIONS, "label": "2"},
            ctx="Bob sits and",
        ),
        "third",
    ),
    "piqa.jsonl": (
        _rows({"goal": "To open,", "sol1": "first", "sol2": "second", "label": 1}, goal="To close,"),
        "second",
    ),
    "copa.jsonl": (
        _rows(
            {
                "premise": "Ann fell.",
                "choice1": "first",
                "choice2": "second",
                "question": "cause",
                "idx": 0,
                "label": 0,
            },
            premise="Bob fell.",
        ),
        "first",
    ),
    "winogrande.jsonl": (
        _rows(
            {"sentence": "Ann saw Bob as _ ran.", "option1": "Ann", "option2": "Bob", "answer": "2"},
            sentence="Bob saw Ann as _ ran.",
        ),
        "Bob",
    ),
    "sciq.json": (
        _rows(
            {
                "question": "Which?",
                "distractor1": "x",
                "distractor2": "y",
                "distractor3": "z",
                "correct_answer": "right",
                "support": "s",
            },
            question="Who?",
        ),
        "right",
    ),
    "race.jsonl": (
        _rows({"article": "Ann sat.", "question": "Who?", "options": OPTIONS, "answer": "C"}, question="What?"),
        "third",
    ),
    "aqua.jsonl": (
        _rows(
            {"question": "1+1?", "options": ["A)21", "B)2", "C)3"], "rationale": "long", "correct": "B"},
            question="2+0?",
        ),
        "2",
    ),
    "big_bench.json": (
        {"name": "a", "examples": [{"input": f"Which {n}?", "target_scores": {"x": 1, "y": 0}} for n in (1, 2)]},
        "x",
    ),
    "gsm8k.jsonl": (
        [{"question": f"How many {n}?", "answer": f"First 1+{n}=<<1+{n}>>.\n#### {n + 1}"} for n in (1, 2)],
        ("How many 1?", "2"),
    ),
    "math.jsonl": (
        [
            {"problem": f"Find {n}.", "level": "1", "type": "x", "solution": f"So $\\boxed{{\\frac{{{n}}}{{2}}}}$."}
            for n in (1, 2)
        ],
        ("Find 1.", "\\frac{1}{2}"),
    ),
    "svamp.json": (
        _rows(
            {"ID": "1", "Body": "Ann has 2.", "Question": "How many?", "Equation": "1+1", "Answer": 2.0, "Type": "sum"},
            Body="Bob has 2.",
        ),
        ("Ann has 2. How many?", "2"),
    ),
    "sva_rc.json": (
        _rows(
            {
                "clean_prefix": "The cats near Ann",
                "patch_prefix": "The cat near Ann",
                "clean_answer": " do",
                "patch_answer": " does",
                "case": "plural_singular",
            },
            clean_answer=" have",
            patch_answer=" has",
        ),
        ("The cats near Ann", " do", " does"),
    ),
    "blimp.jsonl": (
        _rows(
            {
                "sentence_good": "The cats sleep.",
                "sentence_bad": "The cats sleeps.",
                "field": "morphology",
                "pair_id": 0,
            },
            sentence_good="A dog runs.",
            sentence_bad="A dog run.",
        ),
        ("The cats", " sleep", " sleeps"),
    ),
    "blimp_prefix.jsonl": (
        _rows(
            {
                "sentence_good": "The cat sleeps.",
                "sentence_bad": "The cat sleep.",
                "one_prefix_prefix": "The cat",
                "one_prefix_word_good": "sleeps",
                "one_prefix_word_bad": "sleep",
            },
            one_prefix_prefix="The dog",
        ),
        ("The cat", " sleeps", " sleep"),
    ),
    "multiblimp.tsv": (
        "sen\twrong_sen\tverb\nThe cats run.\tThe cats runs.\trun\nA cat runs.\tA cat run.\truns\n",
        ("The cats", " run", " runs"),
    ),
    "crows_pairs.csv": (
        "id,sent_more,sent_less\n0,An old fell.,An honest fell.\n1,A cook left.,A judge left.\n",
        ("An", " honest", " old"),
    ),
    "counterfact.json": (
        [
            {"case_id": n, "requested_rewrite": edit, "paraphrase_prompts": []}
            for n, edit in enumerate((_EDIT, _OTHER_EDIT))
        ],
        ("The mother tongue of Ann Lee is", " French", " English"),
    ),
    "counterfact_tracing.jsonl": (
        _rows(
            {
                "relation": "{} speaks",
                "prompt": "Ann Lee speaks",
                "subject": "Ann Lee",
                "target_true": " French",
                "target_false": " English",
            },
            prompt="Bob speaks",
            subject="Bob",
        ),
        ("Ann Lee speaks", " French", " English"),
    ),
    "known_1000.json": (
        [
            {"known_id": n, "subject": who, "attribute": what, "template": "{} speaks", "prompt": f"{who} speaks"}
            for n, who, what in ((0, "Ann", "French"), (1, "Bob", "Latin"))
        ],
        ("Ann speaks", " French", " Latin"),
    ),
    "lama_trex.jsonl": (
        _rows(_FACT | {"evidences": [{"masked_sentence": "[MASK] has Paris."}]}, sub_label="Rome", obj_label="Italy"),
        ("Paris", "France"),
    ),
    "lama_hub.jsonl": (
        _rows(
            _FACT | {"template": "[X] is located in [Y] .", "masked_sentence": "x"}, sub_label="Rome", obj_label="Italy"
        ),
        ("Paris is located in", " France", " Italy"),
    ),
    "lama_squad.jsonl": (
        [
            {"id": str(n), "masked_sentences": [f"The {n} is [MASK] ."], "obj_label": what}
            for n, what in ((1, "red"), (2, "blue"))
        ],
        ("The 1 is", " red", " blue"),
    ),
    "pararel.jsonl": (
        _rows(
            {"sub_uri": "Q1", "obj_uri": "Q2", "obj_label": "France", "sub_label": "Paris", "uuid": "1"},
            sub_label="Rome",
        ),
        ("Paris", "France"),
    ),
    "popqa.tsv": (
        "id\tsubj\tprop\tobj\tquestion\n1\tAnn\tjob\tcook\tWhat does Ann do?\n2\tBob\tjob\tjudge\tWhat does Bob do?\n",
        ("What does Ann do?\nAnswer:", " cook", " judge"),
    ),
    "ravel_city.json": (
        {"Paris": _CITY, "Tokyo": _OTHER_CITY},
        {"Continent": ("Paris", "Europe"), "Country": ("Paris", "France"), "Language": ("Paris", "French")},
    ),
    "ravel_hub.jsonl": (
        [{"ID": "1", "City": "Paris", **_CITY}, {"ID": "2", "City": "Tokyo", **_OTHER_CITY}],
        {"Continent": ("Paris", "Europe"), "Country": ("Paris", "France"), "Language": ("Paris", "French")},
    ),
    "boolq.jsonl": (
        _rows(_PASSAGE | {"title": "Ann", "answer": True}, question="is Bob there", answer=False),
        ("is Ann in the hall?\nAnswer:", " yes", " no"),
    ),
    "boolq_super_glue.jsonl": (
        _rows(_PASSAGE | {"idx": 0, "label": 1}, question="is Bob there", label=0),
        ("is Ann in the hall?\nAnswer:", " yes", " no"),
    ),
    "squad.json": (
        [
            {
                "id": "1",
                "title": "a",
                "context": "Ann sat.",
                "question": f"Who {n}?",
                "answers": {"text": [who], "answer_start": [0]},
            }
            for n, who in ((1, "Ann"), (2, "Bob"))
        ],
        ("Who 1?\nAnswer:", " Ann", " Bob"),
    ),
    "triviaqa.jsonl": (
        [{"question": f"Who {n}?", "answer": {"value": who, "aliases": [who]}} for n, who in ((1, "Ann"), (2, "Bob"))],
        ("Who 1?\nAnswer:", " Ann", " Bob"),
    ),
    "nq_open.jsonl": (
        [{"question": f"who {n}", "answer": [who, "x"]} for n, who in ((1, "Ann"), (2, "Bob"))],
        ("who 1\nAnswer:", " Ann", " Bob"),
    ),
    "lambada.jsonl": ([{"text": "Ann saw a big dog"}, {"text": "Bob saw a cat"}], ("Ann saw a big", " dog", " cat")),
    "mnli.jsonl": (
        [
            {"premise": "Ann sat.", "hypothesis": f"It is {n}.", "label": what}
            for n, what in enumerate(("entailment", "contradiction"))
        ],
        ("It is 0.\nAnswer:", " true", " false"),
    ),
    "alpaca.json": (
        [
            {"instruction": "Translate this.", "input": word, "output": other}
            for word, other in (("one", "un"), ("two", "deux"))
        ],
        ("Translate this.\none\nAnswer:", " un", " deux"),
    ),
    "mib_ioi.jsonl": (
        _rows(
            _FLIP | {"s2_io_flip_counterfactual": {"prompt": "Ann and Bob met, Ann told"}},
            prompt="Tom and Ann met, Ann told",
            choices=["Tom", "Ann"],
        ),
        ("Ann and Bob met, Bob told", " Ann", " Bob"),
    ),
    "mib_mcqa.jsonl": (
        [
            {
                "prompt": f"Is it {n}?\nA. x\nB. y\nAnswer:",
                "choices": {"label": ["A", "B"], "text": [" A", " B"]},
                "answerKey": key,
            }
            for n, key in ((1, "A"), (2, "B"))
        ],
        ("B. y\nAnswer:", " A", " B"),
    ),
    "social_iqa.jsonl": (
        _rows(
            {"context": "Ann ran.", "question": "Why?", "answerA": "x", "answerB": "y", "answerC": "z", "label": "2"},
            context="Bob ran.",
        ),
        "y",
    ),
    "logiqa.jsonl": (
        _rows({"context": "Ann sat.", "query": "Who?", "options": OPTIONS, "correct_option": 1}, query="What?"),
        "second",
    ),
    "counterfact_edits.json": ([_EDIT, _OTHER_EDIT], ("The mother tongue of Ann Lee is", " French", " English")),
    "web_questions.jsonl": (
        [{"url": "x", "question": f"who {n}", "answers": [who]} for n, who in ((1, "Ann"), (2, "Bob"))],
        ("who 1\nAnswer:", " Ann", " Bob"),
    ),
    "babi.jsonl": (
        [
            {"passage": "Ann went out.", "question": f"Where is {who}?", "answer": at}
            for who, at in (("Ann", "out"), ("Bob", "in"))
        ],
        ("Where is Ann?\nAnswer:", " out", " in"),
    ),
    "ravel_laureates.json": (
        [{"Name": who, "Award Year": year, "Birth Year": "1900"} for who, year in (("Ann", "1950"), ("Bob", "1960"))],
        {"Award_Year": ("Ann", "1950"), "Birth_Year": ("Ann", "1900")},
    ),
    "ravel_objects.json": (
        [
            {"Object": what, "Biological Classification": kind, "Color": "red"}
            for what, kind in (("fox", "a"), ("rose", "b"))
        ],
        {"Biological_Classification": ("fox", "a"), "Color": ("fox", "red")},
    ),
    "ravel_verbs.json": (
        [{"Verb": verb, "Past Tense": past, "Pronoun": "they"} for verb, past in (("go", "went"), ("see", "saw"))],
        {"Past_Tense": ("go", "went"), "Pronoun": ("go", "they")},
    ),
    "ravel_jobs.json": (
        [
            {"Occupation": job, "Duty": duty, "Gender Bias": "none"}
            for job, duty in (("cook", "food"), ("judge", "law"))
        ],
        {"Duty": ("cook", "food"), "Gender_Bias": ("cook", "none")},
    ),
    "big_bench_hard.json": (
        {"canary": "x", "examples": [{"input": "1 plus 1 is", "target": "2"}, {"input": "1 plus 2 is", "target": "3"}]},
        ("1 plus 1 is", "2"),
    ),
}
