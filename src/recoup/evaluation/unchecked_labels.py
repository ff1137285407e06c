"""What the numbers would be if some labels were wrong, where nobody said that all are right."""

from __future__ import annotations

from collections.abc import Mapping

from recoup._core.notes import Note
from recoup._core.text import show_number
from recoup.evaluation.estimates import Estimate


def unchecked_labels_note(
    metrics: Mapping[str, Estimate], if_wrong: Mapping[str, float]
) -> Note | None:
    """Say what a tenth of wrong labels would do to the numbers.

    Only numbers that would move by more than half the width of their interval are named: for the
    others the interval says enough.

    Parameters
    ----------
    metrics : mapping of str to Estimate
        The numbers if every label is right, by key of the metric.
    if_wrong : mapping of str to float
        The same numbers with beta=0.9, by key; those that could not be recovered are NaN.

    Returns
    -------
    Note or None
        None where no interval would be left.

    Examples
    --------
    >>> auc = Estimate("roc_auc", "AUC", 0.80, 0.88, 0.88, 0.86, 0.90)
    >>> print(unchecked_labels_note({"roc_auc": auc}, {"roc_auc": 0.93}))
    All labels were taken as right. If a tenth of them were wrong: AUC 0.930 instead of 0.880. ...
    >>> unchecked_labels_note({"roc_auc": auc}, {"roc_auc": 0.89})
    """
    moved = []
    for key, value in if_wrong.items():
        item = metrics[key]
        # False where either is NaN.
        if abs(value - item.recovered) > (item.upper - item.lower) / 2:
            shown = show_number(value), show_number(item.recovered)
            moved.append(f"{item.label} {shown[0]} instead of {shown[1]}")
    if not moved:
        return None
    return Note(
        "labels-unchecked",
        f"All labels were taken as right. If a tenth of them were wrong: {', '.join(moved)}. Have "
        f"some labels checked, and pass the share that is right as beta.",
    )
