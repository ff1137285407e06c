"""Labels that favor clear cases: what goes wrong, and how propensities mend it."""

import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

import recoup
from recoup.priors import scar_test
from recoup.scores import crossfit

# Patients: the sicker ones are likelier to be tested, and so to carry a diagnosis.
rng = np.random.default_rng(0)
sick = rng.random(10_000) < 0.3
X = rng.normal(1.5 * sick[:, None], size=(10_000, 2))
tested = 0.2 + 0.5 / (1 + np.exp(-3 * (X[:, 0] - 1.5)))  # chance of a test, from records
s = (sick & (rng.random(10_000) < tested)).astype(int)
alpha = sick[s == 0].mean()  # from a survey, say

scores = crossfit(LogisticRegression(), X, s, random_state=0).scores
print(f"True AUC: {roc_auc_score(sick, scores):.3f}")

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always", recoup.RecoupWarning)
    as_if_random = recoup.evaluate(s, scores, alpha=alpha)
print(f"Recovered as if labels were at random: {as_if_random['roc_auc'].recovered:.3f}")
for warning in caught:
    print(f"Warning: {warning.message}")

by_chance = recoup.evaluate(s, scores, propensity=tested)
print(f"Recovered with each row's chance of a label: {by_chance['roc_auc'].recovered:.3f}")

# Without such chances: test the labels, then ask what is at stake.
at_random = scar_test(X, s, alpha=alpha, classifier="logistic")
print(f"Are labels at random? p = {at_random.p_value:.3f}")
low, high = as_if_random.selection_sensitivity((1, 3, 10), "high").range("roc_auc")
print(f"AUC if labels favor high scores up to tenfold: {low:.2f} to {high:.2f}")
