// What rows checked by hand tell, or would tell: two pictures, the words of another model, and the
// button that copies the command. No slider moves any of it.
/** @typedef {{ key: string, label: string, drawn: boolean } & Record<string, any>} CheckedRow */

const Checked = (() => {
  "use strict";

  const { byId, color, curves, forest, html, within } = Charts;
  const { digits, missing, number, range } = Words;
  // The same colors as in the other pictures: recovered, and audited.
  const COLORS = { labels: color(0), audited: color(2), both: "var(--ink)" };
  const figure = (/** @type {string} */ name) => document.getElementById(`figure-${name}`);

  /** @type {(audit: any) => void} */
  function draw(audit) {
    if (audit.made) drawMetrics(audit);
    else if (audit.offer) drawOffer(audit.offer);
  }

  /** @type {(audit: { metrics: CheckedRow[] }) => void} */
  function drawMetrics({ metrics }) {
    const place = figure("audited");
    if (!place) return;
    const shown = metrics.filter(({ drawn }) => drawn);
    const rows = shown.map((row) => ({
      name: row.label,
      spans: [
        { value: row.from_labels, low: row.labels_lower, high: row.labels_upper },
        { value: row.audited, low: row.audited_lower, high: row.audited_upper },
        { value: row.combined, low: row.lower, high: row.upper },
      ],
    }));
    const lows = shown.flatMap((row) => [row.labels_lower, row.audited_lower, row.lower]);
    const low = Math.min(1, ...lows.filter((value) => !missing(value)));
    forest(place, {
      x: { low: low < 0 ? -1 : low > 0.5 ? 0.5 : 0, high: 1, label: "Value" },
      series: [
        { color: COLORS.labels, name: "labels alone" },
        { color: COLORS.audited, name: "audited" },
        { color: COLORS.both, name: "both" },
      ],
      rows,
      facts: `${shown.map((row) => `${row.label} audited ${number(row.audited)}`).join(", ")}.`,
    });
  }

  /** @type {(offer: any) => void} */
  function drawOffer({ checks, choices, curve, figures }) {
    const place = figure("offer");
    if (!place) return;
    const x = curve.checks.map(Math.log10);
    const most = figures.flatMap(({ key }) => curve.biased[key]);
    curves(place, {
      x: {
        low: x[0],
        high: x[x.length - 1],
        label: "Rows checked by hand",
        ticks: choices.map((one) => Math.log10(one.checks)),
        format: (value) => digits(Math.round(10 ** value)),
      },
      y: {
        low: 0,
        high: 1.05 * Math.max(...most.filter((value) => !missing(value))),
        label: "Half of the interval, points of 100",
      },
      bands: figures.map(({ key }, i) => ({
        x,
        lower: curve.random[key],
        upper: curve.biased[key],
        color: color(i),
      })),
      lines: figures.map(({ key, label }, i) => ({
        x,
        y: curve.random[key],
        color: color(i),
        dash: Charts.DASHES[i],
        name: label,
      })),
      marks: [{ x: Math.log10(checks), color: "var(--grey)", name: `${checks} rows` }],
      facts: choices
        .map(
          (one) =>
            `${one.checks} rows: ${figures.map(({ label }, i) => `${label} ${one.half[i]}`).join(", ")}`,
        )
        .join("; "),
    });
  }

  // The words and numbers of another model.
  /** @type {(summary: any) => void} */
  function show({ audit, verdict }) {
    if (!audit.made || !figure("audited")) return;
    const card = byId("labels-verdict");
    card.className = `card light ${audit.labels.level}`;
    within(card, "use").setAttribute("href", `#shape-${audit.labels.level}`);
    within(card, "h3 span").textContent = audit.labels.text;
    byId("labels-odds").textContent = audit.labels.odds;
    byId("labels-advice").replaceChildren(html("strong", {}, audit.labels.advice));
    const sentences = audit.sentences.filter((text) => text !== audit.labels.text);
    byId("checked-sentences").replaceChildren(...sentences.map((text) => html("p", {}, text)));
    const cell = (value, low, high, attributes = {}) =>
      html(
        "td",
        attributes,
        number(value),
        " ",
        html("span", { class: "small" }, range(low, high)),
      );
    const rows = audit.metrics.map((row) =>
      html(
        "tr",
        {},
        html("th", { scope: "row" }, row.label),
        cell(row.combined, row.lower, row.upper, { class: "main" }),
        cell(row.audited, row.audited_lower, row.audited_upper),
        cell(row.from_labels, row.labels_lower, row.labels_upper),
      ),
    );
    Charts.one("audited", HTMLTableElement).tBodies[0].replaceChildren(...rows);
    for (const item of [...verdict.figures, { key: "hidden", ...verdict.hidden }]) {
      const [value, interval] = document.querySelectorAll(`[data-tile="${item.key}"] p`);
      if (!value) continue;
      value.textContent = item.checked.value || item.checked.interval;
      if (item.checked.value) interval.textContent = item.checked.interval;
    }
    for (const [kind, count] of Object.entries(audit.confusion ?? {})) {
      const place = document.querySelector(`[data-cases="${kind}"]`);
      if (place) place.textContent = Words.whole(count);
    }
  }

  // Files opened from a folder may not write to the clipboard otherwise.
  /** @type {(phrases: Record<string, string>) => void} */
  function connect(phrases) {
    const button = document.getElementById("copy-call");
    if (!button) return;
    button.hidden = false;
    button.addEventListener("click", () => {
      const chosen = window.getSelection();
      chosen?.selectAllChildren(byId("plan-call"));
      const copied = document.execCommand("copy");
      if (copied) chosen?.removeAllRanges();
      byId("copied").textContent = copied ? phrases.copied : phrases.copy_by_hand;
    });
  }

  return { COLORS, connect, draw, show };
})();
