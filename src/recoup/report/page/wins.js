// Which model has the best value of a metric over which range of alpha, as recoup.compare finds it.
/** @typedef {{ metric: string, model: number, alpha_low: number, alpha_high: number }} Win */

const Wins = (() => {
  "use strict";

  const ALPHA_STEPS = 40;

  /** @type {(top: number) => number[]} */
  const alphaGrid = (top) =>
    Array.from({ length: ALPHA_STEPS + 1 }, (_, i) => (top * i) / ALPHA_STEPS);

  // For another beta, or other odds of a label. Ties stay with the model that leads, changes lie
  // where two lines cross.
  /** @type {(models: any[], made: Win[], beta: number, odds: number) => Win[]} */
  function find(models, made, beta, odds) {
    const top = Math.min(...models.map((one) => Recoup.limits(one, { beta, alpha: 0 }).alpha[1]));
    const alphas = alphaGrid(top);
    const values = models.map((one) => Recoup.sensitivity(one, alphas, { beta, odds }));
    const wins = [];
    for (const key of new Set(made.map((win) => win.metric))) {
      if (models[0].specs[key].fixed) {
        wins.push(...made.filter((win) => win.metric === key));
        continue;
      }
      const sign = models[0].specs[key].higher_is_better ? 1 : -1;
      const at = (place, i) => {
        const value = values[place][key][i];
        return Number.isNaN(value) ? -Infinity : sign * value;
      };
      let [leader, low] = [0, 0];
      alphas.forEach((alpha, i) => {
        let best = i === 0 ? 0 : leader;
        values.forEach((_, place) => {
          if (at(place, i) > at(best, i) + 1e-12) best = place;
        });
        if (i > 0 && best !== leader) {
          const before = at(leader, i - 1) - at(best, i - 1);
          const after = at(best, i) - at(leader, i);
          const part = before + after > 0 ? before / (before + after) : 1;
          const high = alphas[i - 1] + part * (alpha - alphas[i - 1]);
          wins.push({ metric: key, model: leader, alpha_low: low, alpha_high: high });
          low = high;
        }
        leader = best;
      });
      wins.push({ metric: key, model: leader, alpha_low: low, alpha_high: top });
    }
    return wins;
  }

  return { alphaGrid, find };
})();
