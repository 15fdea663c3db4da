"""Ratios computed from two samples of standardised numbers."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from weighbridge._namespace import is_foreign, to_numpy
from weighbridge.blocks import ArrayRows, Rows
from weighbridge.ratios._array_encoder import checked_array, take
from weighbridge.ratios._columns import column_labels, take_rows
from weighbridge.ratios._estimated import EstimatedRatio
from weighbridge.ratios._host_rows import on_host
from weighbridge.ratios._sample import Sample, encoder_of, samples
from weighbridge.ratios._table import TableEncoder


class TwoSampleRatio(EstimatedRatio):
    """A ratio whose algorithm sees two samples of standardised numbers.

    A concrete class computes the ratio from them (rows in an order that is random, yet the same
    for the same table however its rows are ordered), and evaluates it at blocks of rows. It learns
    from sums over all rows (`_fit_streams`), or from rows in memory (`_fit_samples`).
    """

    _other_arrays = False  # can it compute with arrays of other libraries, on their device?
    _takes_sparse = True
    _streams = False  # does it learn from sums?

    def _fit_samples(self, source: Any, target: Any) -> tuple[Any, Any] | None:
        """Compute the ratio from the rows of the two samples; return its logarithm if known."""
        raise NotImplementedError

    def _fit_streams(self, source: Sample, target: Sample) -> tuple[Any, Any] | None:
        """Compute the ratio from two samples; return its logarithm at the first rows if known."""
        return self._fit_samples(source.first, target.first)

    @abstractmethod
    def _log_ratio(self, rows: Any) -> Any:
        """Return the log ratio at a block of rows."""

    def _estimate(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        X, y = self._checked_rows(X, y, reset=True)
        classes, codes = self._coded(y)
        self._keep_domains(classes, codes)
        cut = take if is_foreign(X) else take_rows
        source, target = (
            ArrayRows(cut(X, np.flatnonzero(codes == code)), whole=True) for code in (0, 1)
        )
        if sp.issparse(X):
            encoder: Any = TableEncoder().fit(X, codes)
        else:
            encoder = encoder_of(source, target, column_labels(X))
        # a method that learns from sums has no use for a copy of all rows
        streams = self._streams and not sp.issparse(X)
        most = self._most_rows if streams else codes.size
        return self._fit_rows(encoder, source, target, most)

    def _estimate_blocks(self, source: Rows, target: Rows) -> tuple[np.ndarray, np.ndarray]:
        if not self._other_arrays:
            source, target = on_host(source), on_host(target)
        labels = source.names or [str(j) for j in range(source.n_columns)]
        return self._fit_rows(encoder_of(source, target, labels), source, target, self._most_rows)

    def _fit_rows(
        self, encoder: Any, source: Rows, target: Rows, most: int
    ) -> tuple[np.ndarray, np.ndarray]:
        self.encoder_ = encoder
        seed = int(check_random_state(getattr(self, "random_state", 0)).randint(2**31 - 1))
        parts = samples(encoder, source, target, seed, most)
        self._width = max(encoder.width, 256)
        known = self._fit_streams(*parts)
        if known is None:
            known = tuple(self._in_blocks(part.first, self._log_ratio) for part in parts)
        at_source, at_target = (self._plain_log_ratio(to_numpy(values)) for values in known)
        return at_source, at_target

    def _score_block(self, X: Any) -> Any:
        return self._log_ratio(self.encoder_.numbers(X))

    def _plain_log_ratio(self, log_ratio: np.ndarray) -> np.ndarray:
        """Return log p_target - log p_source from what is estimated."""
        return log_ratio

    def _checked_rows(self, X: Any, y: Any = "no_validation", *, reset: bool) -> Any:
        if is_foreign(X) and self._other_arrays:
            return self._checked_array(X, y, reset)
        if is_foreign(X):
            X = to_numpy(X)
        if sp.issparse(X) and not self._takes_sparse:
            raise TypeError(
                f"Sparse data was passed for X, but dense data is required: {type(self).__name__} "
                "works on dense columns. Use X.toarray(), or a ratio that takes sparse rows: "
                "AutoRatio, ClassifierRatio, ULSIF, KLIEP, KMM or NearestNeighbourRatio."
            )
        return self._validate_table(X, y, reset=reset, ensure_all_finite="allow-nan")

    def _checked_array(self, X: Any, y: Any, reset: bool) -> Any:
        X = checked_array(X, type(self).__name__)
        if reset:
            self.n_features_in_ = X.shape[1]
        elif X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        return X if isinstance(y, str) else (X, to_numpy(y))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = self._takes_sparse
        tags.input_tags.string = True
        return tags
