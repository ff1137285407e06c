/// <reference path="translated.d.ts" />
// What recoup.evaluate computes for a known alpha and beta, again in the page: the same formulas,
// on the same table of scores (Values, Uncertainty). Nothing here touches the document.
const Recoup = (() => {
  "use strict";

  const {
    aucPu, clip, countBelow, cumulated, into, mixtureOf, monotoneRate, ofNegatives, ofPositives,
    pointValues, positiveRate, properLosses, ratesAt, rawValue, readTable, recoveredRoc, reversed,
    sum, unpack, validArea,
  } = Values;
  const CALIBRATION_BINS = 10;
  const DENSITY_BINS = 40;

  const orNull = (value) => (Number.isFinite(value) ? value : null);

  function read(packed) {
    const table = readTable(packed.table);
    const found = packed.evaluation;
    const caseControl = packed.by_propensity || found.scheme === "case-control";
    const both = table.labeled.map((count, i) => count + table.unlabeled[i]);
    const rows = caseControl ? table.unlabeled : both;
    const weights = Float64Array.from([1e-9, ...reversed(both)]);
    const thresholds = Float64Array.from([Infinity, ...reversed(table.scores)]);
    const { alpha, beta, pi, scheme, threshold, confidence } = found;
    const { draws } = packed.prior;
    return {
      ...Object.fromEntries(Object.entries(packed).map(([key, item]) => [inScript(key), item])),
      ...table,
      alpha, beta, pi, scheme, threshold, confidence, caseControl, rows, weights, thresholds,
      places: unpack(packed.places),
      draws: draws && [unpack(draws[0]), draws[1] && unpack(draws[1])],
      naive: packed.naive ? readTable(packed.naive) : table,
      // Both limits are proportional: alpha's to beta, and that of 1 - beta to 1 - alpha.
      alphaRatio: found.feasibility.alpha_upper / beta,
      betaRatio: (1 - found.feasibility.beta_lower) / (1 - alpha),
      ...ofKinds(packed.specs),
      losses: packed.holds_probabilities ? properLosses(table, packed.specs) : {},
      aucPu: aucPu(table),
      histogram: histogramOf(table, rows, packed.holds_probabilities),
    };
  }

  // The specs of what can be computed again, and those of them that belong to one threshold.
  function ofKinds(specs) {
    const live = Object.values(specs).filter(({ fixed }) => !fixed);
    return { live, points: live.filter(({ kind }) => kind === "point") };
  }

  const inScript = (key) => key.replace(/_(.)/g, (_, letter) => letter.toUpperCase());

  function along(roc, pi, key, parameters) {
    const formula = Formulas.point[key];
    return roc.tpr.map((tpr, i) => formula(tpr, roc.fpr[i], pi, parameters));
  }

  // The threshold where a metric along the curve is best; the first of several.
  function best(roc, pi, spec, parameters) {
    const values = along(roc, pi, spec.key, parameters);
    const sign = spec.higher_is_better ? 1 : -1;
    let place = -1;
    values.forEach((value, i) => {
      if (place < 0 ? !Number.isNaN(value) : sign * value > sign * values[place]) place = i;
    });
    return { threshold: roc.threshold[place], value: values[place] };
  }

  // Where nothing is predicted positive yet, precision is that of the first point.
  function precisionCurve(roc, pi) {
    const values = along(roc, pi, "precision");
    const first = values.findIndex((value) => !Number.isNaN(value));
    return values.fill(values[first], 0, first);
  }

  function calibrationOf(model, mixture) {
    const { rows, scores, centers } = model;
    const n = rows.length;
    const upTo = cumulated(rows);
    const total = upTo[n - 1];
    const starts = new Set([0]);
    for (let k = 1; k < CALIBRATION_BINS; k++) {
      const cut = countBelow(upTo, (total * k) / CALIBRATION_BINS) + 1;
      if (cut < n) starts.add(cut);
    }
    const edges = [...starts, n];
    const bins = [];
    for (let bin = 0; bin + 1 < edges.length; bin++) {
      let [labeled, unlabeled, inBin, scored] = [0, 0, 0, 0];
      for (let i = edges[bin]; i < edges[bin + 1]; i++) {
        labeled += model.labeled[i];
        unlabeled += model.unlabeled[i];
        inBin += rows[i];
        scored += rows[i] * centers[i];
      }
      if (!(inBin > 0)) continue;
      const onRates = [labeled / model.nLabeled, unlabeled / model.nUnlabeled];
      const share = (mixture.pi * ofPositives(mixture, ...onRates) * total) / inBin;
      bins.push([scores[edges[bin]], scored / inBin, clip(share, 0, 1), share, inBin]);
    }
    const [threshold, meanScore, positiveShare, rawPositiveShare, inBins] = [0, 1, 2, 3, 4].map(
      (column) => bins.map((bin) => bin[column]),
    );
    const gaps = meanScore.map((mean, i) => Math.abs(mean - positiveShare[i]));
    const rawEce = sum(gaps.map((gap, i) => gap * inBins[i])) / total;
    return { threshold, meanScore, positiveShare, rawPositiveShare, rows: inBins, rawEce };
  }

  // Shares of the two groups in bins of equal width. Rows beyond the outermost half percent on
  // either side count in the first and last bin, so that a few strange scores hide nothing.
  function histogramOf(table, rows, holdsProbabilities) {
    let [low, high] = [0, 1];
    if (!holdsProbabilities) {
      const upTo = cumulated(rows);
      const scoreAt = (part) => table.centers[countBelow(upTo, part * upTo[upTo.length - 1])];
      [low, high] = [scoreAt(0.005), scoreAt(0.995)];
      if (!(high > low)) [low, high] = [low - 0.5, low + 0.5];
    }
    const width = (high - low) / DENSITY_BINS;
    const edges = Float64Array.from({ length: DENSITY_BINS + 1 }, (_, i) => low + i * width);
    const labeled = new Float64Array(DENSITY_BINS);
    const unlabeled = new Float64Array(DENSITY_BINS);
    for (let i = 0; i < table.centers.length; i++) {
      const bin = clip(Math.floor((table.centers[i] - low) / width), 0, DENSITY_BINS - 1);
      labeled[bin] += table.labeled[i] / table.nLabeled / width;
      unlabeled[bin] += table.unlabeled[i] / table.nUnlabeled / width;
    }
    return { edges, labeled, unlabeled };
  }

  // Of the rows as they are, and of what fair labels say of the classes.
  function densitiesOf(made, fair, mixture) {
    const { edges, labeled, unlabeled } = made.histogram;
    const seen =
      fair === made ? made.histogram : histogramOf(fair, made.rows, made.holdsProbabilities);
    const unmixed = (formula) =>
      seen.labeled.map((density, i) => Math.max(formula(mixture, density, seen.unlabeled[i]), 0));
    const [positive, negative] = [unmixed(ofPositives), unmixed(ofNegatives)];
    return { edges, labeled, unlabeled, positive, negative };
  }

  // Every metric as [raw, recovered].
  function measure(model, mixture, roc, cut) {
    const points = pointValues(model.points, mixture, ...ratesAt(model, cut));
    const found = {};
    for (const spec of model.live) {
      let [raw, value] = [points[spec.key], points[spec.key]];
      if (spec.kind !== "point") raw = value = rawValue(model, mixture, spec, roc);
      if (spec.kind === "area" && spec.needs_alpha) value = validArea(spec, roc, mixture.pi);
      found[spec.key] = [raw, into(spec, value)];
    }
    return found;
  }

  // Where a reader stands, and whether alpha and beta are those of the evaluation, and labels a random
  // sample of the positives (odds of 1), as its values take them: their
  // uncertainty then counts, and Python's own numbers stand for what no threshold moves.
  function settle(model, wanted) {
    const { alpha, beta, threshold, odds: asked = 1 } = { ...model, ...wanted };
    const cut = model.singlePrecision ? Math.fround(threshold) : threshold;
    // Of wrong labels nothing says which were favored.
    const odds = beta === 1 ? asked : 1;
    const own = alpha === model.alpha && beta === model.beta && odds === 1;
    return { alpha, beta, threshold: cut, odds, own, made: own && cut === model.threshold };
  }

  const isOwn = (model, wanted) => settle(model, wanted).made;

  function recover(made, wanted = {}) {
    const position = settle(made, wanted);
    const { alpha, beta, threshold: cut, odds } = position;
    const model = Tilt.tilted(made, position);
    const mixture = mixtureOf(model, alpha, beta);
    const { pi } = mixture;
    const roc = recoveredRoc(model, mixture);
    const raw = measure(model, mixture, roc, cut);
    const metrics = estimates(made, position, raw, Uncertainty.all(made, position, mixture, roc));
    const [tpr, fpr] = [metrics.recall.recovered, 1 - metrics.specificity.recovered];
    const queue = sum(model.rows.subarray(countBelow(model.scores, cut)));
    return {
      alpha, beta, threshold: cut, odds, own: position.own, pi, metrics, roc, queue,
      gap: mixture.beta - mixture.alpha,
      open: Uncertainty.openShares(made, position),
      hidden: hiddenPositives(made, position),
      pr: { recall: roc.tpr, precision: precisionCurve(roc, pi) },
      lift: { positiveRate: roc.tpr.map((y, i) => positiveRate(y, roc.fpr[i], pi)), tpr: roc.tpr },
      along: (key, parameters) => along(roc, pi, key, parameters),
      best: (key, parameters) => best(roc, pi, model.specs[key], parameters),
      calibration: model.holdsProbabilities ? calibrationOf(model, mixture) : null,
      densities: densitiesOf(made, model, mixture),
      confusion: { tp: pi * tpr, fp: (1 - pi) * fpr, fn: pi * (1 - tpr), tn: (1 - pi) * (1 - fpr) },
      positiveRate: queue / sum(model.rows),
      ...feasibility(made, position),
    };
  }

  // The metrics of one threshold alone: no curve is needed for them, so this is quick.
  function at(made, wanted = {}) {
    const position = settle(made, wanted);
    const model = Tilt.tilted(made, position);
    const mixture = mixtureOf(model, position.alpha, position.beta);
    const raw = pointValues(model.points, mixture, ...ratesAt(model, position.threshold));
    for (const key in raw) raw[key] = [raw[key], into(model.specs[key], raw[key])];
    return estimates(made, position, raw, Uncertainty.points(made, position), false);
  }

  // Values as the page shows them, in the order that Python has them in. Those that it cannot
  // compute again, and those that nothing moved, stay Python's.
  function estimates(model, position, raw, { limits, possible }, all = true) {
    const found = {};
    const observed = naiveValues(model, position.threshold);
    for (const [key, made] of Object.entries(model.evaluation.metrics)) {
      const spec = model.specs[key];
      const stays = position.made || (position.own && spec.kind !== "point");
      if (all && (spec.fixed || stays)) {
        const [above, below] = model.beyond[key] ?? [NaN, NaN];
        found[key] = { ...made, above, below, outdated: spec.fixed && !stays };
      } else if (key in raw) {
        const pu = key in observed ? observed[key] : made.pu;
        found[key] = { pu, ...estimate(spec, raw[key], limits[key], possible[key]) };
      }
    }
    return found;
  }

  // A value with its limits, all brought into the metric's range, as Estimate.make does it.
  /** @type {(spec: any, values: number[], limits?: number[], possible?: number[]) => any} */
  function estimate(spec, [raw, value], limits = [NaN, NaN], possible = [NaN, NaN]) {
    const top = spec.high === null ? Infinity : spec.high;
    const inside = (/** @type {number[]} */ [low, high]) => {
      // An interval outside the range is no certainty: at the end of the range it keeps its width.
      if (low > top) low = Math.min(low, top - (raw - low));
      if (high < spec.low) high = Math.max(high, spec.low + (high - raw));
      return [Math.min(into(spec, low), value), Math.max(into(spec, high), value)];
    };
    const [lower, upper] = limits.some(Number.isNaN) ? [NaN, NaN] : inside(limits);
    const wide = limits.some(Number.isNaN) ? [NaN, NaN] : inside(possible);
    return {
      raw: orNull(raw), recovered: orNull(value), lower: orNull(lower), upper: orNull(upper),
      possible_lower: orNull(Math.min(wide[0], lower)),
      possible_upper: orNull(Math.max(wide[1], upper)),
      // How far the whole interval lies outside the range.
      above: limits[0] - top,
      below: spec.low - limits[1],
    };
  }

  // How many of the unlabeled rows are positive: chance alone, where alpha is supposed to be known.
  function hiddenPositives(model, { alpha, own }) {
    if (own) return model.evaluation.hidden;
    const { n_unlabeled: rows, unlabeled_squares: squares } = model.counts;
    const count = alpha * rows;
    const chance = model.intervals.z * Math.sqrt(squares * alpha * (1 - alpha));
    const [lower, upper] = [count - chance, count + chance].map((end) => clip(end, 0, rows));
    return { count, lower, upper, possible_lower: lower, possible_upper: upper };
  }

  // Metrics at a threshold with every row that is not labeled taken as negative.
  function naiveValues({ naive, specs, points }, cut) {
    const mixture = { alpha: 0, beta: 1, pi: naive.nLabeled / naive.nRows };
    const values = pointValues(points, mixture, ...ratesAt(naive, cut));
    for (const key in values) values[key] = orNull(into(specs[key], values[key]));
    return values;
  }

  // The ROC curve with every row that is not labeled taken as negative.
  const naiveRoc = ({ naive }) => ({ fpr: naive.unlabeledHeads, tpr: naive.labeledHeads });

  // Largest alpha and smallest beta that the scores allow, and whether these two are within.
  function feasibility(model, { alpha, beta, odds }) {
    const { alpha_upper: fixed } = model.evaluation.feasibility;
    const room = odds === 1 ? 1 : Tilt.roomForAlpha(model, odds);
    const alphaUpper = model.byPropensity ? fixed : Math.min(beta * model.alphaRatio * room, 1);
    const betaLower = model.byPropensity ? 0 : 1 - (1 - alpha) * model.betaRatio;
    return { alphaUpper, betaLower, feasible: alpha <= alphaUpper && beta >= betaLower };
  }

  // How far each slider may go while the other stays, so that alpha remains below beta.
  function sliderLimits(model, wanted = {}) {
    const { alpha, beta } = settle(model, wanted);
    const { ranges } = model;
    return {
      alpha: [0, Math.min(ranges.alpha[1], beta - ranges.gap)],
      beta: [Math.min(Math.max(ranges.beta[0], alpha + ranges.gap), 1), 1],
      threshold: ranges.threshold,
    };
  }

  // Every recovered metric that can be computed again, over values of alpha.
  function sensitivity(model, alphas, wanted = {}) {
    const { beta, threshold, odds } = settle(model, wanted);
    const values = {};
    for (const { key } of model.live) values[key] = new Float64Array(alphas.length);
    alphas.forEach((alpha, i) => {
      const fair = Tilt.tilted(model, { alpha, beta, odds });
      const mixture = mixtureOf(fair, alpha, beta);
      const found = measure(fair, mixture, recoveredRoc(fair, mixture), threshold);
      for (const key in values) values[key][i] = found[key][1];
    });
    return values;
  }

  // Whether the scores seem to know the labels: from some alpha on, fewer unlabeled rows have high
  // scores than it calls for.
  function leaks({ leak, byPropensity }, { alpha, beta, own }) {
    if (own || byPropensity) return leak.made;
    return alpha > 0 ? alpha / beta >= leak.from : leak.at_zero;
  }

  // What wrong decisions cost per 1,000 rows.
  const cost = ({ confusion }, fpCost, fnCost) =>
    1000 * (fnCost * confusion.fn + fpCost * confusion.fp);

  return {
    read, recover, at, sensitivity, isOwn, leaks, naiveRoc, cost, unpack, monotoneRate,
    limits: sliderLimits,
  };
})();
