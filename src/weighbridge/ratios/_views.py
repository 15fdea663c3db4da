"""What a model sees of a table: standardised numbers, their products, codes for trees, or all."""

from __future__ import annotations

from typing import Any

from weighbridge.ratios._quadratic import Quadratic, QuadraticRows, can_be_squared
from weighbridge.ratios._table import TableEncoder


class View:
    """The table as it is."""

    def __call__(self, X: Any) -> Any:
        """Return what the model sees of some rows."""
        return X


class NumbersView(View):
    """Standardised numbers, for linear models and kernels."""

    def __init__(self, encoder: TableEncoder):
        self.encoder = encoder

    def __call__(self, X: Any) -> Any:
        """Return the rows as numbers."""
        return self.encoder.numbers(X)


class QuadraticView(NumbersView):
    """Standardised numbers with their squares and products; without, where there are too many."""

    def fit(self, X: Any) -> QuadraticView:
        """Learn the scales of the products from the rows of a table."""
        numbers = super().__call__(X)
        self.quadratic = Quadratic().fit(numbers) if can_be_squared(numbers) else None
        return self

    def __call__(self, X: Any) -> Any:
        """Return numbers, squares and products."""
        numbers = super().__call__(X)
        return numbers if self.quadratic is None else self.quadratic.transform(numbers)


class FactoredView(QuadraticView):
    """The same, for a model that only multiplies them: they are not made."""

    def __call__(self, X: Any) -> Any:
        """Return numbers, squares and products as a matrix that can be multiplied."""
        numbers = NumbersView.__call__(self, X)
        return numbers if self.quadratic is None else QuadraticRows(numbers, self.quadratic)


class TreesView(NumbersView):
    """Numbers with their gaps, and codes of categories."""

    def __call__(self, X: Any) -> Any:
        """Return numbers and codes."""
        return self.encoder.for_trees(X)
