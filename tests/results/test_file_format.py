"""Checksums: what is written comes back, and what was changed does not."""

import json

import pytest
from for_each import for_each
from hypothesis import given
from hypothesis import strategies as st

from headcats.base.errors import DamagedFileError
from headcats.results.file_format import content_of, json_content_of, json_with_checksum, with_checksum

texts = st.dictionaries(st.text(), st.one_of(st.integers(), st.text(), st.none()), min_size=1).flatmap(
    lambda entries: st.sampled_from([None, 1]).map(lambda indent: json.dumps(entries, indent=indent) + "\n")
)


@given(st.binary())
def test_binary_content_comes_back(data):
    assert content_of(with_checksum(data)) == data
    assert with_checksum(data).startswith(data), "HDF5 reads from the beginning"


@given(texts)
def test_line_ends_of_text_are_no_part_of_it(text):
    """Git for Windows writes others."""
    written = json_with_checksum(text)
    assert json_content_of(written.replace(b"\n", b"\r\n")) == json_content_of(written)


@given(st.binary(min_size=1), st.integers(0), st.integers(1, 255))
def test_a_changed_byte_is_seen(data, place, change):
    written = bytearray(with_checksum(data))
    written[place % len(written)] ^= change
    with pytest.raises(DamagedFileError):
        content_of(bytes(written))


@given(st.binary(min_size=1), st.integers(0))
def test_a_cut_file_is_seen(data, end):
    written = with_checksum(data)
    with pytest.raises(DamagedFileError):
        content_of(written[: end % len(written)])


@for_each("data", [b"", b"{}", b'{"a": 1}', b'{"checksum": "x"}'])
def test_a_file_without_checksum_is_damaged(data):
    for content in (json_content_of, content_of):
        with pytest.raises(DamagedFileError, match="lacks its checksum"):
            content(data)
