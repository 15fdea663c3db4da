"""Text columns as numbers, for encoders that are fitted in every fold."""

from __future__ import annotations

from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OneHotEncoder


def coded_texts(transformers: list[Any], *tables: Any) -> tuple[Any, ...]:
    """Return pandas frames with numbers for text, if only encoders use the text.

    They find the same levels in the same order, without a comparison of texts, which is most of a
    fit for large tables.
    """
    names = _encoded_texts(transformers, tables)
    if not names:
        return tables
    levels = {name: set().union(*(table[name].unique() for table in tables)) for name in names}
    text = {name: sorted(v for v in values if type(v) is str) for name, values in levels.items()}
    others = {name: [v for v in values if type(v) is not str] for name, values in levels.items()}
    # One kind of missing value is one level. The encoder judges other values.
    if any(
        len(each) > 1 or any(v == v and v is not None for v in each) for each in others.values()
    ):
        return tables
    places = {name: {level: float(k) for k, level in enumerate(text[name])} for name in names}
    return tuple(
        table.assign(**{name: table[name].map(places[name]) for name in names}) for table in tables
    )


def _encoded_texts(transformers: list[Any], tables: tuple[Any, ...]) -> list[str]:
    """Return the text columns if only encoders use them, else none."""
    import narwhals as nw

    first = transformers[0] if transformers else None
    if not isinstance(first, ColumnTransformer) or first.remainder not in ("drop", "passthrough"):
        return []
    if not all(map(nw.dependencies.is_pandas_dataframe, tables)):
        return []
    texts = [name for name, kind in tables[0].dtypes.items() if str(kind) == "object"]
    by_encoders: list[str] = []
    for _, member, names in first.transformers:
        # A rule for the types of columns would select other columns.
        if not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
            return []
        if isinstance(member, OneHotEncoder) and _names_no_level(member):
            by_encoders += names
        elif set(names) & set(texts):
            return []
    return texts if sorted(texts) == sorted(set(by_encoders) & set(texts)) else []


def _names_no_level(encoder: OneHotEncoder) -> bool:
    """Return True if no level is named in a parameter or an error."""
    by_rule = encoder.drop is None or isinstance(encoder.drop, str)
    return bool(encoder.categories == "auto" and by_rule and encoder.handle_unknown != "error")
