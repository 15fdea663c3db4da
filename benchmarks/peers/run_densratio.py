"""Weights by densratio: ``densratio(target, source)`` is target over source."""

from _child import main
from densratio import densratio


def weights(X_source, X_target, **settings):
    ratio = densratio(X_target, X_source, verbose=False, **settings)
    return ratio.compute_density_ratio(X_source)


def ulsif(X_source, X_target, bandwidths="auto", ridges="auto", n_centres=100):
    settings = {"sigma": bandwidths, "lambda_": ridges, "kernel_num": n_centres}
    return weights(X_source, X_target, method="uLSIF", **settings)


def kliep(X_source, X_target, bandwidths="auto", n_centres=100, cv=5):
    settings = {"sigma": bandwidths, "kernel_num": n_centres, "fold": cv}
    return weights(X_source, X_target, method="KLIEP", **settings)


if __name__ == "__main__":
    main({"uLSIF": ulsif, "KLIEP": kliep})
