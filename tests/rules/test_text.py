import pytest

from headcats.rules import elbow, threshold
from headcats.rules.discovery_rate import fdr
from headcats.rules.text import parse_rule, rule_text


@pytest.mark.parametrize("rule", [fdr(), fdr(alpha=0.01, min_effect=0.1), threshold(value=0.2), elbow()], ids=repr)
def test_a_rule_and_its_text(rule):
    assert repr(parse_rule(rule_text(rule))) == repr(rule)
    assert parse_rule(rule) is rule
