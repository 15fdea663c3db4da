"""What kind of label a column holds."""

from __future__ import annotations

import numpy as np

# Whole numbers with more values than this are quantities.
MOST_CLASSES = 20


def guess_task(y: np.ndarray) -> str:
    """Return the task that a label is for.

    Parameters
    ----------
    y : array of shape (n_samples,)
        Labels without missing values.

    Returns
    -------
    str
        ``"classification"`` for text, booleans and whole numbers with at most 20 values, else
        ``"regression"``.

    Examples
    --------
    >>> import numpy as np
    >>> from weighbridge._tables import guess_task
    >>> guess_task(np.array([0, 1, 1, 0])), guess_task(np.array([0.5, 1.0, 1.0]))
    ('classification', 'regression')
    """
    y = np.asarray(y)
    if y.dtype.kind not in "iuf":
        return "classification"
    values = np.unique(y)
    whole = y.dtype.kind in "iu" or bool((values == np.floor(values)).all())
    return "classification" if whole and values.size <= MOST_CLASSES else "regression"
