"""Files made to do harm; ``python hostile.py FOLDER`` runs a command on each of a folder."""

import gzip
import io
import json
import lzma
import pickle
import struct
import sys
import time
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from cli_runs import run

MB = 1 << 20


def deflated(pieces):
    """Return the raw deflate stream of some pieces, their sum of bytes and their checksum."""
    packer, crc, size, out = zlib.compressobj(6, zlib.DEFLATED, -15), 0, 0, []
    for piece in pieces:
        crc, size = zlib.crc32(piece, crc), size + len(piece)
        out.append(packer.compress(piece))
    return b"".join([*out, packer.flush()]), size, crc


def archive(*parts):
    """Return a ZIP archive of name, stream, size, checksum, method, flags: true or not."""
    body, directory = b"", b""
    for name, stream, size, crc, *rest in parts:
        method, flags = (*rest, *(8, 0)[len(rest) :])
        head = struct.pack(
            "<HHHHHIIIHH", 20, flags, method, 0, 33, crc, len(stream), size, len(name), 0
        )
        directory += b"PK\1\2" + struct.pack("<H", 20) + head
        directory += struct.pack("<HHHII", 0, 0, 0, 0, len(body)) + name
        body += b"PK\3\4" + head + name + stream
    counts = len(parts) & 0xFFFF
    end = struct.pack("<HHHHIIH", 0, 0, counts, counts, len(directory), len(body), 0)
    return body + directory + b"PK\5\6" + end


def plain(name, content):
    return (name, *deflated([content]))


def runs(command, file):
    """Return a pickle that runs a command when it is opened."""

    class Trap:
        def __reduce__(self):
            import os

            return os.system, (f"{command} > {file}",)

    return pickle.dumps(Trap())


def models(ran):
    """Yield models by name."""
    zeros = deflated([bytes(MB)] * 300)
    nothing = plain(b"schema.json", b"{}")
    yield "a part of 300 MB", archive((b"a.npy", *zeros), nothing)
    yield (
        "four parts of 80 MB",
        archive(*((b"%d" % i, *deflated([bytes(MB)] * 80)) for i in range(4)), nothing),
    )
    yield "a schema of 64 MB", archive((b"schema.json", *deflated([b"{}," * 350_000] * 64)))
    yield (
        "a schema of 15 MB",
        archive((b"schema.json", *deflated([b"[", *[b"{}," * 350_000] * 14, b"{}]"]))),
    )
    yield (
        "a directory that lies",
        archive((b"a.npy", zeros[0], 100, zlib.crc32(bytes(100))), nothing),
    )
    inner = archive((b"data.npy", *zeros))
    yield "an archive inside", archive((b"a.npz", inner, len(inner), zlib.crc32(inner), 0), nothing)
    nodes = [
        {"__class__": "ndarray", "__module__": "numpy", "__loader__": "NdArrayNode", "__id__": i}
        | {"type": "numpy", "file": "a.npy"}
        for i in range(40)
    ]
    listed = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode", "__id__": 99}
    listed |= {"content": nodes, "protocol": 2}
    array = io.BytesIO()
    np.save(array, np.zeros(5 * MB))
    schema = plain(b"schema.json", json.dumps(listed).encode())
    yield "one part forty times", archive(plain(b"a.npy", array.getvalue()), schema)
    yield "a name twice", archive(nothing, nothing)
    yield "lists in lists", archive(plain(b"schema.json", b"[" * 200_000 + b"]" * 200_000))
    yield "60,000 parts", archive(*((b"%d" % i, b"", 0, 0, 0) for i in range(60_000)), nothing)
    packed = lzma.compress(bytes(30 * MB), lzma.FORMAT_ALONE)
    yield "packed in another way", archive((b"a", packed, 30 * MB, 0, 14), nothing)
    yield "encrypted", archive((*nothing, 8, 1))
    yield "a pickle", runs("echo model", ran)
    call = {"__class__": "system", "__module__": "posix", "__loader__": "FunctionNode", "__id__": 1}
    call |= {"content": {"module_path": "posix", "function": "system"}, "protocol": 2}
    yield "a function", archive(plain(b"schema.json", json.dumps(call).encode()))
    yield "cut off", archive(nothing)[:60]


