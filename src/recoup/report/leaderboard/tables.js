// The views that are tables: all results, learners by datasets, and what is missing.

/** @typedef {{ key: string, down: boolean }} Order */
/**
 * @typedef {{ key: string, title: string, number?: boolean, value: (row: any) => any, show?:
 *   (row: any) => Shown, csv?: string[], parts?: (row: any) => Cell[] }} Column
 */
/** @typedef {string | Node | (string | Node)[]} Shown */
/** @typedef {(changes: Chosen, quiet?: boolean) => void} Change */
/**
 * @typedef {{ chosen: Chosen, state: Chosen, change: Change, labels: Chosen, label: string }}
 *   Asked What a view is to show.
 */

const Tables = (() => {
  "use strict";

  const { html, short } = Charts;
  const { DASH, pValue } = Words;
  const { REFERENCE } = Runs;
  const { level: LEVEL, numeric: NUMERIC, published_for: PUBLISHED } = Runs.page;
  const { ROWS_SHOWN, bytes, csvButton, named, percent, scrolling, seconds, spread, whole } =
    Figures;
  const NOT_PLANNED = "The plan has no such run.";
  const MEASURED = "Metrics in percent, on test rows and by their true classes";
  // Longer tables scroll by themselves, under their headings.
  const LONG = 40;
  /** @type {Record<string, string>} */
  const WORDS = {
    learner: "Learner",
    family: "Family",
    dataset: "Dataset",
    scheme: "Scheme",
    mechanism: "Mechanism",
    label_frequency: "c",
    noise: "Noise",
    protocol: "Protocol",
    seed: "Seed",
    status: "Status",
    reason: "Reason",
  };
  // Empty where no learner of the runs is the baseline.
  const base = Figures.shorten(Runs.baseline ?? "");

  /** @type {(text: string) => HTMLElement} */
  const long = (text) => html("span", { class: "long" }, Figures.shorten(text, 500));
  /** @type {(text: string) => HTMLElement} */
  const hidden = (text) => html("span", { class: "visually-hidden" }, text);
  /** @type {(i: number, text: Node | string) => HTMLElement} */
  const runLink = (i, text) =>
    html("a", { href: `#view=run&run=${encodeURIComponent(Runs.ids[i])}` }, text);

  // A table whose rows are made as they come into view. Columns have a title, a value to sort and
  // download by, and what to show for it.
  /**
   * @type {(parent: HTMLElement, shown: { id: string, title: string, columns: Column[], rows:
   *   any[], order: Order, onOrder?: (order: Order) => void, caption?: string, below?: (row: any)
   *   => boolean }) => void} Rows that are ``below`` come after the others in any order.
   */
  function sortable(parent, { id, title, columns, rows, order, onOrder, caption = "", below }) {
    const head = html("tr");
    const body = html("tbody");
    const more = html("button", { type: "button" });
    const numbers = () => ({
      columns: columns.flatMap((column) => column.csv || [column.key]),
      rows: sorted().flatMap((row) => [columns.flatMap((column) => cellsOf(column, row))]),
    });
    /** @type {(column: Column, row: any) => Cell[]} */
    const cellsOf = (column, row) => column.parts?.(row) ?? [column.value(row)];
    let shown = ROWS_SHOWN;

    function sorted() {
      const column = columns.find(({ key }) => key === order.key) || columns[0];
      const missing = (/** @type {any} */ value) =>
        value === "" || value === null || Number.isNaN(value);
      const compare = new Intl.Collator("en", { numeric: true }).compare;
      return rows
        .map((row) => [row, column.value(row)])
        .sort(([one, a], [other, b]) => {
          const apart = below ? Number(below(one)) - Number(below(other)) : 0;
          if (apart) return apart;
          if (missing(a) || missing(b)) return Number(missing(a)) - Number(missing(b));
          const step = typeof a === "number" ? a - b : compare(a, b);
          return order.down ? -step : step;
        })
        .map(([row]) => row);
    }

    function fill() {
      body.replaceChildren(
        ...sorted()
          .slice(0, shown)
          .map((row) =>
            html(
              "tr",
              below?.(row) ? { class: "informed" } : {},
              ...columns.map((column, k) => {
                const content = column.show ? column.show(row) : String(column.value(row));
                const kind = column.number ? {} : { class: "text" };
                const parts = Array.isArray(content) ? content : [content];
                return html(k ? "td" : "th", k ? kind : { scope: "row" }, ...parts);
              }),
            ),
          ),
      );
      more.hidden = shown >= rows.length;
      const next = Math.min(ROWS_SHOWN, rows.length - shown);
      more.textContent = `Show ${whole(next)} more of ${whole(rows.length)}`;
      [...head.cells].forEach((cell, k) => {
        const active = columns[k].key === order.key;
        const direction = order.down ? "descending" : "ascending";
        cell.setAttribute("aria-sort", active ? direction : "none");
      });
    }

    for (const column of columns) {
      const button = html("button", { type: "button", class: "sort" }, column.title);
      button.addEventListener("click", () => {
        const down = order.key === column.key ? !order.down : Boolean(column.number);
        order = { key: column.key, down };
        fill();
        if (onOrder) onOrder(order);
      });
      const kind = column.number ? {} : { class: "text" };
      head.append(html("th", { scope: "col", ...kind }, button));
    }
    more.addEventListener("click", () => {
      shown += ROWS_SHOWN;
      fill();
    });
    const table = html("table", { id }, html("thead", {}, head), body);
    const kind = rows.length > LONG ? "scroll sticky long-table" : "scroll sticky";
    const tools = html("p", { class: "tools" }, csvButton(id, title, numbers));
    const heading = html("div", { class: "figure-head" }, html("h3", {}, title), tools);
    parent.append(heading, scrolling(title, table, kind), html("p", {}, more));
    if (caption) parent.append(html("p", { class: "small" }, caption));
    fill();
  }

  // A column of words. Rows are groups of runs, or have the place of one.
  /** @type {(key: string) => Column} */
  function level(key) {
    const textOf = (/** @type {any} */ row) =>
      row.at === undefined ? row[key] : Runs.text(key, row.at);
    const number = NUMERIC.includes(key);
    return {
      key,
      number,
      title: WORDS[key],
      value: (row) => (number ? Number(textOf(row)) : textOf(row)),
      show: (row) => named(textOf(row)),
    };
  }

  // Why some rows stand at the end.
  /** @type {(runs: number[]) => string} */
  const apart = (runs) =>
    runs.some(Runs.isInformed)
      ? "Below the others, in grey: runs that true classes had a part in."
      : "";

  // Columns that would say the same in every row are left out.
  /** @type {(keys: string[], runs: number[]) => string[]} */
  const telling = (keys, runs) => keys.filter((key) => Runs.namesOf(key, runs).length > 1);

  // All results: means over seeds, or one row per run.
  /** @type {(parent: HTMLElement, asked: Asked) => void} */
  function results(parent, { chosen, state, change }) {
    const runs = Runs.select(chosen);
    const keys = telling(["dataset", ...Runs.SETTING, "protocol"], runs);
    const single = state.rows === "runs";
    const metrics = [...Runs.metrics].sort(
      (a, b) => Number(b.key === chosen.metric) - Number(a.key === chosen.metric),
    );
    const switcher = html("p", { class: "choice" });
    for (const [value, text] of [
      ["", "Means over seeds"],
      ["runs", "Single runs"],
    ]) {
      const pressed = String((state.rows || "") === value);
      const id = `rows-${value || "means"}`;
      const button = html("button", { type: "button", id, "aria-pressed": pressed }, text);
      button.addEventListener("click", () => change({ rows: value, sort: "" }));
      switcher.append(button);
    }
    parent.append(switcher);
    const order = orderOf(state, { key: chosen.metric, down: true });
    const onOrder = (/** @type {Order} */ found) =>
      change({ sort: `${found.down ? "-" : ""}${found.key}` }, true);
    const shown = { keys, metrics, order, onOrder };
    if (single) singleRuns(parent, { ...shown, runs: runs.filter(Runs.isDone) });
    else means(parent, { ...shown, runs });
  }

  /** @type {(state: Chosen, usual: Order) => Order} */
  function orderOf(state, usual) {
    if (!state.sort) return usual;
    const down = state.sort.startsWith("-");
    return { key: state.sort.slice(down ? 1 : 0), down };
  }

  /**
   * @type {(parent: HTMLElement, shown: { runs: number[], keys: string[], metrics: { key: string,
   *   label: string }[], order: Order, onOrder: (order: Order) => void }) => void}
   */
  function means(parent, { runs, keys, metrics, order, onOrder }) {
    const names = ["learner", ...keys];
    const rows = Runs.groups(runs, names).filter((group) => group.runs.some(Runs.hasResult));
    for (const row of rows) {
      row.family = Runs.familyOf.get(row.learner);
      row.found = row.runs.filter(Runs.hasResult).length;
      for (const { key } of metrics) row[key] = Runs.average(key, row.runs);
      for (const key of ["seconds", "peak_memory", "peak_gpu_memory"]) {
        row[key] = Runs.average(key, row.runs).mean;
      }
    }
    /** @type {(metric: { key: string, label: string }, k: number) => Column} */
    const metricColumn = ({ key, label }, k) => ({
      key,
      title: label,
      number: true,
      value: (row) => row[key].mean,
      show: (row) => {
        const text = k ? percent(row[key].mean) : spread(row[key]);
        return html("span", { class: k ? "" : "main", "data-key": key }, text);
      },
      csv: [`${key}_mean`, `${key}_std`, `${key}_runs`],
      parts: (row) => [row[key].mean, row[key].std, row[key].n],
    });
    sortable(parent, {
      id: "results",
      title: "All results",
      rows,
      order,
      onOrder,
      columns: [
        level("learner"),
        metricColumn(metrics[0], 0),
        ...keys.map(level),
        level("family"),
        {
          key: "runs",
          title: "Runs",
          number: true,
          value: (row) => row.found,
          show: ({ found, runs: all }) =>
            found === all.length ? String(found) : `${found} of ${all.length}`,
        },
        ...metrics.slice(1).map((metric) => metricColumn(metric, 1)),
        amount("seconds", "Time", seconds),
        amount("peak_memory", "Memory", bytes),
        ...(rows.some((row) => row.peak_gpu_memory > 0)
          ? [amount("peak_gpu_memory", "GPU memory", bytes)]
          : []),
      ],
      below: (row) => Runs.isInformed(row.runs[0]),
      caption: `${MEASURED}: mean \u00b1 standard deviation over seeds. ${apart(runs)}`,
    });
  }

  /** @type {(key: string, title: string, write: (value: number) => string) => Column} */
  const amount = (key, title, write) => ({
    key,
    title,
    number: true,
    value: (row) => row[key],
    show: (row) => write(row[key]),
  });

  /**
   * @type {(parent: HTMLElement, shown: { runs: number[], keys: string[], metrics: { key: string,
   *   label: string }[], order: Order, onOrder: (order: Order) => void }) => void}
   */
  function singleRuns(parent, { runs, keys, metrics, order, onOrder }) {
    /** @type {(key: string, title: string, write: (value: number) => string) => Column} */
    const number = (key, title, write) => ({
      key,
      title,
      number: true,
      value: (row) => Runs.number(key, row.at),
      show: (row) => write(Runs.number(key, row.at)),
    });
    const plain = (/** @type {number} */ value) => (Number.isFinite(value) ? short(value) : DASH);
    /** @type {Column} */
    const learner = {
      ...level("learner"),
      show: (row) => runLink(row.at, named(Runs.text("learner", row.at))),
    };
    /** @type {(metric: { key: string, label: string }) => Column} */
    const metricColumn = ({ key, label }) => ({
      ...number(key, label, percent),
      show: (row) => html("span", { "data-key": key }, percent(Runs.number(key, row.at))),
    });
    sortable(parent, {
      id: "runs",
      title: "Single runs",
      rows: runs.map((at) => ({ at })),
      order,
      onOrder,
      columns: [
        learner,
        metricColumn(metrics[0]),
        ...keys.map(level),
        level("seed"),
        ...metrics.slice(1).map(metricColumn),
        number("alpha_true", "alpha", plain),
        number("alpha_estimate", "estimated", plain),
        number("seconds", "Time", seconds),
        { key: "run", title: "Run", value: (row) => Runs.ids[row.at] },
      ],
      below: (row) => Runs.isInformed(row.at),
      caption: `${MEASURED}. A learner\u2019s name leads to the run. ${apart(runs)}`,
    });
  }

  // Learners by datasets, as Table 1 of PU-Bench.
  /** @type {(parent: HTMLElement, asked: Asked) => void} */
  function board(parent, { chosen, state, change, label }) {
    const { metric } = chosen;
    const runs = Runs.select(chosen);
    const datasets = Runs.namesOf("dataset", runs);
    const standing = Runs.standing(chosen);
    const comparable = Object.entries(PUBLISHED).every(([name, known]) =>
      known.includes(chosen[name]),
    );
    const seeds = Runs.namesOf("seed", runs).length;
    const ranks = new Map(standing?.ranks.map(({ learner, rank }) => [learner, rank]));
    const rows = Runs.namesOf("learner", runs).map((learner) => {
      const own = Runs.select({ learner }, runs);
      const cells = datasets.map((dataset) => {
        const here = Runs.select({ dataset }, own);
        const known = Object.hasOwn(Runs.published, learner) ? Runs.published[learner] : {};
        const theirs = comparable && Object.hasOwn(known, dataset) ? known[dataset] : undefined;
        const test = standing?.testOf(learner, dataset);
        return { dataset, ...Runs.average(metric, here), here, theirs, ...test };
      });
      return { learner, cells, family: Runs.familyOf.get(learner), rank: ranks.get(learner) };
    });
    const sign = Runs.metrics.find(({ key }) => key === metric)?.higher_is_better ? 1 : -1;
    datasets.forEach((_, k) => {
      placeBest(rows, k, sign);
    });
    const order = orderOf(state, { key: "family", down: false });
    sortable(parent, {
      id: "board",
      title: `${label} of learners on datasets`,
      rows,
      order,
      onOrder: (found) => change({ sort: `${found.down ? "-" : ""}${found.key}` }, true),
      columns: [
        {
          key: "family",
          title: "Learner",
          csv: ["learner", "family"],
          value: (row) => `${Runs.levels.family.indexOf(row.family)} ${row.learner}`,
          parts: (row) => [row.learner, row.family],
          show: (row) => [named(row.learner), " ", html("span", { class: "small" }, row.family)],
        },
        ...datasets.map(
          (dataset, k) =>
            /** @type {Column} */ ({
              key: `dataset:${dataset}`,
              title: Figures.shorten(dataset, 30),
              number: true,
              value: (row) => row.cells[k].mean,
              show: (row) => showCell(row.cells[k], seeds),
              csv: ["mean", "std", "runs", "p_adjusted", "pubench"].map(
                (part) => `${dataset} ${part}`,
              ),
              parts: (row) => {
                const { mean, std, n, p, theirs } = row.cells[k];
                return [mean, std, n, p ?? null, theirs ? theirs / 100 : null];
              },
            }),
        ),
        {
          key: "rank",
          title: "Mean rank",
          number: true,
          value: (row) => row.rank ?? NaN,
          show: (row) => (row.rank === undefined ? DASH : Words.fixed(row.rank, 2)),
        },
      ],
    });
    legend(parent, { standing, comparable, chosen });
    reasons(parent, rows);
  }

  // References know more, or less, than a learner: they are no rivals.
  /** @type {(rows: any[], k: number, sign: number) => void} */
  function placeBest(rows, k, sign) {
    const rivals = rows.filter((row) => row.family !== REFERENCE && row.cells[k].n);
    const values = [...new Set(rivals.map((row) => row.cells[k].mean))];
    values.sort((a, b) => sign * (b - a));
    for (const row of rivals) {
      row.cells[k].place = values.indexOf(row.cells[k].mean) + 1;
    }
  }

  /** @type {(cell: any, seeds: number) => Shown} */
  function showCell(cell, seeds) {
    if (!cell.n) {
      const [first] = Runs.absence(cell.here);
      const word = first ? first.status : "not run";
      const title = first ? first.reason.slice(0, 300) : NOT_PLANNED;
      return html("span", { class: "absent", title }, word);
    }
    const strong = cell.place === 1 ? "best" : cell.place === 2 ? "second" : "";
    const parts = [html("span", { class: `value ${strong}` }, percent(cell.mean))];
    if (strong) parts.push(hidden(`, ${strong}`));
    if (Number.isFinite(cell.std)) {
      parts.push(html("span", { class: "spread" }, ` \u00b1 ${percent(cell.std)}`));
    }
    if (cell.verdict) {
      const better = cell.verdict > 0;
      const words = `significantly ${better ? "better" : "worse"} than ${base}`;
      const title = `${words}, adjusted p ${pValue(cell.p)}`;
      const sign = html("span", { "aria-hidden": "true" }, better ? "\u25b2" : "\u25bc");
      const kind = better ? "mark-better" : "mark-worse";
      parts.push(html("span", { class: kind, title }, sign, hidden(`, ${title}`)));
    }
    if (cell.n < seeds) {
      parts.push(html("span", { class: "under" }, `${cell.n} of ${seeds} seeds`));
    }
    if (cell.here.every(Runs.isLent)) {
      parts.push(html("span", { class: "under" }, "as honest: it chooses no weights"));
    }
    if (cell.theirs) {
      parts.push(html("span", { class: "under" }, `PU-Bench ${Words.fixed(cell.theirs, 2)}`));
    }
    return parts;
  }

  /**
   * @type {(parent: HTMLElement, shown: { standing: any, comparable: boolean, chosen: Chosen })
   *   => void}
   */
  function legend(parent, { standing, comparable, chosen }) {
    const words = [
      "In percent: mean \u00b1 standard deviation over seeds.",
      "Bold is best, underlined second; references are not ranked.",
    ];
    if (standing?.tested) {
      words.push(
        `\u25b2 better and \u25bc worse than ${base}:`,
        `paired t-tests over seeds, Holm-adjusted p of at most ${LEVEL}.`,
      );
    } else if (base) {
      words.push(`There are too few shared seeds to test against ${base}.`);
    }
    if (comparable) {
      words.push(
        "Small figures are those of PU-Bench\u2019s Table 1, means of ten seeds with weights",
        "chosen by true labels; it calls them accuracies, and on uneven classes they fit F1 better.",
      );
    } else if (PUBLISHED.metric.includes(chosen.metric)) {
      words.push(
        "PU-Bench\u2019s figures stand beside ours for case-control data, labels at random and",
        "c = 0.1 only: its table has no others.",
      );
    }
    parent.append(html("p", { class: "small", id: "board-legend" }, words.join(" ")));
  }

  /** @type {(parent: HTMLElement, rows: any[]) => void} */
  function reasons(parent, rows) {
    const found = rows.flatMap((row) =>
      row.cells.flatMap((/** @type {any} */ cell) => {
        const why = Runs.absence(cell.here);
        if (!cell.here.length) why.push({ status: "not run", reason: NOT_PLANNED, n: 0 });
        return why.map((one) => ({ ...one, learner: row.learner, dataset: cell.dataset }));
      }),
    );
    if (!found.length) return;
    const list = found
      .slice(0, ROWS_SHOWN)
      .map(({ learner, dataset, status, reason, n }) =>
        html(
          "li",
          {},
          html("strong", {}, named(learner, 40)),
          " on ",
          named(dataset, 40),
          `: ${status}${n > 1 ? ` ${n} times` : ""}. `,
          html("span", { class: "small" }, Figures.shorten(reason, 300)),
        ),
      );
    if (found.length > ROWS_SHOWN) list.push(html("li", {}, "The view Missing has the rest."));
    const summary = html("summary", {}, `Missing numbers and why (${found.length})`);
    const body = html("ul", {}, ...list);
    parent.append(html("details", { class: "card", id: "reasons" }, summary, body));
  }

  // Mean ranks, and how each learner fares against the baseline.
  /** @type {(parent: HTMLElement, rows: any[], label: string) => void} */
  function standing(parent, rows, label) {
    /** @type {(key: string, title: string, places: number) => Column} */
    const number = (key, title, places) => ({
      key,
      title,
      number: true,
      value: (row) => row[key] ?? NaN,
      show: (row) => (Number.isFinite(row[key]) ? Words.fixed(row[key], places) : DASH),
    });
    sortable(parent, {
      id: "standing",
      title: "Mean ranks and duels",
      rows,
      order: { key: "rank", down: false },
      columns: [
        level("learner"),
        number("rank", "Rank", 2),
        {
          ...number("lower", `${Words.percent(1 - LEVEL)} range`, 2),
          csv: ["lower", "upper"],
          parts: (row) => [row.lower, row.upper],
          show: ({ lower, upper }) =>
            Number.isFinite(lower) ? `${Words.fixed(lower, 2)} to ${Words.fixed(upper, 2)}` : DASH,
        },
        number("mean", "Mean", 1),
        ...["Wins", "Ties", "Losses"]
          .filter(() => base)
          .map((word) => number(word.toLowerCase(), word, 0)),
      ],
      caption: [
        "The range is that of the mean rank when seeds are drawn again.",
        `The mean is that of ${label}, in percent, over all finished runs.`,
        base && "Wins, ties and losses count datasets on which the mean is above, at or below",
        base && `that of ${base}.`,
      ]
        .filter(Boolean)
        .join(" "),
    });
  }

  // Runs that failed or were skipped, by reason and one by one.
  /** @type {(parent: HTMLElement, asked: Asked) => void} */
  function missing(parent, { chosen }) {
    const runs = Runs.select(chosen).filter((i) => !Runs.isDone(i));
    if (!runs.length) {
      parent.append(html("p", { class: "empty" }, "Every run of this choice finished."));
      return;
    }
    const counted = Runs.groups(runs, ["status", "reason"]);
    sortable(parent, {
      id: "causes",
      title: "Reasons",
      rows: counted,
      order: { key: "count", down: true },
      columns: [
        level("status"),
        { key: "count", title: "Runs", number: true, value: (row) => row.runs.length },
        {
          key: "learners",
          title: "Learners",
          value: (row) => Runs.namesOf("learner", row.runs).join(", "),
          show: (row) => named(Runs.namesOf("learner", row.runs).join(", ")),
        },
        { ...level("reason"), show: (row) => long(row.reason) },
      ],
    });
    const keys = telling(["dataset", ...Runs.SETTING, "protocol"], runs);
    sortable(parent, {
      id: "missing-runs",
      title: "Runs without a result",
      rows: runs.map((at) => ({ at })),
      order: { key: "learner", down: false },
      columns: [
        level("learner"),
        ...keys.map(level),
        level("seed"),
        level("status"),
        { ...level("reason"), show: (row) => long(Runs.text("reason", row.at)) },
        { key: "run", title: "Run", value: (row) => Runs.ids[row.at] },
      ],
    });
  }

  return { WORDS, board, missing, results, standing };
})();
