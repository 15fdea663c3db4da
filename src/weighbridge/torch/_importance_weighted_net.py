"""A network for a target without labels: weights in the features that it has learnt."""

from __future__ import annotations

import warnings
from copy import deepcopy
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from scipy.special import softmax
from sklearn.base import BaseEstimator, TransformerMixin, clone, is_classifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import PredefinedSplit, train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.validation import _check_feature_names, check_is_fitted
from torch import nn

from weighbridge._estimators import (
    FittedRows,
    ImportanceWeighted,
    ImportanceWeightedCV,
    WeightedEstimator,
)
from weighbridge.exceptions import OverlapWarning, WeightWarning
from weighbridge.model_selection import CrossValidation
from weighbridge.ratios import (
    KnownRatio,
    check_ratio,
    effective_sample_size,
    fit_ratio,
    is_fitted,
    source_log_ratio,
)
from weighbridge.tables import check_sample_weight
from weighbridge.torch._batch import find_layer, watched
from weighbridge.torch._dynamic import Beyond, DynamicWeights
from weighbridge.torch._net import Told, WeightedNet, WeightedNetClassifier, as_rows, column
from weighbridge.weighting import Geodesic, weighting_or_default

# Share of the rows that is kept apart from training, and the fewest that a ratio is estimated on.
HOLD_OUT = 0.2
FEWEST_HELD = 5


def last_layer(net: Any, layer: str | None = None) -> LastLayer:
    """Return the features of a fitted network as a transformer, to be put before any ratio.

    Parameters
    ----------
    net : WeightedNetClassifier, WeightedNetRegressor, another skorch net, or Module
        Fitted; it is not trained any further.
    layer : str, optional
        Name of the layer whose output is taken; default: what goes into the last linear layer.

    Returns
    -------
    LastLayer
        A transformer, from rows to an array of shape (n_samples, n_features).

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
    >>> last_layer(module).transform(X).shape
    (300, 3)
    >>> ratio = fit_ratio(X, X_target, make_pipeline(last_layer(module), ULSIF()))
    >>> ratio.score_samples(X).shape
    (300,)
    """
    return LastLayer(net, layer)


