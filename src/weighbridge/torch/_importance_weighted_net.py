"""A network for a target without labels: weights in the features that it has learnt."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
import torch
from sklearn.base import BaseEstimator, TransformerMixin, clone, is_classifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import PredefinedSplit, train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn

from weighbridge._data import check_sample_weight
from weighbridge._estimators import ImportanceWeighted, ImportanceWeightedCV, WeightedEstimator
from weighbridge._findings import effective_sample_size
from weighbridge.criteria import CrossValidation
from weighbridge.ratios import KnownRatio, fit_ratio, source_log_ratio
from weighbridge.torch._batch import find_layer, watched
from weighbridge.torch._dynamic import DynamicWeights, checked_point
from weighbridge.torch._net import WeightedNet, WeightedNetClassifier, as_rows

# Share of the rows that is kept apart from training.
HOLD_OUT = 0.2


class LastLayer(TransformerMixin, BaseEstimator):
    """The features of a fitted network, as a transformer.

    Parameters
    ----------
    net : WeightedNetClassifier, WeightedNetRegressor, other net of skorch, or Module
        Fitted; it is not trained any further.
    layer : str, optional
        Name of the layer whose output is taken; default: what goes into the last linear layer.

    Examples
    --------
    >>> import torch
    >>> from weighbridge.torch import LastLayer
    >>> module = torch.nn.Sequential(torch.nn.Linear(5, 3), torch.nn.ReLU(), torch.nn.Linear(3, 2))
    >>> LastLayer(module).transform(torch.randn(10, 5)).shape
    (10, 3)
    """

    def __init__(self, net: Any, layer: str | None = None):
        self.net = net
        self.layer = layer

    def fit(self, X: Any, y: Any = None) -> LastLayer:
        """Return the object as it is: the network is fitted already."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_clone__(self) -> LastLayer:
        return LastLayer(self.net, self.layer)  # what the network has learnt is kept

    def transform(self, X: Any) -> np.ndarray:
        """Return the features of rows `X`, of shape (n_samples, n_features)."""
        module = self.net if isinstance(self.net, nn.Module) else self.net.module_
        device = next(module.parameters()).device
        trained, found = module.training, []
        module.eval()
        try:
            with watched(module, self.layer) as seen, torch.no_grad():
                for part in torch.as_tensor(as_rows(X)).split(1_024):
                    module(part.to(device))
                    found.append(seen[-1].flatten(1).cpu())
                    del seen[:-1]
        finally:
            module.train(trained)
        return torch.cat(found).double().numpy()


def last_layer(net: Any, layer: str | None = None) -> LastLayer:
    """Return the features of a fitted network as a transformer, to be put before any ratio.

    Parameters
    ----------
    net, layer
        As in `LastLayer`.

    Returns
    -------
    LastLayer
        The transformer.

    Examples
    --------
    >>> import torch
    >>> from sklearn.pipeline import make_pipeline
    >>> from weighbridge import fit_ratio
    >>> from weighbridge.ratios import ULSIF
    >>> from weighbridge.torch import last_layer
    >>> _ = torch.manual_seed(0)
    >>> module = torch.nn.Sequential(torch.nn.Linear(5, 3), torch.nn.Tanh(), torch.nn.Linear(3, 2))
    >>> X, X_target = torch.randn(300, 5).numpy(), torch.randn(300, 5).numpy() + 0.5
    >>> ratio = fit_ratio(X, X_target, make_pipeline(last_layer(module), ULSIF()))
    >>> ratio.score_samples(X).shape
    (300,)
    """
    return LastLayer(net, layer)


