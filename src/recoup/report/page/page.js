// The page's state and what follows from it. At the position that Python evaluated, every number
// is Python's own; elsewhere it comes from the same formulas on the same table (Recoup).

(() => {
  "use strict";

  const { byId, color, element, html, onNewWidth, pairs, within } = Charts;
  const data = JSON.parse(byId("data").textContent ?? "");
  const { phrases, levels, limits, names, summaries, comparison, chosen } = data.page;
  const { name_in_title: longest, most_odds: most } = data.page;
  const { DASH, digits, fill, number, pValue, range, share, shorten, signed } = Words;
  /** @type {(id: string) => HTMLInputElement} */
  const input = (id) => Charts.one(id, HTMLInputElement);
  /** @type {(id: string) => HTMLSelectElement} */
  const choice = (id) => Charts.one(id, HTMLSelectElement);
  /** @type {(selector: string) => NodeListOf<HTMLElement>} */
  const all = (selector) => document.querySelectorAll(selector);
  const ODDS_STEPS = 20;
  const QUIET_MS = 80;
  const MANY_SCORES = 6000;

  /** @type {any[]} */
  const readModels = [];
  /** @type {(place: number) => any} */
  const modelAt = (place) => (readModels[place] ||= Recoup.read(withSpecs(data.models[place])));
  // Of many models, only the first holds the specs that are alike.
  const withSpecs = (/** @type {any} */ one) =>
    one.specs ? one : { ...one, specs: data.models[0].specs };
  /** @type {Position & Record<string, number>} */
  const state = {
    ...{ model: chosen, alpha: NaN, beta: NaN, threshold: NaN, odds: 1 },
    ...{ fpCost: 1, fnCost: 1 },
  };
  const model = () => modelAt(state.model);
  /** @type {(one: any) => Position} */
  const own = ({ alpha, beta, threshold }) => ({ alpha, beta, threshold, odds: 1 });
  /** @type {() => Position} */
  const wanted = () => {
    const { alpha, beta, threshold, odds } = state;
    return { alpha, beta, threshold, odds };
  };
  // Whether a reader supposes other shares of positives, or labels that favor some scores.
  const sharesMoved = () =>
    state.alpha !== model().alpha || state.beta !== model().beta || state.odds !== 1;

  /** @type {() => View} */
  const view = () => ({
    model: model(),
    position: wanted(),
    result,
    metrics: result.metrics,
    sharesMoved: sharesMoved(),
    wholeBands: input("whole-bands").checked,
    shown: data.page.shown,
  });

  /** @type {(texts: Record<string, string>) => void} */
  function write(texts) {
    for (const cell of all("[data-key]")) {
      const text = texts[cell.dataset.key ?? ""];
      if (text !== undefined && cell.textContent !== text) cell.textContent = text;
    }
  }

  /** @type {(texts: string[]) => HTMLElement[]} */
  const listOf = (texts) => texts.map((text) => html("li", {}, text));

  // First pass: everything that one recovery gives.

  /** @type {Recovered} */
  let result;

  function showNow() {
    result = Recoup.recover(model(), wanted());
    const { metrics } = result;
    /** @type {Record<string, string>} */
    const texts = {};
    for (const [key, item] of Object.entries(metrics)) {
      texts[`metric.${key}.pu`] = number(item.pu);
      texts[`metric.${key}.recovered`] = number(item.recovered);
      texts[`metric.${key}.interval`] = range(item.lower, item.upper);
      texts[`metric.${key}.possible`] = range(item.bound_lower, item.bound_upper);
    }
    Object.assign(texts, tileTexts(metrics));
    for (const [key, cases] of Object.entries(result.confusion)) {
      texts[`cases.${key}`] = Words.whole(summaries[state.model].cases * cases);
    }
    texts["cases.all"] = Words.whole(summaries[state.model].cases);
    write(texts);
    // What checked rows told stays where it is.
    const { audit, verdict } = summaries[state.model];
    const said = audit.made
      ? verdict.headline
      : Words.headline(metrics, result.queue, phrases, limits);
    byId("headline").replaceChildren(...said.map((sentence) => html("p", {}, sentence)));
    showAssumption();
    showLight();
    showCosts();
    showControls();
    Pictures.draw(view());
    Checked.draw(audit);
  }

  // The numbers that matter most: with their intervals, and what they could be if something that
  // nobody has checked is otherwise.
  /** @type {(metrics: Record<string, any>) => Record<string, string>} */
  function tileTexts(metrics) {
    /** @type {Record<string, string>} */
    const texts = {};
    const words = Verdict.openWords(result.open, phrases);
    for (const { key, as_share: asShare } of summaries[state.model].verdict.figures) {
      const write = asShare ? share : number;
      const item = metrics[key];
      const interval = range(item.lower, item.upper, write);
      const possible = range(item.possible_lower, item.possible_upper, write);
      texts[`tile.${key}.value`] = write(item.recovered);
      texts[`tile.${key}.interval`] = interval;
      texts[`tile.${key}.possible`] = Verdict.couldBe(interval, possible, words, phrases);
      texts[`tile.${key}.naive`] = write(item.pu);
    }
    const { count, lower, upper, possible_lower: least, possible_upper: most } = result.hidden;
    const [low, high] = [lower, upper].map(Words.whole);
    const possible = `${Words.whole(least)} to ${Words.whole(most)}`;
    // How many are hidden hangs on alpha alone.
    const ofAlpha = result.open.alpha
      ? Verdict.openWords({ ...result.open, beta: false }, phrases)
      : "";
    texts["tile.hidden.value"] = Words.whole(count);
    texts["tile.hidden.interval"] = fill(phrases.hidden_between, { low, high });
    texts["tile.hidden.possible"] = Verdict.couldBe(
      `${low} to ${high}`,
      possible,
      ofAlpha,
      phrases,
    );
    return texts;
  }

  function showAssumption() {
    const moved = !Recoup.isOwn(model(), wanted());
    const assumed = byId("assumed");
    assumed.hidden = !moved;
    // What to do next is about the evaluation as it was made.
    byId("next-step").hidden = moved;
    byId("bands-note").hidden = !sharesMoved();
    byId("whole-bands-choice").hidden = sharesMoved();
    if (!moved) return;
    const changes = ["alpha", "beta", "threshold"]
      .filter((key) => state[key] !== model()[key])
      .map((key) => `${key} ${digits(state[key])} instead of ${digits(model()[key])}`);
    if (state.odds !== 1) changes.push(favored(state.odds));
    let known = " Intervals hold the sampling error alone.";
    if (state.odds !== 1) known = ` ${phrases.odds_no_interval}`;
    if (model().byPropensity) known = " Intervals are missing: the propensities say otherwise.";
    const doubt = result.feasible ? "" : " The scores do not allow these shares of positives.";
    assumed.textContent =
      `You are looking at an assumption: ${changes.join(", ")}.${sharesMoved() ? known : ""} ` +
      `What would change our mind is about the evaluation as it was made.${doubt}` +
      (summaries[state.model].audit.made ? phrases.audit_stays : "");
  }

  // What odds of a label say of the labels.
  /** @type {(odds: number) => string} */
  const favored = (odds) =>
    odds === 1
      ? phrases.odds_random
      : fill(phrases.odds_supposed, {
          side: odds > 1 ? "high" : "low",
          odds: digits(Math.max(odds, 1 / odds)),
        });

  function showLight() {
    const { light: made, figures } = summaries[state.model].verdict;
    const keys = figures.map((figure) => figure.key);
    const light = Recoup.isOwn(model(), wanted())
      ? made
      : Verdict.light(model(), result, made, keys, data.page);
    const card = byId("light");
    card.className = `card light ${light.level}`;
    const kind = summaries[state.model].audit.made ? "reliability_labels" : "reliability";
    const about = phrases[sharesMoved() ? "reliability_if" : kind];
    const word = html("span", {}, about, html("strong", {}, light.word));
    const items = light.reasons.map(({ code, level, text }) =>
      html(
        "li",
        { class: level, "data-code": code },
        shape(level),
        html("span", {}, html("span", { class: "visually-hidden" }, `${levels[level]}: `), text),
      ),
    );
    card.replaceChildren(
      html("h3", {}, shape(light.level), word),
      html("ul", { class: "reasons" }, ...items),
    );
  }

  /** @type {(level: string) => Element} */
  function shape(level) {
    const drawn = element("svg", { class: "shape", "aria-hidden": "true" });
    drawn.append(element("use", { href: `#shape-${level}` }));
    return drawn;
  }

  /** @type {number} */
  let cheapest;

  function showCosts() {
    const { fpCost, fnCost } = state;
    const money = (value) => Number(value.toPrecision(4)).toLocaleString("en-US");
    const { cases } = summaries[state.model];
    const shown = Words.whole(cases);
    write({
      "cost.now": money((cases / 1000) * Recoup.cost(result, fpCost, fnCost)),
      "cost.cases": shown,
    });
    const best = result.best("expected_cost", { fpCost, fnCost });
    const highest = model().scores[model().scores.length - 1];
    const cut = Math.min(best.threshold, highest);
    cheapest = cut;
    byId("cheapest").textContent =
      best.threshold > highest
        ? `Cheapest is to flag nothing, at ${money(cases * best.value)}.`
        : `Cheapest threshold: ${digits(cut)}, at ${money(cases * best.value)}.`;
    byId("use-cheapest").hidden = best.threshold > highest || cut === state.threshold;
  }

  // Controls

  /** @type {(wantedShare: number) => number} */
  const thresholdOfShare = (wantedShare) => {
    const { rows, scores } = model();
    const total = rows.reduce((sum, count) => sum + count, 0);
    let flagged = 0;
    for (let i = scores.length - 1; i > 0; i--) {
      flagged += rows[i];
      if (flagged >= wantedShare * total) return scores[i];
    }
    return scores[0];
  };

  /** @type {(value: number) => string} */
  const boxText = (value) => digits(value, 4);

  function showControls() {
    const { alpha, beta } = Recoup.limits(model(), wanted());
    for (const [name, [low, high]] of Object.entries({ alpha, beta })) {
      const slider = input(name);
      const step = high - low > 0.3 ? 0.005 : 10 ** Math.floor(Math.log10((high - low) / 50));
      // The ends lie on whole steps, so that arrow keys pass through round numbers.
      slider.step = String(step);
      slider.min = String(Math.ceil(low / step - 1e-9) * step);
      const end = high === 1 ? 1 : Math.max(Math.floor(high / step + 1e-9) * step, step);
      slider.max = String(end);
      slider.value = String(state[name]);
      slider.setAttribute("aria-valuetext", digits(state[name]));
      setBox(name, boxText(state[name]));
    }
    for (const field of [input("beta"), input("beta-box")]) field.disabled = model().byPropensity;
    for (const field of [input("odds"), input("odds-box")]) field.disabled = state.beta !== 1;
    input("odds").value = String(Math.round(stepOfOdds(state.odds)));
    input("odds").setAttribute("aria-valuetext", favored(state.odds));
    setBox("odds", boxText(state.odds));
    const slider = input("threshold");
    const flagged = `flags ${Words.fixed(100 * result.positiveRate, 1)}% of the rows`;
    slider.value = String(Math.round(1000 * result.positiveRate));
    slider.setAttribute("aria-valuetext", `${flagged}, threshold ${digits(state.threshold)}`);
    byId("threshold-about").textContent = `${phrases.flagged} It ${flagged}.`;
    setBox("threshold", boxText(state.threshold));
    const shared = { ...wanted(), model: state.model, fp: state.fpCost, fn: state.fnCost };
    const texts = Object.entries(shared).map(([key, value]) => [key, String(value)]);
    Charts.one("link", HTMLAnchorElement).href = `#${new URLSearchParams(texts)}`;
  }

  /** @type {(name: string, text: string) => void} */
  function setBox(name, text) {
    const box = input(`${name}-box`);
    if (document.activeElement !== box) box.value = text;
  }

  // Second pass, once the reader rests: what takes many recoveries.

  function showLater() {
    showPoints();
    showAlpha();
    if (comparison) showModels();
    Sorting.again();
    const { metrics } = result;
    byId("live").textContent =
      `alpha ${digits(state.alpha)}, beta ${digits(state.beta)}, threshold ` +
      `${digits(state.threshold)}${state.odds === 1 ? "" : `, ${favored(state.odds)}`}: recall ${share(metrics.recall.recovered)}, precision ` +
      `${share(metrics.precision.recovered)}, AUC ${number(metrics.roc_auc.recovered)}.`;
  }

  const sensitivities = new Map();

  function showAlpha() {
    const alphas = Wins.alphaGrid(Recoup.limits(model(), wanted()).alpha[1]);
    const position = [state.model, state.beta, state.threshold, state.odds].join(" ");
    if (!sensitivities.has(position)) {
      sensitivities.set(position, Recoup.sensitivity(model(), alphas, wanted()));
    }
    Pictures.drawOverAlpha(view(), alphas, sensitivities.get(position));
  }

  function showPoints() {
    /** @type {Record<string, string>} */
    const texts = {};
    summaries[state.model].points.forEach((point, i) => {
      const there = { ...wanted(), threshold: point.threshold };
      const moved = sharesMoved() && Recoup.at(model(), there);
      for (const key of ["precision", "recall"]) {
        const item = moved ? moved[key] : point[key];
        texts[`point.${i}.${key}`] = number(item.recovered);
        texts[`point.${i}.${key}.interval`] = range(item.lower, item.upper);
      }
    });
    write(texts);
  }

  function showModels() {
    /** @type {Record<string, string>} */
    const texts = {};
    const found = data.models.map((_, place) => {
      const { threshold } = modelAt(place);
      const position = { ...wanted(), threshold };
      return Recoup.recover(modelAt(place), position).metrics;
    });
    found.forEach((metrics, place) => {
      for (const key of comparison.columns) {
        texts[`model.${place}.${key}`] = number(metrics[key].recovered);
        texts[`model.${place}.${key}.interval`] = range(metrics[key].lower, metrics[key].upper);
      }
    });
    comparison.differences.forEach((item, i) => {
      const moved = sharesMoved() && !model().specs[item.metric].fixed;
      const [first, second] = [found[item.first], found[item.second]];
      const gap = first[item.metric].recovered - second[item.metric].recovered;
      texts[`difference.${i}`] = signed(moved ? gap : item.difference);
      texts[`difference.${i}.interval`] = moved ? DASH : range(item.lower, item.upper, signed);
      texts[`difference.${i}.p`] = moved ? DASH : pValue(item.p_value);
      texts[`difference.${i}.adjusted`] = moved ? DASH : pValue(item.p_adjusted);
    });
    write(texts);
    const asMade = state.beta === model().beta && state.odds === 1;
    showWins(asMade ? comparison.wins : winsFor(state.beta, state.odds));
  }

  const winsFound = new Map();

  /** @type {(beta: number, odds: number) => any[]} */
  function winsFor(beta, odds) {
    const key = `${beta} ${odds}`;
    if (!winsFound.has(key)) {
      const models = data.models.map((_, place) => modelAt(place));
      winsFound.set(key, Wins.find(models, comparison.wins, beta, odds));
    }
    return winsFound.get(key);
  }

  /** @type {(place: number) => string} */
  const fullName = (place) => shorten(data.models[place].name, longest);

  /** @type {(wins: Win[]) => void} */
  function showWins(wins) {
    const top = Math.max(...wins.map((win) => win.alpha_high));
    const span = fill(phrases.alpha_span, { top: digits(top, 2) });
    within(byId("wins"), "th.wide").textContent = span;
    for (const row of all("[data-wins]")) {
      const mine = wins.filter((win) => win.metric === row.dataset.wins);
      const strip = within(row, ".strip");
      strip.replaceChildren(
        ...mine.map((win) =>
          element("rect", {
            x: (1000 * win.alpha_low) / top,
            width: (1000 * (win.alpha_high - win.alpha_low)) / top,
            height: 20,
            style: `fill:${color(win.model)}`,
          }),
        ),
      );
      const now = (1000 * Math.min(state.alpha, top)) / top;
      strip.append(element("path", { class: "now", d: `M${now} 0V20` }));
      const words = mine.flatMap((win, i) => [
        i ? "; " : "",
        html("span", { class: "name", title: fullName(win.model) }, names[win.model]),
        ` ${digits(win.alpha_low, 2)} to ${digits(win.alpha_high, 2)}`,
      ]);
      within(row, ".words").replaceChildren(...words);
    }
  }

  // Changing the state

  let [frameAsked, laterAsked] = [0, 0];

  /** @type {(values: Record<string, number>) => void} */
  function change(values) {
    Object.assign(state, values);
    document.documentElement.dataset.state = "busy";
    if (!frameAsked) frameAsked = requestAnimationFrame(passOne);
  }

  function passOne() {
    frameAsked = 0;
    showNow();
    clearTimeout(laterAsked);
    laterAsked = setTimeout(
      () => {
        showLater();
        document.documentElement.dataset.state = "ready";
      },
      model().scores.length > MANY_SCORES ? 2 * QUIET_MS : QUIET_MS,
    );
  }

  /** @type {(value: number, low: number, high: number) => number} */
  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

  // Alpha and beta keep a gap: what is moved stops there.
  /** @type {(name: string, value: number) => void} */
  function setShare(name, value) {
    const { gap } = model().ranges;
    if (value === model()[name]) return change({ [name]: value });
    if (name === "alpha") return change({ alpha: clamp(value, 0, state.beta - gap) });
    const beta = clamp(value, state.alpha + gap, 1);
    // Of wrong labels nothing says which were favored.
    return change(beta === 1 ? { beta } : { beta, odds: 1 });
  }

  // The slider goes in equal steps of the logarithm from 1/most to most.
  /** @type {(odds: number) => number} */
  const stepOfOdds = (odds) => (ODDS_STEPS * Math.log(odds)) / Math.log(most);

  /** @type {(odds: number) => void} */
  function setOdds(odds) {
    if (odds > 0 && state.beta === 1) change({ odds: clamp(odds, 1 / most, most) });
  }

  /** @type {(value: number) => void} */
  function setThreshold(value) {
    const { scores } = model();
    const [low, high] = model().ranges.threshold;
    const top = Math.max(high, scores[scores.length - 1]);
    change({ threshold: clamp(value, Math.min(low, scores[0]), top) });
  }

  function readHash() {
    const given = new URLSearchParams(location.hash.slice(1));
    const number = (key) => (given.get(key) ? Number(given.get(key)) : NaN);
    const place = number("model");
    if (Number.isInteger(place) && data.models[place]) showModel(place);
    const { alpha, beta, threshold } = { ...own(model()) };
    const { gap } = model().ranges;
    const found = { alpha, beta, threshold, odds: 1 };
    if (Number.isFinite(number("beta")) && !model().byPropensity) {
      found.beta = clamp(number("beta"), gap, 1);
    }
    if (Number.isFinite(number("alpha"))) found.alpha = Math.max(number("alpha"), 0);
    if (found.alpha > found.beta - gap && found.alpha !== alpha) found.alpha = found.beta - gap;
    if (Number.isFinite(number("threshold"))) found.threshold = number("threshold");
    if (number("odds") > 0 && found.beta === 1) found.odds = clamp(number("odds"), 1 / most, most);
    for (const [key, name] of [
      ["fp", "fpCost"],
      ["fn", "fnCost"],
    ]) {
      if (number(key) >= 0) found[name] = number(key);
    }
    change(found);
    showCostBoxes();
  }

  function showCostBoxes() {
    input("cost-fp").value = String(state.fpCost);
    input("cost-fn").value = String(state.fnCost);
  }

  // Another model: its words and rows, then its numbers.
  /** @type {(place: number) => void} */
  function showModel(place) {
    state.model = place;
    const summary = summaries[place];
    if (comparison) choice("model").value = String(place);
    Checked.show(summary);
    const { text, command } = summary.next_step;
    const typed = command ? [" ", html("code", {}, command)] : [];
    byId("next-step").replaceChildren(html("strong", {}, "Next step:"), ` ${text}`, ...typed);
    byId("doubts").replaceChildren(...listOf(summary.verdict.doubts));
    byId("sentences").replaceChildren(...listOf(summary.sentences));
    byId("notes").hidden = !summary.notes.length;
    const notes = summary.notes.map((note) => shorten(note, longest));
    within(byId("notes"), "ul").replaceChildren(...listOf(notes));
    byId("digest").textContent = summary.digest;
    byId("settings").replaceChildren(...pairs(Object.entries(summary.settings)));
    for (const row of all("#metrics tbody tr")) {
      row.hidden = !((row.dataset.metric ?? "") in model().evaluation.metrics);
    }
    for (const row of all("#model-table tbody tr")) {
      row.classList.toggle("used", Number(row.dataset.model) === place);
    }
    const rows = summary.points.map((point, i) => {
      const cell = (key) => html("td", { "data-key": `point.${i}.${key}` });
      const main = (key) => html("td", { "data-key": `point.${i}.${key}`, class: "main" });
      const head = html("th", { scope: "row" }, digits(point.threshold, 4));
      if (point.used) head.append(" ", html("span", { class: "mark" }, phrases.used));
      return html(
        "tr",
        point.used ? { class: "used" } : {},
        head,
        html("td", {}, Words.whole(point.queue)),
        html("td", {}, `${Words.fixed(100 * point.positive_rate, 1)}%`),
        main("precision"),
        cell("precision.interval"),
        main("recall"),
        cell("recall.interval"),
      );
    });
    Charts.one("point-table", HTMLTableElement).tBodies[0].replaceChildren(...rows);
  }

  // Start

  function connect() {
    for (const name of ["alpha", "beta"]) {
      const slider = input(name);
      slider.addEventListener("input", () => setShare(name, Number(slider.value)));
    }
    byId("threshold").addEventListener("input", () => {
      setThreshold(thresholdOfShare(Number(input("threshold").value) / 1000));
    });
    byId("odds").addEventListener("input", () => {
      setOdds(most ** (Number(input("odds").value) / ODDS_STEPS));
    });
    const others = { threshold: setThreshold, odds: setOdds };
    for (const name of ["alpha", "beta", "threshold", "odds"]) {
      const box = input(`${name}-box`);
      const set = others[name] ?? ((value) => setShare(name, value));
      box.addEventListener("input", () => {
        if (Number.isFinite(box.valueAsNumber)) set(box.valueAsNumber);
      });
      box.addEventListener("blur", () => (box.value = boxText(state[name])));
    }
    for (const [id, name] of [
      ["cost-fp", "fpCost"],
      ["cost-fn", "fnCost"],
    ]) {
      const box = input(id);
      box.addEventListener("input", () => {
        if (box.valueAsNumber >= 0) change({ [name]: box.valueAsNumber });
      });
    }
    byId("use-cheapest").addEventListener("click", () => setThreshold(cheapest));
    byId("reset").addEventListener("click", () => {
      change({ ...own(model()), fpCost: 1, fnCost: 1 });
      showCostBoxes();
    });
    byId("whole-bands").addEventListener("change", () => change({}));
    byId("controls").addEventListener("submit", (event) => event.preventDefault());
    window.addEventListener("hashchange", readHash);
    onNewWidth(() => change({}));
    if (comparison) {
      const choose = choice("model");
      choose.disabled = false;
      choose.addEventListener("change", () => {
        // What a reader supposes of alpha, beta and labels holds for every model; thresholds differ.
        const { alpha, beta, odds } = state;
        const supposed = sharesMoved() ? { alpha, beta, odds } : {};
        showModel(Number(choose.value));
        change({ ...own(model()), ...supposed });
      });
      const metric = choice("difference-metric");
      metric.disabled = false;
      const filter = () => {
        for (const row of all("#difference-table tbody tr")) {
          row.hidden = row.dataset.metric !== metric.value;
        }
      };
      metric.addEventListener("change", filter);
      filter();
    }
    /** @type {NodeListOf<HTMLTableElement>} */
    const sortable = document.querySelectorAll("table.sortable");
    sortable.forEach(Sorting.makeSortable);
    byId("controls").hidden = byId("costs").hidden = false;
    byId("static-note").hidden = true;
  }

  connect();
  Checked.connect(phrases);
  readHash();
})();
