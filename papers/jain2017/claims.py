"""What Jain, White and Radivojac 2017 say, held against what was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from papers.claims import changed
from papers.effects import exact, over_groups, share_of
from papers.experiment import Claim, Effect, Verdict
from papers.jain2017.measured import (
    EXAMPLE_AREAS,
    EXAMPLE_CLASSES,
    EXAMPLE_LABELS,
    EXAMPLE_SCORES,
    FEWEST_CELLS,
    FEWEST_ERRORS,
    FIGURE_ONLY,
    GAPS,
    LABELS,
    METHODS,
    PUBLISHED_P,
    SIGNIFICANT,
    SMALL_BESIDE,
    WAYS,
    Measured,
    contest,
)
from recoup._core.checks import FloatArray

SHARES = "errors of estimated alpha and beta"
SUPPLEMENT = "the curve of a supplement that is not at hand"
ABSENT = "not measured here"
FEW = "too few datasets to tell"
POOLED = "it took every repetition for a new dataset"
# Share of repetitions that stands for "always".
MOST = 0.95
# Methods and the sign of their errors that the paper sees.
SIGNS = {"IR": -1, "DR": -1, "IE": 1, "DE": 1}


def claims_on(measured: Measured) -> tuple[Claim, ...]:
    """Judge all claims."""
    return (*_exact_claims(measured), *_claims(measured))


def _verdict(holds: bool) -> Verdict:
    return "holds" if holds else "does not hold"


def _beyond(held: bool, effect: Effect, limit: float) -> tuple[Verdict, str, str]:
    """Judge what datasets like these leave open: verdict, cause and reason."""
    if effect.lower <= limit <= effect.upper:
        return (
            "cannot be told",
            FEW,
            f"On these datasets it {'holds' if held else 'does not hold'}; drawn over datasets, "
            f"the interval has {limit:g} in it.",
        )
    return _verdict(held), "" if held else SHARES, ""


def _where(measured: Measured, place: str, *, drawn: bool = False) -> str:
    n = len(measured.values("auc", "PU", measured.cells[0]))
    over = "; the interval is over datasets" if drawn else ""
    return f"{len(measured.datasets)} datasets, three betas, {n} repetitions ({place}){over}."


def _times(rows: FloatArray) -> float:
    """Median absolute error in the first column, as a multiple of that in the second."""
    return float(np.divide(*np.median(np.abs(rows), axis=0)))


def _exact_claims(measured: Measured) -> list[Claim]:
    """Return the claims that need no data but the paper's own, or hold for any."""
    from recoup.metrics import roc_auc

    areas = [
        roc_auc(labels, EXAMPLE_SCORES, alpha=0.0) for labels in (EXAMPLE_LABELS, EXAMPLE_CLASSES)
    ]
    gaps = [
        np.abs(measured.column("value", "auc", "raw", cell) - direct).max()
        for cell in measured.cells
        if len(direct := measured.column("value", "auc", "DR", cell))
    ]
    off = float(np.abs(np.subtract(areas, EXAMPLE_AREAS)).max())
    return [
        Claim(
            text="AUC of labeled against unlabeled rows, and of positives against negatives.",
            setting="The eight rows of Figure 1.",
            rule="Both printed figures.",
            published="AUC {} and {}".format(*EXAMPLE_AREAS),
            ours="AUC {:.12g} and {:.12g}".format(*areas),
            effect=exact(round(off, 12), "of AUC off the printed figures"),
            verdict=_verdict(off < 1e-12),
        ),
        Claim(
            text="Eq. 4 gives the area under the curve that Eq. 1 and 2 give (Theorem 1).",
            setting=_where(measured, "Theorem 1"),
            rule="They differ by less than 1e-9 before any rate is moved into [0, 1].",
            published="equal",
            ours=f"they differ by at most {max(gaps):.1g}",
            effect=exact(float(f"{max(gaps):.1g}"), "of AUC between both"),
            verdict=_verdict(max(gaps) < 1e-9),
        ),
    ]


