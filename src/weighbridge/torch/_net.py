"""Networks of skorch that take row weights, given ones or dynamic ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_feature_names
from skorch import NeuralNetClassifier, NeuralNetRegressor
from skorch.dataset import Dataset as SkorchDataset
from skorch.utils import to_tensor
from torch import Tensor, nn
from torch.utils.data import Dataset

from weighbridge.tables import check_sample_weight, to_numpy, unmasked
from weighbridge.torch._batch import one_for_each_row, without_reduction
from weighbridge.torch._dynamic import DynamicWeights

_Net: Any = object  # a net of skorch, which this is mixed into


@dataclass
class Told:
    """What a training is told beside its rows."""

    labels: Any = None  # all there are, also of rows that are not trained on
    valid: tuple[np.ndarray, np.ndarray] | None = None
    ready: Callable[[Any], None] | None = None  # refuses a network that can be run, but not used
    dynamic: DynamicWeights | None = None
    target: Any = None
    target_labels: Any = None
    choose: Callable[[Any], Any] | None = None  # the weighting, when warm-up ends
    weight: Any = None

    def to_device(self, net: Any, n_rows: int, sample_weight: np.ndarray | None) -> None:
        """Bring all that batches are weighted by to where the network is."""
        weight = np.ones(n_rows) if sample_weight is None else sample_weight / sample_weight.mean()
        self.weight = torch.as_tensor(weight, dtype=torch.float32, device=net.device)
        if self.dynamic is None:
            return
        self.dynamic.to(net.device)
        if self.target_labels is not None:
            codes = net._coded(self.target_labels, len(self.target), "y_target")
            self.target_labels = torch.as_tensor(codes, device=net.device)
        self.target = torch.as_tensor(self.target, device=net.device)

    def weighted(self, net: Any, X: Any, y: Any, rows: Any) -> tuple[Any, Tensor, Tensor]:
        """Return output, losses and weights of a batch."""
        if not rows:
            raise ValueError("Got rows from train_split that were not among those passed to it.")
        rows = rows[0].to(net.device)
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
        if self.choose is not None and len(self.dynamic.history) == max(1, self.dynamic.warmup):
            self.dynamic.weighting = self.choose(net)


class _Numbered(SkorchDataset):
    """Rows together with their numbers, which stay with them in every split."""

    def __init__(self, rows: Any):
        self.__dict__.update(vars(rows))  # callbacks ask for X and y
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, i: int) -> Any:
        return *self.rows[i], i


class _Remembering:
    """An iterator over batches of numbered rows that tells the network those of training."""

    def __init__(self, net: Any, batches: Any, training: bool):
        self.net, self.batches, self.training = net, batches, training

    def __iter__(self) -> Iterator[Any]:
        for X, y, *rows in self.batches:
            if self.training:
                self.net._rows_ = rows
            yield X, y


class WeightedNet(_Net):
    """What classifier and regressor have in common; mixed into a net of skorch."""

    # what a training is told, and forgets when it ends
    _rows_: Any = None
    _told_: Any = None
    criterion_: Any

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Train the network.

        Parameters
        ----------
        X : array-like of shape (n_samples, ...)
            Rows, as the module takes them; numbers become float32.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row in the loss, scaled to mean 1, since learning rates are
            made for losses of that size. Rows of weight 0 are left out. Losses of the rows that
            ``train_split`` keeps for validation are not weighted.

        Returns
        -------
        net
            The fitted object. An interrupt (Ctrl-C) ends the training where it is, as skorch does.
        """
        anew = not (self.warm_start and self.initialized_)
        return self.train(X, y, sample_weight, Told(), anew)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        """Train the network further, from where it is.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        classes : array-like, optional
            All labels that occur, for the first call.

        Returns
        -------
        net
            The object.
        """
        return self.train(X, y, sample_weight, Told(labels=classes), not self.initialized_)

    def train(self, X: Any, y: Any, sample_weight: Any, told: Told, anew: bool = True) -> Any:
        """Check all there is, then train; an error leaves the object as it was."""
        rows = as_rows(X) if anew else self._rows_of(X)
        weight = check_sample_weight(sample_weight, len(rows))
        with self._as_it_was(), _seeded(self.random_state, self.device):
            self._told_ = told
            if anew:
                self.n_features_in_, self.row_shape_ = int(np.prod(rows.shape[1:])), rows.shape[1:]
                _check_feature_names(self, X, reset=True)
                self._learn_labels(y if told.labels is None else told.labels, len(rows))
            codes = self._coded(y, len(rows), "y")
            if weight is not None:
                used = weight > 0
                rows, codes, weight = rows[used], codes[used], weight[used]
            if anew:
                self.initialize()
            told.to_device(self, len(rows), weight)
            self._try(rows[:2], codes[:2])
            super().partial_fit(rows, codes)
        return self

    @contextmanager
    def _as_it_was(self) -> Iterator[None]:
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        finally:
            self.__dict__.pop("_told_", None)
            self.__dict__.pop("_rows_", None)

    def _try(self, rows: np.ndarray, codes: np.ndarray) -> None:
        """Let errors of the network come before the training."""
        self._set_training(False)
        with torch.no_grad():
            try:
                output = self.infer(torch.as_tensor(rows))
            except RuntimeError as error:
                raise ValueError(
                    f"Got rows of shape {rows.shape[1:]}, which the module cannot take: {error}"
                ) from error
            self.row_losses(output, torch.as_tensor(codes))
        if self._told_.ready is not None:
            self._told_.ready(self)

    def initialized_instance(self, instance_or_cls: Any, kwargs: Any) -> Any:
        """Return a part of the network; a module that is one already is copied, not trained."""
        made = isinstance(instance_or_cls, nn.Module)
        part = deepcopy(instance_or_cls) if made else instance_or_cls
        return super().initialized_instance(part, kwargs)

    def initialize_criterion(self, *arguments: Any, **options: Any) -> Any:
        """Make the criterion, without its mean over rows."""
        super().initialize_criterion(*arguments, **options)
        self.criterion_ = without_reduction(self.criterion_)
        return self

    def row_losses(self, output: Any, y: Any) -> Tensor:
        """Return one loss for each row."""
        y = to_tensor(y, device=self.device)
        output = output[0] if isinstance(output, tuple) else output
        if output.ndim == y.ndim + 1 and output.shape[-1] == 1:
            output = output[..., 0]  # one number a row, in a column of its own
        if output.shape != (want := self._output_shape(y)):
            raise ValueError(
                f"Got a network with outputs of shape {tuple(output.shape[1:])} for labels that "
                f"need {tuple(want[1:])}: one score per class, or one output per target value. "
                "Name classes that are not among the labels: classes=[...]."
            )
        losses = super().get_loss(output, y)
        return one_for_each_row(losses, len(y), type(self.criterion_).__name__)

    def get_loss(self, y_pred: Any, y_true: Any, X: Any = None, training: bool = False) -> Tensor:
        """Return the mean loss of a batch."""
        return self.row_losses(y_pred, y_true).mean()

    def get_dataset(self, X: Any, y: Any = None) -> Any:
        """Return rows as skorch takes them; in training they are numbered."""
        rows = super().get_dataset(X, y)
        return rows if self._told_ is None or rows is X else _Numbered(rows)

    def get_split_datasets(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Return rows for training and validation."""
        if self._told_ is None or self._told_.valid is None:
            return super().get_split_datasets(X, y, **params)
        held, labels = self._told_.valid
        valid = self.get_dataset(held, self._coded(labels, len(held), "y"))
        return self.get_dataset(X, y), valid

    def get_iterator(self, dataset: Any, training: bool = False) -> Any:
        """Return batches; in training their rows are remembered."""
        batches = super().get_iterator(dataset, training=training)
        return batches if self._told_ is None else _Remembering(self, batches, training)

    def train_step_single(self, batch: Any, **params: Any) -> dict[str, Any]:
        """Return weighted loss and output of one batch, after its backward pass."""
        if self._told_ is None:
            return super().train_step_single(batch, **params)
        self._set_training(True)
        output, losses, weights = self._told_.weighted(self, *batch, self._rows_)
        loss = (weights * losses).mean()
        loss.backward()
        return {"loss": loss, "y_pred": output}

    def on_epoch_end(self, *arguments: Any, **options: Any) -> None:
        """Close the epoch of dynamic weights."""
        super().on_epoch_end(*arguments, **options)
        if self._told_ is not None:
            self._told_.end_epoch(self)

    def _rows_of(self, X: Any) -> Any:
        """Return rows like those of the fit; what callbacks of skorch pass is a data set."""
        if isinstance(X, Dataset):
            return X
        self.check_is_fitted()
        if self._told_ is None:
            _check_feature_names(self, X, reset=False)
        rows = as_rows(X)
        if rows.shape[1:] != self.row_shape_:
            raise ValueError(
                f"X has {int(np.prod(rows.shape[1:]))} features, but {type(self).__name__} is "
                f"expecting {self.n_features_in_} features as input: shape {self.row_shape_}, "
                f"not {rows.shape[1:]}."
            )
        return rows

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class WeightedNetClassifier(WeightedNet, NeuralNetClassifier):
    """A skorch classifier whose ``fit`` takes ``sample_weight``, for any torch module.

    Parameters
    ----------
    module : Module class or instance
        Returns one score for each class (logits). An instance is copied: each fit starts from the
        weights that it has.
    criterion : criterion class, default=CrossEntropyLoss
        A torch loss, or `PolynomialLoss`; its reduction is set to "none".
    random_state : int, optional
        Seed for initial weights and batches; default: torch's generator, wherever it stands.
    **options
        As in ``skorch.NeuralNetClassifier``: ``max_epochs``, ``lr``, ``batch_size``,
        ``optimizer``, ``callbacks``, ``module__hidden`` and so on. Unlike there, ``verbose`` is
        0 and rows are shuffled by default.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from torch import nn
    >>> import torch
    >>> from weighbridge.torch import WeightedNetClassifier
    >>> _ = torch.manual_seed(0)
    >>> X, y = load_iris(return_X_y=True)
    >>> module = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
    >>> net = WeightedNetClassifier(module, lr=0.1, max_epochs=60, random_state=0)
    >>> bool(net.fit(X, y, sample_weight=1.0 + (y == 2)).score(X, y) > 0.9)
    True
    """

    def __init__(
        self, module: Any, *, criterion: Any = nn.CrossEntropyLoss,
        random_state: int | None = None, verbose: int = 0, **options: Any,
    ):  # fmt: skip
        super().__init__(module, criterion=criterion, verbose=verbose, **_shuffled(options))
        self.random_state = random_state

    def _learn_labels(self, y: Any, n_rows: int) -> None:
        labels = column(y, None if y is self._told_.labels else n_rows)
        check_classification_targets(labels)
        self.labels_ = np.unique(labels) if self.classes is None else np.asarray(self.classes)
        if len(self.labels_) < 2:
            raise ValueError(f"Got one class ({self.labels_[0]!r}) in y; a classifier needs two.")

    def _coded(self, y: Any, n_rows: int, name: str) -> np.ndarray:
        """Return labels as numbers of classes."""
        known = {label: code for code, label in enumerate(self.labels_.tolist())}
        try:
            codes = [known[label] for label in column(y, n_rows, name).tolist()]
        except KeyError as error:
            raise ValueError(
                f"Got the label {error} in {name}, which is not among the classes that the network "
                f"is trained for: {self.labels_.tolist()}. Name all of them: classes=[...]."
            ) from None
        return np.array(codes, dtype=np.int64)

    def _output_shape(self, y: Tensor) -> tuple[int, ...]:
        return (len(y), len(self.labels_))

    @property
    def classes_(self) -> np.ndarray:
        """The labels, in the order of the columns of `predict_proba`."""
        return self.labels_

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of the classes at rows `X`."""
        return super().predict_proba(self._rows_of(X)).astype(np.float64)

    def predict(self, X: Any) -> np.ndarray:
        """Return the likeliest label of each row of `X`."""
        codes = self.predict_proba(X).argmax(axis=1)
        # callbacks of skorch compare with the numbers that the network is trained on
        return codes if self._told_ is not None else self.labels_[codes]


class WeightedNetRegressor(WeightedNet, NeuralNetRegressor):
    """A skorch regressor whose ``fit`` takes ``sample_weight``, for any torch module.

    Parameters
    ----------
    module : Module class or instance
        Returns one number for each row.
    criterion : criterion class, default=MSELoss
        A torch loss; its reduction is set to "none".
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
        self, module: Any, *, criterion: Any = nn.MSELoss,
        random_state: int | None = None, verbose: int = 0, **options: Any,
    ):  # fmt: skip
        super().__init__(module, criterion=criterion, verbose=verbose, **_shuffled(options))
        self.random_state = random_state

    def _learn_labels(self, y: Any, n_rows: int) -> None:
        """Numbers need no names."""

    def _coded(self, y: Any, n_rows: int, name: str) -> np.ndarray:
        labels = column(y, n_rows, name)
        if labels.dtype.kind not in "biuf":
            raise ValueError(f"Got {name} of dtype {labels.dtype}; a regressor needs numbers.")
        return labels.astype(np.float32)

    def _output_shape(self, y: Tensor) -> tuple[int, ...]:
        return tuple(y.shape)

    def predict(self, X: Any) -> np.ndarray:
        """Return the predictions at rows `X`."""
        found = self.predict_proba(self._rows_of(X)).astype(np.float64)
        return found[:, 0] if found.ndim == 2 and found.shape[1] == 1 else found


def _shuffled(options: dict[str, Any]) -> dict[str, Any]:
    """Let batches be drawn at random, unless they are made by an iterator of the user's."""
    return options if "iterator_train" in options else {"iterator_train__shuffle": True, **options}


def as_rows(X: Any, like: np.ndarray | None = None) -> np.ndarray:
    """Return rows as float32, of the shape of others; refuse what is no table of numbers."""
    name = "X" if like is None else "X_target"
    rows = to_numpy(X)
    if rows.dtype.kind not in "biuf":
        raise TypeError(
            f"Got {name} of type {type(X).__name__} and dtype {rows.dtype}, but a network needs "
            "real numbers in a dense array: encode text and categories, make sparse rows dense."
        )
    if rows.ndim < 2 or 0 in rows.shape:
        n_rows, n_columns = (*rows.shape, 1, 1)[:2]
        raise ValueError(
            f"Got {name} with {n_rows} sample(s) and {n_columns} feature(s) (shape={rows.shape}) "
            "while a minimum of 1 is required. Reshape your data: X.reshape(-1, 1) if it is one "
            "column."
        )
    with np.errstate(over="ignore"):  # refused in the next line
        rows = np.ascontiguousarray(rows, dtype=np.float32)
    if not np.isfinite(rows).all():
        raise ValueError(f"Got NaN or infinity in {name}; a network needs finite float32 numbers.")
    if like is not None and rows.shape[1:] != like.shape[1:]:
        raise ValueError(
            f"Got X_target with rows of shape {rows.shape[1:]}, but those of X have "
            f"{like.shape[1:]}; both need the same columns."
        )
    return rows


def column(y: Any, n_rows: int | None, name: str = "y") -> np.ndarray:
    """Return labels, those in a single column as a vector; refuse another number of them."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None.")
    labels = to_numpy(unmasked(y, name))
    labels = labels[:, 0] if labels.ndim == 2 and labels.shape[1] == 1 else labels
    if labels.ndim == 0 or n_rows not in (None, len(labels)):
        raise ValueError(
            f"Got {name} of shape {labels.shape} for {n_rows} rows; pass one label per row."
        )
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError(f"Got NaN or infinity in {name}; leave out rows without a label.")
    return labels


@contextmanager
def _seeded(seed: int | None, device: Any) -> Iterator[None]:
    """Draw from a seed of its own, and leave that of torch where it stood."""
    if seed is None:
        yield
        return
    device = torch.device(device)
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield
