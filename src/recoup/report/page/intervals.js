/// <reference path="translated.d.ts" />
// Intervals as recoup.evaluation.uncertainty has them. At a threshold, the limits of every observed
// share are carried through the metric; areas and proper scores have a standard error from the
// influence of single rows. An area is computed here for a supposed alpha only: where alpha and beta
// are those of the evaluation, no slider moves it.
const Intervals = (() => {
  "use strict";

  const { clip, countBelow, mixtureOf, ofNegatives, ofPositives, pointValues } = Values;
  const { rawValue, validArea } = Values;
  const STEP = 1e-6;
  const SHARE_STEP = 1e-4;
  const ROUNDING = 1e-12;

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
  const stretchOf = (joint, apart) =>
    apart > 0 && apart < Infinity && joint > 0 ? Math.sqrt(joint / apart) : 1;

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

  // Metrics at a threshold

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
      kept[name] = squareHeads[place];
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
      limits[key] = stretches ? stretched(value[key], around, stretches[key]) : around;
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
      let apart = 0;
      for (const [name, share] of Object.entries(observed.values)) {
        apart += (slopes[key][name] ** 2 * share * (1 - share)) / observed.sizes[name];
      }
      found[key] = stretchOf(jointVariance(model, observed, slopes[key]), apart);
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

  // Areas and proper scores

  // How much a unit of weight more at each score, highest first, moves a value whose shares of the
  // groups have these slopes.
  function standardError(model, [onLabeled, onUnlabeled], { share = 0, known = 0 } = {}) {
    const { labeled, unlabeled, squares, knownSquares, nLabeled, nUnlabeled, nRows } = model;
    const { sizes } = model.intervals;
    if (Math.min(...sizes) <= 1 + 1e-9) return Infinity;
    const n = labeled.length;
    const fraction = nLabeled / nRows;
    const meanOf = (counts, values, total) => {
      let sum = 0;
      for (let i = 0; i < n; i++) sum += counts[n - 1 - i] * values[i];
      return sum / total;
    };
    const meanLabeled = meanOf(labeled, onLabeled, nLabeled);
    const meanUnlabeled = meanOf(unlabeled, onUnlabeled, nUnlabeled);
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
    return Math.sqrt(first * ofLabeled + second * ofUnlabeled);
  }

  // What one more unit of labeled and of unlabeled mass adds to both rates.
  const rateSlopes = (mixture) => ({
    tpr: [ofPositives(mixture, 1, 0), ofPositives(mixture, 0, 1)],
    fpr: [ofNegatives(mixture, 1, 0), ofNegatives(mixture, 0, 1)],
  });

  // A row moves AUC_pu by its place among the rows of the other group.
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

  function partialAreaEffects(model, mixture, { max_fpr: most }) {
    const n = model.scores.length;
    const slopes = rateSlopes(mixture);
    const [tpr, fpr] = [slopes.tpr, slopes.fpr].map(([ofLabeled, ofUnlabeled]) => {
      let highest = 0;
      return model.labeledHeads.map((head, i) => {
        highest = Math.max(
          highest,
          i ? ofLabeled * head + ofUnlabeled * model.unlabeledHeads[i] : 0,
        );
        return highest;
      });
    });
    const right = fpr.findIndex((rate) => rate > most);
    const left = right - 1;
    const reached =
      right < 0
        ? tpr[n]
        : tpr[left] + ((tpr[right] - tpr[left]) * (most - fpr[left])) / (fpr[right] - fpr[left]);
    const scale = 0.5 / (most - most ** 2 / 2);
    return [0, 1].map((group) =>
      Float64Array.from({ length: n }, (_, i) => {
        const along = Math.max(most - (fpr[i + 1] + fpr[i]) / 2, 0);
        const rise = along > 0 ? Math.max(reached - (tpr[i + 1] + tpr[i]) / 2, 0) : 0;
        return scale * (slopes.tpr[group] * along - slopes.fpr[group] * rise);
      }),
    );
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
  const EFFECTS = {
    stepAveragePrecision: averagePrecisionEffects,
    partialArea: partialAreaEffects,
  };
  const hasEffects = ({ key, kind, script }) =>
    kind === "proper" || key in Formulas.fromAucPu || script in EFFECTS;

  function effectsOf(model, mixture, spec) {
    if (spec.kind === "proper") return properEffects(mixture, model.losses[spec.key].losses);
    const direct = Formulas.fromAucPu[spec.key];
    if (!direct) return EFFECTS[spec.script](model, mixture, spec.params);
    const { alpha, beta, pi } = mixture;
    // These are linear in AUC_pu.
    const slope = direct(1, alpha, beta, pi) - direct(0, alpha, beta, pi);
    return aucEffects(model).map((values) => values.map((value) => slope * value));
  }

  // Limits for how rows lie along the scores, all shares held.
  function shapeLimits(model, mixture, spec, roc, raw) {
    const { t, sizes, auc_pu: ends } = model.intervals;
    const direct = Formulas.fromAucPu[spec.key];
    if (direct) return ends.map((end) => direct(end, mixture.alpha, mixture.beta, mixture.pi));
    const error = standardError(model, effectsOf(model, mixture, spec));
    if (spec.kind === "proper") return [raw - t * error, raw + t * error];
    const valid = validArea(spec, roc, mixture.pi);
    let low = Math.min(logitInterval(valid, error, t)[0], valid - t * error, raw);
    let high = Math.max(logitInterval(raw, error, t)[1], raw);
    if (Math.min(valid, 1 - valid) * sizes[0] < 1) {
      const around = wilson(clip(valid, 0, 1), sizes[0], t);
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
    if (!model.weighted && !model.nKnown) return limits;
    return stretched(raw, limits, areaStretch(model, { alpha, beta }, mixture, roc, spec, groups));
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

  function areaIntervals(model, shares, mixture, roc) {
    const limits = {};
    for (const spec of model.live) {
      if (spec.kind === "point") continue;
      if (hasEffects(spec)) limits[spec.key] = areaInterval(model, shares, mixture, roc, spec);
      const like = limits[spec.limits_of];
      if (like && !hasEffects(spec)) {
        const { pi } = mixture;
        const shift = validArea(spec, roc, pi) - validArea(model.specs[spec.limits_of], roc, pi);
        limits[spec.key] = [like[0] + Math.min(shift, 0), like[1] + Math.max(shift, 0)];
      }
    }
    return limits;
  }

  // What is left open

  // Whether alpha and beta are only estimated or taken for granted; what a reader supposes is not.
  const openShares = ({ open, beta: made }, { beta, own }) => ({
    alpha: open.alpha && own,
    beta: open.beta && beta === made,
  });

  // Every pair of alpha and beta to take the widest limits of.
  function openPairs(model, position) {
    const { alpha, beta, own } = position;
    const open = openShares(model, position);
    if (!open.alpha && !open.beta) return [];
    const { least_beta: least, smallest_gap: gap } = model.plausible;
    const betas = open.beta ? [beta, least * beta] : [beta];
    let alphas = own ? model.prior.range : [alpha];
    if (open.alpha) alphas = [0, model.evaluation.feasibility.alpha_upper];
    return betas
      .flatMap((share) => alphas.map((one) => ({ alpha: Math.min(one, share - gap), beta: share })))
      .filter((pair) => pair.alpha >= 0);
  }

  // Limits of the metrics at a threshold, and those that allow for what is left open. A supposed
  // alpha contradicts propensities, so that no error is known there.
  function points(model, position) {
    if (model.byPropensity && !position.own) return { limits: {}, possible: {} };
    const observed = observedAt(model, position.threshold);
    const { beta, own } = position;
    const drawn = own ? drawnLimits(model, observed) : null;
    const corners = own ? model.prior.corners : [position.alpha];
    const all = corners.map((alpha) => pointIntervals(model, { alpha, beta }, observed, drawn));
    const limits = Object.fromEntries(Object.keys(all[0]).map((key) => [key, widest(all, key)]));
    const wider = openPairs(model, position).map((pair) => pointIntervals(model, pair, observed));
    const possible = Object.fromEntries(
      Object.keys(limits).map((key) => [key, widest([limits, ...wider], key)]),
    );
    return { limits, possible };
  }

  // Limits of every metric. What is left open is known for metrics of one threshold and for those
  // that follow from AUC_pu, which take no curve.
  function all(model, position, mixture, roc) {
    const found = points(model, position);
    if (position.own || model.byPropensity) return found;
    const areas = areaIntervals(model, position, mixture, roc);
    const pairs = openPairs(model, position);
    const possible = {};
    for (const spec of model.live) {
      if (!(spec.key in Formulas.fromAucPu) || !areas[spec.key]) continue;
      const wider = pairs.map((pair) => ({
        [spec.key]: areaInterval(model, pair, mixtureOf(model, pair.alpha, pair.beta), null, spec),
      }));
      possible[spec.key] = widest([areas, ...wider], spec.key);
    }
    return {
      limits: { ...found.limits, ...areas },
      possible: { ...found.possible, ...possible },
    };
  }

  return { all, openShares, points };
})();