def _claims(measured: Measured) -> list[Claim]:
    """Return the claims about real data."""
    found = [
        _underestimates(measured),
        _small_beside_pu(
            measured,
            "auc",
            ("IR", "DR"),
            "With true alpha and beta, recovered AUC is excellent at every beta.",
            "Figure 2a",
        ),
        _estimated_shares(measured),
        _contest_claim(measured, "R"),
        _contest_claim(measured, "E"),
        _grows_with_gap(measured),
        _signs(measured),
        _precision_is_worse(measured),
        _small_beside_pu(
            measured,
            "auc_pr",
            ("IR", "IE"),
            "AUC-PR is recovered as AUC is, with true and with estimated alpha and beta.",
            "Figure 2c",
        ),
        _uniformly_better(measured),
    ]
    if len(measured.cells) >= FEWEST_CELLS:
        return found
    reason = f"Needs more than {len(measured.datasets)} datasets."
    return [
        replace(claim, verdict="cannot be told", cause=ABSENT, reason=reason) for claim in found
    ]


def _underestimates(measured: Measured) -> Claim:
    errors = [measured.pooled("auc", "PU", beta) for beta in measured.betas]
    medians = [float(np.median(each)) for each in errors]
    every = np.concatenate(errors)
    below = int((every < 0).sum())
    low = 0
    for name in measured.datasets:
        cells = [cell for cell in measured.cells if cell[0] == name]
        some = np.concatenate([measured.errors("auc", "PU", cell) for cell in cells])
        low += bool((some < 0).mean() > MOST)
    holds = below > MOST * len(every) and medians == sorted(medians, reverse=True)
    return Claim(
        text="Uncorrected AUC is always too low, and more so with wrong labels.",
        setting=_where(measured, "Figure 2a"),
        rule="More than 95% of repetitions are too low, and the median error falls with beta.",
        published=FIGURE_ONLY,
        ours=f"median error {_by_beta(measured, {'PU': medians})}",
        effect=share_of(
            low, len(measured.datasets), "% of datasets with more than 95% of repetitions too low"
        ),
        verdict=_verdict(holds),
        reason=f"Of {len(every):,} repetitions {below:,} are too low. The rule is about these "
        f"datasets; the interval is about others like them.",
    )


def _small_beside_pu(
    measured: Measured, metric: str, judged: Sequence[str], text: str, place: str
) -> Claim:
    shown = ("PU", *judged, *(["IA"] if "IE" in judged else []))
    typical = {
        name: [_typical(measured.pooled(metric, name, beta)) for beta in measured.betas]
        for name in shown
    }
    share, name, beta = max(
        (corrected / plain, name, beta)
        for name in judged
        for corrected, plain, beta in zip(typical[name], typical["PU"], measured.betas, strict=True)
    )
    pairs = measured.side_by_side([(metric, name), (metric, "PU")], beta)
    unit = f"times the error of PU ({name}, beta {beta:g})"
    effect = over_groups(list(pairs.values()), _times, unit)
    verdict, cause, reason = _beyond(share <= SMALL_BESIDE, effect, SMALL_BESIDE)
    return Claim(
        text=text,
        setting=_where(measured, place, drawn=True),
        rule=changed(
            f"{' and '.join(judged)} err at most half as much as PU at every beta, by the median "
            "absolute error; if a half is in the interval of the worst, it cannot be told.",
            old="the same by the value alone",
            says=_verdict(share <= SMALL_BESIDE),
            why=POOLED,
        ),
        published=FIGURE_ONLY,
        ours=f"median absolute error {_by_beta(measured, typical)}",
        effect=effect,
        verdict=verdict,
        cause=cause,
        reason=reason,
    )


