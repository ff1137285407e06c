"""Two overlapping normal classes, where a good learner comes close to the best accuracy, 0.888."""

import numpy as np
from torch import nn

N_LABELED, N_UNLABELED, PI, SHIFT = 300, 3000, 0.4, 1.2


def small_network(shape):
    return nn.Sequential(nn.Linear(shape[0], 32), nn.ReLU(), nn.Linear(32, 1))


# A network of 32 units, and every row used for training, as in the figures to compare with.
SETTINGS = {
    "network": small_network,
    "epochs": 30,
    "learning_rate": 1e-3,
    "weight_decay": 1e-4,
    "labeled_batch": 26,
    "validation_fraction": 0,
    "standardize": False,
}
SCHEMES = ("case-control", "single-sample")


def toy_rows(seed, scheme, times=1):
    """Return X, s, alpha, and rows with their classes to test on."""
    rng = np.random.default_rng(seed)
    n_labeled, n_unlabeled = times * N_LABELED, times * N_UNLABELED
    if scheme == "case-control":
        alpha, positive = PI, rng.random(n_unlabeled) < PI
    else:
        n_hidden = round(PI * (n_labeled + n_unlabeled)) - n_labeled
        alpha, positive = n_hidden / n_unlabeled, np.arange(n_unlabeled) < n_hidden
    s = np.repeat([1, 0], [n_labeled, n_unlabeled])
    y_test = (rng.random(20_000) < PI).astype(int)
    X = _features(np.append(np.ones(n_labeled), positive), rng)
    return X, s, alpha, _features(y_test, rng), y_test


def _features(y, rng):
    X = rng.normal(size=(len(y), 10))
    X[:, 0] += np.where(y == 1, SHIFT, -SHIFT)
    return X


def toy_accuracy(learner, seed, scheme, times=1):
    """Fit a learner, with the true alpha if it wants one; return its accuracy on new rows."""
    X, s, alpha, X_test, y_test = toy_rows(seed, scheme, times)
    if learner.get_params().get("alpha") is not None:
        learner.set_params(alpha=alpha)
    learner.set_params(scheme=scheme, random_state=seed).fit(X, s)
    return float(np.mean(learner.predict(X_test) == y_test))


def assert_close_to_the_best(make, scheme, seeds=(0, 1, 2), times=1):
    """Require accuracies that learners of the kind reach, and none that nothing can."""
    for seed in seeds:
        accuracy = toy_accuracy(make(), seed, scheme, times)
        assert 0.84 <= accuracy <= 0.90, (seed, accuracy)


def assert_same_bits(make):
    """Require the same scores from two fits with a seed, held-out rows and all."""
    X, s, alpha, X_test, _ = toy_rows(0, "single-sample")
    found = []
    for _ in range(2):
        learner = make().set_params(epochs=2, validation_fraction=0.2, random_state=7)
        if learner.get_params().get("alpha") is not None:
            learner.set_params(alpha=alpha)
        found.append(learner.fit(X, s).decision_function(X_test))
    assert np.array_equal(*found)
