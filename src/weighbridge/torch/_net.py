"""Networks of skorch that take weights of rows, given ones or dynamic ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from skorch import NeuralNetClassifier, NeuralNetRegressor
from skorch.dataset import unpack_data
from skorch.utils import to_tensor
from torch import Tensor, nn

from weighbridge._data import check_sample_weight, to_numpy, unmasked
from weighbridge.torch._batch import one_for_each_row, without_reduction
from weighbridge.torch._dynamic import DynamicWeights
from weighbridge.torch._losses import PolynomialLoss


class _Numbered(torch.utils.data.Dataset):  # type: ignore[misc]
    """Rows together with their numbers."""

    def __init__(self, rows: Any):
        self.rows = rows
        self.numbers = getattr(rows, "indices", range(len(rows)))

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, i: int) -> Any:
        return self.rows[i], int(self.numbers[i])


class _Remembering:
    """An iterator over batches that tells the network which rows each has."""

    def __init__(self, net: Any, batches: Any):
        self.net, self.batches = net, batches

    def __iter__(self) -> Iterator[Any]:
        for batch, rows in self.batches:
            self.net._rows = rows
            yield batch


class WeightedNet:
    """What classifier and regressor have in common; mixed into a net of skorch."""

    # what a fit is told, and forgets when it ends
    _rows: Any = None
    _told: Any = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **told: Any) -> Any:
        """Train the network.

        Parameters
        ----------
        X : array-like of shape (n_samples, ...)
            Rows, as the module takes them; numbers become float32.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row in the loss; they are scaled to mean 1, since learning rates are
            made for losses of that size.

        Returns
        -------
        net
            The fitted object.
        """
        rows = as_rows(X)
        weight = check_sample_weight(sample_weight, len(rows))
        self._told = Told(self, len(rows), weight, **told)
        self._learn_labels(y)  # type: ignore[attr-defined]
        try:
            with _seeded(self.random_state):  # type: ignore[attr-defined]
                super().fit(rows, self._labels(y, len(rows)))  # type: ignore[misc]
        finally:
            self._rows = self._told = None
        self.n_features_in_ = int(np.prod(rows.shape[1:]))
        return self

    def initialize_criterion(self, *arguments: Any, **options: Any) -> Any:
        """Make the criterion, without its mean over rows."""
        super().initialize_criterion(*arguments, **options)  # type: ignore[misc]
        self.criterion_ = without_reduction(self.criterion_)
        return self

    def row_losses(self, output: Any, y: Any) -> Tensor:
        """Return one loss for each row."""
        y = to_tensor(y, device=self.device)  # type: ignore[attr-defined]
        output = output[0] if isinstance(output, tuple) else output
        if output.ndim == y.ndim + 1 and output.shape[-1] == 1:
            output = output[..., 0]  # one number a row, in a column of its own
        losses = super().get_loss(output, y)  # type: ignore[misc]
        return one_for_each_row(losses, len(y), type(self.criterion_).__name__)

    def get_loss(self, y_pred: Any, y_true: Any, X: Any = None, training: bool = False) -> Tensor:
        """Return the mean loss of a batch."""
        return self.row_losses(y_pred, y_true).mean()

    def get_split_datasets(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Return numbered training rows, and validation rows."""
        told = self._told
        if told is not None and told.valid is not None:
            held, labels = told.valid
            train = self.get_dataset(X, y)  # type: ignore[attr-defined]
            labels = self._labels(labels, len(held))  # type: ignore[attr-defined]
            valid = self.get_dataset(as_rows(held), labels)  # type: ignore[attr-defined]
        else:
            train, valid = super().get_split_datasets(X, y, **params)  # type: ignore[misc]
        return (train if told is None else _Numbered(train)), valid

    def get_iterator(self, dataset: Any, training: bool = False) -> Any:
        """Return batches; those of training remember their rows."""
        batches = super().get_iterator(dataset, training=training)  # type: ignore[misc]
        return _Remembering(self, batches) if isinstance(dataset, _Numbered) else batches

    def train_step_single(self, batch: Any, **params: Any) -> dict[str, Any]:
        """Return weighted loss and output of one batch, after its backward pass."""
        told = self._told
        if told is None:  # partial_fit, which knows no weights
            return super().train_step_single(batch, **params)  # type: ignore[misc, no-any-return]
        self._set_training(True)  # type: ignore[attr-defined]
        X, y = unpack_data(batch)
        output, losses, weights = told.weighted(self, X, y, self._rows)
        loss = (weights * losses).mean()
        loss.backward()
        return {"loss": loss, "y_pred": output}

    def on_epoch_end(self, *arguments: Any, **options: Any) -> None:
        """Close the epoch of dynamic weights."""
        super().on_epoch_end(*arguments, **options)  # type: ignore[misc]
        if self._told is not None:
            self._told.end_epoch(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.target_tags.required = True
        return tags


class Told:
    """What a training is told beside its rows: weights, rows to validate on, a target."""

    def __init__(
        self,
        net: Any,
        n_rows: int,
        sample_weight: np.ndarray | None,
        *,
        valid: tuple[Any, Any] | None = None,
        dynamic: DynamicWeights | None = None,
        target: tuple[np.ndarray, Any] | None = None,
        choose: Any = None,
    ):
        self.valid, self.dynamic, self.choose = valid, dynamic, choose
        weight = np.ones(n_rows) if sample_weight is None else sample_weight / sample_weight.mean()
        self.weight = torch.as_tensor(weight, dtype=torch.float32, device=net.device)
        if dynamic is not None:
            dynamic.to(net.device)
            X, y = target  # type: ignore[misc]
            self.target = torch.as_tensor(X, device=net.device)
            self.target_labels = None if y is None else torch.as_tensor(y, device=net.device)

    def weighted(self, net: Any, X: Any, y: Any, rows: Tensor) -> tuple[Any, Tensor, Tensor]:
        """Return output, losses and weights of a batch."""
        rows = rows.to(net.device)
        weights = self.weight.index_select(0, rows)
        if self.dynamic is None:
            output = net.infer(X)
            return output, net.row_losses(output, y), weights
        X = to_tensor(X, device=net.device)
        output, z = self.dynamic.look(net.module_, X, lambda output: net.row_losses(output, y))
        losses = net.row_losses(output, y)
        some = torch.randint(len(self.target), (len(rows),), device=net.device)
        labels = None if self.target_labels is None else self.target_labels[some]
        with torch.no_grad():
            _, z_target = self.dynamic.look(
                net.module_, self.target[some], lambda output: net.row_losses(output, labels)
            )
        return output, losses, weights * self.dynamic(rows, z, z_target, losses=losses)

    def end_epoch(self, net: Any) -> None:
        """Close an epoch; at the end of warm-up choose the weighting, if that is wanted."""
        if self.dynamic is None:
            return
        self.dynamic.end_epoch()
        if self.choose is not None and len(self.dynamic.history) == self.dynamic.warmup:
            self.dynamic.weighting = self.choose(net)


class WeightedNetClassifier(WeightedNet, NeuralNetClassifier):  # type: ignore[misc]
    """A classifier of skorch whose ``fit`` takes ``sample_weight``, for any module of torch.

    Parameters
    ----------
    module : Module class or instance
        Returns one score for each class (logits).
    criterion : criterion class, default=CrossEntropyLoss
        A loss of torch, or `PolynomialLoss`; its reduction is set to "none".
    random_state : int, optional
        Seed of initial weights and batches; default: that of torch, wherever it stands.
    **options
        As in ``skorch.NeuralNetClassifier``: ``max_epochs``, ``lr``, ``batch_size``,
        ``optimizer``, ``callbacks``, ``module__hidden`` and so on. Other than there ``verbose`` is
        0 and rows are shuffled.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from torch import nn
    >>> import torch
    >>> from weighbridge.torch import WeightedNetClassifier
    >>> _ = torch.manual_seed(0)
    >>> X, y = load_iris(return_X_y=True)
    >>> module = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
    >>> net = WeightedNetClassifier(
    ...     module, optimizer=torch.optim.Adam, batch_size=16, max_epochs=40
    ... )
    >>> bool(net.fit(X, y, sample_weight=1.0 + (y == 2)).score(X, y) > 0.9)
    True
    """

    def __init__(
        self,
        module: Any,
        *,
        criterion: Any = nn.CrossEntropyLoss,
        random_state: int | None = None,
        verbose: int = 0,
        **options: Any,
    ):
        super().__init__(module, criterion=criterion, verbose=verbose, **_shuffled(options))
        self.random_state = random_state

    def _learn_labels(self, y: Any) -> None:
        valid = () if self._told.valid is None else (to_numpy(self._told.valid[1]),)
        self.labels_ = (
            np.unique(np.concatenate([to_numpy(y).ravel(), *valid]))
            if self.classes is None
            else np.asarray(self.classes)
        )

    def _labels(self, y: Any, n_rows: int) -> np.ndarray:
        """Return labels as numbers of classes."""
        known = {label: code for code, label in enumerate(self.labels_.tolist())}
        try:
            codes = [known[label] for label in _column(y, n_rows).tolist()]
        except KeyError as error:
            raise ValueError(f"Got the label {error}, which is not among classes=...") from None
        return np.array(codes, dtype=np.int64)

    def row_losses(self, output: Any, y: Any) -> Tensor:
        """Return one loss for each row."""
        scores = output[0] if isinstance(output, tuple) else output
        if scores.ndim != 2 or scores.shape[1] != len(self.labels_):
            raise ValueError(
                f"Got a network with outputs of shape {tuple(scores.shape[1:])} and labels of "
                f"{len(self.labels_)} classes; it needs one score for each. Classes that are not "
                "among the labels are named by classes=[...]."
            )
        return super().row_losses(output, y)

    def _get_predict_nonlinearity(self) -> Any:
        if isinstance(self.criterion_, PolynomialLoss):
            return lambda output: torch.softmax(output, dim=-1)
        return super()._get_predict_nonlinearity()

    @property
    def classes_(self) -> np.ndarray:
        """The labels, in the order of the columns of `predict_proba`."""
        return self.labels_

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of the classes at rows `X`."""
        return super().predict_proba(_or_dataset(X)).astype(np.float64)

    def predict(self, X: Any) -> np.ndarray:
        """Return the likeliest label of each row of `X`."""
        codes = self.predict_proba(X).argmax(axis=1)
        # callbacks of skorch compare with the numbers that the network is trained on
        return codes if self._told is not None else self.labels_[codes]


class WeightedNetRegressor(WeightedNet, NeuralNetRegressor):  # type: ignore[misc]
    """A regressor of skorch whose ``fit`` takes ``sample_weight``, for any module of torch.

    Parameters
    ----------
    module : Module class or instance
        Returns one number for each row.
    criterion : criterion class, default=MSELoss
        A loss of torch; its reduction is set to "none".
    random_state, **options
        As in `WeightedNetClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from torch import nn
    >>> import torch
    >>> from weighbridge.torch import WeightedNetRegressor
    >>> _ = torch.manual_seed(0)
    >>> X = np.linspace(-1, 1, 200)[:, None]
    >>> module = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
    >>> net = WeightedNetRegressor(module, lr=0.1, max_epochs=60, random_state=0)
    >>> bool(net.fit(X, 2 * X[:, 0]).score(X, 2 * X[:, 0]) > 0.9)
    True
    """

    def __init__(
        self,
        module: Any,
        *,
        criterion: Any = nn.MSELoss,
        random_state: int | None = None,
        verbose: int = 0,
        **options: Any,
    ):
        super().__init__(module, criterion=criterion, verbose=verbose, **_shuffled(options))
        self.random_state = random_state

    def _learn_labels(self, y: Any) -> None:
        """Numbers need no names."""

    def _labels(self, y: Any, n_rows: int) -> np.ndarray:
        return _column(y, n_rows).astype(np.float32)

    def predict(self, X: Any) -> np.ndarray:
        """Return the predictions at rows `X`."""
        found = self.predict_proba(_or_dataset(X)).astype(np.float64)
        return found[:, 0] if found.ndim == 2 and found.shape[1] == 1 else found


def _shuffled(options: dict[str, Any]) -> dict[str, Any]:
    """Let batches be drawn at random, unless they are made by an iterator of the user's."""
    return options if "iterator_train" in options else {"iterator_train__shuffle": True, **options}


def _or_dataset(X: Any) -> Any:
    """Return rows; what callbacks of skorch pass is a data set already."""
    return X if isinstance(X, torch.utils.data.Dataset) else as_rows(X)


def as_rows(X: Any, like: np.ndarray | None = None) -> np.ndarray:
    """Return rows as float32, of the shape of others; refuse what is no table of numbers."""
    name = "X" if like is None else "X_target"
    try:
        rows = np.ascontiguousarray(to_numpy(unmasked(X)), dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"Got {name} that is no array of numbers ({error}); encode text and categories first."
        ) from None
    if rows.ndim < 2 or rows.shape[0] == 0:
        raise ValueError(f"Got {name} of shape {rows.shape}; pass one or more rows of numbers.")
    if not np.isfinite(rows).all():
        raise ValueError(f"Got NaN or infinity in {name}; a network needs numbers everywhere.")
    if like is not None and rows.shape[1:] != like.shape[1:]:
        raise ValueError(
            f"Got X_target with rows of shape {rows.shape[1:]}, but those of X have "
            f"{like.shape[1:]}; both need the same columns."
        )
    return rows


def _column(y: Any, n_rows: int) -> np.ndarray:
    labels = to_numpy(unmasked(y, "y"))
    labels = labels[:, 0] if labels.ndim == 2 and labels.shape[1] == 1 else labels
    if labels.shape[:1] != (n_rows,):
        raise ValueError(f"Got y of shape {labels.shape} for {n_rows} rows; pass one label a row.")
    return labels


@contextmanager
def _seeded(seed: int | None) -> Any:
    """Draw from a seed of its own, and leave that of torch where it stood."""
    if seed is None:
        yield
        return
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield
