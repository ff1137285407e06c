"""Notes: a sentence for people, and a code for programs that act on it."""

from __future__ import annotations

from collections.abc import Iterable

CODES = {
    # About an evaluation or a comparison.
    "infeasible-prior": "alpha and beta are more than the scores allow",
    "out-of-range": "recovered values left their range by more than sampling error explains",
    "clipped": "recovered values left their range; sampling error can explain that",
    "few-rows": "too few rows for intervals, estimates or tests to be relied on",
    "constant-scores": "all scores are equal",
    "binned": "scores were grouped into bins",
    "chosen-threshold": "the threshold was chosen on the rows that it is judged by",
    "labeled-probability": "the scores are chances of having a label, not of being positive",
    "leak": "the scores know the labels, as those of training rows do",
    "inverted": "labeled rows score lower than unlabeled ones",
    "labels-unchecked": "a few wrong labels would move the numbers by more than their intervals",
    "shared-prior": "alpha is the same for all models, estimated from the scores of one",
    "own-cuts": "each model has a threshold of its own, chosen on the rows that it is judged by",
    "unequal-cuts": "tied scores do not let all models be cut alike",
    "audit-top": "only the rows with the highest scores were checked",
    "audit-missing": "some checked rows have no answer",
    "labels-biased": "checked rows show that labels favor some scores",
    # About a promise.
    "promise-labels": "the promise holds if labels are a random sample of the positives",
    "promise-propensity": "the promise holds if the given propensities do",
    "promise-audit": "the promise holds whatever the labels are, by the draw of checked rows",
    "no-threshold": "no threshold keeps the promise, and what would help",
    # About groups of rows.
    "small-groups": "some groups have too few labels to speak for themselves",
    "scores-differ": "the same score stands for more positives in some groups than in others",
    "labeled-unevenly": "groups are labeled at different rates, so that the pooled table is off",
    "audit-elsewhere": "checked rows lie in some groups only",
    # About numbers week by week.
    "times-odd": "some labels have no time, or one before their row",
    "delays-by-score": "labels of high scores take longer or shorter than those of low ones",
    "delays-by-time": "labels take longer or shorter than they did",
    "never-observable": "no row with such a score could get a label",
    "no-alarms": "too few periods or labels to compare the latest periods with",
    "label-frequency-estimated": "the label frequency was estimated from the labels themselves",
    # About an estimate of alpha, or the test of labels at random.
    "alone": "many labeled rows lie where there are no unlabeled ones",
    "flat": "the criterion hardly depends on alpha",
    "rival": "another alpha fits almost as well",
    "edge": "the estimate lies at the end of what the method can find",
    "disagreement": "the ways to estimate alpha disagree",
    "undetermined": "the scores hardly determine alpha",
    "wrong-labels": "some labels look wrong",
    "kinds": "kinds of positives are labeled at different rates",
    "tilt": "labels favor positives by how positive they look",
    "right-labels": "all labels count as right",
    "uninformative-scores": "the scores hardly tell labeled from unlabeled rows",
    "fallback": "the method fell back to a value that it does not stand for",
    "not-converged": "the method did not settle",
    "same-features": "class and labeling cannot be told apart by the same features",
    "no-groups": "the rows show no groups",
    "doubt": "an estimator's own words, without a code of their own",
    "alpha-estimated": "alpha was estimated from the labels that are tested",
    # About a learner.
    "negatives-unused": "known negatives were left out: the learner has no use for them",
    "alpha-unweighted": "alpha was estimated from rows that count alike, though they have weights",
    # About a run of a benchmark that is skipped.
    "selects-nothing": "the learner selects no weights, so that its honest run stands in",
    "not-installed": "there is no such learner here",
    "no-classes": "the learner needs true classes, which the file does not have",
    "other-scheme": "the learner is made for another design of the data",
    "true-propensities": "the learner needs what nobody has",
}
"""Every code, and what it means."""


class Note(str):
    """A sentence with a code. It is a text, so that it prints and compares as one.

    Parameters
    ----------
    code : str
        One of ``CODES``. It stays the same when the words change.
    text : str
        What a person reads.

    Examples
    --------
    >>> note = Note("few-rows", "Only 12 labeled rows.")
    >>> note, note.code, note.about("model a")
    ('Only 12 labeled rows.', 'few-rows', 'model a: Only 12 labeled rows.')
    """

    __slots__ = ("code",)
    code: str

    def __new__(cls, code: str, text: str) -> Note:
        """Make a note whose code is known."""
        if code not in CODES:
            raise KeyError(f"unknown code of a note: {code!r}")
        note = super().__new__(cls, text)
        note.code = code
        return note

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]
        """Let copies and other processes have the code too."""
        return self.code, str(self)

    @classmethod
    def each(cls, texts: Iterable[str]) -> tuple[Note, ...]:
        """Take notes as they are, and plain texts as doubts."""
        return tuple(text if isinstance(text, Note) else cls("doubt", text) for text in texts)

    def about(self, subject: str) -> Note:
        """Say what the note is about, in front of it."""
        return Note(self.code, f"{subject}: {self}")

    def to_dict(self) -> dict[str, str]:
        """Return code and text as plain values."""
        return {"code": self.code, "text": str(self)}
