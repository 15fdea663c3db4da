"""Standardised columns for arrays of other libraries, on their own device."""

from __future__ import annotations

from typing import Any

from weighbridge.tables import TableEncoder, array_namespace, is_foreign


class ArrayEncoder(TableEncoder):
    """A `TableEncoder` for arrays of another library, fitted to their values in NumPy."""

    def numbers(self, X: Any) -> Any:
        """Return the rows as standardised numbers. Constant columns become zero."""
        if not is_foreign(X):
            raise TypeError(
                f"Got X of type {type(X).__name__}, but the ratio was fitted to an array of "
                "another library. Convert X to that library, or fit the ratio to NumPy arrays."
            )
        if tuple(X.shape[1:]) != (self.scale.size,):
            raise ValueError(
                f"Got X of shape {tuple(X.shape)}, but the ratio was fitted to rows of "
                f"{self.scale.size} features."
            )
        xp = array_namespace(X)
        X = xp.astype(X, xp.float64)
        if not bool(xp.all(xp.isfinite(X))):
            raise ValueError(
                f"Got NaN or infinite values in a {type(X).__name__}. Ratios take missing values "
                "from NumPy arrays and data frames only."
            )
        halved, centre, scale = (
            xp.asarray(values, device=X.device) for values in (self.halved, self.centre, self.scale)
        )
        # Kernels of rows this far away are 0; squares stay finite.
        return xp.clip((X * halved - centre) * scale, -1e100, 1e100)