def tables(folder, ran):
    """Yield tables by name."""
    rows = b"1,1\n" * (MB // 4)
    bomb = gzip.compress(b"a,b\n" + rows * 150)
    yield "rows.csv.gz", bomb
    yield "lie.csv.gz", bomb + gzip.compress(b"1,1\n")
    yield "line.csv.gz", gzip.compress(b"a,b\n1,2\n" + b"x" * (90 * MB))
    table = np.random.default_rng(0).normal(size=(4000, 2)).round(3)
    text = pd.DataFrame(table, columns=["a", "b"]).to_csv(index=False).encode()
    packed = bytearray(gzip.compress(text))
    packed[len(packed) // 2] ^= 1
    yield "damaged.csv.gz", bytes(packed)
    pq.write_table(
        pa.table({"a": table[:, 0], "b": table[:, 1]}),
        folder / "good.parquet",
        write_page_checksum=True,
        use_dictionary=False,
        compression="none",
    )
    pages = bytearray((folder / "good.parquet").read_bytes())
    pages[20_000] ^= 1
    yield "damaged.parquet", bytes(pages)
    many = pa.table({"a": np.zeros(MB), "b": np.zeros(MB)})
    with pq.ParquetWriter(folder / "many.parquet", many.schema) as writer:
        for _ in range(40):
            writer.write_table(many)
    yield "rows.parquet", (folder / "many.parquet").read_bytes()
    yield "pickle.csv", runs("echo table", ran)
    yield "zip.csv", archive(plain(b"a.csv", text))
    yield "xz.csv", lzma.compress(text)
    yield "quote.csv", b'a,b\n"' + b"1,1\n" * (5 * MB)
    yield "header.csv", b"a," * (9 * MB)
    yield "zeros.csv", bytes(20 * MB)


def results():
    """Yield results by name."""
    head = b'{"schema": "weighbridge/1", "command": "adapt", "verdict": '
    yield "deep.json", head + b"[" * 200_000 + b"]" * 200_000 + b"}"
    yield "long.json", head + b'"' + b"x" * (20 * MB) + b'"}'
    yield "lists.json", head + b"[" + b"[]," * (5 * MB) + b"[]]}"
    yield "digits.json", head + b"1" * 100_000 + b"}"
    yield "cut.json", head + b'{"sentence": "'
    yield "kinds.json", head + b'{"sentence": 3}, "answers": [[]], "expect": 1}'
    yield "page.html", b'<script type="application/json" id="result">' + b"[" * MB + b"</script>"


def make(folder):
    """Write all of them into a folder, and what they are used with into the folder above."""
    ran = folder.parent / "ran"
    frame = pd.DataFrame(np.random.default_rng(1).normal(size=(60, 2)), columns=["a", "b"])
    frame.to_csv(folder.parent / "good.csv", index=False)
    for name, content in models(ran):
        (folder / f"{name}.skops").write_bytes(content)
    for name, content in (*tables(folder.parent, ran), *results()):
        (folder / name).write_bytes(content)


def judged(file, good):
    """Run a command on a file; return its name, exit code, seconds and what was said."""
    command = {".skops": "predict", ".json": "report", ".html": "report"}.get(
        file.suffix, "weights"
    )
    out = good.parent / ("page.html" if command == "report" else "table.csv")
    words = [command, file, *([good] if command != "report" else [])]
    start = time.process_time()
    found = run(*words, "--out", out)
    said = found.stdout + found.stderr
    return file.name, found.exit_code, time.process_time() - start, said


if __name__ == "__main__":
    import resource  # not on Windows; the test that runs this is skipped there

    # a run that takes everything fails here, and not elsewhere
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    files = sorted(Path(sys.argv[1]).iterdir())
    found = [judged(each, each.parent.parent / "good.csv") for each in files]
    # the peak since this program began; that of getrusage includes the process that started it
    status = Path("/proc/self/status").read_text()
    peak = int(status.split("VmHWM:")[1].split()[0]) / 1024
    sys.stdout.write(json.dumps({"found": found, "megabytes": peak}))
