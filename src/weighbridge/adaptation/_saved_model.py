"""Models on disk: skops, which holds data and no code; loading runs nothing."""

from __future__ import annotations

import io
import itertools
import json
import warnings
import zipfile
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.metaestimators import available_if

from weighbridge._estimators import WeightedEstimator
from weighbridge._findings import Finding, Option, argument, listed, shown, users_line
from weighbridge._tables import features_of
from weighbridge.adaptation._inputs import refused
from weighbridge.exceptions import InputError


def _inner_has(name: str) -> Callable[[Any], bool]:
    return lambda self: hasattr(self.estimator, name)


class TableModel(BaseEstimator):
    """A fitted model, and the columns it takes out of any data frame.

    Categories, booleans, dates and missing values come to the model as they did when it was fitted,
    whatever library or type they have in the frame.

    Parameters
    ----------
    estimator : fitted estimator
        Takes the columns of `features` as they were read; `weighbridge.adapt` fitted it.
    features : dict of str to {"numeric", "category"}
        The columns, by name.
    seen : dict of str to array, optional
        What training held, see `SavedModel`; any other value is warned of.

    Examples
    --------
    >>> from weighbridge import adapt
    >>> from weighbridge.datasets import make_clinic
    >>> data = make_clinic(300, 200, random_state=0)
    >>> train = data.X[["age", "site"]].assign(readmitted=data.y)
    >>> model = adapt(train, data.X_target[["age", "site"]], label="readmitted").model
    >>> model.features
    {'age': 'numeric', 'site': 'category'}
    >>> model.predict(data.X_target[["site", "age"]]).shape  # in any order
    (200,)
    """

    def __init__(self, estimator: Any, features: dict[str, str], seen: Any = None):
        self.estimator = estimator
        self.features = features
        self.seen = seen

    def _rows(self, X: Any) -> Any:
        """Return the columns that the model takes, and warn of what training never had."""
        unseen = Unseen(self.seen or {})
        rows = unseen.look(features_of(X, self.features))
        for each in unseen.findings():
            warnings.warn(f"{each.code} {each.message} {each.help}", stacklevel=users_line())
        return rows

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        return self.estimator.__sklearn_tags__()

    @property
    def classes_(self) -> np.ndarray:
        """The classes, where it is a classifier."""
        return np.asarray(self.estimator.classes_)

    def predict(self, X: Any) -> np.ndarray:
        """Predict labels.

        Parameters
        ----------
        X : data frame
            With the columns of `features`, in any order.

        Returns
        -------
        ndarray of shape (n_rows,)
            Classes or numbers.
        """
        return np.asarray(self.estimator.predict(self._rows(X)))

    @available_if(_inner_has("predict_proba"))
    def predict_proba(self, X: Any) -> np.ndarray:
        """Predict the probability of each class, in the order of `classes_`; X as in `predict`."""
        return np.asarray(self.estimator.predict_proba(self._rows(X)))

    @available_if(_inner_has("decision_function"))
    def decision_function(self, X: Any) -> np.ndarray:
        """Return what the inner model tells the classes apart by; X as in `predict`.

        One number for each row, or one for each row and class, as the inner model gives it.
        """
        return np.asarray(self.estimator.decision_function(self._rows(X)))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the score of the inner model: accuracy, or R squared.

        Parameters
        ----------
        X : data frame
            With the columns of `features`, in any order.
        y : array-like of shape (n_rows,)
            Labels.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows.

        Returns
        -------
        float
            Higher is better.
        """
        return float(self.estimator.score(self._rows(X), y, sample_weight=sample_weight))


FORMAT = "weighbridge model/1"
# A number so many ranges of training away from its middle is a slip, or a case of another kind.
FAR = 10
_SOME_DAY = (1980, 1, 1, 0, 0, 0)
# What a model written here may be made of beyond the types that skops trusts by itself: arrays of
# numbers in a shell, none of which runs anything when it is made.
_OURS = (
    "numpy.dtype",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.tree._tree.Tree",
)
# Bytes that any archive may unpack to, all of it and its schema alone, and how many times its own
# size a larger one may: real ones pack 7 times, their schemas to about the size of the archive.
_ROOM, _TIMES = 256 << 20, 50
_SCHEMA_ROOM, _SCHEMA_TIMES = 16 << 20, 8


@dataclass(frozen=True)
class SavedModel:
    """A model as it lies on disk, and what it takes.

    Parameters
    ----------
    model : TableModel
        Takes any data frame with the columns of `features`.
    features : dict of str to {"numeric", "category"}
        The columns, by name.
    label : str
        What it predicts.
    task : {"classification", "regression"}
        Whether that is a class or a number.
    use : str
        The weighting that it was fitted with: "tuned", "none", ...
    version : str
        The version of weighbridge that wrote it.
    seen : dict of str to array, optional
        What training held: smallest and largest number, or the categories.

    Examples
    --------
    >>> from weighbridge.adaptation import SavedModel
    >>> SavedModel(None, {"age": "numeric"}, "readmitted", "classification", "tuned", "0.1").label
    'readmitted'
    """

    model: Any
    features: dict[str, str]
    label: str
    task: str
    use: str
    version: str
    seen: dict[str, Any] = field(default_factory=dict)


def values_seen(X: Any, features: dict[str, str]) -> dict[str, np.ndarray]:
    """Return what each column of training holds, see `SavedModel`."""
    found = {name: X[name].dropna().to_numpy() for name in features}
    return {
        name: np.unique(v.astype(str)) if v.dtype == object else np.array([v.min(), v.max()])
        for name, v in found.items()
    }


class Unseen:
    """Values that training did not have: new categories, numbers far from all others."""

    def __init__(self, seen: dict[str, np.ndarray]):
        self.seen = seen
        self.found: dict[str, tuple[int, Any]] = {}

    def look(self, block: Any) -> Any:
        """Count such values of a frame, and return it."""
        for name, known in self.seen.items():
            values = block[name].dropna().to_numpy()
            if known.dtype.kind == "f":
                new = values[np.abs(values - known.mean()) > FAR * (np.ptp(known) or 1.0)]
            else:
                new = values[~np.isin(values.astype(str), known)]
            if new.size:
                count, first = self.found.get(name, (0, new[0]))
                self.found[name] = (count + new.size, first)
        return block

    def findings(self) -> Iterator[Finding]:
        """Yield a finding for each column that has such values."""
        for name, (count, first) in self.found.items():
            known = self.seen[name]
            is_number = known.dtype.kind == "f"
            had = f"{known.min():g} to {known.max():g}" if is_number else listed(known.tolist(), 3)
            yield Finding(
                "WB113",
                "warning",
                f"{shown(name)} is unlike training in {count:,} row{'s' * (count > 1)}: "
                f"{shown(first)}, where training had {had}.",
                "Check spelling, units and decimal points; a prediction there is a guess.",
            )


def model_bytes(saved: SavedModel) -> bytes:
    """Return the bytes of a model file; the model without the rows that it was fitted to."""
    import skops.io

    inner = saved.model.estimator_ if isinstance(saved.model, WeightedEstimator) else saved.model
    content = {"format": FORMAT, **vars(saved), "model": inner}
    return _reproducible(skops.io.dumps(content))


def load_model(path: Any, *, trust: Any = (), option: Option = argument) -> SavedModel:
    """Read a model that `Adaptation.save` wrote. Nothing in the file is run.

    Parameters
    ----------
    path : path
        The file, ``model.skops``.
    trust : sequence of str, default=()
        Types beyond those of scikit-learn, NumPy and weighbridge that the model may be made of, for
        a model of your own; see what they do before you name them.
    option : function
        How a remedy is written.

    Returns
    -------
    SavedModel
        The model, and the columns that it takes.

    Examples
    --------
    >>> import tempfile
    >>> from weighbridge import adapt
    >>> from weighbridge.adaptation import load_model
    >>> from weighbridge.datasets import make_clinic
    >>> data = make_clinic(300, 200, random_state=0)
    >>> train = data.X[["age", "site"]].assign(readmitted=data.y)
    >>> result = adapt(train, data.X_target[["age", "site"]], label="readmitted")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = result.save(folder)
    ...     saved = load_model(files["model"])
    >>> saved.features, saved.model.predict(data.X_target).shape
    ({'age': 'numeric', 'site': 'category'}, (200,))
    """
    import skops.io

    path = Path(path)
    if not path.is_file():
        raise refused("WB101", f'there is no file "{path}".', "name a model.skops")
    try:
        _check_sizes(path)
        unknown = skops.io.get_untrusted_types(file=path)
        strange = sorted({*unknown} - {*_OURS, *trust})
        if strange:
            raise _strange(path, strange, option)
        content = skops.io.load(path, trusted=list(unknown))
        if not isinstance(content, dict) or content.pop("format", None) != FORMAT:
            raise _not_a_model(path, None)
        saved = SavedModel(**content)
        if not _is_whole(saved):
            raise _not_a_model(path, None)
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        raise _not_a_model(path, error) from error
    return replace(saved, model=TableModel(saved.model, saved.features, saved.seen))


def _check_sizes(path: Path) -> None:
    """Refuse an archive that unpacks to far more than a model of its size, or than it says."""
    size = path.stat().st_size
    room = max(_ROOM, _TIMES * size)
    named: set[tuple[str, str]] = set()
    with zipfile.ZipFile(path) as archive:
        sizes = _unpacked(archive, room)
        if sizes["schema.json"] > max(_SCHEMA_ROOM, _SCHEMA_TIMES * size):
            raise ValueError(f"its schema unpacks to {sizes['schema.json'] >> 20:,} MB")
        json.loads(
            archive.read("schema.json"),
            object_hook=lambda node: named.add((str(node.get("__id__")), str(node.get("file")))),
        )
    # a part is loaded once for every object that names it
    total = sum(sizes.get(file, 0) for _, file in named)
    if total > room:
        raise ValueError(f"it loads {total >> 20:,} MB")


def _unpacked(archive: zipfile.ZipFile, room: int) -> dict[str, int]:
    """Return what each part of an archive unpacks to, having seen that its directory is right."""
    parts = archive.infolist()
    sizes = {part.filename: part.file_size for part in parts}
    total = sum(part.file_size for part in parts)
    usual = {part.compress_type for part in parts} <= {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
    if total > room or len(sizes) < len(parts) or not usual:
        raise ValueError(f"its {len(parts):,} parts unpack to {total >> 20:,} MB")
    for part in map(copy, (each for each in parts if each.file_size or each.compress_size)):
        told = part.file_size
        part.file_size += 1  # which is where reading ends, whatever else there is
        with archive.open(part) as file:
            content = file.read(told + 1)
        if len(content) != told:
            raise ValueError(f"{part.filename} is not of the size that the archive says")
        if content.startswith(b"PK"):  # as sparse matrices do
            with zipfile.ZipFile(io.BytesIO(content)) as inner:
                inside = sum(_unpacked(inner, room - total).values())
            sizes[part.filename] += inside
            total += inside
    return sizes


def _is_whole(saved: Any) -> bool:
    """True where all parts are what they should be."""
    words = (saved.label, saved.task, saved.use, saved.version)
    features = saved.features.items() if isinstance(saved.features, dict) else [(None, None)]
    pairs = [isinstance(name, str) and kind in ("numeric", "category") for name, kind in features]
    return (
        all(isinstance(word, str) for word in words)
        and all(pairs)
        and isinstance(saved.seen, dict)
        and all(n in saved.features and np.size(v) for n, v in saved.seen.items())
        and hasattr(saved.model, "predict")
    )


def _strange(path: Path, types: list[str], option: Option) -> InputError:
    few = ", ".join(types[:3]) + (f" and {len(types) - 3} more" if len(types) > 3 else "")
    return refused(
        "WB711",
        f"{path.name} holds types that no model of weighbridge's own has: {few}.",
        f"if you made it and know them: {option('trust', types[0])}",
        "loading them could run code from whoever made the file",
    )


def _not_a_model(path: Path, error: BaseException | None) -> InputError:
    message = f"{path.name} is not a model that weighbridge wrote."
    evidence = (f"{type(error).__name__}: {str(error)[:100]}",) if error else ()
    help = "name the model.skops of an earlier `weighbridge adapt`"
    return refused("WB710", message, help, *evidence)


def _reproducible(content: bytes) -> bytes:
    """Return the same archive without dates and addresses: equal models are equal bytes."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(parts.pop("schema.json"))
    names = _count_objects(schema)
    named = {names.get(name, name): part for name, part in parts.items()}
    text = json.dumps(schema, indent=2).encode()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in [*sorted(named.items()), ("schema.json", text)]:
            archive.writestr(zipfile.ZipInfo(name, _SOME_DAY), part, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def _count_objects(schema: dict[str, Any]) -> dict[str, str]:
    """Replace addresses by numbers, in the order of the schema; return the new names of files."""
    numbers: dict[int, int] = {}
    names: dict[str, str] = {}
    count = itertools.count(1)
    for node in _nodes(schema):
        address = node["__id__"]
        if node.get("__loader__") == "JsonNode":
            node["__id__"] = next(count)
            continue
        if address not in numbers:
            numbers[address] = next(count)
        node["__id__"] = numbers[address]
        file = node.get("file")
        if isinstance(file, str) and file.startswith(str(address)):
            node["file"] = names[file] = file.replace(str(address), str(numbers[address]), 1)
    return names


def _nodes(part: Any) -> list[dict[str, Any]]:
    """Return every object of a schema that has an address, in order."""
    # a column may be called so too
    found = [part] if isinstance(part, dict) and isinstance(part.get("__id__"), int) else []
    inner = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    return [*found, *(node for each in inner for node in _nodes(each))]
