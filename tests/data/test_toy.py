import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import multivariate_normal
from sklearn.metrics import accuracy_score, roc_auc_score

from recoup.data.toy import two_gaussians, two_ramps, two_uniforms
from recoup.exceptions import InvalidInputError

LINES = [
    (two_gaussians, {"dim": 1, "pi": 0.3, "separation": 1.5}, (-9, 9), ()),
    (two_gaussians, {"dim": 1, "pi": 0.8, "separation": 0.5}, (-9, 9), ()),
    (two_ramps, {"pi": 0.4}, (0, 1), ()),
    (two_ramps, {"pi": 0.7, "power": 3.5}, (0, 1), ()),
    (two_uniforms, {"pi": 0.4, "overlap": 0.5}, (0, 1.5), (0.5, 1.0)),
    (two_uniforms, {"pi": 0.9, "overlap": 0.2}, (0, 1.8), (0.8, 1.0)),
]


def test_shared_toy_set():
    X, y_true, truth = two_gaussians(20_000)
    assert X.shape == (20_000, 10)
    assert truth.bayes_accuracy == pytest.approx(0.88819, abs=5e-6)
    assert truth.auc == pytest.approx(0.95516, abs=5e-6)
    positive, negative = X[y_true == 1].mean(axis=0), X[y_true == 0].mean(axis=0)
    np.testing.assert_allclose(positive, [1.2] + [0] * 9, atol=0.05)
    np.testing.assert_allclose(negative, [-1.2] + [0] * 9, atol=0.05)


@pytest.mark.parametrize(("make", "options", "support", "points"), LINES)
def test_closed_forms_agree_with_integrals(make, options, support, points):
    _, _, truth = make(1, **options)
    pi = truth.pi

    def integral(f, low=support[0], high=support[1]):
        inner = [point for point in points if low < point < high]
        return quad(f, low, high, points=inner or None, limit=200)[0]

    def at(x, y=None):
        return truth.density([x], y)[0]

    assert integral(lambda x: at(x)) == pytest.approx(1)
    assert integral(lambda x: at(x, 1)) == pytest.approx(1)
    assert integral(lambda x: truth.posterior([x])[0] * at(x)) == pytest.approx(pi)
    best = integral(lambda x: max(pi * at(x, 1), (1 - pi) * at(x, 0)))
    assert truth.bayes_accuracy == pytest.approx(best, abs=1e-6)
    right = integral(lambda x: at(x, 1) * integral(lambda z: at(z, 0), high=x) if at(x, 1) else 0)
    assert truth.auc == pytest.approx(right, abs=1e-6)


@pytest.mark.parametrize(("make", "options"), [(line[0], line[1]) for line in LINES])
def test_rows_follow_the_truth(make, options):
    n = 40_000
    X, y_true, truth = make(n, **options)
    p = truth.posterior(X)
    assert y_true.mean() == pytest.approx(truth.pi, abs=4 * 0.5 / np.sqrt(n))
    assert p.mean() == pytest.approx(truth.pi, abs=4 * 0.5 / np.sqrt(n))
    assert accuracy_score(y_true, p > 0.5) == pytest.approx(truth.bayes_accuracy, abs=0.01)
    assert roc_auc_score(y_true, p) == pytest.approx(truth.auc, abs=0.01)
    for low in np.arange(0.1, 0.9, 0.2):  # calibrated: the posterior is what it says
        inside = (p >= low) & (p < low + 0.2)
        if inside.sum() > 500:
            assert y_true[inside].mean() == pytest.approx(p[inside].mean(), abs=0.04)


def test_noise_coordinates_change_no_posterior():
    X, _, truth = two_gaussians(50, dim=3)
    _, _, line = two_gaussians(1, dim=1)
    np.testing.assert_allclose(truth.posterior(X), line.posterior(X[:, 0]))
    np.testing.assert_allclose(truth.density(X, 1), multivariate_normal([1.2, 0, 0]).pdf(X))
    np.testing.assert_allclose(truth.density(X, 0), multivariate_normal([-1.2, 0, 0]).pdf(X))


def test_posterior_far_out_and_outside():
    _, _, normal = two_gaussians(1, dim=1)
    np.testing.assert_array_equal(normal.posterior([-1e3, 1e3]), [0, 1])
    _, _, uniform = two_uniforms(1)
    np.testing.assert_array_equal(uniform.posterior([-0.1, 0.1, 1.4, 1.6]), [np.nan, 0, 1, np.nan])


def test_same_seed_same_rows():
    for make in (two_gaussians, two_ramps, two_uniforms):
        X, y_true, _ = make(100, random_state=3)
        again, y_again, _ = make(100, random_state=3)
        assert X.tobytes() == again.tobytes()
        assert y_true.tobytes() == y_again.tobytes()
        assert X.tobytes() != make(100, random_state=4)[0].tobytes()


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (two_gaussians, {"pi": 0}, "two_gaussians needs 0 < pi < 1.*Got 0"),
        (two_gaussians, {"separation": 0}, "separation > 0.*separation=0"),
        (two_gaussians, {"dim": 0}, "dim >= 1.*dim=0"),
        (two_ramps, {"power": 1}, "power > 1.*Got 1"),
        (two_uniforms, {"overlap": 1.5}, "0 <= overlap <= 1.*Got 1.5"),
        (two_uniforms, {"random_state": "one"}, "two_uniforms needs random_state"),
    ],
)
def test_wrong_settings_are_explained(make, options, message):
    with pytest.raises(InvalidInputError, match=message):
        make(10, **options)


def test_wrong_rows_are_explained():
    with pytest.raises(InvalidInputError, match=r"whole number of rows. Got 0"):
        two_ramps(0)
    with pytest.raises(InvalidInputError, match=r"shape \(n, 10\). Got \(10,\)"):
        two_gaussians(5)[2].posterior(np.zeros(10))
