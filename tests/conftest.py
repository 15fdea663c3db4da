"""Options that hold for all tests."""

from hypothesis import settings

# Laws are checked on the same examples everywhere; a new example is found by changing the seed.
settings.register_profile("weighbridge", deadline=None, derandomize=True, max_examples=40)
settings.register_profile("more", settings.get_profile("weighbridge"), max_examples=300)
settings.load_profile("weighbridge")
