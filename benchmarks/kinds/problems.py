"""Simulated problems whose kind of shift is known: covariate, label, relation, none.

A problem is `problem(kind, number, n)`: n source rows with labels and n target rows, whose labels
only the judge sees. The number rules the world (2 to 10 classes, 2 to 20 columns; Gaussian classes,
classes that are mixtures, a logistic relation, a tree as the relation) and the change; even numbers
are there to choose constants on, odd ones to report. Source rows come from the world as it is.

- covariate: a target row x is kept with a chance a(x), whatever its label: a tilt, a subgroup or a
  scale, along a random direction or (every other problem, the hard ones) along the one that rules
  the classes.
- label: a target row is kept with a chance that depends on its class alone: frequencies from a
  Dirichlet distribution, or one class made rare or frequent.
- relation: the classes move or spread, each in its own way, or the relation is another one while
  the rows stay as they are, which nothing but labels can tell.
- none: nothing changes.
"""

from types import SimpleNamespace

import numpy as np
from scipy.special import expit, softmax

KINDS = ("none", "covariate", "label", "relation")
NUMBERS = range(80)
ROWS = (500, 2000)
WORLDS = ("gaussian", "mixture", "logistic", "tree")
# Least change that a label or covariate problem has: total variation, and 1 - effective share.
LEAST_LABEL, LEAST_COVARIATE = 0.12, 0.12


def half(number):
    """Return the half that a number belongs to."""
    return "report" if number % 2 else "choose"


