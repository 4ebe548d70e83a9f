"""How a method is written, taken apart and put together."""

import pytest

from headcats.errors import OptionError
from headcats.method_text import MethodText


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("mean_ablation", ("mean_ablation", {}, "")),
        (" a : x = 1 , y=b @ last ", ("a", {"x": "1", "y": "b"}, "last")),
        ("a:x", ("a", {"x": ""}, "")),
        ("a@all", ("a", {}, "all")),
    ],
)
def test_its_parts(text, parts):
    found = MethodText.read(text)
    assert (found.name, found.options, found.positions) == parts
    assert MethodText.read(str(found)) == found


def test_an_option_given_twice():
    with pytest.raises(OptionError, match="Option 'x' of a is given twice"):
        MethodText.read("a:x=1,x=2")
