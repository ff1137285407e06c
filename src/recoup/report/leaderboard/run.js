// One run: what it was, how it learned, and how it scores rows. Its arrays come from a file of
// their own beside the page, loaded when a reader asks for them.
const OneRun = (() => {
  "use strict";

  const { color, curves, html, pairs, short, steps, styleOf, DASHES } = Charts;
  const { add, bytes, named, percent, scrolling, seconds, shorten, whole } = Figures;
  const { grid } = Views;
  const loaded = new Map();
  const waiting = new Map();

  // Files of runs call this.
  const recoupRuns = (/** @type {Record<string, any>} */ found) => {
    for (const [id, details] of Object.entries(found)) loaded.set(id, details);
  };
  Object.assign(window, { recoupRuns });

  /** @type {(id: string) => Promise<any>} */
  function load(id) {
    const name = id.slice(0, Runs.digits);
    if (loaded.has(id)) return Promise.resolve(loaded.get(id));
    if (!waiting.has(name)) {
      const script = html("script", { src: `runs/${name}.js` });
      waiting.set(
        name,
        new Promise((resolve) => {
          script.addEventListener("load", resolve);
          script.addEventListener("error", resolve);
          document.head.append(script);
        }),
      );
    }
    return waiting.get(name).then(() => loaded.get(id));
  }

  /** @type {(parent: HTMLElement, asked: Asked) => Promise<void> | void} */
  function show(parent, { chosen, state, change, labels }) {
    const runs = Runs.select(chosen).filter(Runs.isDone);
    if (!runs.length) return Views.empty(parent, "No finished run matches this choice.");
    const wanted = Runs.place.get(state.run) ?? -1;
    const at = runs.includes(wanted) ? wanted : runs[0];
    const select = html("select", { id: "choose-run" });
    for (const { learner, runs: own } of Runs.groups(runs, ["learner"])) {
      const group = html("optgroup", { label: shorten(learner) });
      for (const i of own) {
        const words = `${shorten(learner, 40)}, seed ${Runs.text("seed", i)}`;
        group.append(new Option(words, Runs.ids[i], false, i === at));
      }
      select.append(group);
    }
    select.addEventListener("change", () => change({ run: select.value }));
    const label = html("label", { for: "choose-run" }, "Run");
    parent.append(html("p", { class: "choice" }, label, select));
    parent.append(html("div", { class: "columns" }, facts(at), measured(at, labels)));
    const place = grid(parent);
    place.setAttribute("aria-busy", "true");
    return load(Runs.ids[at]).then((details) => {
      place.removeAttribute("aria-busy");
      // The reader may have gone on meanwhile.
      if (!place.isConnected) return;
      if (!details) {
        const file = `runs/${Runs.ids[at].slice(0, Runs.digits)}.js`;
        const words = `The curves and distributions of this run are in ${file}`;
        Views.empty(parent, `${words}, which is not beside this page.`);
        return;
      }
      distributions(place, details.distributions, Runs.ids[at]);
      epochs(place, details.curves || {}, Runs.number("best_epoch", at), Runs.ids[at]);
      about(parent, details);
    });
  }

  /** @type {(at: number) => HTMLElement} */
  function facts(at) {
    // Parts that are known, in words.
    /** @type {(...parts: [key: string, words: string, write?: Format][]) => string} */
    const told = (...parts) =>
      parts
        .filter(([key]) => Number.isFinite(Runs.number(key, at)))
        .map(([key, words, write = short]) => words.replace("#", write(Runs.number(key, at))))
        .join(", ") || Words.DASH;
    const card = html("div", { class: "card", id: "run-facts" });
    card.append(
      html("h3", {}, named(Runs.text("learner", at)), " on ", named(Runs.text("dataset", at))),
      html(
        "dl",
        {},
        ...pairs([
          [
            "Rows",
            told(
              ["n_labeled", "# labeled", whole],
              ["n_unlabeled", "# unlabeled", whole],
              ["n_test", "# to test", whole],
            ),
          ],
          [
            "alpha",
            told(
              ["alpha_true", "# true"],
              ["alpha_used", "# used"],
              ["alpha_estimate", "# estimated"],
            ),
          ],
          ["Time", told(["seconds", "#", seconds], ["seconds_per_epoch", "# an epoch", seconds])],
          ["Epochs", told(["epochs", "#"], ["best_epoch", "best #"])],
          ["Memory", told(["peak_memory", "#", bytes], ["peak_gpu_memory", "# on the GPU", bytes])],
          ["Run", Runs.ids[at]],
        ]),
      ),
    );
    return card;
  }

  /** @type {(at: number, labels: Chosen) => HTMLElement} */
  function measured(at, labels) {
    const head = ["Metric", "True", "Recovered", "Difference"];
    const rows = Runs.metrics.map(({ key }) => {
      const real = Runs.number(key, at);
      const found = Runs.number(`recovered_${key}`, at);
      return [labels[key], percent(real), percent(found), percent(found - real)];
    });
    const cells = (/** @type {string[]} */ row) =>
      row.map((text, k) => (k ? html("td", {}, text) : html("th", { scope: "row" }, text)));
    const table = html(
      "table",
      { id: "run-metrics" },
      html("caption", {}, "Test rows by true classes, and held-out PU rows without classes (%)"),
      html("thead", {}, html("tr", {}, ...head.map((text) => html("th", { scope: "col" }, text)))),
      html("tbody", {}, ...rows.map((row) => html("tr", {}, ...cells(row)))),
    );
    return scrolling("Metrics of the run", table);
  }

  /** @type {(counts: number[]) => number} */
  const total = (counts) => counts.reduce((sum, count) => sum + count, 0);
  /** @type {(counts: number[]) => number[]} */
  const shares = (counts) => counts.map((count) => count / total(counts));

  /** @type {(place: HTMLElement, found: any, id: string) => void} */
  function distributions(place, found, id) {
    if (!found?.edges || found.edges.length < 2) return;
    /** @type {{ edges: number[] }} */
    const { edges } = found;
    const score = "Score (decision function)";
    /**
     * @type {(key: string, title: string, groups: string[][], edges: number[], label: string) =>
     *   void}
     */
    const draw = (key, title, groups, edges, label) => {
      const x = { low: edges[0], high: edges[edges.length - 1], label };
      const shown = groups.filter(([name]) => found[name] && total(found[name]) > 0);
      if (!shown.length) return;
      const values = shown.map(([name]) => shares(found[name]));
      const top = Math.max(...values.flat());
      add(place, {
        id: `${key}-${id}`,
        title,
        numbers: {
          columns: ["from", "to", ...shown.map(([name]) => name)],
          rows: edges
            .slice(1)
            .map((edge, i) => [edges[i], edge, ...shown.map(([name]) => found[name][i])]),
        },
        draw: (figure) =>
          curves(figure, {
            x,
            y: { low: 0, high: top * 1.05, label: "Share of the group", format: Charts.percent },
            bands: shown.map(([, name, tint], i) => {
              const { x: ends, y: upper } = steps(edges, values[i]);
              return { x: ends, upper, lower: upper.map(() => 0), color: tint, name };
            }),
            lines: shown.map(([, , tint, dash], i) => ({
              ...steps(edges, values[i]),
              color: tint,
              dash,
              thin: true,
            })),
            facts: shown
              .map(([name, words]) => `${words}: ${whole(total(found[name]))} rows`)
              .join(", "),
          }),
      });
    };
    draw(
      "scores-test",
      "Scores of test rows",
      [
        ["test_positive", "positives", color(0), ""],
        ["test_negative", "negatives", color(1), DASHES[1]],
      ],
      edges,
      score,
    );
    draw(
      "scores-train",
      "Scores of training rows",
      [
        ["train_labeled", "labeled", color(2), ""],
        ["train_hidden", "hidden positives", color(0), DASHES[2]],
        ["train_negative", "unlabeled negatives", color(1), DASHES[1]],
      ],
      edges,
      score,
    );
    if (found.chance_edges) {
      draw(
        "chances",
        "Chance of a label, as the learner has it",
        [
          ["chance_labeled", "labeled", color(2), ""],
          ["chance_hidden", "hidden positives", color(0), DASHES[2]],
        ],
        found.chance_edges,
        "Labeling chance",
      );
    }
    const middles = edges.slice(1).map((edge, i) => (edge + edges[i]) / 2);
    const lines = [
      ["propensity", "as it was", color(4), ""],
      ["estimated", "as the learner has it", color(3), DASHES[1]],
    ].flatMap(([name, words, tint, dash]) => {
      /** @type {number[]} */
      const values = found[name] || [];
      const known = middles.flatMap((_, i) => (Number.isFinite(values[i]) ? [i] : []));
      if (!known.length) return [];
      const [at, y] = [known.map((i) => middles[i]), known.map((i) => values[i])];
      return [{ key: name, x: at, y, color: tint, dash, name: words }];
    });
    if (!lines.length) return;
    const [least, most] = [Math.min(...lines[0].y), Math.max(...lines[0].y)];
    add(place, {
      id: `propensity-${id}`,
      title: "Chance that a positive was labeled, by its score",
      caption: "A flat line means that labels were drawn at random (SCAR).",
      numbers: {
        columns: ["from", "to", ...lines.map((line) => line.key)],
        rows: middles.map((_, i) => [
          edges[i],
          edges[i + 1],
          ...lines.map((line) => found[line.key][i]),
        ]),
      },
      draw: (figure) =>
        curves(figure, {
          x: { low: edges[0], high: edges[edges.length - 1], label: score },
          y: {
            low: 0,
            high: 1.1 * Math.max(...lines.flatMap((line) => line.y)) || 1,
            label: "Labeling chance, mean",
          },
          lines,
          points: lines.flatMap((line) =>
            line.x.map((at, i) => ({ x: at, y: line.y[i], color: line.color })),
          ),
          facts: `From ${short(least)} to ${short(most)}.`,
        }),
    });
  }

  // Curves that stay between 0 and 1 share one picture, losses another.
  /**
   * @type {(place: HTMLElement, columns: Record<string, number[]>, best: number, id: string) =>
   *   void}
   */
  function epochs(place, columns, best, id) {
    const names = Object.keys(columns).filter((name) => name !== "epoch");
    const n = Math.max(0, ...names.map((name) => columns[name].length));
    if (n < 2) return;
    const at = columns.epoch || Array.from({ length: n }, (_, i) => i + 1);
    const finite = (/** @type {string} */ name) => columns[name].filter(Number.isFinite);
    const told = names.filter((name) => name !== "seconds");
    const share = (/** @type {string} */ name) =>
      finite(name).every((value) => value >= 0 && value <= 1);
    const isLoss = (/** @type {string} */ name) => /loss|risk/.test(name) || !share(name);
    const kept = { x: best, color: "var(--ink)", dash: DASHES[2], name: "kept weights" };
    /** @type {[string, string, string[]][]} */
    const pictures = [
      ["losses", "Losses by epoch", told.filter(isLoss)],
      ["measures", "Measures by epoch", told.filter((name) => !isLoss(name))],
      ["times", "Seconds by epoch", names.filter((name) => name === "seconds")],
    ];
    for (const [key, title, own] of pictures) {
      const values = own.flatMap(finite);
      if (!values.length) continue;
      const [low, high] = [Math.min(...values), Math.max(...values)];
      const room = 0.05 * (high - low) || 0.1;
      add(place, {
        id: `${key}-${id}`,
        title,
        numbers: {
          columns: ["epoch", ...own],
          rows: at.map((epoch, i) => [epoch, ...own.map((name) => columns[name][i] ?? null)]),
        },
        draw: (figure) =>
          curves(figure, {
            x: { low: at[0], high: at[at.length - 1], label: "Epoch" },
            y: { low: low - room, high: high + room, label: "Value" },
            lines: own.map((name, i) => ({
              x: at,
              y: columns[name],
              ...styleOf(i),
              name: shorten(name, 30),
            })),
            marks: best > 0 ? [kept] : [],
            facts: own
              .map((name) => `${shorten(name, 30)} ends at ${short(finite(name).at(-1) ?? NaN)}`)
              .join("; "),
          }),
      });
    }
  }

  /** @type {(parent: HTMLElement, details: Record<string, any>) => void} */
  function about(parent, { definition, versions, hardware, seeds }) {
    const body = html("div");
    const parts = { Definition: definition, Versions: versions, Hardware: hardware, Seeds: seeds };
    const plain = (/** @type {unknown} */ value) =>
      typeof value === "string" ? value : JSON.stringify(value);
    for (const [title, found] of Object.entries(parts)) {
      const entries = Object.entries(found || {});
      if (!entries.length) continue;
      /** @type {[string, string][]} */
      const written = entries.map(([name, value]) => [name, shorten(plain(value), 300)]);
      body.append(html("h3", {}, title), html("dl", {}, ...pairs(written)));
    }
    const summary = html("summary", {}, "How this run was made");
    parent.append(html("details", { class: "card" }, summary, body));
  }

  return { show };
})();
