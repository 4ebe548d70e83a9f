"""Every preset is a plan that can be made."""

import pytest

import headcats as hc
from headcats.base import registry
from headcats.base.errors import UnknownNameError
from headcats.cli.options import settings
from headcats.study.plan import plan

pytestmark = pytest.mark.usefixtures("joint_methods")


def test_every_preset_is_a_plan_and_options_win_over_it() -> None:
    for name in registry.names("preset"):
        study = plan(**hc.methods.preset(name))
        assert [spec.name for spec in study.methods] == hc.methods.preset(name)["methods"]
        chosen = settings(None, {"n_prompts": 3}, preset_name=name)
        assert chosen["n_prompts"] == 3
        assert chosen["methods"] == hc.methods.preset(name)["methods"]
        assert registry.lookup("preset", name).name == name
        hc.methods.preset(name)["methods"].append("other")  # what comes back can be changed
        assert "other" not in hc.methods.preset(name)["methods"]


def test_an_unknown_preset() -> None:
    with pytest.raises(UnknownNameError, match=r"'words2021'.*'words2020'"):
        hc.methods.preset("words2021")
