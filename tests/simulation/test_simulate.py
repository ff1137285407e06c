import hashlib
from fractions import Fraction
from math import floor

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from recoup.data.toy import two_gaussians
from recoup.exceptions import InvalidInputError
from recoup.simulation import MECHANISMS, simulate

SCHEMES = {
    "single": {"scheme": "single-sample"},
    "disjoint": {"scheme": "case-control"},
    "overlap": {"scheme": "case-control", "overlap": True},
}
LEVELS = np.array([0.2, 0.5, 0.7, 0.8, 0.9, 0.95])


def classes(n_positives, n_negatives):
    """Rows that only have a class."""
    y_true = np.repeat([1, 0], [n_positives, n_negatives])
    return np.arange(len(y_true))[:, None], y_true


def leveled(n_positives=60_000, n_negatives=6_000):
    """Rows whose posterior takes few values, so that shares of labels can be counted."""
    X, y_true = classes(n_positives, n_negatives)
    return X, y_true, LEVELS[np.arange(len(y_true)) % len(LEVELS)]


def rows(data, kind):
    return set(data.row_id[data.s == kind].tolist())


@given(
    n_positives=st.integers(3, 400),
    n_negatives=st.integers(3, 400),
    percent=st.integers(1, 100),
    right=st.sampled_from(["1", "0.95", "0.9", "0.8", "0.75", "0.7"]),
    way=st.sampled_from(sorted(SCHEMES)),
    mechanism=st.sampled_from(["scar", "s2", "s3", "s4"]),
    seed=st.integers(0, 3),
)
def test_counts_follow_the_formulas(n_positives, n_negatives, percent, right, way, mechanism, seed):
    n = n_positives + n_negatives
    n_labeled = percent * n_positives // 100
    n_true = round(Fraction(right) * n_labeled)
    n_false = n_labeled - n_true
    assume(n_true > 0)
    assume(n_false < n_negatives)
    if way == "single":
        left = n_positives - n_true, n_negatives - n_false
    elif way == "overlap":
        left = n_positives, n_negatives
    else:
        spare = n_positives - n_labeled
        spare = spare if mechanism == "scar" else spare // 2
        size = min(spare * n // n_positives, (n_negatives - n_false) * n // n_negatives)
        assume(size > 0)
        n_hidden = round(Fraction(size * n_positives, n))
        left = n_hidden, size - n_hidden
        assert abs(left[0] / size - n_positives / n) <= 0.5 / size + 1e-12
    alpha, beta = Fraction(left[0], sum(left)), Fraction(n_true, n_labeled)
    assume(alpha < beta)

    X, y_true = classes(n_positives, n_negatives)
    p = np.linspace(0.05, 0.95, n)
    data = simulate(
        X,
        y_true,
        label_frequency=percent / 100,
        beta=float(right),
        mechanism=mechanism,
        posterior=p,
        random_state=seed,
        **SCHEMES[way],
    )
    truth = data.truth
    assert (truth.n_labeled, truth.n_unlabeled) == (n_labeled, sum(left))
    assert (data.y_true[data.s == 1].sum(), data.y_true[data.s == 0].sum()) == (n_true, left[0])
    assert truth.alpha == float(alpha)
    assert truth.beta == float(beta)
    pi = Fraction(n_positives, n) if way == "single" else alpha
    assert truth.pi == float(pi)
    share = Fraction(n_labeled, n_labeled + sum(left))
    if way == "single":
        assert pi == share * beta + (1 - share) * alpha
    distinct = n_true + left[0] if way == "disjoint" else n_positives
    assert truth.label_frequency == n_true / distinct
    assert truth.overlapping == (way == "overlap")
    assert (len(set(data.row_id.tolist())) == len(data)) == (way != "overlap")
    np.testing.assert_array_equal(data.X[:, 0], data.row_id)
    np.testing.assert_array_equal(y_true[data.row_id], data.y_true)


@pytest.mark.parametrize(
    ("n_positives", "n_negatives", "n_labeled"),
    [
        (6_326, 4_874, 632),  # 20News
        (12_375, 12_375, 1_237),  # IMDb
        (29_197, 30_203, 2_919),  # MNIST
        (29_700, 29_700, 2_970),  # F-MNIST
        (19_800, 29_700, 1_980),  # CIFAR-10
        (2_552, 2_516, 255),  # ADNI
        (35_222, 18_282, 3_522),  # Connect-4
        (1_435, 2_208, 143),  # Spambase
    ],
)
def test_counts_of_pubench(n_positives, n_negatives, n_labeled):
    """PU-Bench 2026, Table D.1: labeled, unlabeled positives, unlabeled negatives."""
    X, y_true = classes(n_positives, n_negatives)
    data = simulate(X, y_true, scheme="case-control", overlap=True, label_frequency=0.1)
    unlabeled = data.y_true[data.s == 0]
    assert data.truth.n_labeled == n_labeled
    assert (unlabeled.sum(), (1 - unlabeled).sum()) == (n_positives, n_negatives)
    assert rows(data, 1) < rows(data, 0)


@pytest.mark.parametrize(
    ("n_positives", "n_negatives", "pooled", "alphas"),
    [
        (12_375, 12_375, (0.524, 0.600, 0.655), (0.474, 0.333, 0.091)),
        (35_222, 18_282, (0.679, 0.743, 0.785), (0.634, 0.491, 0.162)),
        (1_435, 2_208, (0.417, 0.494, 0.553), (0.369, 0.245, 0.061)),
    ],
)
def test_priors_of_pubench(n_positives, n_negatives, pooled, alphas):
    """Share of positives in both samples together (overlapping), and in U of a single sample."""
    X, y_true = classes(n_positives, n_negatives)
    for c, mixed, alpha in zip((0.1, 0.5, 0.9), pooled, alphas, strict=True):
        both = simulate(X, y_true, label_frequency=c, **SCHEMES["overlap"])
        assert both.y_true.mean() == pytest.approx(mixed, abs=6e-4)
        assert both.truth.pi == n_positives / (n_positives + n_negatives)
        assert both.truth.label_frequency == pytest.approx(c, abs=1e-3)
        single = simulate(X, y_true, label_frequency=c)
        assert single.truth.alpha == pytest.approx(alpha, abs=6e-4)


@pytest.mark.parametrize(
    ("label_frequency", "n_positives", "n_labeled"),
    [
        (0.29, 100, 29),
        (0.57, 100, 57),
        (1 / 3, 3, 1),
        (0.1, 29_200, 2_920),
        (0.299, 10, 2),
        (1, 7, 7),
    ],
)
def test_no_floating_dust_in_the_number_of_labels(label_frequency, n_positives, n_labeled):
    X, y_true = classes(n_positives, 50)
    data = simulate(X, y_true, label_frequency=label_frequency)
    assert data.truth.n_labeled == n_labeled
    assert n_labeled == floor(Fraction(label_frequency).limit_denominator(1000) * n_positives)


def test_no_floating_dust_in_the_number_of_right_labels():
    X, y_true = classes(100, 100)
    data = simulate(X, y_true, n_labeled=45, beta=0.7)  # 31.5, which rounds to the even 32
    assert data.truth.beta == 32 / 45


def test_protocols_of_the_noisy_label_papers():
    # Jain 2017: 1,000 labels, of which a share beta is right, and at most 10,000 other rows.
    X, y_true = classes(8_000, 22_000)
    data = simulate(X, y_true, n_labeled=1_000, beta=0.75, n_unlabeled=10_000)
    assert data.truth.beta == 0.75
    assert (data.truth.n_labeled, data.truth.n_unlabeled) == (1_000, 10_000)
    # Ramola 2019: alpha is the share of positives in what the labels leave.
    assert data.truth.alpha == round((8_000 - 750) / 29_000 * 10_000) / 10_000
    # Wrong labels are drawn from the negatives at random.
    wrong = data.row_id[(data.s == 1) & (data.y_true == 0)]
    assert wrong.mean() == pytest.approx(19_000, abs=4 * 22_000 / np.sqrt(12 * 250))


@given(
    n_positives=st.integers(20, 200),
    n_negatives=st.integers(20, 200),
    wanted=st.floats(0.05, 0.9),
    way=st.sampled_from(sorted(SCHEMES)),
)
def test_prior_shift_drops_rows_of_one_class(n_positives, n_negatives, wanted, way):
    X, y_true = classes(n_positives, n_negatives)
    options = {"label_frequency": 0.3, **SCHEMES[way]}
    plain = simulate(X, y_true, **options)
    n_kept = {kind: int((plain.y_true[plain.s == 0] == kind).sum()) for kind in (0, 1)}
    assume(min(n_kept.values()) * min(wanted, 1 - wanted) >= 1)
    data = simulate(X, y_true, prior_shift=wanted, **options)
    assert rows(data, 1) == rows(plain, 1)
    assert rows(data, 0) <= rows(plain, 0)
    assert abs(data.truth.alpha - wanted) <= 0.5 / data.truth.n_unlabeled + 1e-12
    left = {kind: int((data.y_true[data.s == 0] == kind).sum()) for kind in (0, 1)}
    kept_whole = 1 if wanted > plain.truth.alpha else 0
    assert left[kept_whole] == n_kept[kept_whole]


@pytest.mark.parametrize("way", SCHEMES)
def test_wanted_sizes_and_shift_together(way):
    X, y_true = classes(500, 700)
    data = simulate(X, y_true, n_labeled=100, n_unlabeled=400, prior_shift=0.7, **SCHEMES[way])
    assert (data.truth.n_labeled, data.truth.n_unlabeled) == (100, 400)
    assert data.truth.alpha == 0.7
    assert simulate(X, y_true, n_labeled=100, prior_shift=0, **SCHEMES[way]).truth.alpha == 0


def reference_weights(mechanism, variant, p):
    """The formulas of PU-Bench's paper and of its first code, on the natural scale."""
    if mechanism == "s1":
        return np.ones(len(p))
    if mechanism == "s2":
        w = p**10 / (p**10).sum()
        return 0.9 * w + 0.1 / len(p) if variant == "pubench" else w
    return (2.5 - p) ** 10 if variant == "pubench" else (1 - p) ** 10


@pytest.mark.parametrize("c", [0.1, 0.5])
@pytest.mark.parametrize(
    ("mechanism", "variant"),
    [("s1", "paper"), ("s2", "paper"), ("s3", "paper"), ("s2", "pubench"), ("s3", "pubench")],
)
def test_fixed_draws_agree_with_the_formulas(mechanism, variant, c):
    X, y_true, p = leveled()
    data = simulate(X, y_true, label_frequency=c, mechanism=mechanism, variant=variant, posterior=p)
    positive = y_true == 1
    # numpy draws one by one without replacement, as the paper says.
    w = reference_weights(mechanism, variant, p[positive])
    n_labeled = int(c * positive.sum())
    other = np.zeros(positive.sum(), bool)
    rng = np.random.default_rng(1)
    other[rng.choice(len(w), n_labeled, replace=False, p=w / w.sum())] = True
    s, e = data.s[positive], data.propensity[positive]
    assert e.sum() == pytest.approx(n_labeled)
    for level in LEVELS:
        here = p[positive] == level
        se = 0.5 / np.sqrt(here.sum())
        assert s[here].mean() == pytest.approx(other[here].mean(), abs=4 * 1.5 * se)
        assert s[here].mean() == pytest.approx(e[here][0], abs=4 * se)
    # Propensity is a function of the features, so negatives have one too.
    np.testing.assert_allclose(data.propensity[~positive][:6], e[:6])


def test_propensity_of_a_small_pool():
    """The approximation for fixed numbers holds for few rows, where n_l * w / sum(w) fails."""
    X, y_true = classes(30, 10)
    p = np.linspace(0.3, 0.97, 40)
    counts, n_runs = np.zeros(40), 1_500
    for seed in range(n_runs):
        data = simulate(X, y_true, n_labeled=10, mechanism="s3", posterior=p, random_state=seed)
        counts += data.s
    share = counts[:30] / n_runs
    assert np.abs(share - data.propensity[:30]).max() < 0.06
    simple = np.minimum(1, 10 * (1 - p[:30]) ** 10 / ((1 - p[:30]) ** 10).sum())
    assert np.abs(share - simple).max() > 0.3


@pytest.mark.parametrize("mechanism", ["s1", "s2", "s3", "s4"])
@pytest.mark.parametrize("way", ["single", "disjoint"])
def test_accept_reject_has_the_stated_propensity(mechanism, way):
    X, y_true, p = leveled()
    data = simulate(
        X,
        y_true,
        label_frequency=0.2,
        mechanism=mechanism,
        variant="accept-reject",
        posterior=p,
        **SCHEMES[way],
    )
    assert data.truth.n_labeled == pytest.approx(12_000, abs=4 * np.sqrt(12_000))
    assert data.truth.n_labeled != 12_000
    k = 20 if mechanism == "s4" else 10
    w = {"s1": p**0, "s2": p**k, "s3": (1 - p) ** k, "s4": p**k}[mechanism]
    positive = data.y_true == 1
    q = p[data.row_id]
    e = data.propensity
    if way == "disjoint":  # of 60,000 positives, 24,000 are unlabeled and 36,000 candidates
        e = e / (1 - e) * 24_000 / 36_000
    scaled = e / w[data.row_id]
    np.testing.assert_allclose(scaled[e < 1 - 1e-9], scaled[e < 1 - 1e-9].max())
    for level in LEVELS:
        here = positive & (q == level)
        se = 0.5 / np.sqrt(here.sum())
        assert data.s[here].mean() == pytest.approx(data.propensity[here][0], abs=4 * se)


@pytest.mark.parametrize("way", SCHEMES)
def test_independent_labels_may_be_wrong_too(way):
    X, y_true = classes(3_000, 3_000)
    options = {"label_frequency": 0.2, "variant": "accept-reject", **SCHEMES[way]}
    data = simulate(X, y_true, beta=0.75, **options)
    n_true = int(data.y_true[data.s == 1].sum())
    assert n_true == pytest.approx(450, abs=4 * np.sqrt(450))
    assert data.truth.n_labeled == n_true + round(n_true / 3)


def test_stated_propensity():
    X, y_true, truth = two_gaussians(20_000, dim=2)
    p = truth.posterior(X)

    def clearer(X, p):
        return 0.05 + 0.6 * p

    data = simulate(X, y_true, mechanism=clearer, posterior=p)
    np.testing.assert_array_equal(data.propensity, 0.05 + 0.6 * p)
    n_expected = data.propensity[y_true == 1].sum()
    assert data.truth.n_labeled == pytest.approx(n_expected, abs=4 * np.sqrt(n_expected))
    assert data.s[y_true == 0].sum() == 0
    by_feature = simulate(X, y_true, mechanism=lambda X, p: np.where(X[:, 0] > 1, 0.5, 0.1))
    high = (X[:, 0] > 1) & (y_true == 1)
    assert by_feature.s[high].mean() == pytest.approx(0.5, abs=0.03)
    assert by_feature.s[~high & (y_true == 1)].mean() == pytest.approx(0.1, abs=0.03)


@pytest.mark.parametrize("variant", ["paper", "pubench"])
def test_s4_takes_the_top(variant):
    X, y_true = classes(200, 100)
    p = np.random.default_rng(0).random(300)
    data = simulate(
        X, y_true, n_labeled=30, mechanism="s4", variant=variant, posterior=p, random_state=5
    )
    top = np.argsort(-p[:200])[:30]
    assert rows(data, 1) == set(top.tolist())
    np.testing.assert_array_equal(data.propensity, p >= p[top].min())
    # Rows that tie at the bar share what is left of the labels.
    tied = simulate(X, y_true, n_labeled=30, mechanism="s4", posterior=np.full(300, 0.9))
    assert tied.truth.n_labeled == 30
    np.testing.assert_allclose(tied.propensity, 30 / 200)


def test_directions_of_the_mechanisms():
    X, y_true, truth = two_gaussians(6_000, dim=2)
    means = {}
    for mechanism in ("scar", "s2", "s3", "s4"):
        for variant in ("paper", "pubench"):
            data = simulate(X, y_true, label_frequency=0.1, mechanism=mechanism, variant=variant)
            means[mechanism, variant] = truth.posterior(data.X)[data.s == 1].mean()
    scar = truth.posterior(X)[y_true == 1].mean()
    assert means["scar", "paper"] == pytest.approx(scar, abs=0.05)
    assert means["scar", "paper"] == means["scar", "pubench"]
    assert means["s4", "paper"] == means["s4", "pubench"] > means["s2", "paper"]
    assert means["s2", "paper"] > means["s2", "pubench"] > scar + 0.05
    assert means["s3", "paper"] < 0.2 < means["s3", "pubench"] < scar - 0.1


def test_exponent_sharpens_the_choice():
    X, y_true, truth = two_gaussians(4_000, dim=1)
    p = truth.posterior(X)
    means = [
        p[simulate(X, y_true, n_labeled=200, mechanism="s3", posterior=p, k=k).s == 1].mean()
        for k in (0.1, 1, 10)
    ]
    assert means[0] > means[1] + 0.05 > means[2] + 0.1


@pytest.mark.parametrize("way", SCHEMES)
@pytest.mark.parametrize("shift", [None, 0.2, 0.6])
def test_weights_from_propensities_recover_the_positives(way, shift):
    X, y_true, truth = two_gaussians(100_000, dim=1)
    data = simulate(
        X,
        y_true,
        mechanism=lambda X, p: 0.05 + 0.5 * p,
        posterior=truth.posterior(X),
        prior_shift=shift,
        **SCHEMES[way],
    )
    _, first = np.unique(data.row_id, return_index=True)
    positives = first[data.y_true[first] == 1]
    labeled = data.s == 1
    weights = 1 / data.propensity[labeled]
    assert weights.sum() == pytest.approx(len(positives), rel=0.04)
    mean = np.average(data.X[labeled, 0], weights=weights)
    assert mean == pytest.approx(data.X[positives, 0].mean(), abs=0.05)
    assert data.X[labeled, 0].mean() > mean + 0.1  # unweighted, they are too clear
    hidden = np.setdiff1d(data.row_id[positives], data.row_id[labeled])
    assert (weights - 1).sum() == pytest.approx(len(hidden), rel=0.05)
    mean = np.average(data.X[labeled, 0], weights=weights - 1)
    assert mean == pytest.approx(X[hidden, 0].mean(), abs=0.06)


def test_disjoint_samples_follow_their_populations_under_bias():
    X, y_true, truth = two_gaussians(20_000, dim=1)
    data = simulate(
        X,
        y_true,
        label_frequency=0.1,
        mechanism="s3",
        posterior=truth.posterior(X),
        scheme="case-control",
    )
    hidden = data.X[(data.s == 0) & (data.y_true == 1), 0]
    assert hidden.mean() == pytest.approx(1.2, abs=4 / np.sqrt(len(hidden)))
    assert data.X[data.s == 1, 0].mean() < 0


@pytest.fixture(scope="module")
def cancer():
    X, y_true = load_breast_cancer(return_X_y=True)
    return X[:, :10], y_true


def test_default_posterior_is_logistic_regression(cancer):
    X, y_true = cancer
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(X, y_true)
    p = model.predict_proba(X)[:, 1]
    options = {"label_frequency": 0.2, "mechanism": "s3"}
    plain = simulate(X, y_true, **options)
    given_array = simulate(X, y_true, posterior=p, **options)
    np.testing.assert_array_equal(plain.s, given_array.s)
    np.testing.assert_array_equal(plain.propensity, given_array.propensity)
    classifier = GaussianNB()
    other = simulate(X, y_true, posterior=classifier, **options)
    assert not hasattr(classifier, "classes_")
    expected = GaussianNB().fit(X, y_true).predict_proba(X)[:, 1]
    np.testing.assert_array_equal(other.s, simulate(X, y_true, posterior=expected, **options).s)
    assert (other.s != plain.s).any()


def test_every_kind_of_rows(cancer):
    X, y_true = cancer
    kinds = {
        "list": X.tolist(),
        "images": X.reshape(-1, 2, 5),
        "pandas": pd.DataFrame(X).add_prefix("f"),
        "polars": pl.DataFrame(X),
        "sparse": sparse.csr_array(X - X.min(axis=0)),
    }
    options = {"label_frequency": 0.3, "mechanism": "s2", "scheme": "case-control"}
    plain = simulate(X, pd.Series(y_true), **options)
    for name, kind in kinds.items():
        data = simulate(kind, y_true, **options)
        assert name == "list" or type(data.X) is type(kind), name
        assert data.X.shape[1:] == np.shape(kind)[1:], name
        if name != "sparse":  # scaled without centering, so the fit may differ in the last digits
            np.testing.assert_array_equal(data.row_id, plain.row_id, err_msg=name)


def test_posteriors_at_the_ends():
    X, y_true = classes(50, 50)
    p = np.tile([0.0, 1.0], 50)
    for mechanism in ("s2", "s3", "s4"):
        for variant in ("paper", "pubench", "accept-reject"):
            data = simulate(
                X, y_true, n_labeled=30, mechanism=mechanism, variant=variant, posterior=p
            )
            assert (data.propensity[data.s == 1] > 0).all()
            favored = p[data.row_id[data.s == 1]] == (0 if mechanism == "s3" else 1)
            assert favored.sum() == 25 if variant == "paper" else favored.sum() > 15


def digest(data):
    parts = (data.X, data.s.astype("<i8"), data.row_id.astype("<i8"), data.y_true.astype("<i8"))
    return hashlib.sha256(b"".join(np.ascontiguousarray(p).tobytes() for p in parts)).hexdigest()


def test_same_seed_same_bytes():
    X, y_true = np.arange(120, dtype="<f8").reshape(60, 2), np.tile([1, 0, 0], 20)
    p = np.linspace(0.1, 0.9, 60)
    options = {"n_labeled": 5, "beta": 0.8, "n_unlabeled": 30, "posterior": p, "mechanism": "s2"}
    data = simulate(X, y_true, **options, random_state=7)
    assert digest(data) == digest(simulate(X, y_true, **options, random_state=7))
    assert digest(data) != digest(simulate(X, y_true, **options, random_state=8))
    assert digest(data) == "d6bd4204c374d41911226e23fa093956b306599ea98da74ac3493cf826dba48a"


@pytest.mark.parametrize("way", SCHEMES)
def test_an_option_changes_only_what_it_names(way):
    X, y_true = classes(300, 500)
    p = np.random.default_rng(0).random(800)
    base = {"n_labeled": 60, "n_unlabeled": 300, "posterior": p, **SCHEMES[way]}

    def draw(**options):
        return simulate(X, y_true, **{**base, **options})

    data = draw()
    true_labels = {row for row in rows(data, 1) if row < 300}
    assert digest(draw(name="other", k=3.0, variant="pubench")) == digest(data)
    # More labels are added to those given already.
    assert rows(draw(n_labeled=61), 1) > rows(data, 1)
    # Wrong labels come in for some of the right ones.
    noisy = draw(beta=0.9)
    assert {row for row in rows(noisy, 1) if row < 300} < true_labels
    assert rows(draw(beta=0.8), 1) - set(range(300)) > rows(noisy, 1) - set(range(300))
    # Sizes and shares of the unlabeled rows leave the labels alone in one sample.
    smaller, shifted = draw(n_unlabeled=200), draw(n_unlabeled=None, prior_shift=0.2)
    if way != "disjoint":
        assert rows(smaller, 1) == rows(shifted, 1) == rows(data, 1)
    assert rows(smaller, 0) < rows(data, 0)
    # The mechanism chooses labels, and nothing else.
    biased = draw(mechanism="s3")
    assert rows(biased, 1) != rows(data, 1)
    if way != "single":
        assert rows(biased, 0) == rows(data, 0)
        assert rows(draw(beta=0.9), 0) == rows(data, 0)
    # Another seed moves everything.
    other = draw(random_state=1)
    assert rows(other, 1) != rows(data, 1)
    assert rows(other, 0) != rows(data, 0)


def test_streams_do_not_share_draws():
    """Rows labeled first are not also those that are kept or dropped first."""
    X, y_true = classes(4_000, 4_000)
    data = simulate(X, y_true, n_labeled=2_000, **SCHEMES["overlap"], n_unlabeled=4_000)
    both = len(rows(data, 1) & rows(data, 0))
    assert both == pytest.approx(1_000, abs=4 * np.sqrt(250))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label_frequency": None}, "either label_frequency or n_labeled.*Got neither"),
        ({"n_labeled": 3}, "either label_frequency or n_labeled.*Got both"),
        ({"label_frequency": 0.01}, "at least one.*Got 0 true labels for 20 positives"),
        ({"label_frequency": 0}, "label_frequency to be a number above 0 and at most 1.*Got 0"),
        ({"label_frequency": 1.5}, "label_frequency to be a number above 0 and at most 1.*Got 1.5"),
        ({"label_frequency": "half"}, "label_frequency to be a number above 0.*Got 'half'"),
        ({"label_frequency": None, "n_labeled": 21}, "at most all.*21 true labels for 20"),
        ({"label_frequency": None, "n_labeled": 2.5}, "n_labeled to be a whole number"),
        ({"label_frequency": None, "n_labeled": 0}, "n_labeled to be a whole number"),
        ({"y_true": np.tile([1, -1], 20)}, "y_true to be 1 .*Got -1 in 20 of 40 rows"),
        ({"y_true": np.ones(40)}, "both classes.*Got 40 positive and 0 negative"),
        ({"y_true": np.tile([1, 0], 30)}, r"same rows. Got 60 classes for X of shape \(40, 1\)"),
        ({"mechanism": "scra"}, "knows no mechanism 'scra'. Did you mean 'scar'"),
        ({"mechanism": "S2"}, "Did you mean 's2'"),
        ({"variant": "papers"}, "needs variant to be one of .*Got 'papers'. Did you mean 'paper'"),
        ({"mechanism": lambda X, p: p}, "neither label_frequency nor n_labeled"),
        ({"mechanism": lambda X, p: p * 0, "label_frequency": None}, r"in \(0, 1\].*Got 0"),
        ({"mechanism": lambda X, p: p[:3], "label_frequency": None}, "Got 40 and 3"),
        ({"mechanism": lambda X, p: p * 0 + 1e-9, "label_frequency": None}, "none of 20 positives"),
        ({"mechanism": "s2", "posterior": np.full(40, 1.2)}, r"posterior in \[0, 1\].*Got 1.2"),
        ({"mechanism": "s2", "posterior": np.full(39, 0.2)}, "y_true and posterior"),
        ({"mechanism": "s2", "X": np.full((40, 1), "word")}, "could not fit the posterior"),
        ({"mechanism": "s2", "k": -1}, "k to be a number above 0.*Got -1"),
        ({"scheme": "cc"}, "scheme to be 'single-sample'.*Got cc"),
        ({"overlap": True}, "only in case-control data.*scheme='single-sample'"),
        ({"beta": 0}, "beta to be a number above 0 and at most 1.*Got 0"),
        ({"beta": 0.3}, "0 <= alpha < beta <= 1"),
        ({"label_frequency": 1.0, "scheme": "case-control"}, "rows that stay unlabeled"),
        ({"prior_shift": 1.0}, "prior_shift to be a number of at least 0 and below 1.*Got 1"),
        ({"prior_shift": 0.001}, "cannot reach prior_shift=0.001.*10 positive and 20 negative"),
        ({"prior_shift": 0.5, "label_frequency": 1.0}, "cannot reach prior_shift=0.5"),
        ({"prior_shift": 0.9, "n_unlabeled": 20}, "18 positives for 20.*10 are at hand"),
        ({"n_unlabeled": 31}, "needs 21 negatives for 31 unlabeled rows.*20 are at hand"),
        ({"n_unlabeled": 0}, "n_unlabeled to be a whole number"),
        (
            {"n_unlabeled": 30, "scheme": "case-control"},
            "needs 15 positives for 30.*10 are at hand",
        ),
        ({"random_state": "one"}, "random_state to be a whole number"),
    ],
)
def test_wrong_input_is_explained(options, message):
    X = options.pop("X", np.arange(40.0)[:, None])
    y_true = options.pop("y_true", np.tile([1, 0], 20))
    with pytest.raises(InvalidInputError, match=message) as caught:
        simulate(X, y_true, **{"label_frequency": 0.5, **options})
    assert str(caught.value).startswith("simulate ")
    assert "\n" not in str(caught.value).split("posterior on X")[0]


def test_wrong_labels_leave_positives_to_the_unlabeled_rows():
    X, y_true = classes(20, 40)
    data = simulate(X, y_true, n_labeled=22, beta=0.8, n_unlabeled=6, scheme="case-control")
    assert data.y_true[data.s == 1].sum() == 18
    assert data.truth.alpha == 2 / 6


def test_all_rows_labeled_is_explained():
    X, y_true = classes(10, 2)
    with pytest.raises(InvalidInputError, match="all 12 rows got a label"):
        simulate(X, y_true, n_labeled=12, beta=0.8333)
    with pytest.raises(InvalidInputError, match="needs 4 negatives to label wrongly, and 2"):
        simulate(X, y_true, n_labeled=10, beta=0.6)


def test_names_are_listed():
    assert list(MECHANISMS) == ["scar", "s1", "s2", "s3", "s4"]
