"""Importance weighting with deep networks: ``python -m experiments.deep --help``.

Image data comes out of two npm packages, converted once (`_data`); shifts whose true ratio is known
are made of it (`_shifts`); the networks are small and plain (`_models`, which needs torch).
"""
