"""Blocks of large files: only the end is read at opening, everything whenever a block is looked up."""

import numpy as np
import pytest
from results.folders import LABEL, block, manifest

import headcats as hc
from headcats.base.errors import DamagedFileError, StorageWarning
from headcats.results.folder import ResultsFolder
from headcats.results.loading import open_results
from headcats.results.place import find_place
from headcats.results.records import BlockRecord, MethodRecord

LARGE = 500_000


@pytest.fixture
def large(tmp_path):
    """A folder of a large block, listed with its checksum, and the file."""
    target = ResultsFolder(tmp_path)
    values = np.zeros((1, 25_000, 2, 3), dtype=np.float32)
    checksum = target.write_block("a", LABEL, block(values, items=("é",) * 25_000))
    target.write_manifest(manifest("a", blocks={LABEL: MethodRecord({"a": BlockRecord("f", checksum=checksum)})}))
    file = target.block_path("a", LABEL)
    assert file.stat().st_size >= LARGE
    return tmp_path, file


def test_damage_within_a_large_block_is_seen_when_it_is_read(large):
    path, file = large
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    run = open_results(find_place(path), checked_later=LARGE)
    with pytest.raises(DamagedFileError, match="checksum"):
        run.block("a", LABEL)
    with pytest.warns(StorageWarning, match="lacks 1 file"):
        assert "a" not in hc.load(path)


def test_a_large_block_that_is_cut_or_of_another_run_is_seen_at_once(large):
    path, file = large
    whole = file.read_bytes()
    file.write_bytes(whole[:-1000])
    with pytest.warns(StorageWarning, match="lacks 1 file"):
        open_results(find_place(path), checked_later=LARGE)
    ResultsFolder(path).write_block("a", LABEL, block(fingerprint="other"))
    with pytest.warns(StorageWarning, match="lacks 1 file"):
        open_results(find_place(path), checked_later=LARGE)
