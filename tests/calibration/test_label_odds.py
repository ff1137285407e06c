import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from recoup.calibration.label_odds import LabelOdds

share = st.floats(0.01, 0.99)


@given(alpha=share, beta=st.floats(0.02, 1.0), q=share, ratio=st.floats(0.01, 10.0))
def test_odds_and_shift_agree_with_the_counts_of_a_mixture(alpha, beta, q, ratio):
    assume(beta > alpha + 0.01)
    # At one score: unlabeled rows of density one, of which a share q is positive.
    positives, negatives = q / alpha, (1 - q) / (1 - alpha)
    labeled = ratio * (beta * positives + (1 - beta) * negatives)
    right = ratio * beta * positives
    odds = LabelOdds.of(alpha, beta, ratio, 1.0)
    assert odds.at(q) == pytest.approx(labeled)
    share_of_all = (q + right) / (1 + labeled)
    moved = np.log(q / (1 - q)) + odds.shift("single-sample")
    assert 1 / (1 + np.exp(-moved)) == pytest.approx(share_of_all)
    assert odds.shift("case-control") == 0
