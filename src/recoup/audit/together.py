"""Labels and audit together: pulled toward the labels, but no farther than chance explains."""

from __future__ import annotations

import numpy as np

# Farthest pull, in standard errors of the audited value.
FARTHEST = 1.0


def combined(audited: float, error: float, from_labels: float, label_error: float) -> float:
    r"""Move the audited value toward that of the labels (limited translation).

    :math:`\theta_A + clip(w (\theta_L - \theta_A), \pm\kappa\,se_A)`, where w is the weight of the
    labels by the two errors and by how far the values lie apart.

    Parameters
    ----------
    audited : float
        By the checked rows.
    error : float
        Its standard error.
    from_labels : float
        By the labels alone.
    label_error : float
        Its standard error.

    Returns
    -------
    float
        The audited value where the labels give none.

    Examples
    --------
    >>> combined(0.50, 0.10, 0.52, 0.01), combined(0.50, 0.01, 0.90, 0.01)
    (0.5198, 0.50025)
    """
    if not np.isfinite([audited, error, from_labels, label_error]).all() or error <= 0:
        return audited
    gap = from_labels - audited
    # What the gap says about the error of the labels beyond chance.
    beyond = max(gap**2 - error**2 - label_error**2, 0.0)
    weight = error**2 / (error**2 + label_error**2 + beyond)
    return float(audited + np.clip(weight * gap, -FARTHEST * error, FARTHEST * error))
