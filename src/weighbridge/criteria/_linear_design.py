"""Which estimators are linear models that all candidates can be solved for at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.special import expit, gammaln
from sklearn import get_config
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor, Ridge
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
)
from sklearn.utils.metadata_routing import get_routing_for_object

from weighbridge.tables import FloatArray

# exp overflows beyond; a Newton step that lands there is halved
_LARGEST = 700.0


@dataclass(frozen=True)
class Normal:
    """Squared error: ``(y - eta)**2 / 2``. Its leave-one-out formula is exact."""

    scoring: str = "neg_mean_squared_error"

    def loss(self, y: FloatArray, eta: FloatArray) -> FloatArray:
        """Negative log likelihood, up to its scale and constant."""
        return np.square(y - eta) / 2

    def derivatives(self, y: FloatArray, eta: FloatArray) -> tuple[FloatArray, FloatArray | float]:
        """First and second derivative of the loss in eta."""
        return eta - y, 1.0

    def response(self, eta: FloatArray) -> FloatArray:
        """What the estimator predicts."""
        return eta


@dataclass(frozen=True)
class Logistic:
    """Two classes, y in {0, 1}: ``log(1 + exp(eta)) - y eta``."""

    scoring: str = "neg_log_loss"

    def loss(self, y: FloatArray, eta: FloatArray) -> FloatArray:
        """Negative log likelihood."""
        return np.logaddexp(0.0, eta) - y * eta

    def derivatives(self, y: FloatArray, eta: FloatArray) -> tuple[FloatArray, FloatArray | float]:
        """First and second derivative of the loss in eta."""
        mean = expit(eta)
        return mean - y, mean * (1 - mean)

    def response(self, eta: FloatArray) -> FloatArray:
        """Probabilities of the two classes."""
        return np.stack([expit(-eta), expit(eta)], axis=-1)


@dataclass(frozen=True)
class Poisson:
    """Counts: ``exp(eta) - y eta + log(y!)``."""

    scoring: str = "neg_mean_poisson_deviance"

    def loss(self, y: FloatArray, eta: FloatArray) -> FloatArray:
        """Negative log likelihood."""
        return np.asarray(np.exp(np.minimum(eta, _LARGEST)) - y * eta + gammaln(y + 1))

    def derivatives(self, y: FloatArray, eta: FloatArray) -> tuple[FloatArray, FloatArray | float]:
        """First and second derivative of the loss in eta."""
        mean = np.exp(np.minimum(eta, _LARGEST))
        return mean - y, mean

    def response(self, eta: FloatArray) -> FloatArray:
        """Expected counts."""
        return np.exp(np.minimum(eta, _LARGEST))


Family = Normal | Logistic | Poisson


# None of them looks at the labels or at weights, so their output is the same for all candidates.
_FIXED_FEATURES = (
    StandardScaler,
    MinMaxScaler,
    MaxAbsScaler,
    RobustScaler,
    PCA,
    SimpleImputer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    SplineTransformer,
    KBinsDiscretizer,
)
# Folds and a few candidates are cheaper for so many rows.
MANY_ROWS = 20_000
# A sparse table of more columns stays sparse.
_MOST_SPARSE = 1_000
CLOSED_FORMS = (
    "LinearRegression, Ridge, LogisticRegression with two classes and without an l1 penalty, "
    "PoissonRegressor, or a pipeline that ends in one after scalers, encoders and other "
    "transformers that ignore the labels"
)


def column_scale(features: FloatArray, is_centred: bool) -> FloatArray:
    """Return standard deviations of the columns, or root mean squares; 1 for those without any."""
    size = np.sqrt(np.square(features).mean(axis=0))
    scale = np.asarray(features.std(axis=0) if is_centred else size)
    # The standard deviation of a constant column is rounding.
    scale[~(scale > 1e-14 * size)] = 1.0
    return scale


@dataclass(frozen=True)
class LinearModel:
    """A linear model read off an estimator: features as they are, family and penalty."""

    features: FloatArray
    y: FloatArray
    family: Family
    strength: float
    per_weight: bool
    fit_intercept: bool

    def design(self) -> LinearDesign:
        """Scale the columns, and centre them where there is an intercept: better conditioned."""
        scale = column_scale(self.features, self.fit_intercept)
        if not self.fit_intercept:
            return LinearDesign(self.features / scale, self.strength / scale**2, self)
        features = np.empty((len(self.features), scale.size + 1))
        np.subtract(self.features, self.features.mean(axis=0), out=features[:, :-1])
        features[:, :-1] /= scale
        features[:, -1] = 1.0
        return LinearDesign(features, np.append(self.strength / scale**2, 0.0), self)


@dataclass(frozen=True)
class LinearDesign:
    """Minimise ``sum w loss(y, features beta) + beta' diag(penalty) beta / 2``."""

    features: FloatArray
    penalty: FloatArray
    model: LinearModel