class ImportanceWeightedNet(WeightedEstimator):
    """A network, fitted for a target distribution it has no labels of.

    By default the network is trained without weights. Then the density ratio is estimated in its
    last features, on rows that were kept apart, and the last layer alone is fitted again with
    weights. With `dynamic` the whole network is trained with weights that follow its features.

    Parameters
    ----------
    estimator : WeightedNetClassifier, WeightedNetRegressor or Module
        The network; a module of torch stands for ``WeightedNetClassifier(module)``.
    ratio : density ratio, optional
        How the ratio is estimated in the features; default `AutoRatio()`. One that is fitted and
        frozen, or known, takes the rows themselves, and needs no ``X_target`` in ``fit``.
    weighting : Geodesic or callable, optional
        Default: chosen among no weights, the full ratio and RIWERM(0.5) by the loss of a last layer
        fitted to the features of the other rows, on rows kept apart and weighted toward the target.
    dynamic : DynamicWeights, optional
        Train the whole network with weights; a copy for the rows of each fit is used. A weighting
        of its own is kept.
    layer : str, optional
        As in `LastLayer`.
    random_state : int, default=0
        Draws the fifth of the rows that is kept apart.

    Attributes
    ----------
    estimator_ : net of skorch
        The fitted network; ``estimator_.module_`` is an ordinary module.
    ratio_ : Pipeline or density ratio
        Features and ratio; it scores rows of `X`.
    weighting_ : Geodesic or callable
        The weighting used.
    weights_, log_ratio_, ess_
        As in `weighbridge.ImportanceWeighted`.
    choice_ : ImportanceWeightedCV or None
        How the weighting was chosen; ``choice_.reason_`` is its reason.
    dynamic_ : DynamicWeights or None
        The dynamic weights, with their history.

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> from torch import nn
    >>> from weighbridge.torch import ImportanceWeightedNet, WeightedNetClassifier
    >>> _ = torch.manual_seed(0)
    >>> rng = np.random.default_rng(0)
    >>> X, X_target = rng.normal(size=(600, 2)), rng.normal(0.7, 1, size=(600, 2))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "like", "unlike")
    >>> module = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
    >>> net = WeightedNetClassifier(module, lr=0.3, max_epochs=20, random_state=0)
    >>> model = ImportanceWeightedNet(net).fit(X, y, X_target=X_target)
    >>> y_target = np.where(X_target[:, 0] * X_target[:, 1] > 0, "like", "unlike")
    >>> bool(model.score(X_target, y_target) > 0.9)
    True
    """

    def __init__(
        self,
        estimator: Any,
        ratio: Any = None,
        *,
        weighting: Any = None,
        dynamic: DynamicWeights | None = None,
        layer: str | None = None,
        random_state: int = 0,
    ):
        self.estimator = estimator
        self.ratio = ratio
        self.weighting = weighting
        self.dynamic = dynamic
        self.layer = layer
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_target: Any = None,
        y_target: Any = None,
    ) -> ImportanceWeightedNet:
        """Train the network, and weight it toward the target.

        Parameters
        ----------
        X, y, sample_weight
            As in `WeightedNetClassifier.fit`.
        X_target : array-like of shape (n_target, ...)
            Target rows; needed unless `ratio` is fitted or known.
        y_target : array-like of shape (n_target,), optional
            Labels of the target rows, for dynamic weights on losses: a few clean rows against
            wrong labels, or of another mix of classes.

        Returns
        -------
        ImportanceWeightedNet
            The fitted object.
        """
        net = _as_net(self.estimator)
        rows = as_rows(X)
        target = self._checked(net, rows, X_target, y_target)
        data = self._split(net, rows, np.asarray(y), check_sample_weight(sample_weight, len(rows)))
        dynamic = self._dynamic_for(len(data.train))
        told: dict[str, Any] = {"valid": data.part(data.held)[:2] if net.train_split else None}
        if dynamic is not None:
            told |= {"dynamic": dynamic, "target": (target, y_target)}
            if dynamic.weighting is None and dynamic.on != "losses":
                told["choose"] = lambda fitted: self._head(fitted, data, target).weighting
        net.fit(*data.part(data.train), **told)
        self.estimator_, self.dynamic_ = net, dynamic
        if y_target is None:
            head = self._head(net, data, target)
            _set_head(net.module_, head.model.estimator_)
            self._keep(head.model, head.ratio, head.weighting)
        else:
            self._keep_dynamic(data)
        self._remember_rows(rows.reshape(len(rows), -1), data.sample_weight)
        self._copy_features()
        return self

    def _checked(self, net: Any, rows: np.ndarray, X_target: Any, y_target: Any) -> Any:
        """Refuse what would fail in the middle of training; return the target rows."""
        if self.weighting is not None:
            checked_point(self.weighting)
        target = None if X_target is None else as_rows(X_target, like=rows)
        on_losses = self.dynamic is not None and self.dynamic.on == "losses"
        if self.dynamic is not None and not isinstance(self.dynamic, DynamicWeights):
            raise TypeError(f"Got dynamic={self.dynamic!r}, but expected a DynamicWeights.")
        if target is None and self.dynamic is not None:
            raise ValueError("Got no X_target; dynamic weights compare each batch with its rows.")
        if on_losses != (y_target is not None):
            raise ValueError(
                f"Got y_target={'no' if y_target is None else 'some'} labels; on='losses' "
                "needs one for each row of X_target, and nothing else has a use for them."
            )
        if y_target is not None and len(y_target) != len(target):
            raise ValueError(f"Got {len(y_target)} labels for {len(target)} rows of X_target.")
        net.initialize()
        for layer in {self.layer, None if self.dynamic is None else self.dynamic.layer, None}:
            find_layer(net.module_, layer)
        return target

    def _split(self, net: Any, X: np.ndarray, y: np.ndarray, sample_weight: Any) -> _Rows:
        """Keep a fifth of the rows apart, and leave rows without weight out."""
        used = np.arange(len(X)) if sample_weight is None else np.flatnonzero(sample_weight)
        _, counts = np.unique(y[used], return_counts=True)
        by_class = is_classifier(net) and counts.min() > 1 and HOLD_OUT * used.size >= counts.size
        options = {"test_size": HOLD_OUT, "random_state": self.random_state}
        train, held = train_test_split(used, stratify=y[used] if by_class else None, **options)
        return _Rows(X, y, sample_weight, np.sort(train), np.sort(held))

    def _dynamic_for(self, n_rows: int) -> DynamicWeights | None:
        if self.dynamic is None:
            return None
        names = ("on", "warmup", "memory", "divergence", "steps", "bound")
        options = {name: getattr(self.dynamic, name) for name in names}
        layer = self.dynamic.layer if self.layer is None else self.layer
        return DynamicWeights(n_rows, self._given_weighting(), layer=layer, **options)

    def _given_weighting(self) -> Any:
        if self.weighting is not None or self.dynamic is None:
            return self.weighting
        return self.dynamic.weighting

    def _head(self, net: Any, data: _Rows, target: np.ndarray | None) -> _Head:
        """Estimate the ratio in the features, and fit a last layer to them with weights."""
        features = last_layer(net).transform(data.X)
        if target is None:
            ratio = self._fitted_ratio(data.X, None)
            at_rows = source_log_ratio(ratio, data.X.reshape(len(data.X), -1))
        else:
            see = last_layer(net, self.layer)
            inner = fit_ratio(see.transform(data.X[data.held]), see.transform(target), self.ratio)
            ratio = Pipeline([("features", see), ("ratio", inner)])
            at_rows = ratio.score_samples(data.X)
        known = KnownRatio(lambda rows: at_rows)
        last = _last_model(net)
        weighting = self._given_weighting()
        if weighting is not None:
            model = ImportanceWeighted(last, known, weighting=weighting)
        else:
            fold = np.full(len(data.X), -1)
            fold[data.held] = 0
            by = CrossValidation(PredefinedSplit(fold))
            model = ImportanceWeightedCV(last, known, criterion=by, answer="guard", random_state=0)
        model.fit(features, data.y, data.sample_weight)
        return _Head(model, ratio, getattr(model, "best_weighting_", weighting))

    def _keep(self, model: Any, ratio: Any, weighting: Any) -> None:
        self.ratio_, self.weighting_ = ratio, weighting
        self.log_ratio_, self.weights_, self.ess_ = model.log_ratio_, model.weights_, model.ess_
        self.choice_ = model if isinstance(model, ImportanceWeightedCV) else None

    def _keep_dynamic(self, data: _Rows) -> None:
        """Keep the weights of a training on losses, which no function of x can give."""
        self.weights_ = np.ones(len(data.X))
        self.weights_[data.train] = self.dynamic_.weight.cpu().numpy()
        self.log_ratio_ = np.zeros(len(data.X))
        self.log_ratio_[data.train] = np.log(self.dynamic_.ratio.cpu().numpy())
        self.ess_ = effective_sample_size(self.weights_)
        self.weighting_, self.choice_ = self.dynamic_.weighting, None


