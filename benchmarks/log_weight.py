"""Time of log_weight against np.exp followed by np.log on the same array, in one run.

    python -m benchmarks.log_weight

One thread, float64, 10 million log ratios. The bar is 3 times exp and log.
"""

import numpy as np

from benchmarks._record import best_of, record
from weighbridge.geodesic import log_weight

ROWS = 10_000_000
POINTS = [(0.5, 1.0), (0.5, 3.0), (0.8, 3.0), (0.5, 2.3), (0.8, 2.3), (0.8, -0.7), (0.1, 2.3)]


def main():
    s = 3 * np.random.default_rng(0).standard_normal(ROWS)
    floor = best_of(lambda: np.log(np.exp(s)))
    print(f"np.log(np.exp(s)), {ROWS:,} rows: {floor * 1e3:.0f} ms")
    figures = {"rows": ROWS, "exp_log_seconds": floor, "points": []}
    for lam, alpha in POINTS:
        ratio = best_of(lambda lam=lam, alpha=alpha: log_weight(s, lam, alpha)) / floor
        print(f"log_weight lam {lam:<4} alpha {alpha:<5} {ratio:5.2f} x")
        figures["points"].append({"lam": lam, "alpha": alpha, "times_exp_log": ratio})
    worst = max(point["times_exp_log"] for point in figures["points"])
    print(f"worst {worst:.2f} x; the bar is 3 x: {'met' if worst <= 3 else 'NOT met'}")
    figures["worst"] = worst
    record("log_weight", figures)


if __name__ == "__main__":
    main()