class LastLayer(TransformerMixin, BaseEstimator):
    """The features of a fitted network; clones keep the network as it is."""

    def __init__(self, net: Any, layer: str | None = None):
        self.net = net
        self.layer = layer

    def fit(self, X: Any, y: Any = None) -> LastLayer:
        """Return the object as it is: the network is fitted already."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_clone__(self) -> LastLayer:
        return self  # a clone of the network would have forgotten its features

    def transform(self, X: Any) -> np.ndarray:
        """Return the features of rows `X`, of shape (n_samples, n_features)."""
        module = self._module()
        device = next(module.parameters()).device
        trained, found = module.training, []
        module.eval()
        try:
            with watched(module, self.layer) as seen, torch.no_grad():
                for part in torch.as_tensor(as_rows(X)).split(1_024):
                    module(part.to(device))
                    found += [each.flatten(1).cpu() for each in seen[-1:]]
                    del seen[:-1]
        finally:
            module.train(trained)
        return torch.cat(found).double().numpy()

    def _module(self) -> Any:
        if isinstance(self.net, nn.Module):
            return self.net
        check_is_fitted(self.net)
        return getattr(self.net, "estimator_", self.net).module_


class ImportanceWeightedNet(WeightedEstimator):
    """A network fitted for a target distribution without labels.

    By default the network is trained without weights. Then the density ratio is estimated in its
    last features, on rows that were kept apart, and the last layer alone is fitted again with
    weights, by logistic regression or, for numbers, by ridge regression. With `dynamic` the whole
    network is trained with weights that follow its features.

    Parameters
    ----------
    estimator : WeightedNetClassifier, WeightedNetRegressor or Module
        The network; a torch module stands for ``WeightedNetClassifier(module)``.
    ratio : density ratio, optional
        How the ratio is estimated in the features; default `AutoRatio()`. One that is fitted and
        frozen, or known, takes the rows themselves, flattened, and needs no ``X_target`` in
        ``fit``; dynamic weights then compare with rows drawn in proportion to it.
    weighting : Geodesic or callable with ``get_params``, optional
        Default: chosen among no weights, the full ratio and RIWERM(0.5) by the loss of a last layer
        fitted to the features of the other rows, on rows kept apart and weighted toward the target.
    dynamic : DynamicWeights, optional
        Train the whole network with weights; a copy for the rows trained on is used, whatever its
        ``n_rows``. Its layer and weighting apply unless given here; no weighting means that one is
        chosen when warm-up ends. The last layer is fitted again all the same, with the full
        ratio in place of `Beyond`, except on losses.
    layer : str, optional
        As in `last_layer`.
    random_state : int, default=0
        Seed for the fifth of the rows that is kept apart.

    Attributes
    ----------
    estimator_ : skorch net
        The fitted network; ``estimator_.module_`` is an ordinary module.
    ratio_ : Pipeline or density ratio
        Features and ratio; it scores rows of `X`. None on losses.
    weighting_ : Geodesic or callable
        The weighting of the last layer; on losses, that of the training.
    weights_, log_ratio_, ess_
        As in `weighbridge.ImportanceWeighted`.
    choice_ : ImportanceWeightedCV or None
        How the weighting was chosen; ``choice_.reason_`` is its reason.
    trained_rows_ : ndarray
        Numbers of the rows that were trained on, four fifths of them.
    dynamic_ : DynamicWeights or None
        The dynamic weights of `trained_rows_`, with history and ``findings()``; fit warns of these.

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

    __metadata_request__fit: ClassVar[dict[str, bool]] = {"X_target": True, "y_target": True}

    def __init__(
        self, estimator: Any, ratio: Any = None, *, weighting: Any = None,
        dynamic: DynamicWeights | None = None, layer: str | None = None, random_state: int = 0,
    ):  # fmt: skip
        self.estimator = estimator
        self.ratio = ratio
        self.weighting = weighting
        self.dynamic = dynamic
        self.layer = layer
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, X_target: Any = None,
        y_target: Any = None,
    ) -> ImportanceWeightedNet:  # fmt: skip
        """Train the network, and weight it toward the target.

        Parameters
        ----------
        X, y, sample_weight
            As in `WeightedNetClassifier.fit`.
        X_target : array-like of shape (n_target, ...)
            Target rows; needed unless `ratio` is fitted or known.
        y_target : array-like of shape (n_target,), optional
            Labels of the target rows, for dynamic weights on losses: a few clean rows where
            others have wrong labels, or rows with another mix of classes.

        Returns
        -------
        ImportanceWeightedNet
            The fitted object. An interrupt (Ctrl-C) ends the training, and the rest goes on; any
            error leaves the object as it was.
        """
        net = clone(_as_net(self.estimator))
        data = self._read(net, X, y, sample_weight)
        _check_feature_names(net, X, reset=True)
        if X_target is not None:
            _check_feature_names(net, X_target, reset=False)
        target = self._read_target(data, X_target, y_target)
        known = self._known_ratio(X, data, target)
        dynamic = self._dynamic_for(data)
        told = Told(labels=data.y, valid=data.part(data.held)[:2] if net.train_split else None)
        told.ready = partial(self._check_module, data=data, dynamic=dynamic)
        if dynamic is not None:
            told.dynamic, told.target_labels = dynamic, y_target
            told.target = data.drawn(known[1], self.random_state) if known else target
            if dynamic.weighting is None and y_target is None:
                told.choose = partial(self._choose, data=data, known=known, target=target)
        net.train(*data.part(data.train), told)
        if y_target is None:
            ratio, model = self._head(net, data, known, target)
            _set_head(net.module_, model.estimator_)
            found = _kept(ratio, model)
        else:
            found = _kept_on_losses(dynamic, data)
        _check_feature_names(net, X, reset=True)
        self._fitted_rows = FittedRows(_table(X, data.X), data.sample_weight)
        self.__dict__.update(found, estimator_=net, dynamic_=dynamic, trained_rows_=data.train)
        self._copy_features()
        for finding in () if dynamic is None else dynamic.findings():
            kind = OverlapWarning if finding.code == "WB304" else WeightWarning
            warnings.warn(f"{finding.code} {finding.message} {finding.help}", kind, stacklevel=2)
        return self

    def _read(self, net: Any, X: Any, y: Any, sample_weight: Any) -> _Rows:
        """Check rows and labels; keep a fifth apart, and leave rows without weight out."""
        rows = as_rows(X)
        labels = column(y, len(rows))
        weight = check_sample_weight(sample_weight, len(rows))
        used = np.arange(len(rows)) if weight is None else np.flatnonzero(weight)
        if labels.ndim > 1:
            raise ValueError(f"Got y of shape {labels.shape}; pass one label per row.")
        if used.size * HOLD_OUT < FEWEST_HELD:
            raise ValueError(
                f"Got {used.size} rows with weight; {round(FEWEST_HELD / HOLD_OUT)} or more are "
                "needed: a fifth of them is kept apart, to estimate the ratio on."
            )
        _, counts = np.unique(labels[used], return_counts=True)
        by_class = is_classifier(net) and counts.min() > 1 and HOLD_OUT * used.size >= counts.size
        options = {"test_size": HOLD_OUT, "random_state": self.random_state}
        train, held = train_test_split(used, stratify=labels[used] if by_class else None, **options)
        return _Rows(rows, labels, weight, np.sort(train), np.sort(held))

    def _read_target(self, data: _Rows, X_target: Any, y_target: Any) -> Any:
        """Return the target rows; refuse what does not go together."""
        if self.dynamic is not None and not isinstance(self.dynamic, DynamicWeights):
            raise TypeError(f"Got dynamic={self.dynamic!r}, but expected a DynamicWeights.")
        on_losses = self.dynamic is not None and self.dynamic.on == "losses"
        if on_losses != (y_target is not None):
            raise ValueError(
                f"Got {'no' if y_target is None else 'a'} y_target; "
                "dynamic=DynamicWeights(..., on='losses') needs one label for each row of "
                "X_target, and nothing else uses them."
            )
        head = self._head_weighting()
        if head is not None and not on_losses:
            weighting_or_default(head)(np.zeros(2))
        target = None if X_target is None else as_rows(X_target, like=data.X)
        if target is not None and len(target) < 2:
            raise ValueError("Got X_target with one row; a ratio needs a few dozen.")
        if on_losses:
            column(y_target, 0 if target is None else len(target), "y_target")
        return target

    def _known_ratio(self, X: Any, data: _Rows, target: Any) -> tuple[Any, np.ndarray] | None:
        """Return a ratio that is fitted already, and its values; None if it is to be estimated."""
        ready = self.ratio is not None and is_fitted(clone(check_ratio(self.ratio)))
        if target is not None and not ready:
            return None
        rows = _table(X, data.X)
        ratio = self._fitted_ratio(rows, target)  # refuses all others, in words
        return ratio, source_log_ratio(ratio, rows, data.sample_weight, data.y)

    def _check_module(self, net: Any, data: _Rows, dynamic: DynamicWeights | None) -> None:
        """Refuse a network whose layers are not as named, or whose last cannot be refitted."""
        if dynamic is None or dynamic.on != "losses":
            for layer in (self.layer, None if dynamic is None else dynamic.layer):
                last_layer(net.module_, layer).transform(data.X[:2])
            _check_head(net, data)

    def _dynamic_for(self, data: _Rows) -> DynamicWeights | None:
        """Return new dynamic weights with the same settings, for the rows trained on."""
        if self.dynamic is None:
            return None
        names = ("on", "warmup", "memory", "divergence", "steps", "bound")
        options = {name: getattr(self.dynamic, name) for name in names}
        layer = self.dynamic.layer if self.layer is None else self.layer
        weighting = self.dynamic.weighting if self.weighting is None else self.weighting
        return type(self.dynamic)(len(data.train), weighting, layer=layer, **options)

    def _head_weighting(self) -> Any:
        """Return the weighting of the last layer, which has no use for more than the full ratio."""
        given = self.weighting
        if given is None and self.dynamic is not None:
            given = self.dynamic.weighting
        if not isinstance(given, Beyond):
            return given
        if self.dynamic is None:
            raise ValueError(
                f"Got weighting={given!r} without dynamic weights; it is for whole networks. Pass "
                "dynamic=DynamicWeights(...), or a Geodesic."
            )
        return Geodesic(min(given.lam, 1.0), given.alpha)

    def _choose(self, net: Any, data: _Rows, known: Any, target: Any) -> Any:
        """Return the weighting that a last layer on the present features would have."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # these features are not the last
            return self._head(net, data, known, target)[1].best_weighting_

    def _head(self, net: Any, data: _Rows, known: Any, target: Any) -> tuple[Any, Any]:
        """Estimate the ratio in the features, and fit a last layer to them with weights."""
        features = last_layer(net).transform(data.X)
        if known is None:
            # a layer of one's own may be the last, which changes
            see = last_layer(net if self.layer is None else deepcopy(net.module_), self.layer)
            inner = fit_ratio(see.transform(data.X[data.held]), see.transform(target), self.ratio)
            ratio = Pipeline([("features", see), ("ratio", inner)])
            known = ratio, ratio.score_samples(data.X)
        by_rows = KnownRatio(partial(_values, known[1]))
        weighting = self._head_weighting()
        if weighting is not None:
            model: Any = ImportanceWeighted(_last_model(net), by_rows, weighting=weighting)
        else:
            fold = np.full(len(data.X), -1)
            fold[data.held] = 0
            by = CrossValidation(PredefinedSplit(fold))
            model = ImportanceWeightedCV(
                _last_model(net), by_rows, criterion=by, answer="guard", random_state=0
            )
        # classes by number, in the order of the outputs
        y = net._coded(data.y, len(data.y), "y") if is_classifier(net) else data.y
        return known[0], model.fit(features, y, data.sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = get_tags(_as_net(self.estimator))
        tags.target_tags.multi_output = False
        return tags


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

    def drawn(self, log_ratio: np.ndarray, seed: int) -> np.ndarray:
        """Return rows drawn in proportion to a ratio, in place of target rows."""
        share = np.exp(log_ratio - log_ratio[self.train].max())[self.train]
        share *= 1 if self.sample_weight is None else self.sample_weight[self.train]
        rng = np.random.default_rng(seed)
        return self.X[rng.choice(self.train, self.train.size, p=share / share.sum())]


def _values(values: np.ndarray, rows: Any) -> np.ndarray:
    return values


def _table(X: Any, rows: np.ndarray) -> Any:
    """Return the rows as a table: as they came, or flat."""
    return X if rows.ndim == 2 else rows.reshape(len(rows), -1)


def _kept(ratio: Any, model: Any) -> dict[str, Any]:
    """Return what is kept of a last layer fitted with weights."""
    found = {name: getattr(model, name) for name in ("log_ratio_", "weights_", "ess_")}
    if isinstance(model, ImportanceWeightedCV):
        return found | {"ratio_": ratio, "weighting_": model.best_weighting_, "choice_": model}
    return found | {"ratio_": ratio, "weighting_": model.weighting, "choice_": None}


def _kept_on_losses(dynamic: Any, data: _Rows) -> dict[str, Any]:
    """Return what is kept of a training on losses, whose weights no function of x can give."""
    weights, log_ratio = np.ones(len(data.X)), np.zeros(len(data.X))
    weights[data.train] = dynamic.weight.cpu().numpy()
    with np.errstate(divide="ignore"):
        log_ratio[data.train] = np.log(dynamic.ratio.cpu().numpy())
    found = {"log_ratio_": log_ratio, "weights_": weights, "weighting_": dynamic.weighting}
    ess = effective_sample_size(weights[data.train])
    return found | {"ess_": ess, "ratio_": None, "choice_": None}


def _as_net(estimator: Any) -> Any:
    """Return a net; a module stands for a classifier."""
    kind = estimator if isinstance(estimator, type) else type(estimator)
    if issubclass(kind, nn.Module):
        return WeightedNetClassifier(estimator)
    if not isinstance(estimator, WeightedNet):
        raise TypeError(
            f"Got {kind.__name__}, but expected a WeightedNetClassifier, a WeightedNetRegressor or "
            "a torch module; other estimators go into weighbridge.ImportanceWeighted."
        )
    return estimator


def _check_head(net: Any, data: _Rows) -> None:
    """Refuse a network whose output is not that of its last linear layer."""
    criterion = net.criterion_
    kinds: Any = (nn.CrossEntropyLoss, nn.NLLLoss) if is_classifier(net) else nn.MSELoss
    by_class = getattr(criterion, "weight", None) is not None
    if not isinstance(criterion, kinds) or by_class or getattr(criterion, "label_smoothing", False):
        raise ValueError(
            f"Got the criterion {criterion}; the last layer is fitted again by logistic regression "
            "or ridge regression, in place of CrossEntropyLoss, NLLLoss, PolynomialLoss or MSELoss "
            "without weights by class. Others go into weighbridge.ImportanceWeighted."
        )
    if is_classifier(net) and (missing := set(net.labels_.tolist()) - set(data.y.tolist())):
        raise ValueError(f"Got no rows of the classes {missing}; the last layer needs all of them.")
    rows = data.X[:8]
    head: Any = find_layer(net.module_, None)
    features = torch.as_tensor(last_layer(net.module_).transform(rows))
    output = net.predict_proba(rows).reshape(len(rows), -1)
    fits = features.shape[1] == head.in_features and output.shape[1] == head.out_features
    if fits:
        with torch.no_grad():
            scores = head(features.to(head.weight)).cpu().numpy()
        shown = softmax(scores, axis=1) if is_classifier(net) else scores
        fits = np.allclose(shown, output, rtol=1e-3, atol=1e-5)
    if not fits:
        raise ValueError(
            f"Got a network ({type(net.module_).__name__}) whose output is not that of its last "
            f"linear layer, {head}. That layer alone is fitted again with weights: it must be run "
            "last, once for each row (a softmax may follow), and give one number for each of the "
            f"{output.shape[1]} outputs."
        )


def _last_model(net: Any) -> Any:
    """Return the model whose coefficients the last layer gets."""
    bias = find_layer(net.module_, None).bias is not None
    last = LogisticRegression(max_iter=200) if is_classifier(net) else Ridge()
    return make_pipeline(StandardScaler(with_mean=bias), last.set_params(fit_intercept=bias))


def _set_head(module: nn.Module, model: Any) -> None:
    """Write the coefficients of a linear model of scaled features into the last linear layer."""
    scaler, last = model.steps[0][1], model.steps[1][1]
    head: Any = find_layer(module, None)
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
