/// <reference path="translated.d.ts" />
// Intervals of metrics at a threshold, as recoup.metrics.observed has them: the limits of every
// observed share are carried through the metric.
const Intervals = (() => {
  "use strict";

  const { clip, countBelow, mixtureOf, pointValues } = Values;
  const STEP = 1e-6;
  const ROUNDING = 1e-12;
  const SMALLEST_VARIANCE = 1e-18;

  function wilson(share, size, z) {
    const shrink = 1 + z ** 2 / size;
    const center = (share + z ** 2 / (2 * size)) / shrink;
    const spread = (share * (1 - share)) / size + z ** 2 / (4 * size ** 2);
    const half = (z * Math.sqrt(spread)) / shrink;
    return [Math.max(center - half, 0), Math.min(center + half, 1)];
  }

  // An interval from the values at the limits of independent parts: squared distances are added.
  function mover(value, ends) {
    let [below, above] = [0, 0];
    for (const [one, other] of ends) {
      below += Math.max(value - Math.min(one, other), 0) ** 2;
      above += Math.max(Math.max(one, other) - value, 0) ** 2;
    }
    return [value - Math.sqrt(below), value + Math.sqrt(above)];
  }

  /** @type {(value: number, limits: number[], stretch: number) => number[]} */
  const stretched = (value, [low, high], stretch) => [
    value - stretch * (value - low),
    value + stretch * (high - value),
  ];

  // By how much errors are larger together than if their parts were independent.
  /** @type {(joint: number, apart: number, least?: number) => number} */
  const stretchOf = (joint, apart, least = 0) =>
    apart > least && apart < Infinity && joint > least ? Math.sqrt(joint / apart) : 1;

  const expit = (x) => 1 / (1 + Math.exp(-x));

  function logitInterval(value, error, quantile) {
    const inside = clip(value, 1e-4, 1 - 1e-4);
    const half = (quantile * error) / (inside * (1 - inside));
    const center = Math.log(inside / (1 - inside));
    return [expit(center - half), expit(center + half)];
  }

  function quantile(sorted, level) {
    const place = level * (sorted.length - 1);
    const below = Math.floor(place);
    const above = Math.min(below + 1, sorted.length - 1);
    return sorted[below] + (place - below) * (sorted[above] - sorted[below]);
  }

  // Student's quantile for so many rows, from its Chebyshev series in one over the degrees of
  // freedom.
  function studentQuantile({ intervals: { t: series } }, size) {
    const x = 2 / Math.max(size - 1, 1) - 1;
    let [next, last] = [0, 0];
    for (let k = series.length - 1; k > 0; k--)
      [next, last] = [2 * x * next - last + series[k], next];
    return Math.exp(x * next - last + series[0]);
  }

  // The shares that they are functions of, and how many rows without weights would know each as well.
  function observedAt(model, cut) {
    const place = model.scores.length - countBelow(model.scores, cut);
    /** @type {Record<string, number>[]} */
    const [values, sizes, kept] = [{}, {}, {}];
    for (const [name, { heads, squareHeads, total, square }] of Object.entries(model.groups)) {
      const head = heads[place];
      const share = head > 1 - ROUNDING ? 1 : head < ROUNDING ? 0 : head;
      const noise =
        (1 - share) ** 2 * squareHeads[place] + share ** 2 * (square - squareHeads[place]);
      const some = share > 0 && share < 1 && noise > 0;
      values[name] = share;
      kept[name] = share === 1 ? square : squareHeads[place];
      sizes[name] = some ? (share * (1 - share) * total ** 2) / noise : total ** 2 / square;
    }
    if (model.sharedHeads) kept.shared = model.sharedHeads[place];
    for (const [name, [share, size]] of Object.entries(model.shares)) {
      values[name] = share;
      sizes[name] = size ?? Infinity;
    }
    return { values, sizes, kept };
  }

  function valuesAt(model, { alpha, beta }, { values }, moved = {}) {
    const given = { ...values, ...moved };
    let { unlabeled } = given;
    if ("known" in given) {
      unlabeled = (1 - given.known_share) * unlabeled + given.known_share * given.known;
    }
    const mixture = mixtureOf(model, alpha, beta, given);
    return pointValues(model.points, mixture, given.labeled, unlabeled);
  }

  /** @type {(model: any, shares: any, observed: any, drawn?: any) => Record<string, number[]>} */
  function pointIntervals(model, shares, observed, drawn = null) {
    const names = Object.keys(observed.values);
    const value = valuesAt(model, shares, observed);
    const ends = names.map((name) =>
      wilson(observed.values[name], observed.sizes[name], model.intervals.z).map((end) =>
        valuesAt(model, shares, observed, { [name]: end }),
      ),
    );
    const stretches = model.weighted ? pointStretches(model, shares, observed) : null;
    const limits = {};
    for (const key in value) {
      const around = mover(
        value[key],
        ends.map(([low, high]) => [low[key], high[key]]),
      );
      const stretch = (stretches?.[key] ?? 1) * (model.times[key] ?? 1);
      limits[key] = stretched(value[key], around, stretch);
      if (drawn) limits[key] = mover(value[key], [limits[key], drawn[key]]);
    }
    return limits;
  }

  function pointStretches(model, shares, observed) {
    const slopes = {};
    for (const [name, share] of Object.entries(observed.values)) {
      const [above, below] = [STEP, -STEP].map((step) =>
        valuesAt(model, shares, observed, { [name]: share + step }),
      );
      for (const key in above) {
        slopes[key] ||= {};
        slopes[key][name] = (above[key] - below[key]) / (2 * STEP);
      }
    }
    const found = {};
    for (const key in slopes) {
      const joint = jointVariance(model, observed, slopes[key]);
      let apart = 0;
      for (const [name, share] of Object.entries(observed.values)) {
        apart += (slopes[key][name] ** 2 * share * (1 - share)) / observed.sizes[name];
      }
      found[key] = stretchOf(joint, apart, SMALLEST_VARIANCE);
    }
    return found;
  }

  // Squared weights by squared slopes: a row moves its own share and those of the groups.
  function jointVariance(model, { values, kept }, slopes) {
    const moves = {};
    let total = 0;
    for (const [name, group] of Object.entries(model.groups)) {
      let others = 0;
      if ("fraction" in values) {
        others += (slopes.fraction * (Number(name === "labeled") - values.fraction)) / model.nRows;
      }
      if ("known_share" in values && name !== "labeled") {
        const own = Number(name === "known") - values.known_share;
        others += (slopes.known_share * own) / model.nUnlabeled;
      }
      if ("pi" in values) {
        others += (slopes.pi * (name === "labeled" ? 1 : -values.pi)) / model.nUnlabeled;
      }
      const slope = slopes[name] / group.total;
      const inside = slope * (1 - values[name]) + others;
      const outside = others - slope * values[name];
      moves[name] = [inside, outside];
      total += kept[name] * inside ** 2 + (group.square - kept[name]) * outside ** 2;
    }
    if (model.sharedHeads) {
      const rest = model.sharedHeads[model.sharedHeads.length - 1] - kept.shared;
      const { labeled, unlabeled } = moves;
      total += 2 * (kept.shared * labeled[0] * unlabeled[0] + rest * labeled[1] * unlabeled[1]);
    }
    return total;
  }

  // Limits of every metric over the draws of alpha and beta.
  function drawnLimits(model, observed) {
    if (!model.draws) return null;
    const [alphas, betas] = model.draws;
    const columns = {};
    alphas.forEach((alpha, i) => {
      const found = valuesAt(model, { alpha, beta: betas ? betas[i] : model.beta }, observed);
      for (const key in found) {
        columns[key] ||= new Float64Array(alphas.length);
        columns[key][i] = found[key];
      }
    });
    const tails = [(1 - model.confidence) / 2, (1 + model.confidence) / 2];
    const limits = {};
    for (const key in columns) {
      // NaN comes last in order, and makes the limits unknown.
      const sorted = columns[key].sort();
      const unknown = Number.isNaN(sorted[sorted.length - 1]);
      limits[key] = tails.map((level) => (unknown ? NaN : quantile(sorted, level)));
    }
    return limits;
  }

  const widest = (all, key) => [
    Math.min(...all.map((limits) => limits[key][0])),
    Math.max(...all.map((limits) => limits[key][1])),
  ];

  return {
    ...{ drawnLimits, logitInterval, mover, observedAt, pointIntervals, stretched, stretchOf },
    ...{ studentQuantile, widest, wilson },
  };
})();