def _estimated_shares(measured: Measured) -> Claim:
    from scipy.stats import wilcoxon

    of_values, of_errors, moved = {}, {}, {}
    for way in "ID":
        value, true_value = (measured.cell_values("auc", way + letter) for letter in "ER")
        error, true_error = (measured.cell_errors("auc", way + letter) for letter in "ER")
        of_values[f"{way}E"] = float(wilcoxon(value, true_value).pvalue)
        of_errors[f"{way}E"] = float(wilcoxon(error, true_error).pvalue)
        moved[way] = value - true_value
    names = ("IR", "DR", "IE", "DE", "IA", "DA")
    typical = {name: f"{_typical(measured.pooled('auc', name)):.3f}" for name in names}
    p_values = {name: f"P = {p:.2g}" for name, p in of_values.items()}
    p_errors = {name: f"P = {p:.2g}" for name, p in of_errors.items()}
    holds = min(*of_values.values(), *of_errors.values()) > SIGNIFICANT
    return Claim(
        text="Estimated instead of true alpha and beta make no significant difference to AUC.",
        setting=_where(measured, "Figure 2a", drawn=True),
        rule="No two-sided Wilcoxon test of the means by dataset and beta, of values or of "
        "absolute errors, is below 0.05. The paper does not name its test.",
        published="not significant",
        ours=f"recovered AUC differs with {_listed(p_values)}; its absolute error with "
        f"{_listed(p_errors)}; median absolute error {_listed(typical)}",
        effect=over_groups(
            measured.by_dataset(moved["I"]),
            lambda drawn: float(np.median(drawn)),
            "of AUC, IE less IR, median of datasets and betas",
        ),
        verdict=_verdict(holds),
        cause="" if holds else SHARES,
        reason="Values move, errors hardly: estimates raise values that were a little too low."
        if min(of_errors.values()) > SIGNIFICANT
        else "",
    )


def _contest_claim(measured: Measured, letter: str) -> Claim:
    given = "true" if letter == "R" else "estimated"
    result = contest(measured, letter)
    ways = {way: contest(measured, letter, way=way) for way in WAYS if way != "D"}
    wins = [way for way, found in ways.items() if found.p < SIGNIFICANT]
    verdict: Verdict = "cannot be told"
    if len(wins) in (0, len(ways)):
        verdict = _verdict(bool(wins))
    most = max(ways, key=lambda way: ways[way].wins)
    least = min(ways, key=lambda way: ways[way].wins)
    reason = (
        f"Against the truth of the same scores: {contest(measured, letter, 'own')}. How the curve "
        f"is made valid decides: from {ways[least]} ({WAYS[least]}) to {ways[most]} "
        f"({WAYS[most]})."
    )
    if letter == "E":
        reason += f" With recoup's estimates: {contest(measured, 'A')}."
    fits = {"R": "31 wins in 36", "E": "26 wins in 36"}[letter]
    return Claim(
        text=f"Indirect recovery beats direct recovery with {given} alpha and beta.",
        setting=_where(measured, "Results, one-sided binomial test over datasets and betas"),
        rule=changed(
            "P below 0.05 for all four ways to make the curve valid that were tried; if for some "
            "only, it cannot be told, for the paper's own is in a supplement that is not at hand.",
            old="P below 0.05 with isotonic regression, recoup's way",
            says=_verdict(result.p < SIGNIFICANT),
            why="the paper's way is not known",
        ),
        published=f"{PUBLISHED_P[letter]}, that of {fits}",
        ours=str(result),
        effect=share_of(
            result.wins, max(result.wins + result.losses, 1), "% of datasets and betas"
        ),
        verdict=verdict,
        cause="" if verdict == "holds" else SUPPLEMENT,
        reason=reason,
    )


def _grows_with_gap(measured: Measured) -> Claim:
    names = ("IE", "DE", "IR", "DR")
    groups = {
        gap: {name: measured.by_gap("auc", name, limits) for name in names}
        for gap, limits in GAPS.items()
    }
    filled = [gap for gap, errors in groups.items() if len(errors["IE"]) >= FEWEST_ERRORS]
    typical = {name: [_typical(groups[gap][name]) for gap in filled] for name in names}
    texts = {
        name: " / ".join(f"{value:.3f}" for value in values) for name, values in typical.items()
    }
    verdict: Verdict = "cannot be told"
    cause, reason, old = ABSENT, "", verdict
    effect: Effect | None = None
    if len(filled) > 1:
        rising = all(typical[name] == sorted(typical[name]) for name in ("IE", "DE"))
        steeper = all(np.ptp(typical[f"{way}E"]) > np.ptp(typical[f"{way}R"]) for way in "ID")
        old = _verdict(rising and steeper)
        effect = _last_beside_first(measured, filled[-1], filled[0])
        verdict, cause, reason = _beyond(rising and steeper, effect, 1.0)
    return Claim(
        text="The error grows with that of beta - alpha, most with estimated alpha and beta.",
        setting=_where(measured, "Figure 2b", drawn=True),
        rule=changed(
            "IE and DE err more in each group than in the one before, by the median absolute "
            f"error, and grow more than IR and DR; if 1 is in the interval of IE, it cannot be "
            f"told. Groups with fewer than {FEWEST_ERRORS} repetitions are left out.",
            old="the same by the values alone",
            says=old,
            why=POOLED,
        ),
        published=FIGURE_ONLY,
        ours=f"median absolute error ({' / '.join(filled)}): {_listed(texts)}",
        effect=effect,
        verdict=verdict,
        cause=cause,
        reason=reason,
    )


