"""How numbers are written for people: no exponents, and a dash where there is none.

``report/shared/words.js`` writes the numbers of pages by the same rules.
"""

from __future__ import annotations

import math

import numpy as np

DASH = "\N{EN DASH}"
SIGNED = "+.3f"
"""The style of differences."""


def show_number(value: float | None, style: str = "") -> str:
    """Write a number; a dash where there is none.

    The style is that of :func:`format`, by default three decimals, fewer for large numbers and two
    digits below a hundredth, so that rare positives do not all show as 0.001.

    Examples
    --------
    >>> [show_number(value) for value in (0.12345, 12345.6, 0.00123, 0.00001234, 0, float("inf"))]
    ['0.123', '12,346', '0.0012', '0.000012', '0.000', '∞']
    >>> show_number(0.25, SIGNED)
    '+0.250'
    >>> show_number(float("nan")) == DASH
    True
    """
    if value is None or math.isnan(value):
        return DASH
    if math.isinf(value):
        return "\N{INFINITY}" if value > 0 else "-\N{INFINITY}"
    size = abs(value)
    if not style and 0 < size < 0.01:
        return show_digits(value, 2)
    # A negative zero becomes a plain one.
    return format(value + 0.0, style or (",.0f" if size >= 1000 else ".3f"))


def show_range(low: float | None, high: float | None, style: str = "") -> str:
    """Write an interval as "0.940 to 0.980"; a dash where there is none."""
    ends = show_number(low, style), show_number(high, style)
    return DASH if DASH in ends else f"{ends[0]} to {ends[1]}"


def show_digits(value: float, count: int = 3) -> str:
    """Write a number with so many significant digits.

    Examples
    --------
    >>> show_digits(0.123456), show_digits(0.5), show_digits(12345.0), show_digits(1.234e-05, 2)
    ('0.123', '0.5', '12300', '0.000012')
    """
    return np.format_float_positional(float(f"{value:.{count}g}") + 0.0, trim="-")


def show_short(value: float) -> str:
    """Write a number for a legend: three digits, and all before the point."""
    return show_digits(value) if abs(value) < 1000 else show_count(value)


def show_p(p_value: float | None, digits: int | None = None) -> str:
    """Write a p-value with three decimals, or so many digits; very small ones only as such.

    Examples
    --------
    >>> show_p(0.25), show_p(0.25, 2), show_p(0.00001)
    ('0.250', '0.25', '< 0.001')
    """
    if p_value is not None and p_value < 0.001:
        return "< 0.001"
    if p_value is None or math.isnan(p_value) or digits is None:
        return show_number(p_value, ".3f")
    return show_digits(p_value, digits)


def say_p(p_value: float) -> str:
    """Write a p-value in a sentence.

    Examples
    --------
    >>> say_p(0.0123), say_p(0.00001)
    ('p = 0.012', 'p < 0.001')
    """
    shown = show_p(p_value, 2)
    return f"p {shown}" if shown.startswith("<") else f"p = {shown}"


def show_percent(share: float) -> str:
    """Write a share such as a confidence level as a percentage.

    Examples
    --------
    >>> show_percent(0.95), show_percent(0.999), show_percent(1 / 3)
    ('95%', '99.9%', '33.33%')
    """
    return f"{show_digits(100 * share, 4)}%"


def whole_percent(share: float) -> int:
    """Round as the page's script does: halves up."""
    return math.floor(100 * share + 0.5)


def show_share(share: float | None) -> str:
    """Write a share in percent; a dash where there is none.

    Whole percent, halves up. Below one percent it has two digits, and close to all it has a
    decimal, so that a share shows as 0% or 100% only where it is none or all.

    Examples
    --------
    >>> [show_share(share) for share in (0.125, 0.00079, 0, 0.9968, 0.99999, 1)]
    ['13%', '0.079%', '0%', '99.7%', '>99.9%', '100%']
    """
    if share is None or math.isnan(share):
        return DASH
    if 0 < share < 0.01:
        return f"{show_digits(100 * share, 2)}%"
    if 0.995 <= share < 1:
        return f"{100 * share:.1f}%" if share < 0.9995 else ">99.9%"
    return f"{whole_percent(share)}%"


def show_share_range(low: float | None, high: float | None) -> str:
    """Write an interval of shares in percent; a dash where there is none."""
    ends = show_share(low), show_share(high)
    return DASH if DASH in ends else f"{ends[0]} to {ends[1]}"


def show_count(rows: float) -> str:
    """Write how many; weights may make it a fraction, which is left out."""
    return f"{rows:,.0f}"


def show_bytes(size: float) -> str:
    """Write an amount of memory."""
    return f"{size / 1e9:,.2f} GB"


def show_seconds(seconds: float) -> str:
    """Write a span of time.

    Examples
    --------
    >>> [show_seconds(span) for span in (42, 130, 8000, 400_000)]
    ['42 s', '2 min', '2 h 13 min', '4 days 15 h']
    """
    minutes, hours = seconds / 60, seconds / 3600
    if seconds < 100:
        return f"{seconds:.0f} s"
    if hours < 1.5:
        return f"{minutes:.0f} min"
    if hours < 48:
        return f"{int(hours)} h {int(minutes) % 60} min"
    return f"{int(hours / 24)} days {int(hours) % 24} h"
