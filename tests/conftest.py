"""Options that hold for all tests."""

from collections import Counter, defaultdict
from itertools import combinations

import pytest
from hypothesis import settings

# Laws are checked on the same examples everywhere; a new example is found by changing the seed.
settings.register_profile("weighbridge", deadline=None, derandomize=True, max_examples=40)
settings.register_profile("more", settings.get_profile("weighbridge"), max_examples=300)
settings.load_profile("weighbridge")

PAGES = {".md", ".rst"}
APART = {"more", "slow", "torch", "browser", "engines"}
FEW = 8  # so many combinations of parameters are all run by `make test`


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Leave pages, and combinations that add no value of a parameter, to `make test-more`."""
    tests = defaultdict(list)
    for item in items:
        if item.path.suffix in PAGES:
            item.add_marker("more")
        if hasattr(item, "callspec") and not APART & {mark.name for mark in item.iter_markers()}:
            tests[item.parent.nodeid, item.originalname].append(item)
    for cases in tests.values():
        if len(cases) > FEW and len(_values(cases[0])) > 1:
            for item in set(cases) - _covering(cases):
                item.add_marker("more")


def _covering(items):
    """Return as few tests as have every value of every list, in pairs as different as they can."""
    values = {item: _values(item) for item in items}
    parts = {item: {*each, *combinations(sorted(each), 2)} for item, each in values.items()}
    left, uses, chosen = set().union(*values.values()), Counter(), set()
    while left:
        best = min(items, key=lambda item: (-len(values[item] & left), _total(uses, parts[item])))
        chosen.add(best)
        left -= values[best]
        uses.update(parts[best])
    return chosen


def _total(uses, parts):
    return sum(uses[part] for part in parts)


def _values(item):
    """Return where a test stands in each of its lists of parameters."""
    marks = [mark.args[0] for mark in item.iter_markers("parametrize")]
    lists = [each.split(",") if isinstance(each, str) else each for each in marks]
    params = {name: id(value) for name, value in item.callspec.params.items()}
    listed = [tuple((name.strip(), params.pop(name.strip())) for name in names) for names in lists]
    return {*listed, *(((name, place),) for name, place in params.items())}
