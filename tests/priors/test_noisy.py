import numpy as np
import pytest
from sklearn.base import clone

from recoup._core.registry import registered
from recoup.exceptions import InvalidInputError
from recoup.priors._solvers.resample import exchanged
from recoup.priors.alphamax import AlphaMax
from recoup.priors.bbe import BBE
from recoup.priors.conversions import unmixed_shares
from recoup.priors.noisy import AlphaMaxNoisy, NoisyPU
from recoup.scores.table import ScoreTable


def noisy_gaussians(seed, alpha, beta, *, n_labeled=2000, n_unlabeled=5000, gap=4.0):
    rng = np.random.default_rng(seed)
    s = np.repeat([1, 0], [n_labeled, n_unlabeled])
    positive = rng.random(len(s)) < np.where(s == 1, beta, alpha)
    return s, rng.normal(np.where(positive, gap, 0.0))


@pytest.mark.parametrize("estimator", [None, BBE(), AlphaMax()])
@pytest.mark.parametrize("alpha", [0.1, 0.3, 0.5])
def test_both_shares_are_found(estimator, alpha):
    s, scores = noisy_gaussians(1, alpha, 0.8)
    found = NoisyPU(estimator=estimator, interval=None, n_draws=30).fit_scores(s, scores).estimate_
    assert abs(found.alpha - alpha) < 0.08
    assert abs(found.beta - 0.8) < 0.08
    assert any("partly wrong" in text for text in found.warnings)


def test_mean_errors_over_repetitions():
    errors = []
    for seed in range(10):
        s, scores = noisy_gaussians(seed, 0.3, 0.8)
        found = NoisyPU(always=True, interval=None).fit_scores(s, scores).estimate_
        errors.append((found.alpha - 0.3, found.beta - 0.8))
    assert np.abs(errors).mean(axis=0) == pytest.approx([0, 0], abs=0.02)


@pytest.mark.parametrize("alpha", [0.25, 0.5])
def test_alphamax_in_both_directions(alpha):
    s, scores = noisy_gaussians(2, alpha, 0.8)
    found = AlphaMaxNoisy(interval=None).fit_scores(s, scores).estimate_
    assert abs(found.alpha - alpha) < 0.08
    assert abs(found.beta - 0.8) < 0.08
    wrapped = NoisyPU(estimator=AlphaMax(), always=True, interval=None).fit_scores(s, scores)
    assert (found.alpha, found.beta) == (wrapped.estimate_.alpha, wrapped.estimate_.beta)


def test_alphamax_finds_clean_labels_almost_clean():
    s, scores = noisy_gaussians(0, 0.3, 1.0)
    found = AlphaMaxNoisy(interval=None).fit_scores(s, scores).estimate_
    assert 0.98 < found.beta < 1
    assert found.kappa_2 < 0.02


def test_kappas_are_those_of_the_two_runs():
    s, scores = noisy_gaussians(3, 0.3, 0.8)
    found = NoisyPU(always=True, interval=None).fit_scores(s, scores).estimate_
    table = ScoreTable.from_arrays(s, scores)
    alone = BBE(interval=None)
    assert found.kappa_1 == alone.fit_scores(table).alpha_
    assert found.kappa_2 == alone.fit_scores(exchanged(table)).alpha_
    assert found.kappa_2 == alone.fit_scores(1 - s, -scores).alpha_
    assert (found.alpha, found.beta) == unmixed_shares(found.kappa_1, found.kappa_2)


def test_the_second_estimator_runs_with_exchanged_roles():
    s, scores = noisy_gaussians(3, 0.3, 0.8)
    found = NoisyPU(estimator=BBE(), second=AlphaMax(), always=True, interval=None)
    kappa_1, kappa_2 = (
        getattr(found.fit_scores(s, scores).estimate_, name) for name in ("kappa_1", "kappa_2")
    )
    assert kappa_1 == BBE(interval=None).fit_scores(s, scores).alpha_
    assert kappa_2 == AlphaMax(interval=None).fit_scores(1 - s, -scores).alpha_


