// Numbers and names as text, with the words and the rounding of Python: number, range, pValue and
// digits are show_number, show_range, show_p and show_digits of recoup._core.text.
const Words = (() => {
  "use strict";

  /** @typedef {number | null | undefined} Maybe A number that may be missing. */
  /** @typedef {{ recovered: Maybe, lower: Maybe, upper: Maybe, pu: Maybe }} Estimate */
  /** @typedef {Record<string, string>} Phrases */
  /** @typedef {Record<string, number>} Limits */

  const DASH = "\u2013";
  const INFINITE = "\u221e";
  const SMALL_P = 0.001;
  const [LARGE, SMALL] = [1000, 0.01];
  // More decimals than lie between a double and the next, so that a half shows as one.
  const SPARE = 30;

  /**
   * @param {Maybe} value
   * @returns {value is null | undefined} Or not a number.
   */
  const missing = (value) => value === null || value === undefined || Number.isNaN(value);

  // Exact halves go to the even neighbor, as in Python, where browsers round them up.
  /** @type {(exact: string, rounded: string) => string} */
  function halfToEven(exact, rounded) {
    const kept = exact.slice(0, -SPARE).replace(/\.$/, "");
    const half = /^50*$/.test(exact.slice(-SPARE));
    return half && /[02468]$/.test(kept) ? kept : rounded;
  }

  /** @type {(value: number, places: number) => string} */
  const fixed = (value, places) => halfToEven(value.toFixed(places + SPARE), value.toFixed(places));

  // So many digits that matter, and no zeros behind them.
  /** @type {(value: Maybe, count?: number) => string} */
  function digits(value, count = 3) {
    if (missing(value)) return DASH;
    if (!Number.isFinite(value)) return infinite(value);
    const [exact, power] = value.toExponential(count - 1 + SPARE).split("e");
    const rounded = value.toExponential(count - 1).split("e");
    const kept = halfToEven(exact, rounded[0]);
    return positional(Number(kept === rounded[0] ? rounded.join("e") : `${kept}e${power}`) + 0);
  }

  // The shortest text of a number, without an exponent.
  /** @type {(value: number) => string} */
  function positional(value) {
    const [mantissa, power] = value.toExponential().split("e");
    const sign = mantissa.startsWith("-") ? "-" : "";
    const figures = mantissa.replace(/[-.]/g, "");
    const before = Number(power) + 1;
    if (before <= 0) return `${sign}0.${"0".repeat(-before)}${figures}`;
    const after = figures.slice(before);
    return `${sign}${figures.slice(0, before).padEnd(before, "0")}${after && "."}${after}`;
  }

  const infinite = (/** @type {number} */ value) => (value > 0 ? INFINITE : `-${INFINITE}`);
  const grouped = (/** @type {string} */ text) => text.replace(/\B(?=(\d{3})+$)/g, ",");
  const whole = (/** @type {number} */ value) => grouped(fixed(value, 0));

  // A number for people: three decimals, and fewer for large ones; a dash where there is none.
  /** @type {(value: Maybe) => string} */
  function number(value) {
    if (missing(value)) return DASH;
    if (!Number.isFinite(value)) return infinite(value);
    const size = Math.abs(value);
    if (size >= LARGE) return whole(value);
    return size > 0 && size < SMALL ? digits(value, 2) : fixed(value, 3);
  }

  /** @type {(value: Maybe) => string} */
  const signed = (value) => {
    if (missing(value) || !Number.isFinite(value)) return number(value);
    return `${value < 0 ? "" : "+"}${fixed(value, 3)}`;
  };

  /** @type {(low: Maybe, high: Maybe, write?: (value: Maybe) => string) => string} */
  const range = (low, high, write = number) =>
    missing(low) || missing(high) ? DASH : `${write(low)} to ${write(high)}`;

  /** @type {(value: Maybe) => string} */
  const pValue = (value) => {
    if (missing(value)) return DASH;
    return value < SMALL_P ? `< ${SMALL_P}` : fixed(value, 3);
  };

  const wholePercent = (/** @type {number} */ share) => Math.floor(100 * share + 0.5);
  // Whole percent, but 0% and 100% only where it is none or all: show_share.
  /** @type {(value: Maybe) => string} */
  const share = (value) => {
    if (missing(value)) return DASH;
    if (value > 0 && value < 0.01) return `${digits(100 * value, 2)}%`;
    if (value >= 0.995 && value < 1) {
      return value < 0.9995 ? `${fixed(100 * value, 1)}%` : ">99.9%";
    }
    return `${wholePercent(value)}%`;
  };
  /** @type {(value: number, count?: number) => string} */
  const percent = (value, count = 4) => `${digits(100 * value, count)}%`;

  /** @type {(text: string, limit: number) => string} */
  function shorten(text, limit) {
    const flat = text.split(/\s+/).filter(Boolean).join(" ");
    const letters = [...flat];
    return letters.length <= limit ? flat : `${letters.slice(0, limit - 1).join("")}\u2026`;
  }

  /** @type {(phrase: string, values: Record<string, unknown>) => string} */
  const fill = (phrase, values) =>
    phrase.replace(/\{(\w+)\}/g, (_, /** @type {string} */ key) => String(values[key]));

  /** @type {(value: number, phrases: Phrases, limits: Limits) => string} */
  function countOfTen(value, phrases, limits) {
    if (value === 0) return phrases.none_of_ten;
    if (value === 1) return phrases.all_of_ten;
    if (value < limits.few) return phrases.few_of_ten;
    if (value >= limits.many) return phrases.many_of_ten;
    return fill(phrases.about_of_ten, { count: Math.floor(10 * value + 0.5) });
  }

  // Of how many flagged rows how many are right: of ten, or of so many that some are.
  /** @type {(value: number, phrases: Phrases, limits: Limits) => Record<string, string>} */
  function flaggedRight(value, phrases, limits) {
    if (value === 0 || value >= limits.few) {
      return { rows: "10", count: countOfTen(value, phrases, limits) };
    }
    let rows = 100;
    while (rows * value < 1.5) rows *= 10;
    const count = whole(Math.floor(rows * value + 0.5));
    return { rows: whole(rows), count: fill(phrases.about_of_ten, { count }) };
  }

  // What the model finds, how often it is right, and what naive counting would have said.
  /**
   * @type {(metrics: Record<string, Estimate>, queue: number, phrases: Phrases, limits: Limits)
   *   => string[]}
   */
  function headline({ recall, precision }, queue, phrases, limits) {
    if (!queue) return [phrases.none_flagged];
    /** @type {(item: Estimate) => string} */
    const shareOf = (item) => {
      if (missing(item.lower) || missing(item.upper)) return share(item.recovered);
      const [low, high] = [share(item.lower), share(item.upper)];
      return fill(phrases.between, { value: share(item.recovered), low, high });
    };
    let found = phrases.unknown_recall;
    if (!missing(recall.recovered)) {
      const of = countOfTen(recall.recovered, phrases, limits);
      const count = recall.recovered === 1 ? of : fill(phrases.of_ten, { count: of });
      found = fill(phrases.found, { count, share: shareOf(recall) });
    }
    if (missing(precision.recovered)) return [found, phrases.unknown_precision];
    const right = {
      share: shareOf(precision),
      ...flaggedRight(precision.recovered, phrases, limits),
    };
    const gap = wholePercent(precision.recovered) - wholePercent(Number(precision.pu));
    const naive = { pu: share(precision.pu), gap: Math.abs(gap), side: gap > 0 ? "low" : "high" };
    const same = share(precision.recovered) === naive.pu;
    return [
      found,
      fill(phrases.right, right),
      fill(gap ? phrases.naive : same ? phrases.naive_same : phrases.naive_small, naive),
    ];
  }

  return {
    ...{ DASH, digits, fill, fixed, headline, missing, number, pValue, percent, range, share },
    ...{ shorten, signed, whole },
  };
})();
