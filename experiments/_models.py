"""The paper's models, with scikit-learn's defaults."""

from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC, SVR

CLASSIFIERS = ("Logistic Regression", "SVM", "AdaBoost", "Naive Bayes", "Random Forest")


def make_model(name, seed):
    """Return a fresh model; the seed is used where the model draws."""
    return {
        "Logistic Regression": LogisticRegression(),
        "SVM": SVC(),
        "SVR": SVR(),
        "AdaBoost": AdaBoostClassifier(random_state=seed),
        "Naive Bayes": GaussianNB(),
        "Random Forest": RandomForestClassifier(random_state=seed),
    }[name]
