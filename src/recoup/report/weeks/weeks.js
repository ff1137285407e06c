// The pictures of a page of weeks: one line with its band for each metric, and marks at alarms.

/** @typedef {(number | null)[]} Series */
/**
 * @typedef {{ periods: string[], every: string, arrived: Series,
 *   metrics: Record<string, { title: string, value: Series, lower: Series, upper: Series }>,
 *   marks: { place: number, name: string }[] }} Weeks
 */

(() => {
  "use strict";

  const { byId, color, curves, onNewWidth } = Charts;
  /** @type {Weeks} */
  const data = JSON.parse(byId("data").textContent ?? "");
  const { periods } = data;
  const places = periods.map((_, place) => place);
  const DASHED = "7 4";
  // A name of a day takes this many pixels, with some room beside it.
  const NAME = 96;

  /** @type {(width: number) => Axis} */
  function timeAxis(width) {
    const wanted = Math.max(2, Math.floor(width / NAME));
    const step = Math.max(1, Math.ceil(periods.length / wanted));
    const ticks = places.filter((place) => place % step === 0);
    const format = (/** @type {number} */ place) => periods[Math.round(place)] ?? "";
    const high = Math.max(periods.length - 1, 1);
    return { low: 0, high, label: `First day of the ${data.every}`, ticks, format };
  }

  // Round limits around all that is shown, within 0 and 1.
  /** @type {(...series: Series[]) => { low: number, high: number }} */
  function limits(...series) {
    const known = series.flat().filter((value) => value !== null);
    if (!known.length) return { low: 0, high: 1 };
    const [least, most] = [Math.min(...known), Math.max(...known)];
    const room = Math.max(0.08 * (most - least), 0.002);
    return { low: Math.max(0, least - room), high: Math.min(1, most + room) };
  }

  /** @type {(series: Series) => string} */
  function facts(series) {
    const place = series.findLastIndex((value) => value !== null);
    if (place < 0) return "There are no values.";
    const last = `${Words.number(series[place])} in the last ${data.every}, ${periods[place]}`;
    const known = series.filter((value) => value !== null);
    const spread = Words.range(Math.min(...known), Math.max(...known));
    return `${last}; ${spread} over all ${known.length}.`;
  }

  function draw() {
    const marks = data.marks.map(({ place, name }) => ({
      x: place,
      color: color(1),
      dash: DASHED,
      name,
    }));
    for (const [key, { title, value, lower, upper }] of Object.entries(data.metrics)) {
      const figure = byId(`figure-${key}`);
      curves(figure, {
        x: timeAxis(figure.clientWidth),
        y: { ...limits(value, lower, upper), label: title },
        bands: [{ x: places, lower, upper, color: color(0), name: "Interval" }],
        lines: [{ x: places, y: value, color: color(0), name: title }],
        marks,
        facts: facts(value),
      });
    }
    const figure = byId("figure-arrived");
    curves(figure, {
      x: timeAxis(figure.clientWidth),
      y: { low: 0, high: 1, label: "Share of labels", format: Charts.percent },
      lines: [{ x: places, y: data.arrived, color: color(2), name: "Labels in" }],
      facts: facts(data.arrived),
    });
  }

  byId("figures").hidden = false;
  byId("static-note").hidden = true;
  draw();
  onNewWidth(draw);
  document.documentElement.dataset.state = "ready";
})();
