"""Errors and warnings that recoup raises."""


class RecoupError(Exception):
    """Base of every error recoup raises on purpose."""


class InvalidInputError(RecoupError, ValueError):
    """Input that cannot work; the message names it, the rule it breaks and the remedy."""


class MissingDependencyError(RecoupError, ImportError):
    """An optional package is needed and not installed; the message says how to install it."""


class RecoupWarning(UserWarning):
    """Base of every warning recoup gives."""


class ClippedEstimateWarning(RecoupWarning):
    """A recovered value fell outside its range: evidence that alpha or beta is wrong."""


class InfeasiblePriorWarning(RecoupWarning):
    """The given alpha exceeds what the scores themselves allow."""


class LearnerWarning(RecoupWarning):
    """A fit has failed as far as labels can show it, or left rows out; ``code`` says what.

    Parameters
    ----------
    message : str
        Which learner, what was found, and what to do.
    code : str, default=""
        The code of the learner's ``health_``, or of a note.
    """

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code
