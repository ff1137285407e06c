// The page about groups: a forest plot of one metric, and all metrics of one group.
(() => {
  "use strict";

  /** @typedef {Record<"recovered" | "lower" | "upper" | "pu", number | null>} Total */
  /**
   * @typedef {{ key: string, label: string, recovered: (number | null)[],
   *   lower: (number | null)[], upper: (number | null)[], pu: (number | null)[],
   *   own: (number | null)[], total: Total }} Metric
   */
  /**
   * @typedef {{ names: string[], metrics: Metric[], first: string,
   *   rows: Record<"labeled" | "unlabeled" | "checked", number[]> }} Summary
   */

  // More lines than this no one reads at once.
  const MOST_DRAWN = 40;
  const NAME_SHOWN = 40;

  const text = Charts.byId("data").textContent || "";
  const data = /** @type {Summary} */ (JSON.parse(text));
  const metricChoice = Charts.one("metric", HTMLSelectElement);
  const orderChoice = Charts.one("order", HTMLSelectElement);
  const groupChoice = Charts.one("group", HTMLSelectElement);
  const places = data.names.map((_, place) => place);
  const shorten = (/** @type {string} */ name) => Words.shorten(name, NAME_SHOWN);
  const chosenMetric = () => data.metrics[Number(metricChoice.value)];

  for (const [place, metric] of data.metrics.entries()) {
    metricChoice.append(Charts.html("option", { value: place }, metric.label));
    if (metric.key === data.first) metricChoice.value = String(place);
  }
  for (const place of places) {
    groupChoice.append(Charts.html("option", { value: place }, shorten(data.names[place])));
  }

  // The places of all groups in the order that was chosen, values that are missing last.
  /** @type {(metric: Metric) => number[]} */
  function ordered(metric) {
    const size = (/** @type {number} */ i) => data.rows.labeled[i] + data.rows.unlabeled[i];
    const value = (/** @type {number} */ i) => metric.recovered[i] ?? Number.POSITIVE_INFINITY;
    const found = [...places];
    if (orderChoice.value === "rows") found.sort((one, other) => size(other) - size(one));
    if (orderChoice.value === "value") found.sort((one, other) => value(one) - value(other));
    return found;
  }

  // The first and the last groups where there are too many, and always the chosen one.
  /** @type {(found: number[]) => number[]} */
  function shown(found) {
    if (found.length <= MOST_DRAWN) return found;
    const half = MOST_DRAWN / 2;
    const ends = new Set([...found.slice(0, half), ...found.slice(-half)]);
    ends.add(Number(groupChoice.value));
    return found.filter((place) => ends.has(place));
  }

  function draw() {
    const metric = chosenMetric();
    const drawn = shown(ordered(metric));
    const chosen = Number(groupChoice.value);
    const ends = [metric.total, ...drawn.map((i) => at(metric, i))].flatMap((one) => [
      one.lower ?? one.recovered,
      one.upper ?? one.recovered,
    ]);
    const known = ends.filter((end) => end !== null);
    const series = [
      { color: "var(--c0)", name: "group" },
      { color: "var(--c1)", name: "chosen group, all together" },
    ];
    /** @type {(name: string, one: Total, strong: boolean) => any} */
    const row = (name, { recovered, lower, upper }, strong) => {
      const span = { value: recovered, low: lower, high: upper };
      const nothing = { value: null, low: null, high: null };
      return { name, spans: strong ? [nothing, span] : [span, nothing] };
    };
    const rows = [
      row("all together", metric.total, true),
      ...drawn.map((i) => row(shorten(data.names[i]), at(metric, i), i === chosen)),
    ];
    const few = drawn.length < places.length ? `${drawn.length} of ${places.length} groups: ` : "";
    Charts.byId("figure-title").textContent = `${metric.label} of each group`;
    Charts.byId("figure-caption").textContent =
      `${few}Dots are recovered values, lines their intervals. ` +
      "The first row is all groups together.";
    Charts.forest(Charts.byId("figure-groups"), {
      x: { low: Math.min(...known), high: Math.max(...known), label: metric.label },
      facts: `${metric.label} of ${drawn.length} groups with intervals`,
      series,
      rows,
    });
  }

  /** @type {(metric: Metric, place: number) => Total} */
  const at = ({ recovered, lower, upper, pu }, place) => ({
    recovered: recovered[place],
    lower: lower[place],
    upper: upper[place],
    pu: pu[place],
  });

  function describe() {
    const place = Number(groupChoice.value);
    const { labeled, unlabeled, checked } = data.rows;
    const count = (/** @type {number} */ n) => Words.whole(n);
    const seen = checked[place] ? `, ${count(checked[place])} checked by hand` : "";
    Charts.byId("chosen-title").textContent = Words.shorten(data.names[place], 200);
    Charts.byId("chosen-rows").textContent =
      `${count(labeled[place])} labeled and ${count(unlabeled[place])} unlabeled rows${seen}.`;
    const rows = data.metrics.map((metric) => {
      const one = at(metric, place);
      const cells = [
        Words.number(one.recovered),
        Words.range(one.lower, one.upper),
        Words.number(metric.total.recovered),
        Words.number(one.pu),
        Words.share(metric.own[place]),
      ];
      return Charts.html(
        "tr",
        {},
        Charts.html("th", { scope: "row" }, metric.label),
        ...cells.map((cell) => Charts.html("td", {}, cell)),
      );
    });
    Charts.within(Charts.byId("chosen-table"), "tbody").replaceChildren(...rows);
    // The first line of the table is all groups together.
    const lines = Charts.byId("table").querySelectorAll("tbody tr");
    for (const [i, line] of lines.entries()) line.classList.toggle("chosen", i === place + 1);
  }

  function show() {
    describe();
    draw();
  }

  Charts.byId("choosing").hidden = false;
  for (const choice of [metricChoice, orderChoice, groupChoice]) {
    choice.addEventListener("change", show);
  }
  // The chooser opens on the group where the first metric is worst.
  groupChoice.value = String(ordered(chosenMetric())[0]);
  Charts.onNewWidth(draw);
  show();
})();
