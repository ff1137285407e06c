"""Hide labels on purpose: turn rows of known class into PU data whose truth is known.

A simulation has a scheme (where unlabeled rows come from), a mechanism (which positives get a
label), and perhaps noise among the labels or a shifted prior. Each draws from a random stream of
its own, so that changing one option leaves the other draws as they were.
"""

from recoup.simulation.mechanisms import MECHANISMS
from recoup.simulation.schemes import simulate

__all__ = ["MECHANISMS", "simulate"]
