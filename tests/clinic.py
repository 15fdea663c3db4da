"""The model that the clinic data set is usually fitted with."""

from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler


def clinic_model():
    """Return logistic regression on standardised numbers and one-hot categories."""
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    columns = make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
    )
    return make_pipeline(columns, LogisticRegression(max_iter=1000))
