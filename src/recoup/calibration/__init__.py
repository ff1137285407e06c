"""Chances of being positive: for any score, for rows never seen, and who the suspects are."""

from recoup.calibration.calibrate import calibrate
from recoup.calibration.results import Calibration
from recoup.calibration.suspect_list import Suspects
from recoup.calibration.suspects import suspects

__all__ = ["Calibration", "Suspects", "calibrate", "suspects"]