def linear_model(
    estimator: Any, X: Any, y: Any, read: tuple[Family, float, bool] | None = None
) -> LinearModel:
    """Read a linear model off an estimator, or say which estimators are ones."""
    *steps, last = _steps(estimator)
    family, strength, per_weight = read_regression(last) if read is None else read
    for step in steps:
        X = clone(step).fit_transform(X)
    if issparse(X) and X.shape[1] > _MOST_SPARSE:
        raise ValueError(
            f"Got a sparse table of {X.shape[1]} columns, which the closed form would make dense; "
            "use CrossValidation()."
        )
    features = X.toarray() if issparse(X) else np.asarray(X, dtype=float)
    if features.ndim != 2 or not np.isfinite(features).all():
        raise ValueError(
            f"Got features of shape {features.shape} with missing or infinite values; a linear "
            "model needs a table of numbers."
        )
    return LinearModel(
        features, _labels(y, family), family, strength, per_weight, bool(last.fit_intercept)
    )


def closed_form_family(estimator: Any) -> Family | None:
    """Return the family of an estimator that `linear_model` reads, data permitting, else None."""
    try:
        return read_regression(_steps(estimator)[-1])[0]
    except TypeError:
        return None


def is_solved_together(estimator: Any, y: Any, sample_weight: FloatArray | None = None) -> bool:
    """Return True if a closed form for all candidates costs less than folds and a few of them."""
    family = closed_form_family(estimator)
    n_rows = len(y) if sample_weight is None else np.count_nonzero(sample_weight)
    if family is None or n_rows >= MANY_ROWS:
        return False
    return not isinstance(family, Logistic) or np.unique(np.asarray(y)).size == 2


def fixed_steps(estimator: Any) -> list[Any] | None:
    """Return the steps of a pipeline whose transformers ignore labels and weights, else None."""
    try:
        return _steps(estimator)
    except TypeError:
        return None


def coded_texts(transformers: list[Any], *tables: Any) -> tuple[Any, ...]:
    """Return pandas frames with numbers for text, where encoders alone look at it.

    They find the same levels in the same order, without a look at each value: for large tables
    that is most of a fit.
    """
    names = _encoded_texts(transformers, tables)
    if not names:
        return tables
    levels = {name: set().union(*(table[name].unique() for table in tables)) for name in names}
    text = {name: sorted(v for v in each if type(v) is str) for name, each in levels.items()}
    others = {name: [v for v in each if type(v) is not str] for name, each in levels.items()}
    # one kind of missing value is one level; what else is no text is for the encoder to see
    if any(
        len(each) > 1 or any(v == v and v is not None for v in each) for each in others.values()
    ):
        return tables
    places = {name: {level: float(k) for k, level in enumerate(text[name])} for name in names}
    return tuple(
        table.assign(**{name: table[name].map(places[name]) for name in names}) for table in tables
    )


def _encoded_texts(transformers: list[Any], tables: tuple[Any, ...]) -> list[str]:
    """Return the columns of text, where all of them go to encoders alone; else none."""
    import narwhals as nw

    first = transformers[0] if transformers else None
    if not isinstance(first, ColumnTransformer) or first.remainder not in ("drop", "passthrough"):
        return []
    if not all(map(nw.dependencies.is_pandas_dataframe, tables)):
        return []
    texts = [name for name, kind in tables[0].dtypes.items() if str(kind) == "object"]
    by_encoders: list[str] = []
    for _, part, names in first.transformers:
        # a rule for the types of columns would see other ones
        if not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
            return []
        if isinstance(part, OneHotEncoder) and _names_no_level(part):
            by_encoders += names
        elif set(names) & set(texts):
            return []
    return texts if sorted(texts) == sorted(set(by_encoders) & set(texts)) else []


