// Numbers as text, in the same words and with the same rounding as Python's.
const Words = (() => {
  "use strict";

  const DASH = "\u2013";
  const { format } = Recoup;
  const wholePercent = (share) => Math.floor(100 * share + 0.5);
  const missing = (value) => value === null || value === undefined || Number.isNaN(value);
  const share = (value) => (missing(value) ? DASH : `${wholePercent(value)}%`);
  const range = (low, high, write = format) =>
    missing(low) && missing(high) ? DASH : `${write(low)} to ${write(high)}`;
  const signed = (value) => (missing(value) ? DASH : `${value < 0 ? "" : "+"}${format(value)}`);
  const pValue = (value) => (missing(value) ? DASH : value < 0.001 ? "< 0.001" : digits(value, 2));
  const digits = (value, count = 3) => String(Number(value.toPrecision(count)));
  const fill = (phrases, phrase, values) =>
    phrases[phrase].replace(/\{(\w+)\}/g, (_, key) => values[key]);

  function ofTen(value) {
    if (value === 0) return "none of 10";
    if (value === 1) return "all 10";
    if (value < 0.05) return "fewer than 1 of 10";
    if (value >= 0.95) return "more than 9 of 10";
    return `about ${Math.floor(10 * value + 0.5)} of 10`;
  }

  function headline(phrases, metrics, queue) {
    const { recall, precision } = metrics;
    const shareOf = (item) => {
      if (missing(item.lower) || missing(item.upper)) return share(item.recovered);
      const [low, high] = [share(item.lower), share(item.upper)];
      return fill(phrases, "between", { value: share(item.recovered), low, high });
    };
    if (!queue) return [phrases.none_flagged];
    const found = missing(recall.recovered)
      ? phrases.unknown_recall
      : fill(phrases, "found", { count: ofTen(recall.recovered), share: shareOf(recall) });
    if (missing(precision.recovered)) return [found, phrases.unknown_precision];
    const count = ofTen(precision.recovered).replace(/ of 10$/, "");
    const gap = wholePercent(precision.recovered) - wholePercent(precision.pu);
    const naive = { pu: share(precision.pu), gap: Math.abs(gap), side: gap > 0 ? "low" : "high" };
    return [
      found,
      fill(phrases, "right", { count, share: shareOf(precision) }),
      fill(phrases, gap ? "naive" : "naive_same", naive),
    ];
  }

  return { DASH, digits, fill, headline, missing, pValue, range, share, signed };
})();
