"""Method labels, parsed and printed."""

import hypothesis
import pytest
from hypothesis import strategies as st

from headcats.base.errors import OptionError
from headcats.results.label import Label, format_call, parse_call

WORDS = st.text(st.characters(blacklist_categories=("C", "Z"), blacklist_characters=":,=@"), min_size=1)
OPTIONS = st.dictionaries(WORDS, WORDS | st.just(""), max_size=3)


@hypothesis.given(name=WORDS, options=OPTIONS, positions=WORDS | st.just(""))
def test_round_trip(name, options, positions):
    label = Label(name, tuple(options.items()), positions)
    assert Label.parse(str(label)) == label == Label.parse(label)
    assert Label.parse(label.method) == label.at("")
    assert Label.parse(label.method).at(positions) == label
    assert parse_call(format_call(name, options.items())) == (name, options)


@pytest.mark.parametrize("parse", [Label.parse, parse_call])
def test_an_option_given_twice(parse):
    with pytest.raises(OptionError, match=r"'x' of a .* twice"):
        parse("a:x=1,x=2")