def _names_no_level(encoder: OneHotEncoder) -> bool:
    """True where no level is named to the encoder, or by it in an error."""
    by_rule = encoder.drop is None or isinstance(encoder.drop, str)
    return bool(encoder.categories == "auto" and by_rule and encoder.handle_unknown != "error")


def _steps(estimator: Any) -> list[Any]:
    """Return the steps of a pipeline, flat; refuse transformers that may look at labels."""
    if not isinstance(estimator, Pipeline):
        return [estimator]
    steps: list[Any] = []
    for _, step in estimator.steps[:-1]:
        if step is None or step == "passthrough":
            continue
        if not _is_fixed(step):
            raise TypeError(
                f"Got a pipeline with {type(step).__name__}, whose output may depend on the labels "
                f"or on weights; the closed form takes {CLOSED_FORMS}."
            )
        steps.append(step)
    return steps + _steps(estimator.steps[-1][1])


def _is_fixed(step: Any) -> bool:
    if get_config()["enable_metadata_routing"] and _asks_for_weights(step):
        return False
    if isinstance(step, ColumnTransformer):
        parts = [part for _, part, _ in step.transformers] + [step.remainder]
    elif isinstance(step, FeatureUnion):
        parts = [part for _, part in step.transformer_list]
    elif isinstance(step, Pipeline):
        parts = [part for _, part in step.steps]
    else:
        return isinstance(step, _FIXED_FEATURES)
    return all(isinstance(part, str) or _is_fixed(part) for part in parts)


def _asks_for_weights(step: Any) -> bool:
    """True for a transformer that gets the weights too, with metadata routing."""
    requests = get_routing_for_object(step)
    fit = getattr(requests, "fit", None)
    return fit is not None and bool(fit.requests.get("sample_weight"))


def read_regression(model: Any) -> tuple[Family, float, bool]:
    """Return the family, the penalty and whether it grows with the total weight."""
    kind = type(model)
    if kind is LinearRegression and not model.positive:
        return Normal(), 0.0, False
    if kind is Ridge and not model.positive and np.ndim(model.alpha) == 0:
        return Normal(), float(model.alpha), False
    if kind is LogisticRegression and _is_plain_logistic(model):
        has_penalty = getattr(model, "penalty", "l2") is not None and np.isfinite(model.C)
        return Logistic(), 1 / float(model.C) if has_penalty else 0.0, False
    if kind is PoissonRegressor:
        return Poisson(), float(model.alpha), True
    raise TypeError(f"Got {model!r}, but the closed form takes {CLOSED_FORMS}.")


def _is_plain_logistic(model: Any) -> bool:
    """True where only the squared norm is penalised, not the intercept, and classes count alike."""
    return (
        getattr(model, "penalty", "l2") in (None, "l2", "deprecated")
        and not getattr(model, "l1_ratio", None)
        and model.class_weight is None
        and not model.dual
        and not (model.solver == "liblinear" and model.fit_intercept)
    )


def _labels(y: np.ndarray, family: Family) -> FloatArray:
    """Labels as numbers; two classes become 0 and 1."""
    if isinstance(family, Poisson) and (y < 0).any():
        raise ValueError(
            f"Got a negative label ({y.min():g}); PoissonRegressor needs labels of 0 or more."
        )
    if not isinstance(family, Logistic):
        return y.astype(float)
    classes, codes = np.unique(y, return_inverse=True)
    if classes.size != 2:
        raise ValueError(
            f"Got {classes.size} classes; the closed form of LogisticRegression takes two. Use "
            "criteria.CrossValidation() for more."
        )
    return codes.astype(float)


def inverses(matrices: FloatArray) -> FloatArray:
    """Invert symmetric matrices; the pseudo-inverse where one is singular to working precision."""
    try:
        inverse: FloatArray = np.asarray(np.linalg.inv(matrices), dtype=float)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.pinv(matrices, rcond=1e-12, hermitian=True), dtype=float)
    error = np.abs(matrices @ inverse - np.eye(matrices.shape[-1])).max(axis=(1, 2))
    singular = ~(error < 1e-6)
    if singular.any():
        inverse[singular] = np.linalg.pinv(matrices[singular], rcond=1e-12, hermitian=True)
    return inverse
