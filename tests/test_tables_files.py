"""Files that cannot be read: each has a code, an exit code and words that let the user go on."""

import gzip
import io
import os
import zipfile

import pytest

from weighbridge._tables import read_blocks, read_table
from weighbridge.exceptions import InputError

GOOD = b"age,site\n41,north\n52,west\n"
ROWS = b"".join(b"%d,north\n" % age for age in range(40))


def zipped(name: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, GOOD)
    return file.getvalue()


def flipped(packed: bytes) -> bytes:
    """A gzip file with one wrong bit in its checksum."""
    return packed[:-6] + bytes([packed[-6] ^ 1]) + packed[-5:]


# no clock: the cases have the same names in every process
PACKED = gzip.compress(b"age,site\n" + ROWS * 50, mtime=0)

# name of the file, its bytes, the code, and words that the message must have
BAD_FILES = [
    ("a.csv", b"", "WB119", ["a.csv is empty"]),
    ("a.csv", b"\n \n\n", "WB119", ["a.csv is empty"]),
    ("a.csv", b"\xef\xbb\xbf", "WB119", ["a.csv is empty"]),
    ("a.csv.gz", gzip.compress(b"", mtime=0), "WB119", ["a.csv.gz is empty"]),
    ("a.csv", b"age,site\n", "WB102", ["header and no rows", "at least 20"]),
    ("a.csv", b"age,site\n\n\n", "WB102", ["header and no rows"]),
    ("a.csv", b"age site\n41 north\n", "WB128", ['one column only: "age site"', "semicolons"]),
    ("a.csv", b"age|site\n41|north\n", "WB128", ['"age|site"', "commas"]),
    ("a.csv", b'{"age": 41}\n', "WB128", ["one column only"]),
    ("a.csv", b"age,site\n41,north\n52\n", "WB127", ["line 3 has 1 field where", "header has 2"]),
    ("a.csv", b"age,site\n41,a,b\n52,c\n", "WB127", ["line 2 has 3 fields", "41,a,b"]),
    ("a.csv", b'age,site\n"4\n1",a\n5\n\n6\n', "WB127", ["line 4 has 1", "1 more such line"]),
    ("a.csv", b'age,site\n41,"north\n52,west\n', "WB126", ["starts at line 2", "quote"]),
    ("a.csv", b'age,site\n41,a\n52,"we"st"\n', "WB126", ["starts at line 3"]),
    ("a.csv", b'age,"site\n41,a\n52,b\n', "WB126", ["starts at line 1"]),
    ("a.csv", b'age,site\n41,"' + b"x" * 140_000, "WB126", ["cell of more than 131,072"]),
    ("a.csv", b"age,site\n41," + b"x" * (17 << 20), "WB126", ["no line end"]),
    ("a.csv", "age,site\n41,é\n".encode("utf-16"), "WB125", ["UTF-16", "iconv -f utf-16"]),
    ("a.csv", "age,site\n41,é\n".encode("utf-32"), "WB125", ["UTF-32"]),
    ("a.csv", "age,site\n41,é\n".encode("utf-16-le"), "WB125", ["NUL byte", "like UTF-16"]),
    ("a.csv", "age,site\n41,é\n".encode("latin-1"), "WB125", ["line 2", '"41,é"', "iconv"]),
    ("a.csv", b"age,site\n41,no\0rth\n", "WB125", ["NUL byte (first on line 2)"]),
    ("a.csv", b"age,age,site,site\n1,2,3,4\n", "WB129", ['one column "age"', '"site"']),
    ("a.csv", b",age,site\n0,41,north\n", "WB129", ["without a name: number 1", "index=False"]),
    ("a.csv", b"age,site,\n41,north,\n", "WB129", ["number 3 of 3"]),
    ("a.csv", b"41,1.5\n52,2.5\n", "WB129", ["has no header", '"41"']),
    ("a.csv.gz", PACKED[:-30], "WB122", ["damaged gzip", "too early"]),
    ("a.csv.gz", PACKED[:5], "WB122", ["damaged gzip"]),
    ("a.csv.gz", flipped(PACKED), "WB122", ["damaged gzip", "cannot be unpacked"]),
    ("a.csv.gz", PACKED + b"junk", "WB122", ["damaged gzip"]),
    ("a.csv.gz", gzip.compress(PACKED, mtime=0), "WB121", ["gzip twice"]),
    ("a.csv.gz", gzip.compress(b"PAR1xxxx", mtime=0), "WB121", ["Parquet file inside gzip"]),
    ("a.csv", b"PAR1\x15\x04PAR1", "WB121", ["a Parquet file, not CSV", ".parquet"]),
    ("a.parquet", GOOD, "WB121", ["not a Parquet file", "b'age,site'"]),
    ("a.parquet", b"", "WB121", ["not a Parquet file", "it is empty"]),
    ("a.parquet", b"PAR1" + b"x" * 100, "WB123", ["damaged Parquet"]),
    ("a.csv", zipped("train.csv"), "WB121", ["a ZIP archive", "unpack"]),
    ("a.xlsx", zipped("xl/workbook.xml"), "WB121", ["an Excel workbook", "as CSV"]),
    ("a.xls", b"\xd0\xcf\x11\xe0" + b"x" * 50, "WB121", ["an Excel workbook"]),
    ("a.pkl", b"\x80\x04\x95" + b"x" * 50, "WB121", ["a pickle", "never opened"]),
    ("a.duckdb", bytes(8) + b"DUCK" + bytes(50), "WB121", ["a DuckDB database", "COPY"]),
    ("a.csv", b"\x89PNG\r\n\x1a\n\x01\x02\x03\x04\x05", "WB121", ["a binary file"]),
]


