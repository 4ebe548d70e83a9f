"""Numbers of every head as the page holds them: what comes back, and what gives way to the limit of its size."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from headcats.reports.page.numbers import Rows, deflated, pack

FLOATS = st.floats(-3, 3) | st.just(float("nan"))


def unpacked(about: dict, data: bytes) -> dict[str, np.ndarray]:
    """What the page's script does."""
    size = int(np.prod(about["shape"]))
    found: dict[str, np.ndarray] = {}
    for place, name in enumerate(about["fields"]):
        start = about["start"] + 2 * size * place
        low, high = (np.frombuffer(data[start + shift : start + shift + size], dtype=np.uint8) for shift in (0, size))
        counts = (low.astype(np.uint16) | high.astype(np.uint16) << 8).astype(np.int16)
        values = np.where(counts == -32768, np.nan, counts.astype(float))
        if name == "q_value":
            found[name] = 10 ** (values / 1000)
        elif name in ("low", "high"):
            found[name] = found["effect"] + (1 if name == "high" else -1) * values * about["step"]
        else:
            found[name] = values * about["step"]
    return {name: values.reshape(about["shape"]) for name, values in found.items()}


def rows(effect: np.ndarray, width: np.ndarray, q: np.ndarray, *, label: str = "one") -> Rows:
    names = tuple(f"task {place}" for place in range(len(effect)))
    values = {"effect": effect, "low": effect - width, "high": effect + width, "q_value": q}
    return Rows(label, "task", "effect", names, names, values)


@given(st.data())
def test_effects_come_back_to_the_fourth_digit_and_q_to_a_percent(data: st.DataObject):
    shape = data.draw(array_shapes(min_dims=3, max_dims=3, max_side=4))
    effect = data.draw(arrays(float, shape, elements=FLOATS))
    width = data.draw(arrays(float, shape, elements=st.floats(0, 0.2)))
    q = data.draw(arrays(float, shape, elements=st.floats(1e-30, 1)))
    packed = pack([rows(effect, width, q)], room=10**6)
    found = unpacked(packed.about[0], packed.data)
    step = packed.about[0]["step"]
    assert step <= 2.1e-4
    for name, expected in (("effect", effect), ("low", effect - width), ("high", effect + width)):
        np.testing.assert_allclose(found[name], expected, atol=0.51 * step)
    np.testing.assert_allclose(found["q_value"], q, rtol=2e-3)


def test_an_effect_of_any_size_fits():
    effect = np.array([[[12.5, -40.0, np.nan]]])
    packed = pack([rows(effect, np.zeros_like(effect), np.array([[[0.0, 1.0, np.nan]]]))], room=10**6)
    found = unpacked(packed.about[0], packed.data)
    np.testing.assert_allclose(found["effect"], effect, rtol=1e-3)
    np.testing.assert_allclose(found["q_value"], [[[1e-32, 1.0, np.nan]]])


def test_what_does_not_fit_is_named_and_the_first_is_always_there():
    draw = np.random.default_rng(0)
    every = [rows(*draw.random((3, 5, 10, 10)), label=name) for name in ("first", "second", "third")]
    packed = pack(every, room=100)
    assert [about["label"] for about in packed.about] == ["first"]
    assert packed.left_out == ["second", "third"]
    whole = pack(every, room=10**6)
    assert [about["label"] for about in whole.about] == ["first", "second", "third"]
    assert whole.left_out == []
    for about, one in zip(whole.about, every, strict=True):
        np.testing.assert_allclose(unpacked(about, whole.data)["effect"], one.values["effect"], atol=1e-4)


def test_the_room_is_for_all_rows_together():
    draw = np.random.default_rng(0)
    every = [rows(*draw.random((3, 5, 10, 10)), label=name) for name in ("first", "second", "third")]
    one, two = (len(deflated(pack(every[:n], room=10**6).data)) for n in (1, 2))
    assert one < two - 100
    packed = pack(every, room=two)
    assert packed.left_out == ["third"]
    assert len(deflated(packed.data)) <= two
