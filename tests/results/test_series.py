"""The file that lists the revisions of a series."""

import json
import shutil
from pathlib import Path

import pytest
from for_each import for_each

from headcats.base.errors import StorageError
from headcats.results.file_format import FORMAT, json_with_checksum
from headcats.results.loading import load
from headcats.results.series import SERIES, RevisionRecord, SeriesFolder, SeriesRecord


def revision(name, step=None):
    return RevisionRecord(name=name, folder=name, source="owner/model", revision=name, step=step, weights_hash="f" * 32)


def names(series):
    return [each.name for each in series.revisions]


def test_revisions_are_ordered_by_their_steps_where_all_have_one():
    series = SeriesRecord("model").with_revisions([revision("b", 20), revision("a", 3)])
    assert names(series) == ["a", "b"]
    assert names(series.with_revisions([revision("c", 10)])) == ["a", "c", "b"]
    assert names(series.with_revisions([revision("d", 3)])) == ["a", "b", "d"]  # two of one step


def test_without_steps_new_ones_come_last_and_all_of_them_are_a_new_order():
    series = SeriesRecord("model").with_revisions([revision("main"), revision("init")])
    assert names(series) == ["main", "init"]
    assert names(series.with_revisions([revision("step5", 5)])) == ["main", "init", "step5"]
    assert names(series.with_revisions([revision("init"), revision("main")])) == ["init", "main"]


def test_what_is_written_is_read(tmp_path):
    folder = SeriesFolder(tmp_path / "series")
    assert folder.read() == SeriesRecord()
    series = SeriesRecord("model", (revision("a", 1), revision("main")))
    folder.write(series)
    assert folder.read() == series
    assert json.loads(folder.file.read_text())["format"] == FORMAT
    assert dict(load(folder.path).children) == {}
    folder.remove_if_empty()
    assert not folder.file.exists()


@for_each(
    "content,problem",
    [
        ("{", "is damaged"),
        ("[]", "is damaged"),
        (f'{{"format": {FORMAT}, "revisions": []}}', "lacks its checksum"),
        (json_with_checksum(f'{{"format": {FORMAT}, "revisions": 3}}').decode(), "revisions .* got 3"),
        (
            json_with_checksum(f'{{"format": {FORMAT}, "revisions": [{{"name": "a", "folder": "../b"}}]}}').decode(),
            r"'\.\./b'",
        ),
        ('{"format": 1, "revisions": []}', "format 1, .* run it again"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path, content, problem):
    (tmp_path / SERIES).write_text(content)
    with pytest.raises(StorageError, match=problem):
        SeriesFolder(tmp_path).read()


def test_a_revision_that_is_a_link_out_is_not_followed(tmp_path):
    folder = SeriesFolder(tmp_path / "series")
    folder.write(SeriesRecord("model", (revision("a[1]"), revision("b"))))
    (folder.path / "b").mkdir()
    (folder.path / "a[1]").symlink_to("b")
    assert names(folder.read()) == ["a[1]", "b"]
    (tmp_path / "private").mkdir()
    (folder.path / "a[1]").unlink()
    (folder.path / "a[1]").symlink_to("../private")
    with pytest.raises(StorageError, match="link out"):
        load(folder.path)


def test_the_published_series_is_of_this_format(tmp_path):
    shutil.unpack_archive(Path(__file__).parents[2] / "tutorials" / "mini-checkpoints.tar.xz", tmp_path, filter="data")
    series = load(tmp_path / "mini-checkpoints")
    assert list(series.children) == [f"step{step}" for step in (63, 125, 250, 500, 1000, 2000, 4000, 8000)]
    assert series["step8000"]["successor"]["denoising_patch@last"].patched.dims == ("metric", "prompt", "layer", "head")