@pytest.mark.parametrize(("name", "content", "code", "words"), BAD_FILES)
def test_file_that_is_no_table_is_named(name, content, code, words, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_table(str(path))
    error = caught.value
    assert [problem.code for problem in error.problems] == [code]
    assert error.exit_code == 3
    assert all(word in str(error) for word in words), str(error)
    assert len(str(error).splitlines()) <= 6
    assert error.problems[0].help


@pytest.mark.parametrize(("name", "content", "code", "words"), BAD_FILES)
def test_blocks_meet_the_same_problems_as_the_whole(name, content, code, words, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        list(read_blocks(str(path), {"site": "category"}))
    assert caught.value.problems[0].code == code


def test_missing_file_comes_with_the_nearest_names(tmp_path, monkeypatch):
    (tmp_path / "train.csv").write_bytes(GOOD)
    (tmp_path / "other.txt").write_bytes(GOOD)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as caught:
        read_table("trian.csv")
    assert str(caught.value) == (
        'error WB101: there is no file "trian.csv".\n'
        "  in this folder: train.csv\n  help: is it train.csv?"
    )
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("path", ["nowhere/train.csv", "a.csv/b.csv", "with\0nul.csv", "a" * 300])
def test_path_that_leads_nowhere_is_a_usage_error(path, tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_bytes(GOOD)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as caught:
        read_table(path)
    assert caught.value.exit_code == 2
    assert caught.value.problems[0].code in ("WB101", "WB118")
    assert "\0" not in str(caught.value)


def test_folder_shows_its_tables(tmp_path):
    (tmp_path / "train.csv").write_bytes(GOOD)
    with pytest.raises(InputError, match=r"is a folder; one file is needed\.\n  in it: train.csv"):
        read_table(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_pipe_is_refused_and_never_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(InputError, match=r"WB118: .*pipe.csv is a pipe or a device"):
        read_table(tmp_path / "pipe.csv")


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="no devices here")
def test_device_is_refused():
    with pytest.raises(InputError, match=r"WB118: /dev/null is a pipe or a device"):
        read_table("/dev/null")


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="permissions do not bind this user"
)
def test_file_without_permission_is_named(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(GOOD)
    path.chmod(0)
    with pytest.raises(InputError, match=r"WB118: .*permission denied"):
        read_table(path)


@pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="needs a file that fails")
def test_file_that_fails_while_it_is_read_is_named():
    """The first page of a process' memory is a regular file that cannot be read."""
    with pytest.raises(InputError, match=r"WB118: /proc/self/mem cannot be read"):
        read_table("/proc/self/mem")


def test_circle_of_links_is_named(tmp_path):
    (tmp_path / "a.csv").symlink_to("b.csv")
    (tmp_path / "b.csv").symlink_to("a.csv")
    with pytest.raises(InputError, match=r"WB118: .*a.csv cannot be read"):
        read_table(tmp_path / "a.csv")


def test_names_with_control_characters_are_shown_escaped(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b'"a\x1b[31m\ngo","a\x1b[31m\ngo"\n1,2\n')
    with pytest.raises(InputError) as caught:
        read_table(path)
    assert '"a\\x1b[31m\\ngo"' in str(caught.value)
    assert "\x1b" not in str(caught.value)


def test_long_cells_and_names_are_cut(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"<" + b"x" * 5000 + b"\n1\n")
    with pytest.raises(InputError) as caught:
        read_table(path)
    assert '"<' + "x" * 58 + '…"' in str(caught.value)


def test_no_reader_for_parquet_is_a_usage_error(tmp_path, monkeypatch):
    """Without pyarrow a Parquet file is refused with what to install."""
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = tmp_path / "a.parquet"
    path.write_bytes(b"PAR1" + b"x" * 100)
    with pytest.raises(InputError, match=r'pip install "weighbridge\[cli\]"') as caught:
        read_table(path)
    assert (caught.value.problems[0].code, caught.value.exit_code) == ("WB146", 2)