def _last_beside_first(measured: Measured, last: str, first: str) -> Effect:
    """How many times as much IE errs in one group of gaps as in another, over datasets."""
    rows = {name: np.empty((0, 2)) for name in measured.datasets}
    for at, gap in enumerate((last, first)):
        for name, errors in measured.gap_by_dataset("auc", "IE", GAPS[gap]).items():
            marked = np.column_stack([np.abs(errors), np.full(len(errors), at)])
            rows[name] = np.concatenate([rows[name], marked])

    def ratio(drawn: FloatArray) -> float:
        sides = [drawn[drawn[:, 1] == at, 0] for at in (0, 1)]
        return float(np.divide(*map(np.median, sides))) if all(map(len, sides)) else float("nan")

    unit = f"times the error of IE, {last} beside {first}"
    return over_groups([some for some in rows.values() if len(some)], ratio, unit)


def _signed_median(by_dataset: Mapping[str, FloatArray], unit: str) -> Effect | None:
    """Median error of a group, with an interval for other datasets; None of too few."""
    groups = list(by_dataset.values())
    if sum(map(len, groups)) < FEWEST_ERRORS:
        return None
    return over_groups(groups, lambda drawn: float(np.median(drawn)), unit)


def _signs(measured: Measured) -> Claim:
    far = (GAPS["medium"][0], np.inf)
    near, wide = (
        {
            name: _signed_median(
                measured.gap_by_dataset("auc", name, limits), f"of AUC, {name}, {words}"
            )
            for name in SIGNS
        }
        for limits, words in (
            (GAPS["small"], "beta - alpha well estimated"),
            (far, "beta - alpha badly estimated"),
        )
    )

    def as_said(found: Mapping[str, Effect | None]) -> bool:
        return all(
            effect is not None and min(sign * effect.lower, sign * effect.upper) > 0
            for (name, sign) in SIGNS.items()
            for effect in [found[name]]
        )

    def medians(found: Mapping[str, Effect | None]) -> str:
        return _listed(
            {name: "too few" if e is None else f"{e.value:+.3f}" for name, e in found.items()}
        )

    n_far, n_near = (len(measured.by_gap("auc", "IE", limits)) for limits in (far, GAPS["small"]))
    old = all(
        effect is not None and np.sign(effect.value) == SIGNS[name] for name, effect in wide.items()
    )
    verdict: Verdict = "does not hold"
    if n_far < FEWEST_ERRORS:
        verdict = "cannot be told"
    elif as_said(wide):
        verdict = "holds" if as_said(near) else "holds in the paper's setting"
    by_dataset = measured.gap_by_dataset("auc", "IE", far)
    datasets = len(by_dataset)
    other = {
        name: f"{len(errors)} repetitions"
        for name, errors in by_dataset.items()
        if np.median(errors) <= 0
    }
    return Claim(
        text="IR and DR are too low, IE and DE too high.",
        setting=_where(measured, "Figure 2b", drawn=True),
        rule=changed(
            "All four signs, their intervals over datasets apart from 0, where beta - alpha is off "
            "by 0.1 or more, as the figure shows them; beyond that, also where it is off by less.",
            old="signs of medians where it is off by 0.1 or more",
            says=_verdict(old),
            why=f"it looked at {n_far:,} of {n_far + n_near:,} repetitions, from {datasets} of "
            f"{len(measured.datasets)} datasets, as if each were new",
        ),
        published=FIGURE_ONLY,
        ours=f"median error: off by 0.1 or more {medians(wide)}; by less {medians(near)}",
        effect=wide["IE"],
        verdict=verdict,
        cause={"cannot be told": ABSENT, "holds": ""}.get(verdict, SHARES),
        reason=f"Where beta - alpha is well estimated, {n_near:,} repetitions, IE and DE have no "
        f"sign of their own. Where it is not, {len(other)} of {datasets} datasets "
        f"{'has' if len(other) == 1 else 'have'} the other sign for IE"
        f"{f' ({_listed(other)})' if other else ''}."
        if verdict == "holds in the paper's setting"
        else "",
    )


