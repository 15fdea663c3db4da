"""Products of parameters, of which `make test` runs as few as have every value once."""

from itertools import product

import pytest


def covering(*, ids=None, **axes):
    """Parametrise a test by all combinations, and mark as `more` what adds no value of any axis."""
    axes = {name: [_as_param(value) for value in values] for name, values in axes.items()}
    sizes = [len(values) for values in axes.values()]
    kept = {tuple(k % size for size in sizes) for k in range(max(sizes))}
    sets = []
    for places in product(*map(range, sizes)):
        chosen = [values[k] for values, k in zip(axes.values(), places, strict=True)]
        marks = [mark for each in chosen for mark in each.marks]
        marks += [] if places in kept else [pytest.mark.more]
        sets.append(pytest.param(*(each.values[0] for each in chosen), marks=marks))
    return pytest.mark.parametrize(list(axes), sets, ids=ids)


def _as_param(value):
    return value if hasattr(value, "marks") else pytest.param(value)
