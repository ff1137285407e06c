"""The sentences, limits and rules of a page, for Python and for the page's script."""

from __future__ import annotations

from dataclasses import dataclass

from recoup._core.relative_limits import MANY_TIMES
from recoup.evaluation.next_step import OPEN_ROOM, OPEN_TIMES, WIDE
from recoup.evaluation.out_of_range import FAR

# Here and nowhere else: the page's script fills these again when a reader moves a slider.
PHRASES = {
    "none_of_ten": "none",
    "few_of_ten": "fewer than 1",
    "about_of_ten": "about {count}",
    "many_of_ten": "more than 9",
    "all_of_ten": "all 10",
    "of_ten": "{count} of 10",
    "found": "At this threshold the model finds {count} positives ({share}).",
    "unknown_recall": "How many positives the model finds cannot be recovered at this threshold.",
    "right": "Of {rows} rows that it flags, {count} are really positive ({share}).",
    "none_flagged": "At this threshold the model flags nothing. Choose a lower one.",
    "unknown_precision": "How many of the rows it flags are positive cannot be recovered at this "
    "threshold.",
    "naive": "Counting unlabeled rows as negative would have said {pu}, {gap} points too {side}.",
    "naive_small": "Counting unlabeled rows as negative would have said {pu}.",
    "naive_same": "Counting unlabeled rows as negative would have said about the same, {pu}.",
    "between": "{value}, between {low} and {high}",
    "exceeded": "These shares of positives do not fit the scores: at {confidence} confidence they "
    "allow alpha up to {alpha_upper} and beta from {beta_lower}, and alpha is {alpha}, beta "
    "{beta}.",
    "near": "Alpha {alpha} is about the most that the scores allow ({alpha_upper}): the numbers "
    "are as good as they can be, and worse if fewer positives hide among the unlabeled rows.",
    "within": "The share of positives among the unlabeled rows, {alpha}, is one that the scores "
    "allow (up to {alpha_upper}).",
    "stretch_red": "The labeled and the unlabeled rows hold nearly the same share of positives, so "
    "that little can be told: intervals are about {times} times as wide as with true classes.",
    "stretch_amber": "The labeled and the unlabeled rows hold similar shares of positives: "
    "intervals are {times} times as wide as with true classes.",
    "stretch_green": "Positives among the unlabeled rows make intervals {times} times as wide as "
    "with true classes; the intervals here include that.",
    "partly": "Part of the range of alpha, up to {alpha_high}, is more than the scores allow "
    "({alpha_upper} at {confidence} confidence).",
    "clipped_red": "Some values came out impossible and were cut off at their limit ({outside}); "
    "sampling error does not explain that.",
    "clipped_amber": "Some values came out impossible and were cut off at their limit ({outside}); "
    "sampling error may explain that.",
    "leak": "The scores seem to know the labels, as those of training rows do: hardly any "
    "unlabeled rows score like the upper half of the labeled ones.",
    "wide": "The data leave much open: the interval of {wide} is wide.",
    "open": "What nobody has checked leaves more open than the intervals say: if {open}, "
    "{open_figures}. {narrows}",
    "open_alpha": "alpha is any that the scores allow",
    "open_beta": "up to a tenth of the labels is wrong",
    "open_labels": "labels favor high or low scores with odds of up to {odds}",
    "narrows_alpha": "Looking at some unlabeled rows by hand would narrow that.",
    "narrows_beta": "Looking at some labeled rows by hand would narrow that.",
    "narrows_both": "Looking at some rows by hand, labeled and unlabeled, would narrow that.",
    "labels_unknown": "Nobody has said how labels came about. {ranges}Rows checked by hand "
    "tell, about {rows} to begin with (recoup audit plan). If the labeled rows are a random "
    'sample of the positives, say so: labels_are="random", or --labels-are random.',
    "labels_biased": "The labeled rows are said not to be a random sample of the positives: "
    "numbers from labels alone do not hold. {ranges}Check about {rows} rows by hand (recoup audit "
    "plan), or give the chance of each row to be labeled if positive (propensity=).",
    "odds_included": "What the numbers could be includes labels that favor high or low scores, "
    "with odds up to {odds} times as high at one end as at the other. ",
    "odds_left_out": "What the numbers could be does not include labels that favor some scores, "
    "since some labels are wrong. ",
    "odds_supposed": "labels that favor {side} scores, with odds of {odds}",
    "odds_random": "labels that are a random sample",
    "odds_no_interval": "Intervals at such odds take many draws: "
    "Evaluation.selection_sensitivity has them.",
    "odds": "How many times as high the odds of a label are at the highest scores as at the "
    "lowest: 1 is a random sample of the positives, above 1 labels favor high scores, below 1 low "
    "ones. Alpha stays where its slider is.",
    "open_figure": "{label} could be {range}",
    "could_be": "Could be {range} if {open}.",
    "alpha_given": "Alpha was given, not estimated from these scores: the numbers are as good as "
    "it.",
    "alpha_implied": "Alpha follows from the propensities, not estimated from these scores: the "
    "numbers are as good as it.",
    "hidden_between": "between {low} and {high}",
    "reliability": "Reliability: ",
    "reliability_if": "Reliability, if this holds: ",
    "flagged": "Rows with at least this score are flagged.",
    "alpha_span": "alpha from 0 to {top}",
    "used": "used",
    "reliability_labels": "Reliability of the labels alone: ",
    "go_by_audit": "Go by the audited numbers.",
    "check_more": "Go by the audited numbers, or check more rows.",
    "tile_checked": "{about}; by {rows} checked rows and the labels",
    "tile_bounds": "{about}; all that {rows} checked rows from the top allow",
    "headline_checked": "These numbers rest on {rows} rows that were checked by hand.",
    "audit_stays": " What was audited does not move.",
    "copied": "Copied.",
    "copy_by_hand": "Marked: now copy it with the keyboard.",
}
# Title, words below it.
HIDDEN_FIGURE = ("Hidden positives", "positives among the {rows} unlabeled rows")
# Title, words below it, and whether the number is shown in percent.
TITLE_FIGURES = {
    "recall": ("Positives found", "recall at the threshold", True),
    "precision": ("Flagged rows that are positive", "precision at the threshold", True),
    "roc_auc": ("Quality of the ranking", "AUC: 0.5 is chance, 1 is perfect", False),
}
# From worst to best; the light shows the worst but for notes, which only inform.
LEVELS = {
    "red": "speaks against it",
    "amber": "take care",
    "green": "speaks for it",
    "note": "note",
}
LIGHTS = {"red": "do not rely on this", "amber": "use with care", "green": "good"}
LIMITS = {
    # Errors of the observed rates grow by 1 / (beta - alpha): beyond these, threefold and tenfold.
    "narrow_gap": 1 / 3,
    "tiny_gap": 0.1,
    # From so many times on, that is worth saying.
    "noticed": 1.25,
    # From so many times the largest alpha on, alpha counts as close to it.
    "near": 0.95,
    # Shares below and from these on are not rounded to none of ten or all ten.
    "few": 0.05,
    "many": 0.95,
    # A wider interval leaves much open, and one whose ends differ by so many times.
    "wide": WIDE,
    "many_times": MANY_TIMES,
    # An interval so far outside the range of its metric is no matter of chance.
    "far": FAR,
    # A range of what is possible is much wider than the interval: by this factor, and this much.
    "open_times": OPEN_TIMES,
    "open_room": OPEN_ROOM,
}


