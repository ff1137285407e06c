// The views that are pictures. Each takes the chosen runs and adds its figures to the page.

/**
 * @typedef {{ family: string, learners: { learner: string, place: number, cells: any[] }[] }}
 *   Panel
 */

const Views = (() => {
  "use strict";

  const { color, curves, html, short, styleOf, DASHES } = Charts;
  const { bars, logTicks, power, radar, ranking, scatter } = Boards;
  const { pValue } = Words;
  const { add, bytes, percent, seconds, shorten, spread, whole } = Figures;
  const RADAR = Runs.profile;
  // Names on pictures; the numbers below them have the whole ones.
  const SHOWN = 24;
  // Label frequencies that span more than this are easier to tell apart on a logarithmic axis.
  const WIDE_SPAN = 20;
  /** @type {Format} */
  const inPercent = (value) => short(100 * value);
  /** @type {(name: string) => string} */
  const short24 = (name) => shorten(name, SHOWN);
  /** @type {(family: string) => Dot} */
  const familyStyle = (family) => {
    const place = Runs.levels.family.indexOf(family);
    return { color: color(place), shape: place };
  };

  // A learner keeps its color in all pictures: its place within its family.
  const placeOf = new Map();
  const perFamily = new Map();
  for (const learner of Runs.levels.learner) {
    const family = Runs.familyOf.get(learner);
    const place = perFamily.get(family) || 0;
    placeOf.set(learner, place);
    perFamily.set(family, place + 1);
  }

  /** @type {(parent: HTMLElement) => HTMLElement} */
  const grid = (parent) => {
    const place = html("div", { class: "figures" });
    parent.append(place);
    return place;
  };

  /** @type {(parent: HTMLElement, words: string) => void} */
  const empty = (parent, words) => parent.append(html("p", { class: "empty" }, words));

  // One panel per family, for each learner the mean in every group.
  /** @type {(runs: number[], names: string[], metric: string) => Panel[]} */
  function panels(runs, names, metric) {
    return Runs.groups(runs, ["family"])
      .map(({ family, runs: own }) => ({
        family,
        learners: Runs.groups(own, ["learner"])
          .map(({ learner, runs: its }) => ({
            learner,
            place: placeOf.get(learner),
            cells: Runs.groups(its, names)
              .map((cell) => Object.assign(cell, Runs.average(metric, cell.runs)))
              .filter((cell) => cell.n),
          }))
          .filter(({ cells }) => cells.length),
      }))
      .filter(({ learners }) => learners.length);
  }

  /** @type {(values: number[]) => number[]} */
  const extent = (values) =>
    values.reduce(([low, high], v) => [Math.min(low, v), Math.max(high, v)], [Infinity, -Infinity]);

  // From a round number below the lowest value to one above the highest.
  /**
   * @type {(values: number[], least?: number, step?: number) => { low: number, high: number,
   *   format: Format }}
   */
  function rangeOf(values, least = 0, step = 0.1) {
    const [low, high] = extent(values);
    const bottom = Number.isFinite(low) ? Math.floor((low - 0.02) / step) * step : least;
    const top = Math.min(Math.ceil((high + 0.01) / step) * step, 1);
    return { low: low < 0 ? bottom : Math.max(bottom, least), high: top, format: inPercent };
  }

  // As many of the sorted places as have this much room between them.
  /** @type {(places: number[], room: number) => number[]} */
  const apart = (places, room) => {
    const kept = [];
    for (const at of places) {
      if (!kept.length || at - kept[kept.length - 1] >= room) kept.push(at);
    }
    return kept;
  };

  /** @type {(columns: string[], panel: Panel, extra: (cell: any) => Cell[]) => Sheet} */
  const numbersOf = (columns, panel, extra) => ({
    columns: ["family", "learner", ...columns, "mean", "std", "runs"],
    rows: panel.learners.flatMap(({ learner, cells }) =>
      cells.map((cell) => [panel.family, learner, ...extra(cell), cell.mean, cell.std, cell.n]),
    ),
  });

  /** @type {(parent: HTMLElement, asked: Asked) => void} */
  function ratio(parent, { chosen, label }) {
    const shown = panels(Runs.select(chosen), ["label_frequency"], chosen.metric);
    const all = shown.flatMap(({ learners }) => learners.flatMap(({ cells }) => cells));
    const at = (/** @type {any} */ cell) => Number(cell.label_frequency);
    const xs = all.map(at).filter(Number.isFinite);
    if (new Set(xs).size < 2) {
      return empty(parent, "A curve needs runs with at least two label frequencies.");
    }
    const [low, high] = [Math.min(...xs), Math.max(...xs)];
    const wide = low > 0 && high / low > WIDE_SPAN;
    const toX = wide ? Math.log10 : (/** @type {number} */ value) => value;
    /** @type {Axis} */
    const x = { low: toX(low), high: toX(high), label: "Label frequency c" };
    x.ticks = apart([...new Set(xs)].sort((a, b) => a - b).map(toX), (x.high - x.low) / 9);
    if (wide) x.format = power;
    const y = { ...rangeOf(all.map((cell) => cell.mean)), label: `${label} (%)` };
    const place = grid(parent);
    shown.forEach((panel, k) => {
      const others = shown.filter((other) => other !== panel).flatMap(({ learners }) => learners);
      const lineOf = (/** @type {{ cells: any[] }} */ { cells }) => ({
        x: cells.map((cell) => toX(at(cell))),
        y: cells.map((cell) => cell.mean),
      });
      const context = others.map((one) => ({ ...lineOf(one), color: "var(--faint)", thin: true }));
      const own = panel.learners.map((one) => ({
        ...lineOf(one),
        ...styleOf(one.place),
        name: short24(one.learner),
      }));
      add(place, {
        id: `label-frequency-${k + 1}`,
        title: `${label} by label frequency: ${panel.family}`,
        caption: k || !context.length ? "" : "Grey lines are the other families.",
        numbers: numbersOf(["label_frequency"], panel, (cell) => [at(cell)]),
        draw: (figure) =>
          curves(figure, {
            x,
            y,
            lines: [...context, ...own],
            facts: `From the lowest to the highest frequency: ${own
              .map((line) => `${line.name} ${inPercent(line.y[0])} to ${inPercent(line.y.at(-1))}`)
              .join("; ")}`,
          }),
      });
    });
  }

  /** @type {(parent: HTMLElement, asked: Asked) => void} */
  function bias(parent, { chosen, state, change, label }) {
    const runs = Runs.select(chosen).filter(Runs.hasResult);
    const frequencies = Runs.namesOf("label_frequency", runs);
    const mechanisms = Runs.namesOf("mechanism", runs);
    if (!runs.length) return empty(parent, "No finished run matches this choice.");
    const counted = (/** @type {string} */ c) =>
      Runs.namesOf("mechanism", Runs.select({ label_frequency: c }, runs)).length;
    const most = Math.max(...frequencies.map(counted));
    const full = frequencies.filter((c) => counted(c) === most);
    const low = frequencies.includes(state.bars) ? state.bars : full[0];
    const high = frequencies.includes(state.lines) ? state.lines : full[full.length - 1];
    /** @type {(name: string, text: string, value: string) => HTMLElement[]} */
    const chooser = (name, text, value) => {
      const id = `choose-${name}`;
      const select = html("select", { id });
      for (const c of frequencies) select.append(new Option(`c = ${c}`, c, false, c === value));
      select.addEventListener("change", () => change({ [name]: select.value }));
      return [html("label", { for: id }, text), select];
    };
    const choosers = [...chooser("bars", "Bars at", low), ...chooser("lines", "Lines at", high)];
    parent.append(html("p", { class: "choice" }, ...choosers));
    const shown = panels(runs, ["label_frequency", "mechanism"], chosen.metric);
    const used = (/** @type {any} */ cell) =>
      cell.label_frequency === low || cell.label_frequency === high;
    const values = shown.flatMap(({ learners }) =>
      learners.flatMap(({ cells }) => cells.filter(used).map((cell) => cell.mean)),
    );
    // The length of a bar is its value only if bars begin at zero.
    const range = rangeOf(values);
    const low0 = Math.min(extent(values)[0], 0);
    const y = { ...range, low: low0, high: Math.max(range.high, 0), label: `${label} (%)` };
    const place = grid(parent);
    shown.forEach((panel, k) => {
      /** @type {(Dot & { bars: boolean, values: number[], hints: string[] })[]} */
      const series = [];
      for (const c of new Set([low, high])) {
        mechanisms.forEach((mechanism, m) => {
          const cells = panel.learners.map(({ cells: own }) =>
            own.find((cell) => cell.label_frequency === c && cell.mechanism === mechanism),
          );
          if (!cells.some(Boolean)) return;
          series.push({
            bars: c === low,
            color: color(m),
            shape: m,
            name: short24(mechanism),
            values: cells.map((cell) => (cell ? cell.mean : NaN)),
            hints: cells.map((cell, g) =>
              cell ? `${panel.learners[g].learner}, ${mechanism}, c = ${c}: ${spread(cell)}` : "",
            ),
          });
        });
      }
      const kept = {
        ...panel,
        learners: panel.learners.map((one) => ({ ...one, cells: one.cells.filter(used) })),
      };
      add(place, {
        id: `selection-bias-${k + 1}`,
        title: `${label} by labeling mechanism: ${panel.family}`,
        caption: low === high ? `c = ${low}.` : `Bars at c = ${low}, lines at c = ${high}.`,
        numbers: numbersOf(["mechanism", "label_frequency"], kept, (cell) => [
          cell.mechanism,
          Number(cell.label_frequency),
        ]),
        draw: (figure) =>
          bars(figure, {
            groups: panel.learners.map(({ learner }) => shorten(learner, 16)),
            y,
            series,
            facts: `${panel.learners.length} learners under ${mechanisms.join(", ")}.`,
          }),
      });
    });
  }

  /** @type {(parent: HTMLElement, asked: Asked) => void} */
  function radars(parent, { chosen, labels }) {
    const runs = Runs.select(chosen).filter(Runs.hasResult);
    const families = Runs.groups(runs, ["family"])
      .map(({ family, runs: own }) => ({
        family,
        learners: Runs.groups(own, ["learner"])
          .map(({ learner, runs: its }) => ({
            learner,
            values: RADAR.map((key) => Runs.average(key, its)),
          }))
          .filter(({ values }) => values.every(({ n }) => n)),
      }))
      .filter(({ learners }) => learners.length);
    if (!families.length) return empty(parent, "No finished run matches this choice.");
    const all = families.flatMap(({ learners }) =>
      learners.flatMap(({ values }) => values.map(({ mean }) => mean)),
    );
    const { low } = rangeOf(all);
    const told = (/** @type {Mean[]} */ values) =>
      values.map(({ mean }, i) => `${labels[RADAR[i]]} ${percent(mean)}`).join(", ");
    const place = grid(parent);
    families.forEach(({ family, learners }, k) => {
      add(place, {
        id: `radar-${k + 1}`,
        title: `${short24(chosen.dataset)}: ${family}`,
        caption: `The center is ${inPercent(low)}%, the rim 100%.`,
        numbers: {
          columns: [
            "dataset",
            "family",
            "learner",
            "runs",
            ...RADAR.flatMap((key) => [`${key}_mean`, `${key}_std`]),
          ],
          rows: learners.map(({ learner, values }) => [
            chosen.dataset,
            family,
            learner,
            values[0].n,
            ...values.flatMap(({ mean, std }) => [mean, std]),
          ]),
        },
        draw: (figure) =>
          radar(figure, {
            axes: RADAR.map((key) => labels[key]),
            low,
            format: inPercent,
            lines: learners.map(({ learner, values }) => ({
              ...styleOf(placeOf.get(learner)),
              name: short24(learner),
              values: values.map(({ mean }) => mean),
              hint: `${learner}: ${told(values)}`,
            })),
            facts: learners
              .map(({ learner, values }) => `${short24(learner)}: ${told(values)}`)
              .join("; "),
          }),
      });
    });
  }

  /** @type {(families: string[]) => Dot[]} */
  function legendOf(families) {
    return families.map((family) => ({ ...familyStyle(family), name: family }));
  }

  /** @type {(parent: HTMLElement, asked: Asked) => void} */
  function cost(parent, { chosen, label }) {
    const runs = Runs.select(chosen).filter(Runs.hasResult);
    const points = Runs.groups(runs, ["learner"])
      .map(({ learner, runs: its }) => {
        const value = Runs.average(chosen.metric, its);
        const time = Runs.average("seconds", its).mean;
        const cpu = Runs.average("peak_memory", its).mean;
        const gpu = Runs.average("peak_gpu_memory", its).mean;
        return { learner, value, time, gpu, cpu, family: Runs.familyOf.get(learner) ?? "" };
      })
      .filter(({ value, time }) => value.n && time > 0);
    if (!points.length) return empty(parent, "No finished run of this choice has its time.");
    /** @typedef {typeof points[number]} One */
    /** @type {["cpu" | "gpu", string, string][]} */
    const kinds = [
      ["cpu", "memory", "memory"],
      ["gpu", "gpu-memory", "GPU memory"],
    ];
    const measured = kinds.filter(([key]) => points.some((point) => point[key] > 0));
    const memories = measured.length ? measured : [kinds[0]];
    const times = points.map(({ time }) => Math.log10(time));
    const pad = Math.max(0.08 * (Math.max(...times) - Math.min(...times)), 0.1);
    /** @type {Axis} */
    const x = {
      low: Math.min(...times) - pad,
      high: Math.max(...times) + pad,
      label: "Seconds of a run",
      format: power,
    };
    x.ticks = logTicks(x.low, x.high);
    const y = { ...rangeOf(points.map(({ value }) => value.mean)), label: `${label} (%)` };
    const place = grid(parent);
    const { metric } = chosen;
    for (const [key, id, words] of memories) {
      const [, most] = extent(points.map((point) => point[key] || 0));
      const told = (/** @type {One} */ one) =>
        `${percent(one.value.mean)} in ${seconds(one.time)} with ${bytes(one[key])}`;
      add(place, {
        id: `trade-off-${id}`,
        title: `${label}, time and ${words}`,
        caption:
          "Up and to the left is better. " +
          `The larger a point, the more ${words}: ${bytes(most)} at most.`,
        wide: memories.length === 1,
        numbers: {
          columns: [
            "family",
            "learner",
            `${metric}_mean`,
            `${metric}_std`,
            "runs",
            "seconds",
            "peak_memory",
            "peak_gpu_memory",
          ],
          rows: points.map(({ family, learner, value, time, cpu, gpu }) => [
            family,
            learner,
            value.mean,
            value.std,
            value.n,
            time,
            cpu,
            gpu,
          ]),
        },
        draw: (figure) =>
          scatter(figure, {
            x,
            y,
            points: points.map((one) => ({
              ...familyStyle(one.family),
              x: Math.log10(one.time),
              y: one.value.mean,
              size: one[key] || 0,
              name: short24(one.learner),
              hint: `${one.learner}: ${told(one)}`,
            })),
            legend: legendOf(Runs.namesOf("family", runs)),
            facts: points.map((one) => `${short24(one.learner)} ${told(one)}`).join("; "),
          }),
      });
    }
  }

  // Learners without a rank, by reason.
  /** @type {(left: { learner: string, reason: string }[]) => HTMLElement} */
  function notRanked(left) {
    const n = left.length;
    const lines = left.map(({ learner, reason }) =>
      html("li", {}, `${shorten(learner)}, which ${shorten(reason, 300)}.`),
    );
    const title = `Not ranked: ${n} learner${n === 1 ? "" : "s"}`;
    const box = html(
      "details",
      { class: "small" },
      html("summary", {}, title),
      html("ul", {}, ...lines),
    );
    box.open = n <= 3;
    return box;
  }

  // Who comes first, how sure that is, and whom it is not told apart from.
  /**
   * @type {(rows: any[], label: string, standing: { difference: number | null, blocks: number,
   *   joined: number[][] }) => string}
   */
  function winnerIn(rows, label, { difference, blocks, joined }) {
    const [first] = rows;
    const range = Number.isFinite(first.lower)
      ? ` (${Words.fixed(first.lower, 2)} to ${Words.fixed(first.upper, 2)})`
      : "";
    const over = `${blocks} dataset${blocks === 1 ? "" : "s"}`;
    const found =
      `${shorten(first.learner)} comes first by ${label} among ${rows.length} learners: mean rank ` +
      `${Words.fixed(first.rank, 2)}${range} over ${over}.`;
    if (difference === null || !Number.isFinite(difference)) return found;
    const near = first.rank + difference;
    const reach = Math.max(
      first.rank,
      ...joined.map(([low, high]) => (low <= first.rank ? high : 0)),
    );
    const alike = rows.filter((row) => row !== first && row.rank <= Math.min(near, reach));
    if (!alike.length) return `${found} The tests tell it from all others.`;
    const names = alike.slice(0, 3).map((row) => shorten(row.learner));
    const more = alike.length > 3 ? ` and ${alike.length - 3} more` : "";
    return `${found} Not told apart from it: ${names.join(", ")}${more}.`;
  }

  // What learners reach that were given the true classes, in a line.
  /** @type {(chosen: Chosen, label: string) => string} */
  function referenceIn(chosen, label) {
    const own = Runs.select(chosen).filter((i) => Runs.text("family", i) === Runs.REFERENCE);
    const parts = Runs.groups(own, ["learner"])
      .map(({ learner, runs }) => ({ learner, ...Runs.average(chosen.metric, runs) }))
      .filter(({ n }) => n)
      .map(({ learner, mean }) => `${shorten(learner)} ${percent(mean)}`);
    if (!parts.length) return "";
    return `For comparison, and not ranked, learners that were given the true classes: mean ${label} ${parts.join(", ")}.`;
  }

  /** @type {(parent: HTMLElement, asked: Asked) => void} */
  function ranks(parent, { chosen, label }) {
    const standing = Runs.standing(chosen);
    if (!standing || standing.ranks.length < 2) {
      return empty(parent, "Ranks need at least two learners with results on the same datasets.");
    }
    const { difference, joined, friedman, blocks } = standing;
    const means = new Map(
      Runs.groups(Runs.select(chosen), ["learner"]).map(({ learner, runs }) => [
        learner,
        100 * Runs.average(chosen.metric, runs).mean,
      ]),
    );
    const rows = standing.ranks.map(({ learner, rank, lower, upper }) => {
      const family = Runs.familyOf.get(learner) ?? "";
      const duels = standing.tally.get(learner) ?? { wins: null, ties: null, losses: null };
      const mean = means.get(learner) ?? NaN;
      return { learner, family, rank, lower, upper, ...duels, mean };
    });
    const drawn = difference === null ? NaN : difference;
    const words = [...standing.notes];
    if (Number.isFinite(drawn)) {
      words.unshift(
        "Learners joined by a bar lie less than the critical difference of",
        `${Words.fixed(drawn, 2)} apart (Nemenyi, level ${Runs.page.level}).`,
      );
    }
    if (friedman !== null) {
      const p = pValue(friedman).replace(/^(?!<)/, "= ");
      words.unshift(`Friedman\u2019s test that all learners are alike: p ${p}.`);
    }
    const protocol = Runs.page.protocols.find(([name]) => name === chosen.protocol);
    parent.append(
      html("p", { class: "leader", id: "winner" }, winnerIn(rows, label, standing)),
      html("p", { id: "protocol" }, `Protocol ${chosen.protocol}: ${protocol?.[1] ?? ""}`),
    );
    add(grid(parent), {
      id: "ranks",
      wide: true,
      title: `Mean ranks by ${label} over ${blocks} dataset${blocks === 1 ? "" : "s"}`,
      caption: words.join(" "),
      numbers: {
        columns: [
          "learner",
          "family",
          "mean_rank",
          "lower",
          "upper",
          "wins",
          "ties",
          "losses",
          "mean",
        ],
        rows: rows.map((row) => Object.values(row)),
      },
      draw: (figure) =>
        ranking(figure, {
          rows: rows.map((row) => ({
            rank: row.rank,
            name: shorten(row.learner, 20),
            color: familyStyle(row.family).color,
          })),
          difference: drawn,
          joined,
          facts: rows
            .map((row) => `${short24(row.learner)} ${Words.fixed(row.rank, 2)}`)
            .join(", "),
        }),
    });
    const card = html("div", { class: "narrow" });
    parent.append(card);
    Tables.standing(card, rows, label);
    const reference = referenceIn(chosen, label);
    if (reference) card.append(html("p", { id: "reference" }, reference));
    if (standing.leftOut.length) card.append(notRanked(standing.leftOut));
  }

  /** @type {(parent: HTMLElement, asked: Asked) => void} */
  function recovered(parent, { chosen, label }) {
    const runs = Runs.select(chosen).filter(Runs.isDone);
    const place = grid(parent);
    against(place, {
      runs,
      x: chosen.metric,
      y: `recovered_${chosen.metric}`,
      id: "recovered",
      title: `${label}: recovered against true`,
      xLabel: `True ${label}, on test rows (%)`,
      yLabel: "Recovered from held-out PU rows (%)",
    });
    against(place, {
      runs,
      x: "alpha_true",
      y: "alpha_estimate",
      id: "alpha",
      title: "alpha: estimated against true",
      xLabel: "True alpha (%)",
      yLabel: "Estimated alpha (%)",
    });
    if (!place.childElementCount) {
      empty(parent, "No finished run of this choice has a recovered number.");
    }
  }

  // How far numbers that need no true class are from those that do.
  /**
   * @type {(place: HTMLElement, shown: { runs: number[], x: string, y: string, id: string, title:
   *   string, xLabel: string, yLabel: string }) => void}
   */
  function against(place, { runs, x, y, id, title, xLabel, yLabel }) {
    const both = runs.filter(
      (i) => Number.isFinite(Runs.number(x, i)) && Number.isFinite(Runs.number(y, i)),
    );
    if (!both.length) return;
    const gaps = both.map((i) => Runs.number(y, i) - Runs.number(x, i));
    const mean = (/** @type {number[]} */ values) =>
      values.reduce((sum, value) => sum + value, 0) / values.length;
    const [off, away] = [mean(gaps), mean(gaps.map(Math.abs))];
    const values = both.flatMap((i) => [Runs.number(x, i), Runs.number(y, i)]);
    const [least, most] = extent(values);
    const low = Math.max(Math.floor((least - 0.01) * 10) / 10, -1);
    const high = Math.min(Math.ceil((most + 0.01) * 10) / 10, 1);
    const axis = { low, high, format: inPercent };
    const facts =
      `${whole(both.length)} runs: the mean difference is ${percent(off)} points, ` +
      `the mean distance ${percent(away)} points.`;
    const words = ["learner", "family", "dataset", ...Runs.SETTING, "protocol", "seed"];
    add(place, {
      id,
      title,
      caption: facts,
      numbers: {
        columns: ["run", ...words, x, y],
        rows: both.map((i) => [
          Runs.ids[i],
          ...words.map((name) => Runs.text(name, i)),
          Runs.number(x, i),
          Runs.number(y, i),
        ]),
      },
      draw: (figure) =>
        scatter(figure, {
          x: { ...axis, label: xLabel },
          y: { ...axis, label: yLabel },
          small: true,
          lines: [{ x: [low, high], y: [low, high], color: "var(--grey)", dash: DASHES[2] }],
          points: both.map((i) => ({
            ...familyStyle(Runs.text("family", i)),
            x: Runs.number(x, i),
            y: Runs.number(y, i),
            hint:
              `${Runs.text("learner", i)}, ${Runs.text("dataset", i)}: true ` +
              `${percent(Runs.number(x, i))}, ${percent(Runs.number(y, i))} without classes`,
          })),
          legend: legendOf(Runs.namesOf("family", both)),
          facts,
        }),
    });
  }

  return { bias, cost, empty, grid, radars, ranks, ratio, recovered };
})();