def test_clean_labels_stay_clean():
    for seed in range(5):
        # Enough overlap for the second run to find something.
        s, scores = noisy_gaussians(seed, 0.3, 1.0, gap=2.5)
        found = NoisyPU(n_draws=40).fit_scores(s, scores).estimate_
        assert found.beta == 1.0
        assert found.alpha == found.kappa_1
        assert found.kappa_2 > 0.01
        assert any("all labels count as right" in text for text in found.warnings)
        assert (found.draws[:, 1] == 1.0).all()
        forced = NoisyPU(always=True, interval=None).fit_scores(s, scores).estimate_
        assert forced.beta < 1
        assert forced.alpha < found.alpha
        assert not any("count as" in text for text in forced.warnings)


def test_the_tolerance_decides():
    s, scores = noisy_gaussians(4, 0.3, 0.9)
    strict, lax = (
        NoisyPU(tolerance=tolerance, n_draws=40).fit_scores(s, scores).estimate_
        for tolerance in (0.05, 0.5)
    )
    assert strict.beta < 1
    assert lax.beta == 1
    assert (strict.kappa_1, strict.kappa_2) == (lax.kappa_1, lax.kappa_2)


@pytest.mark.parametrize("beta", [1.0, 0.95, 0.8])
def test_the_answer_does_not_depend_on_the_interval(beta):
    s, scores = noisy_gaussians(5, 0.3, beta)
    found, alone = (
        NoisyPU(interval=interval, n_draws=40).fit_scores(s, scores).estimate_
        for interval in ("subsample", None)
    )
    assert (found.alpha, found.beta, found.warnings) == (alone.alpha, alone.beta, alone.warnings)
    assert alone.draws is None
    assert alone.interval is None


@pytest.mark.parametrize("interval", ["subsample", "bootstrap"])
def test_draws_are_joint(interval):
    s, scores = noisy_gaussians(6, 0.3, 0.8)
    found = NoisyPU(interval=interval, n_draws=50).fit_scores(s, scores).estimate_
    assert found.draws.shape == (50, 2)
    assert (found.draws[:, 0] < found.draws[:, 1]).all()
    assert (found.draws <= 1).all()
    assert found.interval[0] <= found.alpha <= found.interval[1]
    again = NoisyPU(interval=interval, n_draws=50).fit_scores(s, scores).estimate_
    np.testing.assert_array_equal(found.draws, again.draws)


def test_draws_mostly_hold_the_truth():
    # 60 samples give 58 and 51 for intervals at 95%: a wrong scale would halve that.
    held = np.zeros(2)
    for seed in range(20):
        s, scores = noisy_gaussians(seed, 0.3, 0.8)
        draws = NoisyPU(n_draws=40).fit_scores(s, scores).estimate_.draws
        low, high = np.quantile(draws, [0.025, 0.975], axis=0)
        held += (low <= [0.3, 0.8]) & (high >= [0.3, 0.8])
        assert (high - low < 0.08).all()
    assert (held >= 15).all()


def test_draws_follow_one_branch():
    s, scores = noisy_gaussians(0, 0.3, 0.95, n_labeled=500)
    for tolerance in (0.0, 0.3):
        draws = NoisyPU(tolerance=tolerance).fit_scores(s, scores).estimate_.draws
        assert np.mean(draws[:, 1] == 1.0) in (0.0, 1.0)


def test_rows_that_are_alike_are_refused():
    s, scores = np.repeat([1, 0], [100, 1000]), np.tile(np.arange(10.0), 110)
    for estimator in (NoisyPU(), NoisyPU(always=True), AlphaMaxNoisy()):
        name = type(estimator).__name__
        with pytest.raises(InvalidInputError, match=f"{name} needs labeled.* kappa_2") as error:
            estimator.fit_scores(s, scores)
        assert "\n" not in str(error.value)


def test_draws_that_are_alike_do_not_stop_the_rest():
    s, scores = noisy_gaussians(0, 0.5, 0.6, n_labeled=120, n_unlabeled=150, gap=0.8)
    found = NoisyPU(always=True, n_draws=100).fit_scores(s, scores).estimate_
    assert np.isfinite(found.draws).all()


