/// <reference path="translated.d.ts" />
// Intervals of areas and proper scores, as recoup.evaluation.uncertainty has them: from the influence
// of single rows, or from curves with all shares at their limits. They are for a supposed alpha:
// where alpha and beta are those of the evaluation, no slider moves an area.
const AreaIntervals = (() => {
  "use strict";

  const { clip, into, mixtureOf, monotoneRate } = Values;
  const { ofNegatives, ofPositives, rawValue, validArea } = Values;
  const { logitInterval, mover, observedAt, stretched, stretchOf } = Intervals;
  const { studentQuantile, wilson } = Intervals;
  const SHARE_STEP = 1e-4;

  // Rows of ascending scores times values from the highest score down.
  function sumOver(counts, values) {
    const n = counts.length;
    let total = 0;
    for (let i = 0; i < n; i++) total += counts[n - 1 - i] * values[i];
    return total;
  }

  // The error that follows from how much a row at each score, highest first, moves a value that has
  // these slopes in the shares of the groups.
  function standardError(model, [onLabeled, onUnlabeled], { share = 0, known = 0 } = {}) {
    const { labeled, unlabeled, squares, knownSquares, nLabeled, nUnlabeled, nRows } = model;
    const { sizes } = model.intervals;
    if (Math.min(...sizes) <= 1 + 1e-9) return Infinity;
    const n = labeled.length;
    const fraction = nLabeled / nRows;
    const meanLabeled = sumOver(labeled, onLabeled) / nLabeled;
    const meanUnlabeled = sumOver(unlabeled, onUnlabeled) / nUnlabeled;
    const more = (share * (1 - fraction)) / nRows;
    const less = (share * fraction) / nRows;
    const knownPart = model.nKnown / nUnlabeled;
    const up = (known * (1 - knownPart)) / nUnlabeled;
    const down = (known * knownPart) / nUnlabeled;
    let [ofLabeled, ofUnlabeled] = [0, 0];
    for (let i = 0; i < n; i++) {
      const at = n - 1 - i;
      const moved = (onUnlabeled[i] - meanUnlabeled) / nUnlabeled - less;
      const negatives = known ? knownSquares[at] : 0;
      ofLabeled += squares[0][at] * ((onLabeled[i] - meanLabeled) / nLabeled + more) ** 2;
      ofUnlabeled += negatives * (moved + up) ** 2;
      ofUnlabeled += (squares[1][at] - negatives) * (moved - down) ** 2;
    }
    const [first, second] = sizes.map((size) => size / (size - 1));
    return Math.sqrt(Math.max(first * ofLabeled + second * ofUnlabeled, 0));
  }

  // What one more unit of labeled and of unlabeled mass adds to both rates.
  const rateSlopes = (mixture) => ({
    tpr: [ofPositives(mixture, 1, 0), ofPositives(mixture, 0, 1)],
    fpr: [ofNegatives(mixture, 1, 0), ofNegatives(mixture, 0, 1)],
  });

  // A row moves AUC_pu by its place among the rows of the other group.
  /** @type {(model: any) => [Float64Array, Float64Array]} */
  function aucEffects({ labeledHeads, unlabeledHeads }) {
    const n = labeledHeads.length - 1;
    const middle = (heads, i) => (heads[i] + heads[i + 1]) / 2;
    return [
      Float64Array.from({ length: n }, (_, i) => 1 - middle(unlabeledHeads, i)),
      Float64Array.from({ length: n }, (_, i) => middle(labeledHeads, i)),
    ];
  }

  function averagePrecisionEffects(model, mixture) {
    const { pi } = mixture;
    const n = model.scores.length;
    const { tpr: ofTpr, fpr: ofFpr } = rateSlopes(mixture);
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

  function properEffects(mixture, [ifPositive, ifNegative]) {
    const { pi } = mixture;
    const { tpr, fpr } = rateSlopes(mixture);
    const n = ifPositive.length;
    return [0, 1].map((group) => {
      const [share, rest] = [pi * tpr[group], (1 - pi) * fpr[group]];
      const values = new Float64Array(n);
      for (let i = 0; i < n; i++) values[n - 1 - i] = share * ifPositive[i] + rest * ifNegative[i];
      return values;
    });
  }

  // How much single rows move areas, by the names that specs know them by.
  const EFFECTS = { stepAveragePrecision: averagePrecisionEffects };

  function effectsOf(model, mixture, spec) {
    if (spec.kind === "proper") return properEffects(mixture, model.losses[spec.key].losses);
    const direct = Formulas.fromAucPu[spec.key];
    if (!direct) return EFFECTS[spec.script](model, mixture);
    const { alpha, beta, pi } = mixture;
    // These are linear in AUC_pu.
    const slope = direct(1, alpha, beta, pi) - direct(0, alpha, beta, pi);
    return aucEffects(model).map((values) => values.map((value) => slope * value));
  }

  // Limits of AUC_pu: DeLong's variance, symmetric on the logit scale. Where less than one labeled
  // row's worth of pairs is out of order, or in order, one more row of each group is added that the
  // score does not tell apart.
  function aucInterval(model) {
    const effects = aucEffects(model);
    const t = studentQuantile(model, rowsBehind(model, effects));
    const value = model.aucPu;
    const around = logitInterval(value, standardError(model, effects), t);
    const { sizes } = model.intervals;
    if (Math.min(value, 1 - value) * sizes[0] >= 1) return around;
    const both = sizes.reduce((product, size) => (product * size) / (size + 1), 1);
    const center = both * value + (1 - both) / 2;
    const masses = [
      [model.labeled, model.nLabeled],
      [model.unlabeled, model.nUnlabeled],
    ];
    let variance = 0;
    masses.forEach(([counts, total], group) => {
      const squares = effects[group].map((one) => (one - center) ** 2);
      const spread = (sizes[group] * sumOver(counts, squares)) / total + (0.5 - center) ** 2;
      variance += spread / (sizes[group] + 1) ** 2;
    });
    const padded = logitInterval(center, Math.sqrt(Math.max(variance, 0)), t);
    return [Math.min(around[0], padded[0]), Math.max(around[1], padded[1])];
  }

  // How many labeled rows of equal influence would say as much about the size of the error.
  /** @type {(model: any, effects: Float64Array[]) => number} */
  function rowsBehind(model, [onLabeled]) {
    const [kish] = model.intervals.sizes;
    if (!model.weighted) return kish;
    const { labeled, nLabeled } = model;
    const [squares] = model.squares;
    const n = labeled.length;
    const mean = sumOver(labeled, onLabeled) / nLabeled;
    let [total, spread, plainTotal, plainSpread, count] = [0, 0, 0, 0, 0];
    for (let i = 0; i < n; i++) {
      const at = n - 1 - i;
      if (!(squares[at] > 0)) continue;
      const rows = labeled[at] ** 2 / squares[at];
      const square = ((onLabeled[i] - mean) / nLabeled) ** 2;
      count += rows;
      total += squares[at] * square;
      spread += (squares[at] * square) ** 2 / rows;
      plainTotal += rows * square;
      plainSpread += rows * square ** 2;
    }
    const weighted = spread / Math.max(total ** 2, 1e-300);
    const plain = plainSpread / Math.max(plainTotal ** 2, 1e-300);
    return weighted > 0 ? Math.min(kish, (count * plain) / weighted) : kish;
  }

  // Limits for how rows lie along the scores, all shares held.
  function shapeLimits(model, mixture, spec, roc, raw) {
    const direct = Formulas.fromAucPu[spec.key];
    if (direct) {
      const { alpha, beta, pi } = mixture;
      return model.intervals.auc_pu.map((end) => direct(end, alpha, beta, pi));
    }
    const effects = effectsOf(model, mixture, spec);
    const size = rowsBehind(model, effects);
    const t = studentQuantile(model, size);
    let error = standardError(model, effects);
    if (spec.kind === "proper") {
      if (spec.high !== null) {
        // Room for extreme losses that few rows may not hold.
        const mean = sumOver(model.labeled, effects[0]) / model.nLabeled;
        const least = effects[0].reduce((low, value) => Math.min(low, value), Infinity) - mean;
        const most = effects[0].reduce((high, value) => Math.max(high, value), -Infinity) - mean;
        error = Math.sqrt(error ** 2 + (least ** 2 + most ** 2) / 2 / (size + 1) ** 2);
      }
      return [raw - t * error, raw + t * error];
    }
    const valid = validArea(spec, roc, mixture.pi);
    let low = Math.min(logitInterval(valid, error, t)[0], valid - t * error, raw);
    let high = Math.max(logitInterval(raw, error, t)[1], raw);
    if (Math.min(valid, 1 - valid) * size < 1) {
      const around = wilson(clip(valid, 0, 1), size, t);
      [low, high] = [Math.min(low, around[0]), Math.max(high, around[1])];
    }
    return [low, high];
  }

  /** @type {(model: any, shares: any, mixture: any, roc: any, spec: any) => number[]} */
  function areaInterval(model, { alpha, beta }, mixture, roc, spec) {
    const raw = rawValue(model, mixture, spec, roc);
    const ends = [shapeLimits(model, mixture, spec, roc, raw)];
    const groups = Object.entries(model.shares).filter(([name]) => name !== "known_share");
    for (const [name, [share, size]] of groups) {
      // The share of labeled rows moves pi alone, so that the curve stays.
      const value = (end) =>
        rawValue(model, mixtureOf(model, alpha, beta, { [name]: end }), spec, roc);
      const [low, high] = wilson(share, size ?? Infinity, model.intervals.z);
      ends.push([value(low), value(high)]);
    }
    const limits = mover(raw, ends);
    let stretch = model.times[spec.key] ?? 1;
    if (model.weighted || model.nKnown) {
      stretch *= areaStretch(model, { alpha, beta }, mixture, roc, spec, groups);
    }
    return stretched(raw, limits, stretch);
  }

  function areaStretch(model, { alpha, beta }, mixture, roc, spec, groups) {
    const effects = effectsOf(model, mixture, spec);
    const slopes = { share: 0, known: 0 };
    if (!model.caseControl) {
      const ofPi = (pi) => rawValue(model, { ...mixture, pi }, spec, roc);
      slopes.share = slope(ofPi, mixture.pi) * (mixture.beta - mixture.alpha);
      if (model.nKnown) {
        const ofKnown = (known) =>
          rawValue(model, mixtureOf(model, alpha, beta, { known_share: known }), spec);
        slopes.known = slope(ofKnown, model.nKnown / model.nUnlabeled);
      }
    }
    let apart = standardError(model, effects) ** 2;
    for (const [, [share, size]] of groups) {
      apart += (slopes.share ** 2 * share * (1 - share)) / (size ?? Infinity);
    }
    return stretchOf(standardError(model, effects, slopes) ** 2, apart);
  }

  function slope(value, at) {
    const step = SHARE_STEP * Math.min(at, 1 - at);
    if (step > 0) return (value(at + step) - value(at - step)) / (2 * step);
    const one = at <= 0 ? SHARE_STEP : -SHARE_STEP;
    return (value(at + one) - value(at)) / one;
  }

  // Observed shares at some hundreds of thresholds, the highest first, and their limits.
  function observedCurve(model) {
    if (model.curve) return model.curve;
    const found = [...model.places].reverse().map((at) => observedAt(model, model.scores[at]));
    const names = Object.keys(found[0].values);
    const column = (read) =>
      Object.fromEntries(names.map((name) => [name, found.map((one) => read(one, name))]));
    const { z } = model.intervals;
    const limits = column(({ values, sizes }, name) => wilson(values[name], sizes[name], z));
    const rows = [...model.places].map((at) => model.weights[model.scores.length - at]);
    model.places.forEach((at, i) => {
      const end = i + 1 < model.places.length ? model.places[i + 1] : model.scores.length;
      for (let k = at + 1; k < end; k++) rows[i] += model.weights[model.scores.length - k];
    });
    model.curve = {
      values: column(({ values }, name) => values[name]),
      lows: Object.fromEntries(names.map((name) => [name, limits[name].map(([low]) => low)])),
      highs: Object.fromEntries(names.map((name) => [name, limits[name].map(([, high]) => high)])),
      weights: [1e-9, ...rows.reverse()],
    };
    return model.curve;
  }

  // An interval from curves with each share at its limits at all thresholds.
  function movedCurvesInterval(model, { alpha, beta }, spec) {
    const { values, lows, highs, weights } = observedCurve(model);
    const area = (moved = {}) => {
      const given = { ...values, ...moved };
      const { fraction, known_share: known, pi } = given;
      // These are the same at all thresholds.
      const groups = { fraction: fraction?.[0], known_share: known?.[0], pi: pi?.[0] };
      const mixture = mixtureOf(model, alpha, beta, groups);
      const rates = given.labeled.map((labeled, i) => {
        const part = known?.[i] ?? 0;
        const others = part
          ? (1 - part) * given.unlabeled[i] + part * given.known[i]
          : given.unlabeled[i];
        return [ofPositives(mixture, labeled, others), ofNegatives(mixture, labeled, others)];
      });
      const [tpr, fpr] = [0, 1].map((which) =>
        monotoneRate(Float64Array.from([0, ...rates.map((pair) => pair[which])]), weights),
      );
      return validArea(spec, { tpr, fpr }, mixture.pi);
    };
    const ends = Object.keys(values).map((name) => [
      area({ [name]: lows[name] }),
      area({ [name]: highs[name] }),
    ]);
    const value = area();
    return stretched(value, mover(value, ends), model.times[spec.key] ?? 1);
  }

  // From rows, from moved curves, or the narrower one: both hold the truth.
  function intervalOf(model, shares, mixture, roc, spec) {
    if (!spec.from_rows) return movedCurvesInterval(model, shares, spec);
    const fromRows = areaInterval(model, shares, mixture, roc, spec);
    if (spec.kind === "proper" || Formulas.fromAucPu[spec.key]) return fromRows;
    const fromCurves = movedCurvesInterval(model, shares, spec);
    const width = (ends) => into(spec, ends[1]) - into(spec, ends[0]);
    return width(fromCurves) < width(fromRows) ? fromCurves : fromRows;
  }

  function areaIntervals(model, shares, mixture, roc) {
    const limits = {};
    for (const spec of model.live) {
      if (spec.kind === "point") continue;
      if (spec.limits_of) {
        const [like, { pi }] = [limits[spec.limits_of], mixture];
        const shift = validArea(spec, roc, pi) - validArea(model.specs[spec.limits_of], roc, pi);
        limits[spec.key] = [like[0] + Math.min(shift, 0), like[1] + Math.max(shift, 0)];
      } else {
        limits[spec.key] = intervalOf(model, shares, mixture, roc, spec);
      }
    }
    return limits;
  }

  return { areaInterval, areaIntervals, aucInterval };
})();