def problem(kind, number, n):
    """Return a problem: X, y, X_target, y_target, and what is known of it."""
    rng = np.random.default_rng([number, KINDS.index(kind)])
    world = World(WORLDS[number // 2 % 4], rng)
    change = {
        "none": _nothing,
        "covariate": _covariate,
        "label": _label,
        "relation": _relation,
    }[kind](world, number, rng)
    rows = np.random.default_rng([number, KINDS.index(kind), n])
    X, y = world.draw(n, rows)
    X_target, y_target = change(n, rows)
    about = {"world": world.name, "classes": world.n_classes, "columns": world.n_columns}
    return SimpleNamespace(
        X=X,
        y=y,
        X_target=X_target,
        y_target=y_target,
        kind=kind,
        number=number,
        half=half(number),
        about=about | {"change": change.about},
    )


class World:
    """A joint distribution of rows and labels, from which any number of rows may be drawn."""

    def __init__(self, name, rng):
        self.name = name
        self.n_classes = int(rng.choice([2, 2, 2, 3, 4, 6, 10]))
        self.n_columns = int(rng.choice([2, 3, 5, 8, 12, 20]))
        self.frequencies = rng.dirichlet(np.full(self.n_classes, 8.0))
        self.has_classes = name in ("gaussian", "mixture")
        shape = (self.n_classes, self.n_columns)
        if self.has_classes:
            self._parts = 1 if name == "gaussian" else 3
            apart = rng.uniform(0.8, 1.8) * np.sqrt(2 / self.n_columns) * self.n_columns**0.25
            self._centres = rng.normal(0, apart, (self._parts, *shape))
            self._spreads = rng.uniform(0.7, 1.4, shape)
        elif name == "logistic":
            self._mix = np.linalg.qr(rng.normal(size=(self.n_columns,) * 2))[0]
            self._mix *= rng.uniform(0.5, 1.5, self.n_columns)
            self._slopes = rng.normal(0, rng.uniform(1, 2.5) / np.sqrt(self.n_columns), shape)
        else:
            self._cuts = rng.integers(self.n_columns, size=15), rng.normal(0, 0.6, 15)
            self._leaves = rng.dirichlet(np.full(self.n_classes, 0.3), 16)

    def draw(self, n, rng):
        """Return n rows and their labels."""
        if self.has_classes:
            y = rng.choice(self.n_classes, n, p=self.frequencies)
            part = rng.integers(self._parts, size=n)
            X = self._centres[part, y] + self._spreads[y] * rng.normal(size=(n, self.n_columns))
            return X, y
        X = self._rows(n, rng)
        return X, self.label(X, rng)

    def _rows(self, n, rng):
        if self.name == "logistic":
            return rng.normal(size=(n, self.n_columns)) @ self._mix
        return rng.standard_t(8, size=(n, self.n_columns))

    def chances(self, X):
        """Return the chance of each class at rows, in a world that starts from rows."""
        if self.name == "logistic":
            return softmax(X @ self._slopes.T, axis=1)
        place = np.zeros(len(X), dtype=int)
        columns, limits = self._cuts
        for _ in range(4):  # a full tree of depth four: children of i are 2 i + 1 and 2 i + 2
            place = 2 * place + 1 + (X[np.arange(len(X)), columns[place]] > limits[place])
        return self._leaves[place - 15]

    def label(self, X, rng):
        """Return labels drawn at rows."""
        below = self.chances(X).cumsum(axis=1) < rng.uniform(size=(len(X), 1))
        return np.minimum(below.sum(axis=1), self.n_classes - 1)

    def ruling(self, rng):
        """Return the direction along which the means of two classes differ most."""
        X, y = self.draw(4000, rng)
        means = np.array([X[y == code].mean(axis=0) for code in np.unique(y)])
        return np.linalg.svd(means - means.mean(axis=0))[2][0]


def _kept(world, chance, about):
    """Return a change that keeps rows by a chance; rows are drawn until there are enough."""

    def change(n, rng):
        parts, found = [], 0
        while found < n:
            X, y = world.draw(4 * n, rng)
            keep = rng.uniform(size=len(y)) < chance(X, y)
            parts.append((X[keep], y[keep]))
            found += keep.sum()
        X, y = (np.concatenate(each)[:n] for each in zip(*parts, strict=True))
        return X, y

    change.about = about
    return change


def _nothing(world, _number, _rng):
    return _kept(world, lambda X, y: np.ones(len(y)), "none")


def _covariate(world, number, rng):
    """Return a change by rows; drawn again until it is large enough, and not beyond overlap."""
    X, y = world.draw(4000, rng)
    is_hard = number // 8 % 2 == 0
    while True:
        direction = world.ruling(rng) if is_hard else rng.normal(size=world.n_columns)
        place = X @ direction
        middle, spread = place.mean(), place.std()
        shape = ("tilt", "subgroup", "scale")[rng.integers(3)]
        strength = rng.uniform(0.7, 2.5)

        def chance(X, _y, shape=shape, strength=strength, at=(direction, middle, spread)):
            z = (X @ at[0] - at[1]) / at[2]
            if shape == "tilt":
                return expit(strength * (z - 1))
            if shape == "subgroup":
                return np.where(z > 0.5, 1.0, np.exp(-strength))
            return np.exp(-0.3 * strength * z**2)

        kept = chance(X, y)
        share = kept.mean() ** 2 / (kept**2).mean()
        if 0.15 < share < 1 - LEAST_COVARIATE:
            return _kept(world, chance, f"{shape}, {'ruling' if is_hard else 'any'} direction")


def _label(world, number, rng):
    """Return a change by classes; drawn again until it is large enough."""
    _, y = world.draw(20_000, rng)
    before = np.bincount(y, minlength=world.n_classes) / len(y)
    while True:
        if number // 8 % 2:
            after, name = rng.dirichlet(np.ones(world.n_classes)), "Dirichlet"
        else:
            after, name = before.copy(), "one class"
            after[rng.integers(world.n_classes)] = rng.uniform(0.01, 0.8)
        after = after / after.sum()
        if np.abs(after - before).sum() / 2 > LEAST_LABEL and after.max() < 0.97:
            break
    ratio = after / np.maximum(before, 1e-3)
    return _kept(world, lambda _X, y: ratio[y] / ratio.max(), name)


def _relation(world, number, rng):
    """Return a change of the relation."""
    other = World.__new__(World)
    other.__dict__.update(world.__dict__)
    if world.has_classes:
        size = rng.uniform(0.3, 1.2)
        about = "classes move"
        if number // 8 % 2:
            other._spreads = world._spreads * np.exp(rng.normal(0, 0.4, world._spreads.shape))
            about = "classes spread"
        else:
            move = rng.normal(size=(world.n_classes, world.n_columns))
            length = np.sqrt((move**2).sum(axis=1, keepdims=True))
            other._centres = world._centres + size * move / length
    elif world.name == "logistic":
        about = "other slopes"
        other._slopes = (
            world._slopes + rng.normal(0, 1, world._slopes.shape) * np.abs(world._slopes).mean()
        )
    else:
        about = "other leaves"
        other._leaves = world._leaves[rng.permutation(16)]
    return _kept(other, lambda X, y: np.ones(len(y)), about)
