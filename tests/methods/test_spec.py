"""`name:option=value@positions`, read and written."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcats import registry
from headcats.errors import HeadcatsError, OptionError, UnknownNameError
from headcats.methods.options import Option, WholeNumber
from headcats.methods.spec import MethodSpec

METHODS = [name for name in registry.names("method") if registry.lookup("method", name).declaration.kind == "task"]


def values_of(option: Option) -> st.SearchStrategy[str | int]:
    return st.integers(option.least, 99) if isinstance(option, WholeNumber) else st.sampled_from(option)


def default_of(option: Option) -> str | int:
    return option.default if isinstance(option, WholeNumber) else option[0]


@st.composite
def parts(draw: st.DrawFn) -> tuple[Any, str, tuple[tuple[str, str | int], ...]]:
    # Not the spec itself: the runtime type checks of the test run draw random numbers, which strategies must not.
    method: Any = registry.lookup("method", draw(st.sampled_from(METHODS)))
    options = {key: draw(values_of(option)) for key, option in method.options.items()}
    differing = {key: value for key, value in options.items() if value != default_of(method.options[key])}
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


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("denoising_patch", "denoising_patch@last"),
        ("denoising_patch@all", "denoising_patch@all"),
        ("denoising_patch@", "denoising_patch@last"),
        ("mean_ablation", "mean_ablation@all"),
        ("mean_ablation:reference=suite", "mean_ablation@all"),  # the default goes without saying
        ("mean_ablation:reference=task@last", "mean_ablation:reference=task@last"),
        (" mean_ablation : reference = corrupted @ y1 ", "mean_ablation:reference=corrupted@y1"),
        ("mean_ablation:", "mean_ablation@all"),
    ],
)
def test_labels(text: str, label: str) -> None:
    spec = MethodSpec.parse(text)
    assert spec.label == label
    assert f"{spec.name}@{spec.positions}" == label


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("denoising", UnknownNameError, "Unknown method 'denoising'. Did you mean 'denoising_patch'"),
        ("", UnknownNameError, "Unknown method ''"),
        ("@last", UnknownNameError, "Unknown method ''"),
        (
            "mean_ablation:referense=task",
            UnknownNameError,
            "Unknown option 'referense' of mean_ablation. Did you mean 'reference'",
        ),
        ("denoising_patch:reference=task", UnknownNameError, "Unknown option 'reference' of denoising_patch"),
        (
            "mean_ablation:reference=other",
            OptionError,
            "Option 'reference' of mean_ablation takes 'suite', 'task', 'corrupted'; got 'other'",
        ),
        ("mean_ablation:reference", OptionError, "got ''"),
        ("mean_ablation:reference=task,reference=suite", OptionError, "Option 'reference' .* is given twice"),
    ],
)  # fmt: skip
def test_bad_texts(text: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        MethodSpec.parse(text)
    assert isinstance(caught.value, HeadcatsError)


def test_a_method_that_scores_no_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry._tables, "method", dict(registry._tables["method"]))
    registry.register("method", "weights_only", lambda model: None)
    with pytest.raises(OptionError, match="'weights_only' does"):
        MethodSpec.parse("weights_only")
