/// <reference path="translated.d.ts" />
// Labels that favor high or low scores, as recoup.selection.tilt has them: the counts that fair
// labels would have given stand for those that were seen. Odds above 1 favor high scores, odds below
// 1 low ones.
const Tilt = (() => {
  "use strict";

  const { aucPu, countsOf, mixtureOf, properLosses, reversed, sum } = Values;
  const { aucInterval } = AreaIntervals;
  const MOST_KEPT = 16;

  // Scores of the hidden positives, as many as there are labeled rows.
  function hiddenCounts(labeled, odds) {
    const total = sum(labeled);
    const counts = new Float64Array(labeled.length);
    let [upTo, before] = [0, 0];
    for (let i = 0; i < labeled.length; i++) {
      upTo += labeled[i];
      const share = Math.log1p(((odds - 1) * upTo) / total) / Math.log(odds);
      counts[i] = total * (share - before);
      before = share;
    }
    return counts;
  }

  // All positives of a single sample are labeled or hidden ones: giving both groups the same
  // distribution moves rows between them, and the total at each score stays.
  function fairCounts(model, alpha, odds) {
    const { labeled, unlabeled } = model;
    const hidden = hiddenCounts(labeled, odds);
    if (model.caseControl) return [hidden, unlabeled];
    const nHidden = alpha * model.nUnlabeled;
    const part = nHidden / (model.nLabeled + nHidden);
    const moved = labeled.map((count, i) => (count - hidden[i]) * part);
    return [
      labeled.map((count, i) => count - moved[i]),
      unlabeled.map((count, i) => count + moved[i]),
    ];
  }

  // The model as fair labels would have shown it.
  /** @type {(model: any, position: { alpha: number, beta: number, odds: number }) => any} */
  function tilted(model, { alpha, beta, odds }) {
    if (odds === 1) return model;
    const table = fairTable(model, { alpha, beta, odds });
    const both = table.labeled.map((count, i) => count + table.unlabeled[i]);
    return {
      ...table,
      weights: Float64Array.from([1e-9, ...reversed(both)]),
      losses: model.holdsProbabilities ? properLosses(table, model.specs) : {},
    };
  }

  function fairTable(model, { alpha, beta, odds }) {
    const mixture = mixtureOf(model, alpha, beta);
    const [labeled, unlabeled] = fairCounts(model, mixture.alpha, odds);
    const table = { ...model, ...countsOf(labeled, unlabeled, model.ownSquares, model.known) };
    return { ...table, aucPu: aucPu(table) };
  }

  // What limits of metrics at a threshold, and of those that follow from AUC_pu, are made of. The
  // last few are kept: a threshold does not move them.
  /** @type {(model: any, position: { alpha: number, beta: number, odds: number }) => any} */
  function forLimits(model, position) {
    const key = [position.alpha, position.odds].join(" ");
    model.fair ||= new Map();
    if (!model.fair.has(key)) {
      if (model.fair.size >= MOST_KEPT) model.fair.clear();
      const table = fairTable(model, position);
      const intervals = { ...model.intervals, auc_pu: aucInterval(table) };
      model.fair.set(key, { ...table, intervals });
    }
    return model.fair.get(key);
  }

  // The most of the unlabeled rows that may be distributed as the labeled ones
  // (recoup.metrics.feasible), for labeled rows that are distributed so.
  function mostAlike(model, labeled) {
    const { unlabeled, nUnlabeled, confidence } = model;
    const spread = Math.log(4 / (1 - confidence)) / 2;
    const [slack, slackOfOthers] = model.intervals.sizes.map((size) => Math.sqrt(spread / size));
    const total = sum(labeled);
    let [heads, others, least] = [0, 0, 1];
    for (let i = labeled.length - 1; i >= 0; i--) {
      heads += labeled[i] / total;
      others += unlabeled[i] / nUnlabeled;
      for (const [share, other] of [
        [heads, others],
        [1 - heads, 1 - others],
      ]) {
        if (share > slack) least = Math.min(least, (other + slackOfOthers) / (share - slack));
      }
    }
    return least;
  }

  // By how much the largest alpha that the scores allow is another for labels with these odds.
  /** @type {(model: any, odds: number) => number} */
  function roomForAlpha(model, odds) {
    if (odds === 1) return 1;
    const plain = mostAlike(model, model.labeled);
    return plain > 0 ? mostAlike(model, hiddenCounts(model.labeled, odds)) / plain : 1;
  }

  return { forLimits, roomForAlpha, tilted };
})();
