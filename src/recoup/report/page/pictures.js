// The pictures of the page, drawn from what Recoup recovered.
//
// A view holds the model, the position (alpha, beta, threshold), what was recovered there, the
// metrics to show, and whether alpha or beta were moved away from those of the evaluation.
/** @typedef {ReturnType<typeof Recoup.read>} Model */
/** @typedef {ReturnType<typeof Recoup.recover>} Recovered */
/** @typedef {{ alpha: number, beta: number, threshold: number, odds: number }} Position */
/**
 * @typedef {{ model: any, position: Position, result: Recovered, metrics: any, sharesMoved:
 *   boolean, wholeBands: boolean, shown: Record<"alpha" | "threshold", string[]> }} View
 */

const Pictures = (() => {
  "use strict";

  const { byId, color, curves, dots, percent, short, steps, DASHES } = Charts;
  const { missing, number, share } = Words;
  // Densities times width of the axis beyond which one spike would press all the rest flat.
  const STEEP = 8;
  const DIAGONAL = { x: [0, 1], y: [0, 1], color: "var(--grey)", dash: DASHES[2], thin: true };
  const unit = { low: 0, high: 1 };
  /** @type {(name: string) => HTMLElement} */
  const figureOf = (name) => byId(`figure-${name}`);
  /** @type {(name: string) => boolean} */
  const has = (name) => document.getElementById(`figure-${name}`) !== null;

  // Curves as a page holds them: lists of shares, or shares in steps.
  /** @type {(curves: Record<string, any>) => Record<string, any>} */
  const sharesOf = (curves) =>
    Object.fromEntries(
      Object.entries(curves).map(([key, item]) => [
        key,
        item instanceof Object ? Values.unpackShares(item) : item,
      ]),
    );

  // Everything that follows from one recovery.
  /** @type {(view: View) => void} */
  function draw(view) {
    const { model: one, result, metrics } = view;
    const shown = !view.sharesMoved;
    const label = (/** @type {string} */ key) => one.specs[key].label;
    const confidence = Words.percent(one.confidence);
    const { recall, precision, specificity, roc_auc: auc } = metrics;
    const fpr = missing(specificity.recovered) ? NaN : 1 - specificity.recovered;
    const here = { color: color(1), name: "this threshold" };
    /** @type {(x: any, y: any) => Point[]} */
    const dot = (x, y) => (missing(x) || missing(y) ? [] : [{ ...here, x, y }]);
    const about = view.wholeBands ? "band of the whole curve" : "band";
    const band = { color: color(0), name: `${confidence} ${about}` };
    /** @type {(name: string) => Band[]} */
    const bandOf = (name) => {
      if (!shown) return [];
      const { x, lower, upper, whole_lower: low, whole_upper: high } = sharesOf(one.bands[name]);
      const ends = view.wholeBands ? { lower: low, upper: high } : { lower, upper };
      return [{ x, ...ends, ...band }];
    };
    /** @type {(name: string, x: string, y: string) => Line[]} */
    const boundOf = (name, x, y) => {
      if (!shown || !one.bounds) return [];
      const found = sharesOf(one.bounds[name]);
      return ["lower", "upper"].map((side, i) => ({
        x: found[`${side}_${x}`],
        y: found[`${side}_${y}`],
        color: color(0),
        dash: DASHES[2],
        thin: true,
        name: i ? "" : "possible",
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

    const checked = { color: Checked.COLORS.audited, name: "audited" };
    // No slider moves what checked rows tell.
    /** @type {(name: string) => { bands: Band[], lines: Line[] }} */
    const auditedOf = (name) => {
      if (!one.audit) return { bands: [], lines: [] };
      const { band: limits, x, y } = one.audit[name];
      const about = `${confidence} band, audited`;
      return { bands: [{ ...checked, ...limits, name: about }], lines: [{ ...checked, x, y }] };
    };

    /** @type {(x: string, y: string) => Point[]} */
    const auditedDot = (x, y) => {
      const at = one.audit?.here ?? {};
      if (missing(at[x]) || missing(at[y])) return [];
      return [{ x: at[x], y: at[y], color: checked.color, name: "threshold of the audit" }];
    };

    curves(figureOf("roc"), {
      x: { ...unit, label: "False alarms among negatives" },
      y: { ...unit, label: "Positives found" },
      bands: [...bandOf("roc"), ...auditedOf("roc").bands],
      lines: [
        ...boundOf("roc", "fpr", "tpr"),
        { ...counted, x: naive.fpr, y: naive.tpr },
        { ...recovered, x: result.roc.fpr, y: result.roc.tpr },
        ...auditedOf("roc").lines,
      ],
      points: [...dot(fpr, recall.recovered), ...auditedDot("fpr", "recall")],
      facts:
        `Recovered AUC ${number(auc.recovered)}, as counted ${number(auc.pu)}` +
        `${one.audit ? `, audited ${number(one.audit.auc)}` : ""}.`,
    });
    curves(figureOf("pr"), {
      x: { ...unit, label: "Recall: positives found" },
      y: { ...unit, label: "Precision" },
      bands: [...bandOf("pr"), ...auditedOf("pr").bands],
      lines: [
        ...boundOf("pr", "recall", "precision"),
        { ...counted, x: naive.tpr, y: naivePrecision },
        { ...recovered, x: result.pr.recall, y: result.pr.precision },
        ...auditedOf("pr").lines,
      ],
      points: [...dot(recall.recovered, precision.recovered), ...auditedDot("recall", "precision")],
      facts:
        `At this threshold recall ${number(recall.recovered)}, ` +
        `precision ${number(precision.recovered)}.`,
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
      facts: `At this threshold ${view.shown.threshold
        .map((key) => `${label(key)} ${number(metrics[key].recovered)}`)
        .join(", ")}.`,
    });
    drawScores(view);
    drawCalibration(view);
    drawPrior(view);
  }

  /** @type {(view: View) => void} */
  function drawScores({ result, position }) {
    const { edges, labeled, unlabeled, positive, negative } = result.densities;
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
        { ...steps(edges, squash(labeled)), ...observed, color: color(0), name: "labeled rows" },
        { ...steps(edges, squash(unlabeled)), ...observed, color: grey, name: "unlabeled rows" },
        { ...steps(edges, squash(positive)), color: color(0), name: "positives, implied" },
        { ...steps(edges, squash(negative)), color: color(1), name: "negatives, implied" },
      ],
      marks:
        position.threshold >= edges[0] && position.threshold <= edges[edges.length - 1]
          ? [{ x: position.threshold, color: "var(--ink)", dash: DASHES[2], name: "threshold" }]
          : [],
      facts:
        "Densities of the scores of labeled and unlabeled rows, and what they imply for " +
        "positives and negatives.",
    });
  }

  /** @type {(view: View) => void} */
  function drawCalibration({ result }) {
    if (!has("calibration")) return;
    const figure = figureOf("calibration");
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
      facts: `Scores are off by ${number(found.rawEce)} on average, sampling error included.`,
    });
  }

  /** @type {(view: View) => void} */
  function drawPrior({ model: { priorCurve: curve, evaluation } }) {
    const estimate = evaluation.prior;
    if (has("prior")) figureOf("prior").hidden = !curve;
    if (has("prior") && curve) {
      const ys = Object.values(curve.lines)
        .flat()
        .filter((value) => value !== null);
      if (!missing(curve.level)) ys.push(curve.level);
      const [low, high] = [Math.min(...ys), Math.max(...ys)];
      const level = { y: curve.level, color: "var(--grey)", dash: DASHES[2], name: "level" };
      const answer = { x: curve.marker, color: color(1), name: "estimate" };
      const room = 0.05 * (high - low || 1);
      curves(figureOf("prior"), {
        x: { low: Math.min(...curve.x), high: Math.max(...curve.x), label: curve.x_label },
        y: { low: low - room, high: high + room, label: curve.y_label },
        lines: Object.entries(curve.lines).map(([name, y], i) => ({
          x: curve.x,
          y,
          color: color(i),
          dash: DASHES[i % DASHES.length],
          name,
        })),
        marks: [
          ...(missing(curve.level) ? [] : [level]),
          ...(missing(curve.marker) ? [] : [answer]),
        ],
        facts: `${estimate.method} found alpha ${number(estimate.alpha)}.`,
      });
    }
    const members = Object.entries(estimate?.members || {});
    if (!has("members")) return;
    const agreement = figureOf("members");
    agreement.hidden = !members.length;
    if (!members.length) return;
    const rows = [
      ...members.map(([name, value]) => ({ name, value, color: "var(--grey)" })),
      { name: estimate.method, value: estimate.alpha, color: color(0), strong: true },
    ];
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
      facts: `${rows.map((row) => `${row.name} ${number(row.value)}`).join(", ")}.`,
    });
  }

  // Metrics over alpha, which take many recoveries.
  /** @type {(view: View, alphas: number[], values: Record<string, ArrayLike<number>>) => void} */
  function drawOverAlpha({ model: one, result, sharesMoved, position, shown }, alphas, values) {
    const label = (/** @type {string} */ key) => one.specs[key].label;
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
        x: alphas,
        y: values[key],
        color: color(i),
        dash: DASHES[i],
        name: label(key),
      })),
      marks: [
        { x: position.alpha, color: "var(--ink)", name: "alpha here" },
        ...(result.alphaUpper < top ? [limit] : []),
      ],
      facts: `${shown.alpha
        .map(
          (key) => `${label(key)} from ${number(values[key][0])} to ${number(values[key][last])}`,
        )
        .join("; ")}.`,
    });
  }

  return { draw, drawOverAlpha };
})();
