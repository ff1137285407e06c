"""When an interval of a share leaves much open, however small the share is."""

from __future__ import annotations

# An upper limit of so many times the lower one leaves the size of a share open.
MANY_TIMES = 3.0


def is_wide(low: float, high: float, widest: float) -> bool:
    """Say whether an interval of a share leaves much open.

    A width that matters is the same for any share around one half, but shares of a few percent
    have narrow intervals even where nothing is known: those are compared by their ratio.

    Parameters
    ----------
    low, high : float
        Limits of the interval; NaN where there is none.
    widest : float
        Width from which any interval is wide.

    Returns
    -------
    bool
        False without an interval.

    Examples
    --------
    >>> is_wide(0.45, 0.55, widest=0.3), is_wide(0.3, 0.7, widest=0.3)
    (False, True)
    >>> is_wide(0.001, 0.02, widest=0.3), is_wide(0.009, 0.011, widest=0.3)
    (True, False)
    """
    return bool(high - low > widest or high > MANY_TIMES * low)
