"""Files are written whole or not at all."""

import errno
import os
from pathlib import Path

import pytest

from weighbridge._files import remove_unfinished, write_whole


def names(folder):
    return sorted(each.name for each in folder.iterdir())


def test_the_file_appears_when_the_block_ends_and_nothing_else_does(tmp_path):
    path = tmp_path / "new folder" / "result.json"
    with write_whole(path) as temporary:
        temporary.write_text("{}")
        assert not path.exists()
        assert temporary.parent == path.parent
        assert temporary.suffix == ".json"
    assert path.read_text() == "{}"
    assert names(path.parent) == ["result.json"]


def test_an_error_leaves_the_old_file_and_nothing_behind(tmp_path):
    path = tmp_path / "result.json"
    path.write_text("old")

    def fail():
        with write_whole(path) as temporary:
            temporary.write_text("new")
            raise KeyError("found")

    with pytest.raises(KeyError, match="found"):
        fail()
    assert path.read_text() == "old"
    assert names(tmp_path) == ["result.json"]


@pytest.mark.skipif(os.name != "posix", reason="files have no such permissions here")
@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_the_umask_decides_who_may_read_it(tmp_path, umask):
    before = os.umask(umask)
    try:
        with write_whole(tmp_path / "a.csv") as temporary:
            temporary.write_text("row\n")
    finally:
        os.umask(before)
    assert (tmp_path / "a.csv").stat().st_mode & 0o777 == 0o666 & ~umask


def test_a_link_is_replaced_and_what_it_points_to_is_left_alone(tmp_path):
    other, path = tmp_path / "other.csv", tmp_path / "weights.csv"
    other.write_text("mine")
    path.symlink_to(other)
    with write_whole(path) as temporary:
        temporary.write_text("ours")
    assert other.read_text() == "mine"
    assert not path.is_symlink()
    assert path.read_text() == "ours"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_folder_or_a_device_is_never_replaced(tmp_path):
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    for path, number in [(tmp_path, errno.EISDIR), (pipe, errno.EINVAL)]:
        with pytest.raises(OSError, match=r".") as caught, write_whole(path):
            pass
        assert caught.value.errno == number
        assert caught.value.filename == str(path)
    assert names(tmp_path) == ["pipe.csv"]


def test_an_error_names_the_file_and_not_the_temporary_one(tmp_path):
    path = tmp_path / "a.csv"
    with pytest.raises(OSError, match="No space left") as caught, write_whole(path):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert caught.value.filename == str(path)


def test_an_error_of_another_file_keeps_its_name(tmp_path):
    with pytest.raises(FileNotFoundError) as caught, write_whole(tmp_path / "a.csv"):
        (tmp_path / "input.csv").read_text()
    assert caught.value.filename.endswith("input.csv")


def test_leaving_at_once_removes_what_is_unfinished(tmp_path):
    def leave():
        with write_whole(tmp_path / "a.csv") as temporary:
            temporary.write_text("half")
            remove_unfinished()
            assert names(tmp_path) == []

    with pytest.raises(FileNotFoundError):
        leave()
    assert names(tmp_path) == []


def test_a_folder_that_is_a_file_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    path = Path(tmp_path, "file", "a.csv")
    with pytest.raises(OSError, match=r".") as caught, write_whole(path):
        pass
    assert "file" in str(caught.value)