def test_features_are_scored_once_for_both_directions():
    s, scores = noisy_gaussians(0, 0.3, 0.8, n_labeled=500, n_unlabeled=2000)
    noise = np.random.default_rng(1).normal(size=len(s))
    found = NoisyPU(transform="logistic", n_draws=20).fit(np.column_stack([scores, noise]), s)
    assert abs(found.alpha_ - 0.3) < 0.08
    assert abs(found.estimate_.beta - 0.8) < 0.08
    refit = NoisyPU(transform="logistic", interval="refit", n_draws=3).fit(scores[:, None], s)
    assert refit.estimate_.draws.shape == (3, 2)
    assert refit.estimate_.interval_method == "refit"


def test_parameters_reach_the_inner_estimator():
    wrapper = NoisyPU(estimator=BBE(), second=AlphaMax())
    wrapper.set_params(estimator__delta=0.2, second__mirror=True, tolerance=0.1)
    assert wrapper.estimator.delta == 0.2
    assert wrapper.get_params()["second__mirror"] is True
    copy = clone(wrapper)
    assert copy.estimator is not wrapper.estimator
    assert copy.get_params()["estimator__delta"] == 0.2
    assert (copy.tolerance, copy.always) == (0.1, False)
    assert clone(AlphaMaxNoisy(mirror=True)).get_params()["mirror"] is True


def test_inner_parameters_matter():
    s, scores = noisy_gaussians(0, 0.3, 0.8, gap=2.0)
    options = {"always": True, "interval": None}
    loose, strict = (
        NoisyPU(estimator=BBE(delta=delta), **options).fit_scores(s, scores).estimate_
        for delta in (0.9, 1e-12)
    )
    assert loose.kappa_1 != strict.kappa_1


def test_the_given_estimator_stays_untouched():
    inner = BBE(delta=0.2)
    before = inner.get_params()
    wrapper = NoisyPU(estimator=inner, n_draws=10).fit_scores(*noisy_gaussians(0, 0.3, 0.8))
    assert wrapper.estimator is inner
    assert inner.get_params() == before
    assert not hasattr(inner, "estimate_")


@pytest.mark.parametrize(
    "options",
    [
        {"estimator": "bbe"}, {"estimator": BBE}, {"second": NoisyPU()},
        {"estimator": AlphaMaxNoisy()}, {"tolerance": -0.1}, {"tolerance": 1.0},
    ],
)  # fmt: skip
def test_options_that_cannot_work(options):
    with pytest.raises(InvalidInputError, match=next(iter(options))) as error:
        NoisyPU(**options).fit_scores(*noisy_gaussians(0, 0.3, 0.8))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("estimator", [NoisyPU(), AlphaMaxNoisy()])
@pytest.mark.parametrize(
    ("s", "scores", "message"),
    [
        (np.repeat([1, 0], [10, 100]), np.arange(110.0), "at least 20 labeled"),
        (np.repeat([1, 0], 100), np.ones(200), "rows that differ"),
        (np.zeros(200), np.arange(200.0), "labeled and unlabeled rows"),
        (np.repeat([1, 0], 100), np.r_[np.nan, np.arange(199.0)], "finite"),
    ],
)
def test_bad_input(estimator, s, scores, message):
    with pytest.raises(InvalidInputError, match=message):
        estimator.fit_scores(s, scores)


def test_curve_shows_both_directions_where_they_share_an_axis():
    s, scores = noisy_gaussians(0, 0.3, 0.8)
    found = AlphaMaxNoisy(interval=None).fit_scores(s, scores).estimate_
    assert next(iter(found.curve.lines)) == "log-likelihood"
    assert list(found.curve.lines)[-1] == "log-likelihood, roles exchanged"
    assert found.curve.marker == found.kappa_1
    with_bbe = NoisyPU(always=True, interval=None).fit_scores(s, scores).estimate_
    assert next(iter(with_bbe.curve.lines)) == "ratio"


def test_both_are_registered():
    known = registered("priors")
    assert known["noisy-pu"] is NoisyPU
    assert known["alphamax-noisy"] is AlphaMaxNoisy
    assert NoisyPU.tags.wraps
    assert NoisyPU.tags.finds_beta
    assert AlphaMaxNoisy.tags.finds_beta