@dataclass(frozen=True)
class LightRule:
    """When a reason holds: one fact is larger than another.

    Of the rules with the same code, the first that holds gives the reason. Python and the page's
    script read the same rules and the same facts (:func:`recoup.report.page.light.facts_of`).

    Attributes
    ----------
    code : str
        What the reason is about.
    level : {"red", "amber", "green", ""}
        What it says of the numbers. Empty where there is nothing to say.
    phrase : str
        Key of its sentence.
    larger : str
        The fact, or the limit, that has to be larger. Empty where the rule always holds.
    than : str
        The one that has to be smaller. Empty stands for zero.
    """

    code: str
    level: str
    phrase: str
    larger: str = ""
    than: str = ""


RULES = (
    LightRule("limits", "red", "exceeded", "exceeded"),
    LightRule("limits", "amber", "partly", "alpha_high", "alpha_upper"),
    # Clipping says what is wrong with an alpha that the ranking as a whole allows.
    LightRule("limits", "", "", "n_beyond"),
    LightRule("limits", "amber", "near", "alpha", "near_from"),
    LightRule("limits", "green", "within"),
    LightRule("stretch", "red", "stretch_red", "tiny_gap", "gap"),
    LightRule("stretch", "amber", "stretch_amber", "narrow_gap", "gap"),
    LightRule("stretch", "green", "stretch_green", "times", "noticed"),
    LightRule("clipping", "red", "clipped_red", "n_beyond"),
    LightRule("clipping", "amber", "clipped_amber", "n_outside"),
    LightRule("width", "amber", "wide", "n_wide"),
    LightRule("scores", "amber", "leak", "leaks"),
    LightRule("open", "amber", "open", "n_open"),
    LightRule("selection", "red", "labels_biased", "biased_open"),
    LightRule("selection", "amber", "labels_biased", "said_biased"),
    LightRule("selection", "amber", "labels_unknown", "said_unknown"),
)
