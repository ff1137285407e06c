// The runs of the store as columns: read once, filtered and averaged as often as a reader likes.
// Nothing here changes the document.

/** @typedef {{ runs: number[] } & Record<string, any>} Group Runs, and their levels by column. */
/** @typedef {Record<string, string>} Chosen Levels by column. */
/** @typedef {{ n: number, mean: number, std: number }} Mean */
/** @typedef {{ key: string, label: string, higher_is_better: boolean }} Metric */
/** @typedef {{ type: keyof typeof ARRAYS, data: string }} Packed Numbers as base64. */
/** @typedef {[number, number][]} Joined From the lowest to the highest rank of each bar. */
/** @typedef {[number, number, number, number]} Four A learner's place, and three numbers. */
/**
 * What the tests say of one setting.
 * @typedef {object} Standing
 * @property {Four[]} tests By learner and dataset: p and verdict.
 * @property {Four[]} ranks
 * @property {Four[]} tally Wins, ties and losses.
 * @property {[number, string][]} left_out
 * @property {number | null} difference
 * @property {Joined} joined
 * @property {number | null} friedman
 * @property {number} blocks
 * @property {string[]} notes
 */
/**
 * What Python hands to the page.
 * @typedef {object} Board
 * @property {number} count
 * @property {string[]} ids
 * @property {Record<string, string[]>} levels
 * @property {Record<string, Packed>} codes
 * @property {Record<string, Packed>} numbers
 * @property {Metric[]} metrics
 * @property {string[]} profile Metrics of a radar.
 * @property {string | null} baseline
 * @property {Record<string, Record<string, number>>} published
 * @property {Record<string, string[]>} published_for
 * @property {number[]} lent Runs that were skipped, since their honest one stands in.
 * @property {(Standing & Record<string, any>)[]} standings
 * @property {number} digits
 * @property {string[]} setting
 * @property {string[]} numeric
 * @property {string} reference
 * @property {[string, string][]} protocols From the one without true classes on, with their words.
 * @property {string} informed_protocol The one whose weights true classes chose.
 * @property {number} level
 * @property {string[]} formula
 * @property {number} name_shown
 * @property {number} name_in_title
 */

const ARRAYS = { Uint8Array, Uint16Array, Uint32Array, Float32Array, Float64Array };

