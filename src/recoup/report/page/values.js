/// <reference path="translated.d.ts" />
// Values without their uncertainty: the table of scores, the mix of positives that goes with it, and
// every metric of both. Formulas of one threshold, of losses and of AUC_pu are translated from
// Python's (Formulas); those along curves are written here, and specs name them.
const Values = (() => {
  "use strict";

  const ARRAYS = { Uint8Array, Uint16Array, Uint32Array, Float32Array, Float64Array };

  const clip = (value, low, high) => Math.min(Math.max(value, low), high);
  const reversed = (values) => values.slice().reverse();
  const sum = (values) => values.reduce((total, value) => total + value, 0);

  function unpack(packed) {
    const text = atob(packed.data);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    return Float64Array.from(new ARRAYS[packed.type](bytes.buffer));
  }

  // Shares that a page of many models holds as whole steps; the step after the last is missing.
  function unpackShares(packed) {
    if (Array.isArray(packed)) return packed;
    return Array.from(unpack(packed), (step) => (step > packed.steps ? null : step / packed.steps));
  }

  // Rows of each group, known negatives apart, with their squared weights: without weights, the rows.
  function groupsOf(labeled, unlabeled, squares, known) {
    const group = (rows, square = rows) => ({
      heads: heads(rows),
      squareHeads: sumsFromTop(square),
      total: sum(rows),
      square: sum(square),
    });
    const found = { labeled: group(labeled, squares?.[0]) };
    if (!known) return { ...found, unlabeled: group(unlabeled, squares?.[1]) };
    const without = (values, others) => values.map((value, i) => value - others[i]);
    const rest = squares && without(squares[1], squares[2]);
    found.unlabeled = group(without(unlabeled, known), rest ?? undefined);
    return { ...found, known: group(known, squares?.[2]) };
  }

  // What follows from the counts of labeled and unlabeled rows at each score.
  function countsOf(labeled, unlabeled, ownSquares, known) {
    const squares = ownSquares ?? [labeled, unlabeled];
    return {
      labeled,
      unlabeled,
      squares,
      knownSquares: known && (squares[2] ?? known),
      groups: groupsOf(labeled, unlabeled, ownSquares, known),
      labeledHeads: heads(labeled),
      unlabeledHeads: heads(unlabeled),
    };
  }

  function readTable(packed) {
    const ownSquares = packed.squares ? packed.squares.map(unpack) : null;
    const known = packed.known ? unpack(packed.known) : null;
    return {
      ...countsOf(unpack(packed.labeled), unpack(packed.unlabeled), ownSquares, known),
      ownSquares,
      known,
      thinned: packed.thinned,
      weighted: ownSquares !== null,
      sharedHeads: packed.shared ? sumsFromTop(unpack(packed.shared)) : null,
      scores: unpack(packed.scores),
      centers: unpack(packed.centers || packed.scores),
      nLabeled: packed.n_labeled,
      nUnlabeled: packed.n_unlabeled,
      nKnown: packed.n_known,
      nRows: packed.n_labeled + packed.n_unlabeled,
    };
  }

  function cumulated(values) {
    let total = 0;
    return values.map((value) => (total += value));
  }

  // Sums of the values at or above each score, from above the highest score down.
  function sumsFromTop(values) {
    const sums = new Float64Array(values.length + 1);
    sums.set(cumulated(reversed(values)), 1);
    return sums;
  }

  // Share of a group at or above each score, likewise.
  function heads(counts) {
    const total = sum(counts);
    return sumsFromTop(counts).map((count) => count / total);
  }

  // Shares of positives, from the share hidden among the unlabeled rows. Shares of the groups
  // themselves may be replaced: of labeled rows, of known negatives, or all that propensities imply.
  /** @type {(model: any, hidden: number, beta: number, shares?: Record<string, number>) => any} */
  function mixtureOf(model, hidden, beta, { fraction, known_share: known, pi: implied } = {}) {
    if (!(hidden >= 0 && hidden < beta && beta <= 1)) {
      throw new RangeError(`Recoup needs 0 <= alpha < beta <= 1. Got ${hidden} and ${beta}.`);
    }
    const { byPropensity, counts, nLabeled, nUnlabeled } = model;
    if (byPropensity) {
      // Every row is then one of the population, and labels are taken as right.
      const pi = implied ?? (counts.n_labeled + hidden * counts.n_unlabeled) / counts.n_rows;
      return { alpha: pi, beta: 1, pi };
    }
    const alpha = hidden * (1 - (known ?? model.nKnown / nUnlabeled));
    if (model.caseControl) return { alpha, beta, pi: alpha };
    const share = fraction ?? nLabeled / model.nRows;
    return { alpha, beta, pi: share * beta + (1 - share) * alpha };
  }

  const ofPositives = ({ alpha, beta }, onLabeled, onUnlabeled) =>
    ((1 - alpha) * onLabeled - (1 - beta) * onUnlabeled) / (beta - alpha);
  const ofNegatives = ({ alpha, beta }, onLabeled, onUnlabeled) =>
    (beta * onUnlabeled - alpha * onLabeled) / (beta - alpha);

  const positiveRate = (tpr, fpr, pi) => pi * tpr + (1 - pi) * fpr;
  // How many scores lie below a threshold.
  function countBelow(scores, threshold) {
    let low = 0;
    let high = scores.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (scores[middle] < threshold) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  function ratesAt(table, threshold) {
    const place = table.scores.length - countBelow(table.scores, threshold);
    return [table.labeledHeads[place], table.unlabeledHeads[place]];
  }

  function recoveredRoc(model, mixture) {
    const n = model.labeledHeads.length;
    const [rawTpr, rawFpr] = [new Float64Array(n), new Float64Array(n)];
    for (let i = 1; i < n; i++) {
      rawTpr[i] = ofPositives(mixture, model.labeledHeads[i], model.unlabeledHeads[i]);
      rawFpr[i] = ofNegatives(mixture, model.labeledHeads[i], model.unlabeledHeads[i]);
    }
    const [fpr, tpr] = [rawFpr, rawTpr].map((raw) => monotoneRate(raw, model.weights));
    return { fpr, tpr, threshold: model.thresholds, rawFpr, rawTpr };
  }

  // Weighted isotonic regression by pooling adjacent violators, then brought into [0, 1].
  function monotoneRate(raw, weights) {
    const n = raw.length;
    const [means, masses, ends] = [new Float64Array(n), new Float64Array(n), new Int32Array(n)];
    let last = -1;
    for (let i = 0; i < n; i++) {
      let mean = raw[i];
      let mass = Math.max(weights[i], 1e-9);
      while (last >= 0 && means[last] > mean) {
        mean = (means[last] * masses[last] + mean * mass) / (masses[last] + mass);
        mass += masses[last];
        last -= 1;
      }
      last += 1;
      means[last] = mean;
      masses[last] = mass;
      ends[last] = i + 1;
    }
    const rate = new Float64Array(n);
    for (let block = 0, start = 0; block <= last; start = ends[block], block++) {
      rate.fill(clip(means[block], 0, 1), start, ends[block]);
    }
    rate[0] = 0;
    rate[n - 1] = 1;
    return rate;
  }

  function areaUnderRoc(tpr, fpr) {
    let area = 0;
    for (let i = 1; i < tpr.length; i++) {
      area += ((fpr[i] - fpr[i - 1]) * (tpr[i] + tpr[i - 1])) / 2;
    }
    return area;
  }

  function areaUnderPr(tpr, fpr, pi) {
    let area = 0;
    for (let i = 1; i < tpr.length; i++) {
      const step = tpr[i] - tpr[i - 1];
      if (!(step > 0)) continue;
      const start = positiveRate(tpr[i - 1], fpr[i - 1], pi);
      const rise = positiveRate(tpr[i], fpr[i], pi) - start;
      const slope = rise > 0 ? step / rise : 0;
      const growth = start > 0 ? rise / start : 0;
      area += pi * slope * (step - (start * slope - tpr[i - 1]) * Math.log1p(growth));
    }
    return area;
  }

  function stepAveragePrecision(tpr, fpr, pi) {
    let area = 0;
    for (let i = 1; i < tpr.length; i++) {
      const rate = positiveRate(tpr[i], fpr[i], pi);
      if (rate > 1e-12) area += ((tpr[i] - tpr[i - 1]) * (pi * tpr[i])) / rate;
    }
    return area;
  }

  function partialArea(tpr, fpr, _, { max_fpr: most }) {
    const inside = fpr.findIndex((rate) => rate > most);
    const left = inside - 1;
    const slope = (tpr[inside] - tpr[left]) / (fpr[inside] - fpr[left]);
    const edge = tpr[left] + slope * (most - fpr[left]);
    const area =
      areaUnderRoc(tpr.subarray(0, inside), fpr.subarray(0, inside)) +
      ((most - fpr[left]) * (tpr[left] + edge)) / 2;
    const low = most ** 2 / 2;
    // McClish's scale: chance is 0.5 and perfection 1.
    return 0.5 * (1 + (area - low) / (most - low));
  }

  const aucPu = ({ labeledHeads, unlabeledHeads }) => areaUnderRoc(labeledHeads, unlabeledHeads);

  // Losses at each score if a row is positive and if it is negative, and the means of both over
  // labeled and over unlabeled rows.
  function properLosses({ centers, labeled, unlabeled, nLabeled, nUnlabeled }, specs) {
    const total = (counts, loss) => counts.reduce((last, count, i) => last + count * loss[i], 0);
    const means = (loss) => [total(labeled, loss) / nLabeled, total(unlabeled, loss) / nUnlabeled];
    const found = {};
    for (const { key, fixed } of Object.values(specs)) {
      if (fixed || !(key in Formulas.proper)) continue;
      const losses = [new Float64Array(centers.length), new Float64Array(centers.length)];
      centers.forEach((p, i) => {
        [losses[0][i], losses[1][i]] = Formulas.proper[key](p);
      });
      found[key] = { losses, means: losses.map(means) };
    }
    return found;
  }

  function properScore(mixture, [ifPositive, ifNegative]) {
    const positives = ofPositives(mixture, ...ifPositive);
    const negatives = ofNegatives(mixture, ...ifNegative);
    return mixture.pi * positives + (1 - mixture.pi) * negatives;
  }

  // Areas along a curve, by the names that specs know them by.
  const AREAS = { areaUnderRoc, areaUnderPr, stepAveragePrecision, partialArea };

  const validArea = (spec, roc, pi) => AREAS[spec.script](roc.tpr, roc.fpr, pi, spec.params);

  // An area or a proper score before noise is smoothed and values are brought into their range.
  // The curve may be left out, or be one of the same alpha and beta.
  /** @type {(model: any, mixture: any, spec: any, roc?: any) => number} */
  function rawValue(model, mixture, spec, roc = null) {
    if (spec.kind === "proper") return properScore(mixture, model.losses[spec.key].means);
    const { alpha, beta, pi } = mixture;
    const direct = Formulas.fromAucPu[spec.key];
    if (direct) return direct(model.aucPu, alpha, beta, pi);
    const curve = roc ?? recoveredRoc(model, mixture);
    if (!spec.raw_curve) return validArea(spec, curve, pi);
    return AREAS[spec.script](curve.rawTpr, curve.rawFpr, pi, spec.params);
  }

  function pointValues(points, mixture, onLabeled, onUnlabeled) {
    const tpr = ofPositives(mixture, onLabeled, onUnlabeled);
    const fpr = ofNegatives(mixture, onLabeled, onUnlabeled);
    const values = {};
    for (const { key } of points) values[key] = Formulas.point[key](tpr, fpr, mixture.pi);
    return values;
  }

  // Bring a value into a metric's range, whose upper end is null where there is none.
  const into = ({ low, high }, value) => clip(value, low, high === null ? Infinity : high);

  return {
    clip,
    reversed,
    sum,
    unpack,
    unpackShares,
    countsOf,
    readTable,
    cumulated,
    mixtureOf,
    ofPositives,
    ofNegatives,
    positiveRate,
    countBelow,
    ratesAt,
    recoveredRoc,
    monotoneRate,
    aucPu,
    properLosses,
    validArea,
    rawValue,
    pointValues,
    into,
  };
})();