class _Rows(NamedTuple):
    """Labelled rows, and which of them are trained on and kept apart."""

    X: np.ndarray
    y: np.ndarray
    sample_weight: np.ndarray | None
    train: np.ndarray
    held: np.ndarray

    def part(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Return some rows, their labels and weights."""
        weight = None if self.sample_weight is None else self.sample_weight[rows]
        return self.X[rows], self.y[rows], weight


class _Head(NamedTuple):
    """A last layer fitted with weights, what it was weighted by, and how."""

    model: Any
    ratio: Any
    weighting: Any


def _as_net(estimator: Any) -> Any:
    """Return an unfitted net; a module stands for a classifier."""
    if isinstance(estimator, nn.Module | type):
        return WeightedNetClassifier(deepcopy(estimator))
    if not isinstance(estimator, WeightedNet):
        raise TypeError(
            f"Got {type(estimator).__name__}, but expected a WeightedNetClassifier, a "
            "WeightedNetRegressor or a torch module; other estimators go into "
            "weighbridge.ImportanceWeighted."
        )
    return clone(estimator)


def _last_model(net: Any) -> Any:
    """Return the model whose coefficients the last layer gets."""
    bias = find_layer(net.module_, None).bias is not None
    last = (
        LogisticRegression(max_iter=200, fit_intercept=bias)
        if is_classifier(net)
        else Ridge(fit_intercept=bias)
    )
    return make_pipeline(StandardScaler(with_mean=bias), last)


def _set_head(module: nn.Module, model: Any) -> None:
    """Write the coefficients of a linear model of scaled features into the last linear layer."""
    scaler, last = model.steps[0][1], model.steps[1][1]
    head = find_layer(module, None)
    weight = np.atleast_2d(last.coef_) / scaler.scale_
    bias = np.atleast_1d(last.intercept_)
    if head.bias is not None:
        bias = bias - weight @ scaler.mean_
    if len(weight) == 1 and len(head.weight) == 2:  # the odds of two classes, split between them
        weight, bias = (np.stack([-each[0], each[0]]) / 2 for each in (weight, bias))
    with torch.no_grad():
        head.weight.copy_(torch.as_tensor(weight))
        if head.bias is not None:
            head.bias.copy_(torch.as_tensor(bias))
