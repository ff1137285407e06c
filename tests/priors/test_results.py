"""What an estimate says of itself."""

from recoup.priors import PriorEstimate


def test_a_prior_without_rows_has_no_shares_of_them():
    plain = PriorEstimate(0.2, method="given").to_dict()
    assert plain["alpha_all"] is None
    assert plain["label_frequency"] is None
    assert plain["alpha"] == 0.2
