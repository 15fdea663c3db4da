"""Weights by the reweighting adapters of skada.

Importing skada switches on metadata routing of scikit-learn for the whole process: one more reason
for a process of its own. Source rows come first, and as many target rows: the nearest neighbour
adapter of skada 0.6 takes other rows for target rows otherwise.
"""

import numpy as np
from _child import bandwidths as grid_of_bandwidths
from _child import main
from skada import (
    DensityReweightAdapter,
    DiscriminatorReweightAdapter,
    GaussianReweightAdapter,
    KLIEPReweightAdapter,
    KMMReweightAdapter,
    NearestNeighborReweightAdapter,
)


def weights(adapter, X_source, X_target):
    X = np.vstack([X_source, X_target])
    domain = np.repeat([1, -2], [len(X_source), len(X_target)])
    adapter.fit(X, sample_domain=domain)
    return adapter.compute_weights(X, sample_domain=domain)[: len(X_source)]


def by_default(adapter):
    return lambda X_source, X_target: weights(adapter(), X_source, X_target)


def discriminator_inverse(X_source, X_target):
    """The adapter of skada 0.6 returns source over target; this turns it over."""
    return 1 / weights(DiscriminatorReweightAdapter(), X_source, X_target)


def kliep(X_source, X_target):
    """Gamma 1 is the default of ``KLIEPReweight``; the adapter has none."""
    return weights(KLIEPReweightAdapter(gamma=1.0, random_state=0), X_source, X_target)


def kliep_grid(X_source, X_target, bandwidths=None, n_centres=100, cv=5):
    sigmas = grid_of_bandwidths(X_source, X_target) if bandwidths is None else bandwidths
    gammas = [float(0.5 / sigma**2) for sigma in sigmas]
    adapter = KLIEPReweightAdapter(gamma=gammas, n_centers=n_centres, cv=cv, random_state=0)
    return weights(adapter, X_source, X_target)


if __name__ == "__main__":
    main(
        {
            "Density": by_default(DensityReweightAdapter),
            "Gaussian": by_default(GaussianReweightAdapter),
            "Discriminator": by_default(DiscriminatorReweightAdapter),
            "Discriminator, inverse": discriminator_inverse,
            "KLIEP": kliep,
            "KLIEP, grid": kliep_grid,
            "KMM": by_default(KMMReweightAdapter),
            "NearestNeighbor": by_default(NearestNeighborReweightAdapter),
        }
    )
