"""The paper's models, with scikit-learn's defaults, and its way to choose a weighting."""

from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC, SVR

from weighbridge import ImportanceWeightedCV
from weighbridge.criteria import HoldOut
from weighbridge.search import BayesianSearch
from weighbridge.weighting import IWERM

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


def paper_procedure(model, ratio, evaluations, seed):
    """Algorithm 1: a hold-out loss weighted by the ratio, expected improvement in (lam, alpha)."""
    return ImportanceWeightedCV(
        model,
        ratio,
        criterion=HoldOut(validation=IWERM()),
        search=BayesianSearch(evaluations, coordinates="plain", tol=0),
        answer="argmin",
        random_state=seed,
    )
