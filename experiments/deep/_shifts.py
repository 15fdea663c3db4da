"""Covariate shifts of images whose true ratio is known.

Images (n, h, w) are bytes, or numbers from 0 to 1; what comes back is float32 from 0 to 1. Each
function cuts the images into two sets that share none, and draws all it draws from the generator.

The ratio belongs to what was drawn: the angle, the degree of thickness, the class and the rank in
it. Weighting source rows by it gives target means of anything, images and labels alike. The ratio
of the images alone, which an estimator sees, is its mean given the image; the two differ where an
image does not tell its angle or its degree. Likewise labels given images stay the same only as far
as images tell their class, which digits almost always do.
"""

from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

_AT_ONCE = 2_000  # images, so that the corners of all pixels fit into a cache


@dataclass(frozen=True)
class Shift:
    """Source and target rows; `y_target` is for evaluation alone.

    `rows` and `rows_target` are their places among the images that were given.
    """

    X: np.ndarray
    y: np.ndarray
    X_target: np.ndarray
    y_target: np.ndarray
    log_ratio: np.ndarray
    rows: np.ndarray
    rows_target: np.ndarray


def rotated(images, labels, rng, *, n_source=None, n_target=None, sd=25.0, target_mean=40.0,
            target_sd=15.0):  # fmt: skip
    """Turn each image by an angle: Normal(0, sd) in the source, another normal in the target.

    Angles are in degrees, anticlockwise. By default 16 % of the source rows remain in effect.
    """
    if not 0 < target_sd < np.sqrt(2) * sd:
        raise ValueError(
            f"got target_sd={target_sd} with sd={sd}, but it must be positive and below "
            f"sqrt(2) * sd = {np.sqrt(2) * sd:.4g}: beyond that the weights have no variance"
        )
    images, labels = _checked(images, labels)
    rows, rows_target = _two_sets(len(images), n_source, n_target, rng)
    angles = rng.normal(0.0, sd, len(rows))
    angles_target = rng.normal(target_mean, target_sd, len(rows_target))
    log_ratio = np.log(sd / target_sd) + (
        (angles / sd) ** 2 / 2 - ((angles - target_mean) / target_sd) ** 2 / 2
    )
    X, X_target = rotate(images[rows], angles), rotate(images[rows_target], angles_target)
    return Shift(X, labels[rows], X_target, labels[rows_target], log_ratio, rows, rows_target)


def thickened(images, labels, rng, *, n_source=None, n_target=None,
              degrees=(0.0, 0.375, 0.75, 1.125, 1.5), shares=(0.5, 0.25, 0.13, 0.08, 0.04),
              target_shares=None):  # fmt: skip
    """Thicken each image by a degree that is drawn by other shares in source and target.

    Degrees are in pixels of an image of 28 x 28, and scaled to other sizes. The target has the
    shares in reverse unless told otherwise. By default 14 % of the source rows remain in effect.
    """
    images, labels = _checked(images, labels)
    degrees, shares = np.asarray(degrees, dtype=float), np.asarray(shares, dtype=float)
    target_shares = np.asarray(shares[::-1] if target_shares is None else target_shares, float)
    _check_shares(degrees, shares, target_shares)
    rows, rows_target = _two_sets(len(images), n_source, n_target, rng)
    drawn = rng.choice(len(degrees), len(rows), p=shares)
    drawn_target = rng.choice(len(degrees), len(rows_target), p=target_shares)
    log_ratio = (np.log(target_shares) - np.log(shares))[drawn]
    scale = min(images.shape[1:]) / 28
    X = thicken(images[rows], scale * degrees[drawn])
    X_target = thicken(images[rows_target], scale * degrees[drawn_target])
    return Shift(X, labels[rows], X_target, labels[rows_target], log_ratio, rows, rows_target)


def thinned(images, labels, rng, *, n_source=None, n_target=None, feature="slant", strength=5.0):
    """Keep source rows with the probability exp(-strength * u); the target keeps all its rows.

    u in (0, 1) is the rank of the feature ("slant", "ink", or a function of images) within the
    class, divided by the size of the class, so that every class is thinned alike. A share of
    (1 - exp(-strength)) / strength of the source set is kept; `n_source` rows are drawn of those.
    By default a fifth is kept, and 17 % of the kept rows remain in effect.
    """
    if not strength > 0:
        raise ValueError(f"got strength={strength}, but it must be positive")
    images, labels = _checked(images, labels)
    n_target = len(images) // 2 if n_target is None else n_target
    pool, rows_target = _two_sets(len(images), None, n_target, rng)
    ranks = _ranks_in_class(_feature(feature)(images), labels)
    rows = pool[rng.random(len(pool)) < np.exp(-strength * ranks[pool])]
    if not 1 <= (1 if n_source is None else n_source) <= len(rows):
        raise ValueError(
            f"got n_source={n_source}, but {len(rows)} of {len(pool)} rows were kept; ask for at "
            "least one row and at most as many, for fewer in the target, or for less strength"
        )
    rows = rows[:n_source]  # in random order already
    # ranks are uniform in the target and have the density of a cut exponential in the source
    log_ratio = strength * ranks[rows] + np.log(-np.expm1(-strength) / strength)
    return Shift(images[rows], labels[rows], images[rows_target], labels[rows_target], log_ratio,
                 rows, rows_target)  # fmt: skip


def rotate(images, angles):
    """Turn images about their centres by degrees, anticlockwise, bilinear; outside is 0."""
    angles = np.broadcast_to(np.asarray(angles, dtype=float), len(images))
    parts = [slice(start, start + _AT_ONCE) for start in range(0, len(images), _AT_ONCE)]
    turned = [_rotate_some(images[part], np.deg2rad(angles[part])) for part in parts]
    return np.concatenate(turned) if turned else np.asarray(images, dtype=np.float32)


