r"""Expected loss of a model on the target, estimated without target labels.

The source has n labelled rows (x_i, y_i), the target m rows x_j without labels. With the density
ratio r = p_target(x) / p_source(x), and if P(y | x) is the same in both, the risk of a model f is

    R = E_target[l(f(x), y)] = E_source[r(x) l(f(x), y)].

The weighted mean sum r_i l_i / sum r_i (Horvitz and Thompson 1952; Hajek 1964) is consistent, but a
few rows of large ratio can decide it. The difference estimator

    D = mean_j m(x_j) + sum_i s_i (l_i - m(x_i)),    s_i = r_i / sum r,

adds a model m of the loss (Cassel, Sarndal and Wretman 1976). It is doubly robust: right if either
r or m is right (Robins, Rotnitzky and Zhao 1994; Bang and Robins 2005). The same few rows decide
its correction. The estimate here is a regression estimator, or a calibration in the sense of
Deville and Sarndal (1992), whose weights are bounded and whose forecasts account for the rest:

1. *Held-out losses.* The whole procedure behind f, with its choice of a weighting, is fitted
   without each of K folds. l_i is the loss at row i of the model that was fitted without its fold.
2. *Forecasts* h(x) of the loss. Ridge regressions on features phi(x), cross-fitted on the same
   folds, model the label. A classifier with probabilities has two forecasts: the loss expected
   under the modelled ones, m, and that under its own. For a regressor, the held-out
   losses themselves are smoothed over phi(x).
3. *Weights* w = r / (r / 4 + 3 / 4), which is RIWERM(0.75) and at most 4, scaled to v_i = w_i / sum
   w. For label shift, these are the full class weights.
4. *Calibration.* l is regressed on h under v, with a ridge penalty of one row, H being the weighted
   mean of h: l_i = a + b'(h_i - H) + e_i. Then, with q_j = a + b'(h(x_j) - H),

       R^ = mean_j q_j + (M - mean_k M_k).

   h(x_j) is clipped to the range of the h_i. M_k is the mean over the target of the expected loss m
   of fold k's model, and M that of the model fitted to all rows, which has seen more rows.

The standard error adds up what each row, fold and assumption contributes to R^ (its influence).
With the Gram matrix G = sum v_i (h_i - H)(h_i - H)' + I / n (of forecasts scaled to variance 1) and
g_i = 1 + (h_i - H)' G^-1 mean_j (h(x_j) - H),

* source row i contributes v_i e_i g_i, and target row j contributes (q_j - mean q) / m;
* the *ratio* adds to either. It is treated as a logistic regression on phi of the domain d (0 or 1)
  with probabilities p and information A: if row k counts more, log r(x) moves by
  phi(x)' A^-1 phi_k (d_k - p_k). As d log w / d log r = 1 - w / 4, row k contributes
  (d_k - p_k) phi_k' A^-1 sum_i v_i e_i g_i (1 - w_i / 4) phi_i. This is 0 for a known ratio. For a
  label ratio, the influence is that of its class prevalences.

The variance of R^ is the sum of

    source   max(sum_i c_i^2, sum v_i^2 sum v_i e_i^2), c_i the contribution of source row i
    target   sum_j c_j^2, c_j the contribution of target row j
    labels   sum v_i e_i^2 / m, because the target labels are as noisy as those of the source
    folds    sum_k (M_k - mean M)^2 / (K - 1), the choices and models of the folds
    unseen   (u Q / 10)^2 + min(|Q - D'|, Q / 4)^2, Q = mean_j q_j

where u = 1 - mean_j min(w_j / r_j, 1) is the share of the target that the bounded weights leave
out, and D' the difference estimate with weights v. For differences of two models, contributions are
subtracted row by row; for roots, the delta method scales them.

*Interval*: R^ +- t se, with Student's t and Satterthwaite's (1946) degrees of freedom
variance^2 / (sum_i c_i^4 + sum_j c_j^4 + folds^2 / (K - 1)), because few rows leave the variance
uncertain. Amounts without an upper bound have R^ exp(+- t se / R^). Scores of whole samples (AUC,
F1, ...) have a bootstrap interval (Rubin 1981) instead.

*Withheld* if the overlap of the samples is broken. *Flagged* if it is thin, if there are too few
rows or effective rows, if too many target rows are outside the support, or if the source dominates
the variance and the c_i have a Pareto k above min(1 - 1 / log10 n, 0.7) (Vehtari et al. 2024).

A change of P(y | x) is not included: only target labels can show it (`_few_labels`).
"""

from weighbridge.target_risk._few_labels import (
    Relation,
    Sample,
    by_labels,
    compare_relation,
    forecast_labels,
    label_values,
    value_of,
    with_forecast,
)
from weighbridge.target_risk._forecast import forecast_losses
from weighbridge.target_risk._interval import RiskEstimate, judge_overlap, mean_interval
from weighbridge.target_risk._problem import NAMES, Measure, Question, RiskProblem, find_measure
from weighbridge.target_risk._procedures import base_of, check_arguments, fit_finals
from weighbridge.target_risk._risks import (
    Assessed,
    RiskComparison,
    assess_held_out,
    assess_metrics,
    assess_procedures,
    compare_risks,
    estimate_risk,
    paired_change,
)

# Public names; the others serve the packages above.
__all__ = ["RiskComparison", "RiskEstimate", "compare_risks", "estimate_risk"]
