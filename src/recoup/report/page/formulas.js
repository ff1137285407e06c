/// <reference path="translated.d.ts" />
// What recoup.evaluate computes for a known alpha and beta, again in the page: the same formulas,
// on the same table of scores. Formulas of one threshold, of losses and of AUC_pu are translated
// from Python's (Formulas); those along curves are written here, and specs name them. Nothing here
// touches the document.
const Recoup = (() => {
  "use strict";

  const ARRAYS = { Uint8Array, Uint16Array, Uint32Array, Float32Array, Float64Array };
  const CALIBRATION_BINS = 10;
  const DENSITY_BINS = 40;

  const clip = (value, low, high) => Math.min(Math.max(value, low), high);
  const orNull = (value) => (Number.isFinite(value) ? value : null);
  const reversed = (values) => values.slice().reverse();
  const sum = (values) => values.reduce((total, value) => total + value, 0);

  function unpack(packed) {
    const text = atob(packed.data);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    return Float64Array.from(new ARRAYS[packed.type](bytes.buffer));
  }

  function readTable(packed) {
    const [labeled, unlabeled] = [unpack(packed.labeled), unpack(packed.unlabeled)];
    return {
      labeled, unlabeled, thinned: packed.thinned,
      labeledHeads: heads(labeled), unlabeledHeads: heads(unlabeled),
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

  // Share of a group at or above each score, from above the highest score down.
  function heads(counts) {
    const shares = new Float64Array(counts.length + 1);
    const total = sum(counts);
    shares.set(cumulated(reversed(counts)).map((count) => count / total), 1);
    return shares;
  }

  function read(packed) {
    const table = readTable(packed.table);
    const found = packed.evaluation;
    const caseControl = packed.by_propensity || found.scheme === "case-control";
    const both = table.labeled.map((count, i) => count + table.unlabeled[i]);
    const rows = caseControl ? table.unlabeled : both;
    const weights = Float64Array.from([1e-9, ...reversed(both)]);
    const thresholds = Float64Array.from([Infinity, ...reversed(table.scores)]);
    const { alpha, beta, pi, scheme, threshold, confidence } = found;
    return {
      ...Object.fromEntries(Object.entries(packed).map(([key, item]) => [inScript(key), item])),
      ...table,
      alpha, beta, pi, scheme, threshold, confidence, caseControl, rows, weights, thresholds,
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

  function mixtureOf(model, hidden, beta) {
    if (!(hidden >= 0 && hidden < beta && beta <= 1)) {
      throw new RangeError(`Recoup needs 0 <= alpha < beta <= 1. Got ${hidden} and ${beta}.`);
    }
    const { byPropensity, counts, nLabeled, nUnlabeled } = model;
    // With propensities every row is one of the population, and labels are taken as right.
    const all = (counts.n_labeled + hidden * counts.n_unlabeled) / counts.n_rows;
    const alpha = (byPropensity ? all : hidden) * (1 - model.nKnown / nUnlabeled);
    const pi = model.caseControl ? alpha : (nLabeled * beta + nUnlabeled * alpha) / model.nRows;
    return { alpha, beta: byPropensity ? 1 : beta, pi };
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
    const ece = sum(gaps.map((gap, i) => gap * inBins[i])) / total;
    return { threshold, meanScore, positiveShare, rawPositiveShare, rows: inBins, ece };
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

  function densitiesOf({ histogram: { edges, labeled, unlabeled } }, mixture) {
    const unmixed = (formula) =>
      labeled.map((density, i) => Math.max(formula(mixture, density, unlabeled[i]), 0));
    const [positive, negative] = [unmixed(ofPositives), unmixed(ofNegatives)];
    return { edges, labeled, unlabeled, positive, negative };
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

  // Areas along a curve and the influence of rows on them, by the names that specs know them by.
  const AREAS = { areaUnderRoc, areaUnderPr, stepAveragePrecision, partialArea };
  const INFLUENCES = { stepAveragePrecision: averagePrecisionInfluence };

  // Every metric as [raw, recovered].
  function measure(model, mixture, roc, cut) {
    const points = pointValues(model.points, mixture, ...ratesAt(model, cut));
    const found = {};
    for (const spec of model.live) {
      let [raw, value] = [points[spec.key], points[spec.key]];
      if (spec.kind === "area") [raw, value] = areaValues(model, mixture, roc, spec);
      if (spec.kind === "proper") raw = value = properScore(mixture, model.losses[spec.key].means);
      found[spec.key] = [raw, into(spec, value)];
    }
    return found;
  }

  function areaValues(model, { alpha, beta, pi }, roc, spec) {
    const direct = Formulas.fromAucPu[spec.key];
    const fromPairs = direct?.(model.aucPu, alpha, beta, pi);
    if (direct && !spec.needs_alpha) return [fromPairs, fromPairs];
    const area = (tpr, fpr) => AREAS[spec.script](tpr, fpr, pi, spec.params);
    const value = area(roc.tpr, roc.fpr);
    if (direct) return [fromPairs, value];
    return [spec.raw_curve ? area(roc.rawTpr, roc.rawFpr) : value, value];
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

  function wilson(share, size, z) {
    const shrink = 1 + z ** 2 / size;
    const center = (share + z ** 2 / (2 * size)) / shrink;
    const spread = (share * (1 - share)) / size + z ** 2 / (4 * size ** 2);
    const half = (z * Math.sqrt(spread)) / shrink;
    return [Math.max(center - half, 0), Math.min(center + half, 1)];
  }

  function mover(model, mixture, cut) {
    if (!model.intervals) return {};
    const { z, sizes } = model.intervals;
    const rates = ratesAt(model, cut);
    const at = (onLabeled, onUnlabeled) =>
      pointValues(model.points, mixture, onLabeled, onUnlabeled);
    const value = at(...rates);
    const ends = [
      wilson(rates[0], sizes[0], z).map((rate) => at(rate, rates[1])),
      wilson(rates[1], sizes[1], z).map((rate) => at(rates[0], rate)),
    ];
    const limits = {};
    for (const key in value) {
      let [below, above] = [0, 0];
      for (const [first, second] of ends) {
        below += Math.max(value[key] - Math.min(first[key], second[key]), 0) ** 2;
        above += Math.max(Math.max(first[key], second[key]) - value[key], 0) ** 2;
      }
      limits[key] = [value[key] - Math.sqrt(below), value[key] + Math.sqrt(above)];
    }
    return limits;
  }

  // From the influence of a row at each score, highest first, on a smooth function of the table.
  function standardError(model, influences) {
    const n = model.scores.length;
    const counted = [model.labeled, model.unlabeled];
    const totals = [model.nLabeled, model.nUnlabeled];
    let variance = 0;
    for (const [group, values] of influences.entries()) {
      const [counts, total, size] = [counted[group], totals[group], model.intervals.sizes[group]];
      if (size <= 1 + 1e-9) return Infinity;
      let [mean, spread] = [0, 0];
      for (let i = 0; i < n; i++) mean += (counts[n - 1 - i] / total) * values[i];
      for (let i = 0; i < n; i++) spread += (counts[n - 1 - i] / total) * (values[i] - mean) ** 2;
      variance += spread / (size - 1);
    }
    return Math.sqrt(variance);
  }

  // What one more unit of labeled and of unlabeled mass adds to both rates.
  const slopes = (mixture) => ({
    tpr: [ofPositives(mixture, 1, 0), ofPositives(mixture, 0, 1)],
    fpr: [ofNegatives(mixture, 1, 0), ofNegatives(mixture, 0, 1)],
  });

  function averagePrecisionInfluence(model, mixture) {
    const { pi } = mixture;
    const n = model.scores.length;
    const { tpr: ofTpr, fpr: ofFpr } = slopes(mixture);
    const ofRate = [0, 1].map((group) => pi * ofTpr[group] + (1 - pi) * ofFpr[group]);
    const byTpr = new Float64Array(n);
    const byRate = new Float64Array(n);
    let before = 0;
    for (let i = 0; i < n; i++) {
      const labeled = model.labeledHeads[i + 1];
      const unlabeled = model.unlabeledHeads[i + 1];
      const tpr = ofTpr[0] * labeled + ofTpr[1] * unlabeled;
      const rate = ofRate[0] * labeled + ofRate[1] * unlabeled;
      const inverse = rate > 1e-12 ? 1 / rate : 0;
      const gain = tpr * inverse;
      const step = tpr - before;
      byTpr[i] = gain + step * inverse;
      byRate[i] = -pi * step * gain * inverse;
      if (i > 0) byTpr[i - 1] = pi * (byTpr[i - 1] - gain);
      before = tpr;
    }
    byTpr[n - 1] = pi * byTpr[n - 1];
    return [0, 1].map((group) => {
      const values = new Float64Array(n);
      for (let i = n - 1, total = 0; i >= 0; i--) {
        values[i] = total += byTpr[i] * ofTpr[group] + byRate[i] * ofRate[group];
      }
      return values;
    });
  }

  function properInfluence(mixture, [ifPositive, ifNegative]) {
    const { pi } = mixture;
    const { tpr, fpr } = slopes(mixture);
    const n = ifPositive.length;
    return [0, 1].map((group) => {
      const [share, rest] = [pi * tpr[group], (1 - pi) * fpr[group]];
      const values = new Float64Array(n);
      for (let i = 0; i < n; i++) values[n - 1 - i] = share * ifPositive[i] + rest * ifNegative[i];
      return values;
    });
  }

  // Limits before they are brought into range; none with propensities, which need the rows.
  function limitsOf(model, mixture, raw, cut) {
    if (!model.intervals) return {};
    const { t, auc_pu: observed } = model.intervals;
    const { alpha, beta, pi } = mixture;
    const limits = mover(model, mixture, cut);
    for (const spec of model.live) {
      const { key, kind } = spec;
      if (kind === "point") continue;
      const direct = Formulas.fromAucPu[key];
      if (direct) {
        const ends = observed.map((end) => clip(end, 1e-9, 1 - 1e-9));
        limits[key] = ends.map((end) => direct(end, alpha, beta, pi));
      } else if (spec.limits_of) {
        limits[key] = limits[spec.limits_of];
      } else if (kind === "proper" || INFLUENCES[spec.script]) {
        const influence =
          kind === "proper"
            ? properInfluence(mixture, model.losses[key].losses)
            : INFLUENCES[spec.script](model, mixture);
        limits[key] = limitsAround(raw[key][0], t * standardError(model, influence), spec.ratio);
      }
    }
    return limits;
  }

  // Precision is a ratio, so its errors grow upwards: the upper limit is taken in logarithms.
  function limitsAround(center, error, ratio) {
    const upper = ratio && center > 0 ? center * Math.exp(Math.min(error / center, 50)) : null;
    return [center - error, upper === null ? center + error : upper];
  }

  function settle(model, wanted) {
    const { alpha, beta, threshold } = { ...model, ...wanted };
    return { alpha, beta, threshold: model.singlePrecision ? Math.fround(threshold) : threshold };
  }

  function isOwn(model, wanted) {
    const { alpha, beta, threshold } = settle(model, wanted);
    return alpha === model.alpha && beta === model.beta && threshold === model.threshold;
  }

  function recover(model, wanted = {}) {
    const { alpha, beta, threshold: cut } = settle(model, wanted);
    const mixture = mixtureOf(model, alpha, beta);
    const { pi } = mixture;
    const roc = recoveredRoc(model, mixture);
    const raw = measure(model, mixture, roc, cut);
    const metrics = estimates(model, raw, limitsOf(model, mixture, raw, cut), cut, true);
    const [tpr, fpr] = [metrics.recall.recovered, 1 - metrics.specificity.recovered];
    const queue = sum(model.rows.subarray(countBelow(model.scores, cut)));
    return {
      alpha, beta, threshold: cut, pi, metrics, roc, queue,
      pr: { recall: roc.tpr, precision: precisionCurve(roc, pi) },
      lift: { positiveRate: roc.tpr.map((y, i) => positiveRate(y, roc.fpr[i], pi)), tpr: roc.tpr },
      along: (key, parameters) => along(roc, pi, key, parameters),
      best: (key, parameters) => best(roc, pi, model.specs[key], parameters),
      calibration: model.holdsProbabilities ? calibrationOf(model, mixture) : null,
      densities: densitiesOf(model, mixture),
      confusion: { tp: pi * tpr, fp: (1 - pi) * fpr, fn: pi * (1 - tpr), tn: (1 - pi) * (1 - fpr) },
      positiveRate: queue / sum(model.rows),
      ...feasibility(model, alpha, beta),
    };
  }

  // The metrics of one threshold alone: no curve is needed for them, so this is quick.
  function at(model, wanted = {}) {
    const { alpha, beta, threshold } = settle(model, wanted);
    const mixture = mixtureOf(model, alpha, beta);
    const raw = pointValues(model.points, mixture, ...ratesAt(model, threshold));
    for (const key in raw) raw[key] = [raw[key], into(model.specs[key], raw[key])];
    return estimates(model, raw, mover(model, mixture, threshold), threshold);
  }

  // Values as the page shows them, in the order that Python has them in. Those that it cannot
  // compute again stay Python's.
  function estimates(model, raw, limits, cut, withFixed = false) {
    const found = {};
    const observed = naiveValues(model, cut);
    for (const key in model.evaluation.metrics) {
      if (withFixed && model.specs[key].fixed) found[key] = model.evaluation.metrics[key];
      if (!(key in raw)) continue;
      const value = raw[key][1];
      const ends = limits[key] || [NaN, NaN];
      const [low, high] = ends.map((end) => into(model.specs[key], end));
      found[key] = {
        pu: key in observed ? observed[key] : model.evaluation.metrics[key].pu,
        raw: orNull(raw[key][0]),
        recovered: orNull(value),
        lower: orNull(low > value ? value : low),
        upper: orNull(high < value ? value : high),
      };
    }
    return found;
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
  function feasibility(model, alpha, beta) {
    const { alpha_upper: fixed } = model.evaluation.feasibility;
    const alphaUpper = model.byPropensity ? fixed : beta * model.alphaRatio;
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
    const { beta, threshold } = settle(model, wanted);
    const values = {};
    for (const { key } of model.live) values[key] = new Float64Array(alphas.length);
    alphas.forEach((alpha, i) => {
      const mixture = mixtureOf(model, alpha, beta);
      const found = measure(model, mixture, recoveredRoc(model, mixture), threshold);
      for (const key in values) values[key][i] = found[key][1];
    });
    return values;
  }

  // What wrong decisions cost per 1,000 rows.
  const cost = ({ confusion }, fpCost, fnCost) =>
    1000 * (fnCost * confusion.fn + fpCost * confusion.fp);

  return {
    read, recover, at, sensitivity, isOwn, naiveRoc, cost, unpack, monotoneRate,
    limits: sliderLimits,
  };
})();
