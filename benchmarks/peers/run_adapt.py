"""Weights by adapt: ``fit_weights(source, target)``.

adapt imports tensorflow for its deep methods (two gigabytes). Its KLIEP, ULSIF and KMM are plain
numpy, scikit-learn and cvxopt, so the environment has no tensorflow and no scikeras, and
`StandIn` answers for them: any name imported from there is an empty class. The one place where the
measured methods reach it is ``tf.random.set_seed``, which does nothing here.
"""

import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from _child import bandwidths as grid_of_bandwidths
from _child import main
from _child import ridges as grid_of_ridges


class Anything(type):
    """A class whose every missing attribute is such a class."""

    def __getattr__(cls, name):
        return empty_class(name)


def empty_class(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return Anything(name, (), {"__init__": lambda self, *args, **kwargs: None})


class StandIn(MetaPathFinder, Loader):
    """Finds tensorflow and scikeras, with whatever is wanted from them."""

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("tensorflow", "scikeras"):
            return ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        module = ModuleType(spec.name)
        module.__getattr__ = empty_class
        return module

    def exec_module(self, module):
        """Nothing to run."""


sys.meta_path.append(StandIn())

from adapt.instance_based import KLIEP, KMM, ULSIF  # noqa: E402 - after the stand-in


def weights(model, X_source, X_target, **settings):
    return model(verbose=0, random_state=0, **settings).fit_weights(X_source, X_target)


def gammas(sigmas):
    return [float(0.5 / sigma**2) for sigma in sigmas]


def ulsif(X_source, X_target):
    return weights(ULSIF, X_source, X_target)


def ulsif_grid(X_source, X_target, bandwidths=None, ridges=None, n_centres=100):
    sigmas = grid_of_bandwidths(X_source, X_target) if bandwidths is None else bandwidths
    lambdas = list(grid_of_ridges() if ridges is None else ridges)
    settings = {"gamma": gammas(sigmas), "lambdas": lambdas, "max_centers": n_centres}
    return weights(ULSIF, X_source, X_target, **settings)


def kliep(X_source, X_target):
    return weights(KLIEP, X_source, X_target)


def kliep_grid(X_source, X_target, bandwidths=None, n_centres=100, cv=5):
    sigmas = grid_of_bandwidths(X_source, X_target) if bandwidths is None else bandwidths
    settings = {"gamma": gammas(sigmas), "max_centers": n_centres, "cv": cv}
    return weights(KLIEP, X_source, X_target, **settings)


def kmm(X_source, X_target):
    return weights(KMM, X_source, X_target)


if __name__ == "__main__":
    main(
        {
            "ULSIF": ulsif,
            "ULSIF, grid": ulsif_grid,
            "KLIEP": kliep,
            "KLIEP, grid": kliep_grid,
            "KMM": kmm,
        }
    )