const Runs = (() => {
  "use strict";

  /** @type {Board} */
  const page = JSON.parse(Charts.byId("data").textContent ?? "");
  const { count, ids, levels, metrics, profile, baseline, published, digits } = page;
  const { setting: SETTING, reference: REFERENCE } = page;
  const codes = Object.fromEntries(
    Object.entries(page.codes).map(([name, packed]) => [name, unpack(packed)]),
  );
  const numbers = Object.fromEntries(
    Object.entries(page.numbers).map(([name, packed]) => [name, unpack(packed)]),
  );
  const DONE = levels.status.indexOf("done");
  const place = new Map(ids.map((id, i) => [id, i]));
  /** @type {Map<string, string>} */
  const familyOf = new Map();
  for (let i = 0; i < count; i++) familyOf.set(text("learner", i), text("family", i));
  const standings = new Map(page.standings.map((one) => [standingKey(one), one]));

  /** @type {(packed: Packed) => ArrayLike<number>} */
  function unpack(packed) {
    const found = atob(packed.data);
    const bytes = new Uint8Array(found.length);
    for (let i = 0; i < found.length; i++) bytes[i] = found.charCodeAt(i);
    return new ARRAYS[packed.type](bytes.buffer);
  }

  /** @type {(name: string, i: number) => string} */
  function text(name, i) {
    return levels[name][codes[name][i]];
  }

  /** @type {(name: string, i: number) => number} */
  const number = (name, i) => numbers[name][i];
  /** @type {(i: number) => boolean} */
  const isDone = (i) => codes.status[i] === DONE;
  const lenders = findLenders();

  // A learner that chooses no weights is skipped by other protocols than the honest one: its honest
  // run would be the same, and stands in for it.
  function findLenders() {
    const names = ["dataset", ...SETTING, "learner", "seed"];
    const keyOf = (/** @type {number} */ i) => names.map((name) => codes[name][i]).join(" ");
    const honest = levels.protocol.indexOf("honest");
    const lent = new Set(page.lent);
    const known = new Map();
    for (let i = 0; i < count; i++) {
      if (isDone(i) && codes.protocol[i] === honest) known.set(keyOf(i), i);
    }
    return Int32Array.from({ length: count }, (_, i) => {
      return isDone(i) ? i : ((lent.has(i) ? known.get(keyOf(i)) : undefined) ?? -1);
    });
  }

  /** @type {(i: number) => boolean} */
  const isLent = (i) => lenders[i] >= 0 && lenders[i] !== i;
  /** @type {(i: number) => boolean} */
  const hasResult = (i) => lenders[i] >= 0;

  /** @type {(one: Record<string, any>) => string} */
  function standingKey(one) {
    return JSON.stringify([...SETTING, "protocol", "metric"].map((name) => one[name]));
  }

  // What the tests say of one setting, with names for places; nothing where nobody was compared.
  function standing(/** @type {Chosen} */ chosen) {
    const found = standings.get(standingKey(chosen));
    if (!found) return undefined;
    const names = levels.learner;
    const tests = new Map(
      found.tests.map(([learner, dataset, p, verdict]) => [
        JSON.stringify([names[learner], levels.dataset[dataset]]),
        { p, verdict },
      ]),
    );
    const { difference, joined, friedman, blocks, notes } = found;
    return {
      ...{ difference, joined, friedman, blocks, notes },
      tested: tests.size > 0,
      /**
       * @type {(learner: string, dataset: string) => { p: number, verdict: number } | undefined}
       */
      testOf: (learner, dataset) => tests.get(JSON.stringify([learner, dataset])),
      ranks: found.ranks.map(([code, rank, lower, upper]) => ({
        learner: names[code],
        rank,
        lower,
        upper,
      })),
      tally: new Map(
        found.tally.map(([code, wins, ties, losses]) => [names[code], { wins, ties, losses }]),
      ),
      leftOut: found.left_out.map(([code, reason]) => ({ learner: names[code], reason })),
    };
  }

  // The places of the runs that have all the chosen levels; an empty choice takes all of them.
  /** @type {(chosen: Chosen, among?: number[]) => number[]} */
  function select(chosen, among) {
    const wanted = Object.entries(chosen)
      .filter(([name, value]) => value && levels[name])
      .map(([name, value]) => ({ column: codes[name], code: levels[name].indexOf(value) }));
    const found = [];
    const n = among ? among.length : count;
    for (let k = 0; k < n; k++) {
      const i = among ? among[k] : k;
      if (wanted.every(({ column, code }) => column[i] === code)) found.push(i);
    }
    return found;
  }

  /** @type {(name: string, among: number[]) => string} */
  function commonest(name, among) {
    const counts = new Array(levels[name].length).fill(0);
    for (const i of among) counts[codes[name][i]] += 1;
    return levels[name][counts.indexOf(Math.max(...counts))];
  }

  // The first of the protocols, from the one that needs no true class on, with finished runs.
  /** @type {(chosen: Chosen) => string} */
  function usualProtocol(chosen) {
    const runs = select(chosen).filter(hasResult);
    const known = namesOf("protocol", runs);
    return page.protocols.find(([name]) => known.includes(name))?.[0] ?? "";
  }

  // Whether true classes had a part in a run: its learner was given them, or they chose its weights.
  /** @type {(i: number) => boolean} */
  const isInformed = (i) =>
    text("family", i) === REFERENCE || text("protocol", i) === page.informed_protocol;

  // Groups of runs that agree in the named columns, in the order of their levels.
  /** @type {(among: number[], names: string[]) => Group[]} */
  function groups(among, names) {
    const found = new Map();
    for (const i of among) {
      let key = 0;
      for (const name of names) key = key * levels[name].length + codes[name][i];
      const group = found.get(key);
      if (group) group.push(i);
      else found.set(key, [i]);
    }
    return [...found]
      .sort(([a], [b]) => a - b)
      .map(([, runs]) => ({
        ...Object.fromEntries(names.map((name) => [name, text(name, runs[0])])),
        runs,
      }));
  }

  // Mean and standard deviation (n - 1) over the runs that have the number, or are lent it.
  /** @type {(name: string, runs: number[]) => Mean} */
  function average(name, runs) {
    const values = runs
      .filter(hasResult)
      .map((i) => number(name, lenders[i]))
      .filter(Number.isFinite);
    const n = values.length;
    if (!n) return { n, mean: NaN, std: NaN };
    const mean = values.reduce((sum, value) => sum + value, 0) / n;
    const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
    return { n, mean, std: n > 1 ? Math.sqrt(squares / (n - 1)) : NaN };
  }

  // Why there is no number: the most frequent reason comes first.
  /** @type {(runs: number[]) => { status: string, reason: string, n: number }[]} */
  function absence(runs) {
    const found = new Map();
    for (const i of runs) {
      if (hasResult(i)) continue;
      const key = JSON.stringify([text("status", i), text("reason", i)]);
      found.set(key, (found.get(key) || 0) + 1);
    }
    return [...found]
      .sort(([, a], [, b]) => b - a)
      .map(([key, n]) => {
        const [status, reason] = JSON.parse(key);
        return { status, reason, n };
      });
  }

  /** @type {(name: string, among: number[]) => string[]} */
  const namesOf = (name, among) => {
    const seen = new Set(among.map((i) => codes[name][i]));
    return levels[name].filter((_, code) => seen.has(code));
  };

  return {
    SETTING,
    REFERENCE,
    absence,
    average,
    baseline,
    commonest,
    count,
    digits,
    page,
    familyOf,
    groups,
    hasResult,
    ids,
    isDone,
    isInformed,
    isLent,
    levels,
    metrics,
    namesOf,
    number,
    numbers,
    place,
    profile,
    published,
    select,
    standing,
    text,
    usualProtocol,
  };
})();
