"""How demonstrations and the query become one text, with every character in one role."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcats.prompts.template import ARROW, QUESTION, Template

TEMPLATES = [ARROW, QUESTION, Template("odd", before="<", between="=", lead="", after="")]
word = st.text("abc é→", min_size=1, max_size=5)


def test_the_two_templates_by_hand():
    text, spans = ARROW.render([("a", "A"), ("b", "B")], "c")
    assert text == "a → A\nb → B\nc →"
    assert {role: text[slice(*span)] for role, span in spans.items()} == {
        "x1": "a", "between1": " →", "y1": " A", "after1": "\n",
        "x2": "b", "between2": " →", "y2": " B", "after2": "\n", "x_query": "c", "between_query": " →",
    }  # fmt: skip
    assert ARROW.answer("C") == " C"
    assert QUESTION.render([("a", "A")], "c")[0] == "Q: a\nA: A\n\nQ: c\nA:"
    assert QUESTION.answer("C") == " C"


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.name)
@given(demonstrations=st.lists(st.tuples(word, word), max_size=4), query=word)
def test_roles_tile_the_text(template, demonstrations, query):
    text, spans = template.render(demonstrations, query)
    ends = [0, *(span.stop for span in spans.values())]
    assert [span.start for span in spans.values()] == ends[:-1]
    assert ends[-1] == len(text)
    assert all(span.stop > span.start for span in spans.values())
    assert [text[slice(*spans[f"x{n}"])] for n in range(1, len(demonstrations) + 1)] == [x for x, _ in demonstrations]
    assert [text[slice(*spans[f"y{n}"])] for n in range(1, len(demonstrations) + 1)] == [
        template.answer(y) for _, y in demonstrations
    ]
    assert text.endswith(template.query(query))


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.name)
def test_an_answered_query_reads_as_a_demonstration(template):
    shown = template.render([("a", "A")], "q")[0].removesuffix(template.query("q"))
    assert shown == template.query("a") + template.answer("A") + template.after
