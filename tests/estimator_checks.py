"""The checks of scikit-learn, with the failures that a learner of PU data cannot avoid."""

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

LABELS = "uses labels other than 1, 0 and -1, which mean something here"
NAME = "passes the labels by the name y; they are s here, so that nobody takes them for the truth"
EXPECTED_FAILURES = {
    "check_fit_score_takes_y": NAME,
    "check_estimators_dtypes": LABELS,
    "check_classifier_data_not_an_array": LABELS,
    "check_classifiers_classes": LABELS,
    "check_fit2d_1feature": LABELS,
    "check_sample_weights_pandas_series": LABELS,
    "check_sample_weights_not_an_array": LABELS,
    "check_sample_weights_shape": LABELS,
    "check_sample_weights_not_overwritten": LABELS,
    "check_sample_weight_equivalence_on_dense_data": LABELS,
    "check_sample_weight_equivalence_on_sparse_data": LABELS,
}


def _name(check):
    return getattr(check, "func", check).__name__


def each_check(model):
    """Parametrize a test with (estimator, check) for every check that scikit-learn has."""
    # Array API input is checked by scikit-learn only under SCIPY_ARRAY_API=1; numpy is what we
    # take.
    checks = [
        (estimator, check)
        for estimator, check in estimator_checks_generator(model)
        if _name(check) != "check_array_api_input"
    ]
    return pytest.mark.parametrize(
        ("estimator", "check"), checks, ids=[_name(check) for _, check in checks]
    )


def passes_unless_expected(estimator, check, expected_failures=EXPECTED_FAILURES):
    """Run a check, which must fail if, and only if, it is listed with a reason."""
    if _name(check) not in expected_failures:
        check(estimator)
    else:
        with pytest.raises(Exception):  # noqa: B017, PT011 - each reason is in expected_failures
            check(estimator)
