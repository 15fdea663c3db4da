"""What prediction sets look like on some rows."""

from __future__ import annotations

from dataclasses import dataclass

from weighbridge._findings import Finding, Record


@dataclass(frozen=True)
class ConformalReport(Record):
    """What the intervals or sets on some rows look like, and what they rest on.

    Made by ``report`` of `ConformalRegressor` and `ConformalClassifier`.

    Attributes
    ----------
    coverage : float
        The target coverage.
    n_calibration : int
        Number of calibration rows.
    ess : float
        Effective number of them, under their weights.
    n_rows : int
        Number of rows reported on.
    infinite_share : float
        Share of these whose interval is infinite, or whose set holds all classes because no
        threshold is large enough for any of them.
    mean_width : float or None
        Mean width of the finite intervals; None where there is none, and for classes.
    mean_size : float or None
        Mean number of classes in a set; None for intervals.
    empty_share : float or None
        Share of sets without any class; None for intervals.
    rows_checked : bool
        Whether the model is known not to be fitted to the calibration rows.
    findings : tuple of Finding
        WB307 where most sets are infinite, or most of the target has classes that are in every set.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from weighbridge.conformal import ConformalRegressor
    >>> from weighbridge.datasets import make_quadratic
    >>> data = make_quadratic(random_state=0)
    >>> model = ConformalRegressor(LinearRegression(), random_state=0)
    >>> report = model.fit(data.X, data.y, X_target=data.X_target).report(data.X_target)
    >>> report.infinite_share < 0.1
    True
    """

    coverage: float
    n_calibration: int
    ess: float
    n_rows: int
    infinite_share: float
    mean_width: float | None = None
    mean_size: float | None = None
    empty_share: float | None = None
    rows_checked: bool = True
    findings: tuple[Finding, ...] = ()

    def __str__(self) -> str:
        kind = "intervals" if self.mean_size is None else "sets"
        lines = [
            f"target coverage {self.coverage:.4g}; {self.n_calibration:,} calibration rows, "
            f"{self.ess:,.1f} effective",
            f"{self.infinite_share:.1%} of {self.n_rows:,} {kind} are infinite{self._size()}",
        ]
        if not self.rows_checked:
            lines.append(
                "not checked whether the model was fitted to these calibration rows: the model "
                "does not say, and fit got no X_fit"
            )
        return "\n".join([*lines, *map(str, self.findings)])

    def _size(self) -> str:
        if self.mean_size is not None:
            return f", {self.empty_share:.1%} empty; {self.mean_size:.3g} classes on average"
        return "" if self.mean_width is None else f"; the others are {self.mean_width:.3g} wide"
