/// <reference path="translated.d.ts" />
// Limits of all metrics at a position, and those that allow for what nobody has checked
// (recoup.evaluation.possible).
const Uncertainty = (() => {
  "use strict";

  const { mixtureOf } = Values;
  const { drawnLimits, observedAt, pointIntervals, widest } = Intervals;
  const { areaInterval, areaIntervals } = AreaIntervals;

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