def thicken(images, degrees):
    """Dilate each image by a diamond of so many pixels; between whole numbers, a mean of the two.

    One pixel more replaces every pixel by the largest of itself and its four neighbours.
    """
    out = np.array(images, dtype=np.float32)
    left = np.broadcast_to(np.asarray(degrees, dtype=np.float32), len(out)).copy()
    if (left < 0).any():
        raise ValueError(f"got a degree of {left.min():g}, but degrees must not be negative")
    while (todo := np.flatnonzero(left > 0)).size:
        share = np.minimum(left[todo], 1.0)[:, None, None]
        out[todo] = (1 - share) * out[todo] + share * _dilate(out[todo])
        left[todo] -= 1.0
    return out


def slant(images):
    """Slope of the strokes: covariance of columns and rows of the ink by the variance of rows."""
    images = np.asarray(images, dtype=float)
    rows, columns = np.indices(images.shape[1:], dtype=float)
    ink = np.maximum(images.sum((1, 2)), np.finfo(float).tiny)

    def mean(values):
        return np.tensordot(images, values, 2) / ink

    variance = mean(rows**2) - mean(rows) ** 2
    # rows count downwards, so that strokes that lean to the right are positive
    covariance = mean(rows) * mean(columns) - mean(rows * columns)
    flat = variance <= 1e-9  # a single row of ink leans to neither side
    return np.where(flat, 0.0, covariance / np.where(flat, 1.0, variance))


def ink(images):
    """Mean grey value of each image."""
    return np.asarray(images, dtype=float).mean((1, 2))


_FEATURES = {"slant": slant, "ink": ink}


def _feature(feature):
    if not callable(feature) and feature not in _FEATURES:
        raise ValueError(
            f"got feature={feature!r}, but expected one of {', '.join(_FEATURES)}, or a function "
            "of images (n, h, w) that returns n numbers"
        )
    return _FEATURES.get(feature, feature)


def _rotate_some(images, angles):
    height, width = images.shape[1:]
    padded = np.pad(np.asarray(images, dtype=np.float32), ((0, 0), (1, 1), (1, 1)))
    down, right = np.indices((height, width), dtype=float)
    down, right = down.ravel() - (height - 1) / 2, right.ravel() - (width - 1) / 2
    cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
    # where each pixel comes from, on the padded grid; beyond the padding all is 0 as well
    row = np.clip(cos * down + sin * right + (height - 1) / 2, -1, height) + 1
    column = np.clip(cos * right - sin * down + (width - 1) / 2, -1, width) + 1
    top = np.minimum(row.astype(np.int64), height)
    left = np.minimum(column.astype(np.int64), width)
    below, beside = (row - top).astype(np.float32), (column - left).astype(np.float32)
    pixels = padded.reshape(-1)
    corner = np.arange(len(images))[:, None] * padded[0].size + top * (width + 2) + left
    upper = pixels[corner] * (1 - beside) + pixels[corner + 1] * beside
    corner += width + 2
    lower = pixels[corner] * (1 - beside) + pixels[corner + 1] * beside
    return (upper * (1 - below) + lower * below).reshape(images.shape)


def _dilate(images):
    out = images.copy()
    np.maximum(out[:, 1:], images[:, :-1], out=out[:, 1:])
    np.maximum(out[:, :-1], images[:, 1:], out=out[:, :-1])
    np.maximum(out[:, :, 1:], images[:, :, :-1], out=out[:, :, 1:])
    np.maximum(out[:, :, :-1], images[:, :, 1:], out=out[:, :, :-1])
    return out


def _ranks_in_class(values, labels):
    ranks = np.empty(len(labels))
    for label in np.unique(labels):
        rows = labels == label
        ranks[rows] = (rankdata(values[rows]) - 0.5) / rows.sum()
    return ranks


def _two_sets(n, n_source, n_target, rng):
    """Return rows of source and target in random order, none in both; by default half and half."""
    if n_target is None:
        n_target = n // 2 if n_source is None else min(n // 2, n - n_source)
    if n_source is None:
        n_source = n - n_target
    if min(n_source, n_target) < 1 or n_source + n_target > n:
        raise ValueError(
            f"got {n_source} source rows and {n_target} target rows of {n} images, but need at "
            "least one of each, and no image twice"
        )
    order = rng.permutation(n)
    return order[n_target : n_target + n_source], order[:n_target]


def _checked(images, labels):
    images, labels = np.asarray(images), np.asarray(labels)
    if images.ndim != 3 or labels.shape != images.shape[:1]:
        raise ValueError(
            f"got images of shape {images.shape} and labels of shape {labels.shape}, but need "
            "(n, h, w) and (n,)"
        )
    if images.dtype == np.uint8:
        return images.astype(np.float32) / 255, labels
    if not (images.size and images.min() >= 0 and images.max() <= 1):  # NaN is refused too
        raise ValueError(
            "got images with values outside 0 to 1; divide them by their largest possible value "
            "(16 for the digits of scikit-learn), or give bytes"
        )
    return images.astype(np.float32), labels


def _check_shares(degrees, *shares):
    for each in shares:
        wrong = each.shape != degrees.shape or not (each > 0).all()
        if wrong or not np.isclose(each.sum(), 1):
            raise ValueError(
                f"got shares {each.tolist()} for {len(degrees)} degrees, but need one for each "
                "degree, all positive, with the sum 1"
            )
