"""Families as a user writes them: nothing but the log-partition."""

import numpy as np

from weighbridge.manifolds import ExponentialFamily


class InverseGaussian(ExponentialFamily):
    dim = 2

    def log_partition(self, theta):
        return -2 * np.sqrt(theta[0] * theta[1]) - np.log(-2 * theta[1]) / 2
