"""What options of methods take, and how a refusal reads."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcats.base import registry
from headcats.base.errors import HeadcatsError, OptionError, UnknownNameError
from headcats.methods.spec import MethodSpec, Option, WholeNumber, check_whole, default_value, read_value

NAMES = ("suite", "task")
STEPS = WholeNumber(default=2, least=1)


def test_values_are_read_and_anything_else_is_refused() -> None:
    assert (default_value(NAMES), default_value(STEPS)) == ("suite", 2)
    for text, value in (("1", 1), ("08", 8), ("100000", 100_000)):
        assert read_value(STEPS, text, name="steps", method="m") == value
    assert read_value(NAMES, "task", name="reference", method="m") == "task"
    with pytest.raises(OptionError, match="'task'; got 'tasks'"):
        read_value(NAMES, "tasks", name="reference", method="m")
    # What int() would take, or choke on, is refused alike.
    for text in ("0", "-1", "1.5", "", "eight", "1_0", "٣", "²", "+1", "1e2", "9" * 5000):
        with pytest.raises(OptionError, match=r"'steps' of m .* 1; got "):
            read_value(STEPS, text, name="steps", method="m")
    with pytest.raises(OptionError, match=r"'steps' of m .* 100,000.*; got 100001"):
        read_value(STEPS, "100001", name="steps", method="m")
    for value in (True, 0, 1.0, "1", None):
        with pytest.raises(OptionError, match=f"1; got {value!r}"):
            check_whole(STEPS, value, name="steps", method="m")


METHODS = [name for name in registry.names("method") if registry.lookup("method", name).declaration.kind == "task"]


def values_of(option: Option) -> st.SearchStrategy[str | int]:
    return st.integers(option.least, 99) if isinstance(option, WholeNumber) else st.sampled_from(option)


@st.composite
def parts(draw: st.DrawFn) -> tuple[Any, str, tuple[tuple[str, str | int], ...]]:
    # Not the spec itself: the runtime type checks of the test run draw random numbers, which strategies must not.
    method: Any = registry.lookup("method", draw(st.sampled_from(METHODS)))
    options = {key: draw(values_of(option)) for key, option in method.options.items()}
    differing = {key: value for key, value in options.items() if value != default_value(method.options[key])}
    role = st.text("abyz019_→-.é", min_size=1)
    positions = draw(st.sampled_from(["last", "all", "y1", "x_query"]) | role)
    return method, positions, tuple(sorted(differing.items()))


@given(parts=parts())
def test_what_is_written_is_read_back(parts: Any) -> None:
    spec = MethodSpec(*parts)
    assert MethodSpec.parse(spec.label) == spec
    assert MethodSpec.parse(spec.label).label == spec.label


@given(parts=parts())
def test_a_name_without_positions_has_those_of_the_method(parts: Any) -> None:
    spec = MethodSpec(*parts)
    assert MethodSpec.parse(spec.name) == MethodSpec(spec.method, spec.method.positions, spec.options)


def test_labels() -> None:
    for text, label in {
        "denoising_patch": "denoising_patch@last",
        "denoising_patch@all": "denoising_patch@all",
        "denoising_patch@": "denoising_patch@last",
        "mean_ablation:": "mean_ablation@all",
        "mean_ablation:reference=suite": "mean_ablation@all",  # the default goes without saying
        "mean_ablation:reference=task@last": "mean_ablation:reference=task@last",
        " mean_ablation : reference = corrupted @ y1 ": "mean_ablation:reference=corrupted@y1",
        "attribution_patch:ig_steps=0@all": "attribution_patch@all",
        " attribution_patch : ig_steps = 08 @ all ": "attribution_patch:ig_steps=8@all",
    }.items():
        spec = MethodSpec.parse(text)
        assert spec.label == label
        assert f"{spec.name}@{spec.positions}" == label


def test_bad_texts() -> None:
    for text, error, message in (
        ("denoising", UnknownNameError, "'denoising'.* 'denoising_patch'"),
        ("", UnknownNameError, "method ''"),
        ("mean_ablation:referense=task", UnknownNameError, "'referense' of mean_ablation.* 'reference'"),
        ("denoising_patch:reference=task", UnknownNameError, "'reference' of denoising_patch"),
        ("mean_ablation:reference=other", OptionError, "'suite', 'task', 'corrupted'; got 'other'"),
        ("attribution_patch:ig_steps=-1", OptionError, "0; got -1"),
    ):
        with pytest.raises(error, match=message) as caught:
            MethodSpec.parse(text)
        assert isinstance(caught.value, HeadcatsError)


def test_a_method_that_scores_no_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry._tables, "method", dict(registry._tables["method"]))
    registry.register("method", "weights_only", lambda model: None)
    with pytest.raises(OptionError, match="'weights_only' does"):
        MethodSpec.parse("weights_only")
