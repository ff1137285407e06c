// The pictures of the page, drawn from what Recoup recovered.
//
// A view holds the model, the position (alpha, beta, threshold), what was recovered there, the
// metrics to show, and whether alpha or beta were moved away from those of the evaluation.
const Pictures = (() => {
  "use strict";

  const { curves, dots, percent, short, DASHES } = Charts;
  const { digits, missing, share } = Words;
  const { format } = Recoup;
  // Densities times width of the axis beyond which one spike would press all the rest flat.
  const STEEP = 8;
  const color = (place) => `var(--c${place % 6})`;
  const DIAGONAL = { x: [0, 1], y: [0, 1], color: "var(--grey)", dash: DASHES[2], thin: true };
  const unit = { low: 0, high: 1 };
  const figureOf = (name) => document.getElementById(`figure-${name}`);

  // Everything that follows from one recovery.
  function draw(view) {
    const { model: one, result, metrics } = view;
    const shown = !view.sharesMoved;
    const label = (key) => one.specs[key].label;
    const confidence = `${digits(100 * one.confidence)}%`;
    const { recall, precision, specificity, roc_auc: auc } = metrics;
    const fpr = missing(specificity.recovered) ? NaN : 1 - specificity.recovered;
    const here = { color: color(1), name: "this threshold" };
    const dot = (x, y) => (missing(x) || missing(y) ? [] : [{ ...here, x, y }]);
    const band = { color: color(0), name: `${confidence} band` };
    const bandOf = (name) => (shown && one.bands[name] ? [{ ...one.bands[name], ...band }] : []);
    const boundOf = (name, x, y) => {
      if (!shown || !one.bounds) return [];
      const found = one.bounds[name];
      return ["lower", "upper"].map((side, i) => ({
        x: found[`${side}_${x}`], y: found[`${side}_${y}`],
        color: color(0), dash: DASHES[2], thin: true, name: i ? "" : "possible",
      }));
    };
    const naive = Recoup.naiveRoc(one);
    const naiveShare = one.naive.nLabeled / one.naive.nRows;
    const naiveRate = naive.tpr.map((tpr, i) => naiveShare * tpr + (1 - naiveShare) * naive.fpr[i]);
    const naivePrecision = naive.tpr.map((tpr, i) =>
      naiveRate[i] > 0 ? (naiveShare * tpr) / naiveRate[i] : NaN,
    );
    const counted = { color: "var(--grey)", dash: DASHES[1], name: "as counted" };
    const recovered = { color: color(0), name: "recovered" };

    curves(figureOf("roc"), {
      x: { ...unit, label: "False alarms among negatives" },
      y: { ...unit, label: "Positives found" },
      bands: bandOf("roc"),
      lines: [
        ...boundOf("roc", "fpr", "tpr"),
        { ...counted, x: naive.fpr, y: naive.tpr },
        { ...recovered, x: result.roc.fpr, y: result.roc.tpr },
      ],
      points: dot(fpr, recall.recovered),
      facts: `Recovered AUC ${format(auc.recovered)}, as counted ${format(auc.pu)}.`,
    });
    curves(figureOf("pr"), {
      x: { ...unit, label: "Recall: positives found" },
      y: { ...unit, label: "Precision" },
      bands: bandOf("pr"),
      lines: [
        ...boundOf("pr", "recall", "precision"),
        { ...counted, x: naive.tpr, y: naivePrecision },
        { ...recovered, x: result.pr.recall, y: result.pr.precision },
      ],
      points: dot(recall.recovered, precision.recovered),
      facts:
        `At this threshold recall ${format(recall.recovered)}, ` +
        `precision ${format(precision.recovered)}.`,
    });
    curves(figureOf("lift"), {
      x: { ...unit, label: "Share of rows looked at", format: percent },
      y: { ...unit, label: "Positives found", format: percent },
      bands: bandOf("lift"),
      lines: [
        { ...counted, x: naiveRate, y: naive.tpr },
        { ...DIAGONAL, name: "in random order" },
        { ...recovered, x: result.lift.positiveRate, y: result.lift.tpr },
      ],
      points: dot(result.positiveRate, recall.recovered),
      facts:
        `Flagging ${share(result.positiveRate)} of the rows finds ` +
        `${share(recall.recovered)} of the positives.`,
    });
    curves(figureOf("threshold"), {
      x: { ...unit, label: "Share of rows flagged", format: percent },
      y: { ...unit, label: "Value" },
      lines: view.shown.threshold.map((key, i) => ({
        x: result.lift.positiveRate,
        y: result.along(key),
        color: color(i),
        dash: DASHES[i],
        name: label(key),
      })),
      marks: [{ x: result.positiveRate, color: "var(--grey)", name: "this threshold" }],
      facts: `At this threshold ${view.shown.threshold.map(
        (key) => `${label(key)} ${format(metrics[key].recovered)}`,
      ).join(", ")}.`,
    });
    drawScores(view);
    drawCalibration(view);
    drawPrior(view);
  }

  function drawScores({ result, position }) {
    const { edges, labeled, unlabeled, positive, negative } = result.densities;
    const corners = (values) => ({
      x: Array.from(values).flatMap((_, i) => [edges[i], edges[i + 1]]),
      y: Array.from(values).flatMap((value) => [value, value]),
    });
    const all = [labeled, unlabeled, positive, negative];
    const top = all.reduce((most, values) => Math.max(most, ...values), 0) || 1;
    const steep = top * (edges[edges.length - 1] - edges[0]) > STEEP;
    const squash = steep ? (values) => values.map(Math.sqrt) : (values) => values;
    const observed = { dash: DASHES[1], thin: true };
    const grey = "var(--grey)";
    curves(figureOf("scores"), {
      x: { low: edges[0], high: edges[edges.length - 1], label: "Score" },
      y: {
        low: 0,
        high: squash([top])[0],
        label: steep ? "Density, square root scale" : "Density",
        format: (value) => short(steep ? value ** 2 : value),
      },
      lines: [
        { ...corners(squash(labeled)), ...observed, color: color(0), name: "labeled rows" },
        { ...corners(squash(unlabeled)), ...observed, color: grey, name: "unlabeled rows" },
        { ...corners(squash(positive)), color: color(0), name: "positives, implied" },
        { ...corners(squash(negative)), color: color(1), name: "negatives, implied" },
      ],
      marks: position.threshold >= edges[0] && position.threshold <= edges[edges.length - 1]
        ? [{ x: position.threshold, color: "var(--ink)", dash: DASHES[2], name: "threshold" }] : [],
      facts:
        "Densities of the scores of labeled and unlabeled rows, and what they imply for " +
        "positives and negatives.",
    });
  }

  function drawCalibration({ result }) {
    const figure = figureOf("calibration");
    if (!figure) return;
    const found = result.calibration;
    figure.hidden = !found;
    if (!found) return;
    curves(figure, {
      x: { ...unit, label: "Mean score of a tenth of the rows" },
      y: { ...unit, label: "Share of positives" },
      lines: [
        { ...DIAGONAL, name: "perfect" },
        { x: found.meanScore, y: found.positiveShare, color: color(0), name: "recovered" },
      ],
      points: found.meanScore.map((x, i) => ({ x, y: found.positiveShare[i], color: color(0) })),
      facts: `Scores are off by ${format(found.ece)} on average (expected calibration error).`,
    });
  }

  function drawPrior({ model: { priorCurve: curve, evaluation } }) {
    const estimate = evaluation.prior;
    const [figure, agreement] = [figureOf("prior"), figureOf("members")];
    if (figure) figure.hidden = !curve;
    if (figure && curve) {
      const ys = Object.values(curve.lines).flat().filter((value) => value !== null);
      if (!missing(curve.level)) ys.push(curve.level);
      const [low, high] = [Math.min(...ys), Math.max(...ys)];
      const level = { y: curve.level, color: "var(--grey)", dash: DASHES[2], name: "level" };
      const answer = { x: curve.marker, color: color(1), name: "estimate" };
      const room = 0.05 * (high - low || 1);
      curves(figure, {
        x: { low: Math.min(...curve.x), high: Math.max(...curve.x), label: curve.x_label },
        y: { low: low - room, high: high + room, label: curve.y_label },
        lines: Object.entries(curve.lines).map(([name, y], i) => ({
          x: curve.x, y, color: color(i), dash: DASHES[i % DASHES.length], name,
        })),
        marks: [
          ...(missing(curve.level) ? [] : [level]),
          ...(missing(curve.marker) ? [] : [answer]),
        ],
        facts: `${estimate.method} found alpha ${format(estimate.alpha)}.`,
      });
    }
    const members = Object.entries((estimate && estimate.members) || {});
    if (!agreement) return;
    agreement.hidden = !members.length;
    if (!members.length) return;
    const rows = members.map(([name, value]) => ({ name, value, color: "var(--grey)" }));
    rows.push({ name: estimate.method, value: estimate.alpha, color: color(0), strong: true });
    const ends = [...rows.map((row) => row.value), ...(estimate.interval || [])];
    const [low, high] = [Math.min(...ends), Math.max(...ends)];
    const room = Math.max(0.15 * (high - low), 0.02);
    dots(agreement, {
      x: { low: Math.max(low - room, 0), high: Math.min(high + room, 1), label: "alpha" },
      rows,
      band: estimate.interval && {
        low: estimate.interval[0],
        high: estimate.interval[1],
        color: color(0),
        name: "interval of the estimate",
      },
      facts: rows.map((row) => `${row.name} ${format(row.value)}`).join(", ") + ".",
    });
  }

  // Metrics over alpha, which take many recoveries.
  function drawOverAlpha({ model: one, result, sharesMoved, position, shown }, alphas, values) {
    const label = (key) => one.specs[key].label;
    const top = alphas[alphas.length - 1];
    const [low, high] = one.evaluation.alpha_interval || [];
    const interval = {
      x: [low, Math.min(high, top)],
      lower: [0, 0],
      upper: [1, 1],
      color: "var(--grey)",
      name: "range of alpha",
    };
    const limit = {
      x: result.alphaUpper,
      color: "var(--red)",
      dash: DASHES[1],
      name: "most that the scores allow",
    };
    const last = alphas.length - 1;
    curves(figureOf("alpha"), {
      x: { low: 0, high: top, label: "alpha: positives among unlabeled rows" },
      y: { ...unit, label: "Value" },
      bands: !sharesMoved && low !== undefined ? [interval] : [],
      lines: shown.alpha.map((key, i) => ({
        x: alphas, y: values[key], color: color(i), dash: DASHES[i], name: label(key),
      })),
      marks: [
        { x: position.alpha, color: "var(--ink)", name: "alpha here" },
        ...(result.alphaUpper < top ? [limit] : []),
      ],
      facts: `${shown.alpha.map(
        (key) => `${label(key)} from ${format(values[key][0])} to ${format(values[key][last])}`,
      ).join("; ")}.`,
    });
  }

  return { draw, drawOverAlpha, color };
})();
