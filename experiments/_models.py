"""The paper's models, with scikit-learn's defaults, and its way to choose a weighting."""

from sklearn.base import clone
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC, SVR

from weighbridge import ImportanceWeightedCV
from weighbridge.model_selection import BayesianSearch, HoldOut
from weighbridge.weighting import IWERM

CLASSIFIERS = ("Logistic Regression", "SVM", "AdaBoost", "Naive Bayes", "Random Forest")
# models whose fits take tenths of a second where those of others take milliseconds
SLOW = ("AdaBoost", "Random Forest")


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


class ManyFits:
    """One model fitted under many weights; the kernel of a machine is computed once for all."""

    def __init__(self, model, X, y, X_target):
        self.model, self.X, self.y, self.X_target = model, X, y, X_target
        self.has_kernel = isinstance(model, SVC | SVR)
        if self.has_kernel:
            gamma = 1 / (X.shape[1] * X.var())  # "scale", whatever the weights are
            self.X, self.X_target = (rbf_kernel(rows, X, gamma) for rows in (X, X_target))
            self.model = clone(model).set_params(kernel="precomputed")

    def predict(self, weights):
        """Fit under these weights; returns the predictions for the target rows."""
        kept = weights > 0
        if not self.has_kernel or kept.all():
            return self.model.fit(self.X, self.y, sample_weight=weights).predict(self.X_target)
        # libsvm would drop these rows itself, and then read the wrong columns of the kernel
        self.model.fit(self.X[kept][:, kept], self.y[kept], sample_weight=weights[kept])
        return self.model.predict(self.X_target[:, kept])


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
