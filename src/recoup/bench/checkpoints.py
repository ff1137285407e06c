"""Keep the weights of a run whenever they are the best so far."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from recoup._core.files import writing
from recoup._core.optional import require

if TYPE_CHECKING:
    from recoup.learners._training.moments import Moment


def keeping(folder: str | Path, run: str) -> Callable[[Moment], None]:
    """Return what writes the weights of a moment to a file, if they are the best so far.

    Parameters
    ----------
    folder : str or Path
        Where to write; it is made if need be.
    run : str
        The name of the run. Its file is ``RUN.safetensors``, in which better weights take the
        place of those before at once: whoever reads it finds either.

    Returns
    -------
    callable
        Takes a moment of a fit.
    """
    place = Path(folder) / f"{run}.safetensors"

    def keep(moment: Moment) -> None:
        if not moment.best:
            return
        torch_file = require(
            "safetensors.torch", purpose="bench run --checkpoints", install="'recoup[torch]'"
        )
        place.parent.mkdir(parents=True, exist_ok=True)
        weights = {name: part.contiguous() for name, part in moment.weights().items()}
        with writing(place) as (draft,):
            draft.write_bytes(torch_file.save(weights))

    return keep