def _precision_is_worse(measured: Measured) -> Claim:
    auc, precision = (
        [_typical(measured.pooled(metric, "PU", beta)) for beta in measured.betas]
        for metric in METHODS
    )
    least = min(range(len(measured.betas)), key=lambda at: precision[at] / auc[at])
    beta = measured.betas[least]
    pairs = measured.side_by_side([("auc_pr", "PU"), ("auc", "PU")], beta)
    unit = f"times the error of AUC (beta {beta:g})"
    effect = over_groups(list(pairs.values()), _times, unit)
    held = all(p > a for p, a in zip(precision, auc, strict=True))
    verdict, cause, reason = _beyond(held, effect, 1.0)
    return Claim(
        text="Uncorrected AUC-PR is off by much more than uncorrected AUC.",
        setting=_where(measured, "Figures 2a, 2c", drawn=True),
        rule=changed(
            "A larger median absolute error at every beta; if 1 is in the interval of the "
            "smallest ratio, it cannot be told.",
            old="the same by the values alone",
            says=_verdict(held),
            why=POOLED,
        ),
        published=FIGURE_ONLY,
        ours=f"median absolute error {_by_beta(measured, {'AUC-PR': precision, 'AUC': auc})}",
        effect=effect,
        verdict=verdict,
        cause=cause,
        reason=f"{reason} Were the truth taken at the share of positives in all rows: "
        f"{_by_beta(measured, {'AUC-PR': _precision_at_all(measured)})}.".strip(),
    )


def _precision_at_all(measured: Measured) -> list[float]:
    """Return PU's error of AUC-PR if the truth is taken at the share of positives in all rows."""
    found = []
    for beta in measured.betas:
        errors = [
            measured.values("auc_pr", "PU", cell)
            - measured.column("value", "auc_pr_all", "supervised", cell)
            for cell in measured.cells
            if cell[1] == beta
        ]
        found.append(_typical(np.concatenate(errors)))
    return found


def _uniformly_better(measured: Measured) -> Claim:
    better: dict[str, int] = {}
    judged: list[FloatArray] = []
    worse: list[str] = []
    for metric, names in METHODS.items():
        plain = measured.cell_errors(metric, "PU")
        for name in names[1:]:
            wins = measured.cell_errors(metric, name) < plain
            better[f"{LABELS[metric]} {name}"] = int(wins.sum())
            if not name.endswith("A"):
                judged.append(wins.astype(float))
                lost = [c for c, won in zip(measured.cells, wins, strict=True) if not won]
                worse += [f"{LABELS[metric]} {name} on {d} at {b:g}" for d, b in lost]
    return Claim(
        text="Corrected values are uniformly more accurate than uncorrected ones.",
        setting=_where(measured, "Results", drawn=True),
        rule="By mean absolute error no dataset and beta is an exception.",
        published="all",
        ours=f"of {len(measured.cells)} datasets and betas: "
        + _listed({name: str(wins) for name, wins in better.items()}),
        effect=over_groups(
            measured.by_dataset(np.mean(judged, axis=0)),
            lambda drawn: 100 * float(np.mean(drawn)),
            "% of comparisons",
        ),
        verdict=_verdict(not worse),
        cause=SHARES if worse else "",
        reason=f"Exceptions: {', '.join(worse)}." if worse else "",
    )


def _typical(errors: FloatArray) -> float:
    return float(np.median(np.abs(errors))) if len(errors) else float("nan")


def _listed(parts: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {text}" for name, text in parts.items())


def _by_beta(measured: Measured, lines: Mapping[str, Sequence[float]]) -> str:
    texts = {name: " / ".join(f"{value:.3f}" for value in values) for name, values in lines.items()}
    return f"at beta {' / '.join(f'{beta:g}' for beta in measured.betas)}: {_listed(texts)}"
