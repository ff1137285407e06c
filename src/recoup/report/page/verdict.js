// The light of a page for any alpha, beta and threshold: Python's rules and sentences
// (recoup.report.page.light) on the numbers that were recovered there.
const Verdict = (() => {
  "use strict";

  const { digits, fill, missing, number, range } = Words;

  /**
   * @typedef {{ code: string, level: string, text: string, holds?: string }} Reason
   * @typedef {{ level: string, word: string, reasons: Reason[] }} Light
   * @typedef {{ code: string, level: string, phrase: string, larger: string, than: string }} Rule
   * @typedef {{ phrases: Record<string, string>, limits: Record<string, number>, rules: Rule[],
   *   lights: Record<string, string>, levels: Record<string, string> }} PageWords
   */

  // What is left open, in words: shares, and odds of a label; nothing where all is known.
  /** @typedef {{ alpha: boolean, beta: boolean, odds: number }} Open */
  /** @type {(open: Open, phrases: Record<string, string>) => string} */
  function openWords({ alpha, beta, odds }, phrases) {
    const shares = [alpha && phrases.open_alpha, beta && phrases.open_beta].filter(Boolean);
    const parts = shares.length ? [shares.join(" and ")] : [];
    if (odds > 1) parts.push(fill(phrases.open_labels, { odds: digits(odds) }));
    return parts.join(", or if ");
  }

  // Which rows to look at: unlabeled ones show alpha, and which positives have no label.
  /** @type {(open: Open, phrases: Record<string, string>) => string} */
  function narrows({ alpha, beta, odds }, phrases) {
    if (alpha || odds > 1) return beta ? phrases.narrows_both : phrases.narrows_alpha;
    return beta ? phrases.narrows_beta : "";
  }

  // Between which limits a number could be, if they show as wider than its interval.
  /** @type {(interval: string, possible: string, words: string, phrases: any) => string} */
  function couldBe(interval, possible, words, phrases) {
    if (!words || interval === possible) return "";
    return fill(phrases.could_be, { range: possible, open: words });
  }

  // What the limits say of labels that favor some scores; nothing where a reader supposes some odds.
  /** @type {(result: any, phrases: Record<string, string>) => string} */
  function ranges({ open, odds, beta }, phrases) {
    if (open.odds > 1) return fill(phrases.odds_included, { odds: digits(open.odds) });
    return odds === 1 && beta < 1 ? phrases.odds_left_out : "";
  }

  function facts(model, result, figures, { phrases, limits }) {
    const items = Object.entries(result.metrics)
      .map(([key, item]) => ({ ...item, ...model.specs[key] }))
      .filter(({ outdated }) => !outdated);
    const shown = figures.map((key) => ({ ...result.metrics[key], label: model.specs[key].label }));
    const top = ({ high }) => (high === null ? Infinity : high);
    const outside = items.filter(
      (item) => !missing(item.raw) && Math.max(item.raw - top(item), item.low - item.raw) > 1e-9,
    );
    const width = ({ lower, upper }) => (missing(lower) || missing(upper) ? NaN : upper - lower);
    // After an audit, how wide these intervals are no longer decides.
    const wide = (model.evaluation.audit ? [] : shown).filter(
      (item) => width(item) > limits.wide || item.upper > limits.many_times * item.lower,
    );
    const wider = (model.evaluation.audit ? [] : shown).filter((item) => {
      const [low, high] = [item.possible_lower, item.possible_upper];
      const possible = width({ lower: low, upper: high });
      const plain = width(item);
      return possible > limits.open_times * plain && possible > plain + limits.open_room;
    });
    const times = 1 / result.gap;
    const { labels, rows } = model.open;
    const biased = labels === "biased";
    const alphaHigh = result.own ? model.prior.range[1] : result.alpha;
    const words = {
      confidence: Words.percent(model.confidence),
      alpha: digits(result.alpha),
      beta: digits(result.beta),
      alpha_upper: digits(result.alphaUpper),
      beta_lower: digits(Math.max(result.betaLower, 0)),
      alpha_high: digits(alphaHigh),
      times: Words.fixed(times, times < 10 ? 1 : 0),
      outside: outside.map(({ label, raw }) => `${label} ${number(raw)}`).join(", "),
      wide: wide
        .map(({ label, lower, upper }) => `${label} (${digits(lower, 2)} to ${digits(upper, 2)})`)
        .join(" and "),
      open: openWords(result.open, phrases),
      narrows: narrows(result.open, phrases),
      ranges: ranges(result, phrases),
      rows: Words.whole(rows),
      open_figures: wider
        .map(({ label, possible_lower: low, possible_upper: high }) =>
          fill(phrases.open_figure, { label, range: range(low, high) }),
        )
        .join(" and "),
    };
    return {
      ...limits,
      exceeded: Number(!result.feasible),
      alpha: result.alpha,
      alpha_high: alphaHigh,
      alpha_upper: result.alphaUpper,
      near_from: limits.near * result.alphaUpper,
      gap: result.gap,
      times,
      n_outside: outside.length,
      n_beyond: items.filter(
        ({ above, below }) => above > limits.far || below > Math.min(limits.far, result.pi / 10),
      ).length,
      leaks: Number(Recoup.leaks(model, result)),
      n_wide: wide.length,
      n_open: wider.length,
      said_unknown: Number(labels === "unknown"),
      said_biased: Number(biased),
      biased_open: Number(biased && (result.beta < 1 || wider.length > 0)),
      words,
    };
  }

  // Of the rules with the same code, the first that holds gives the reason.
  /** @type {(found: any, rules: Rule[], phrases: Record<string, string>) => Reason[]} */
  function judged(found, rules, phrases) {
    /** @type {Map<string, Reason>} */
    const reasons = new Map();
    for (const { code, level, phrase, larger, than } of rules) {
      if (reasons.has(code)) continue;
      if (larger && !(found[larger] > (than ? found[than] : 0))) continue;
      reasons.set(code, { code, level, text: phrase && fill(phrases[phrase], found.words) });
    }
    return [...reasons.values()].filter(({ level }) => level);
  }

  // The light at a position that Python did not evaluate; `made` is Python's own.
  /** @type {(model: any, result: any, made: Light, figures: string[], words: PageWords) => Light} */
  function light(model, result, made, figures, words) {
    const { phrases, levels, lights } = words;
    const reasons = judged(facts(model, result, figures, words), words.rules, phrases);
    const { own } = result;
    if (!own) {
      reasons.push({ code: "estimate", level: "note", text: phrases.alpha_given });
    }
    const kept = own ? ["always", "shares"] : ["always"];
    reasons.push(...made.reasons.filter(({ holds }) => kept.includes(holds ?? "")));
    const order = Object.keys(levels);
    reasons.sort((a, b) => order.indexOf(a.level) - order.indexOf(b.level));
    const level =
      Object.keys(lights).find((name) => reasons.some((reason) => reason.level === name)) ??
      "green";
    return { level, word: lights[level], reasons };
  }

  return { couldBe, light, openWords };
})();
