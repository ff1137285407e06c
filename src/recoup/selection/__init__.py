"""Are labels a random sample of the positives, and what if they are not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recoup._core.lazy import names_from

if TYPE_CHECKING:
    from recoup.selection.scar import ScarTest, scar_test
    from recoup.selection.sensitivity import SelectionSensitivity, selection_sensitivity
    from recoup.selection.tipping import TippingPoint

__all__ = ["ScarTest", "SelectionSensitivity", "TippingPoint", "scar_test", "selection_sensitivity"]

__getattr__, __dir__ = names_from(
    __name__,
    {
        "ScarTest": "scar",
        "SelectionSensitivity": "sensitivity",
        "TippingPoint": "tipping",
        "scar_test": "scar",
        "selection_sensitivity": "sensitivity",
    },
)
