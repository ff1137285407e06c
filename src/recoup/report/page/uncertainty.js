/// <reference path="translated.d.ts" />
// Limits of all metrics at a position, and those that allow for what nobody has checked
// (recoup.evaluation.possible).
const Uncertainty = (() => {
  "use strict";

  const { mixtureOf } = Values;
  const { drawnLimits, observedAt, pointIntervals, widest } = Intervals;
  const { areaInterval, areaIntervals } = AreaIntervals;

  // Whether alpha and beta are only estimated or taken for granted, and how many times the odds of a
  // label may differ along the scores; what a reader supposes is not open.
  const openShares = ({ open, beta: made, byPropensity }, { beta, own, odds }) => ({
    alpha: open.alpha && own,
    beta: open.beta && beta === made,
    odds: byPropensity || beta !== 1 || odds !== 1 ? 1 : open.odds,
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

  // The model as fair labels would have shown it, and alpha, for the strongest odds that labels may
  // have.
  function tiltedCases(model, position) {
    const { alpha: openAlpha, odds: most } = openShares(model, position);
    if (most === 1) return [];
    const { smallest_gap: gap } = model.plausible;
    const known = position.own ? model.prior.range : [position.alpha];
    return model.open.tilts.flatMap((odds) => {
      const top = model.evaluation.feasibility.alpha_upper;
      const alphas = openAlpha ? [0, Math.min(top * Tilt.roomForAlpha(model, odds), 1)] : known;
      return alphas
        .map((alpha) => Math.min(alpha, 1 - gap))
        .filter((alpha) => alpha > 0 || model.caseControl)
        .map((alpha) => ({
          shares: { alpha, beta: 1 },
          fair: Tilt.forLimits(model, { alpha, beta: 1, odds }),
        }));
    });
  }

  // Limits of the metrics at a threshold, and those that allow for what is left open. A supposed
  // alpha contradicts propensities, so that no error is known there; with other odds of a label
  // Python draws rows many times (recoup.selection.sensitivity).
  const hasNoLimits = (model, { own, odds }) => (model.byPropensity && !own) || odds !== 1;

  function points(model, position) {
    if (hasNoLimits(model, position)) return { limits: {}, possible: {} };
    const observed = observedAt(model, position.threshold);
    const { beta, own } = position;
    const drawn = own ? drawnLimits(model, observed) : null;
    const corners = own ? model.prior.corners : [position.alpha];
    const all = corners.map((alpha) => pointIntervals(model, { alpha, beta }, observed, drawn));
    const limits = Object.fromEntries(Object.keys(all[0]).map((key) => [key, widest(all, key)]));
    const wider = openPairs(model, position).map((pair) => pointIntervals(model, pair, observed));
    for (const { shares, fair } of tiltedCases(model, position)) {
      wider.push(pointIntervals(fair, shares, observedAt(fair, position.threshold)));
    }
    const possible = Object.fromEntries(
      Object.keys(limits).map((key) => [key, widest([limits, ...wider], key)]),
    );
    return { limits, possible };
  }

  // Limits of every metric. What is left open is known for metrics of one threshold and for those
  // that follow from AUC_pu, which take no curve.
  function all(model, position, mixture, roc) {
    const found = points(model, position);
    if (position.own || hasNoLimits(model, position)) return found;
    const areas = areaIntervals(model, position, mixture, roc);
    const cases = [
      ...openPairs(model, position).map((shares) => ({ shares, fair: model })),
      ...tiltedCases(model, position),
    ];
    const possible = {};
    for (const spec of model.live) {
      if (!(spec.key in Formulas.fromAucPu) || !areas[spec.key]) continue;
      const wider = cases.map(({ shares, fair }) => {
        const at = mixtureOf(fair, shares.alpha, shares.beta);
        return { [spec.key]: areaInterval(fair, shares, at, null, spec) };
      });
      possible[spec.key] = widest([areas, ...wider], spec.key);
    }
    return {
      limits: { ...found.limits, ...areas },
      possible: { ...found.possible, ...possible },
    };
  }

  return { all, openShares, points };
})();
