// The page: which view, which filters, and the address that holds both.
(() => {
  "use strict";

  const { byId, html, one, onNewWidth } = Charts;
  const FILTERS = [
    "dataset",
    "scheme",
    "mechanism",
    "label_frequency",
    "noise",
    "protocol",
    "family",
    "metric",
  ];
  /** @type {Record<string, string>} */
  const TITLES = { metric: "Metric", label_frequency: "Label frequency" };
  const OTHERS = ["view", "rows", "sort", "run", "bars", "lines"];
  const SETTING = Runs.SETTING;
  const labels = Object.fromEntries(Runs.metrics.map(({ key, label }) => [key, label]));
  /**
   * @typedef {{ title: string, about: string, one?: string[], without?: string[], metrics?:
   *   string[], draw: (parent: HTMLElement, asked: Asked) => void | Promise<void> }} View
   */
  // ``one`` names the filters of which a view shows one level at a time, ``without`` those that it
  // does not heed.
  /** @type {Record<string, View>} */
  const VIEWS = {
    ranks: {
      title: "Who wins",
      one: [...SETTING, "protocol"],
      without: ["dataset", "family"],
      draw: Views.ranks,
      about: "Who comes first on average over datasets, and which differences may be chance.",
    },
    results: {
      title: "Results",
      draw: Tables.results,
      about: "Every learner in every setting. Choose a column to sort by.",
    },
    board: {
      title: "Learners by datasets",
      one: [...SETTING, "protocol"],
      without: ["dataset"],
      draw: Tables.board,
      about: "One setting at a time, as in Table 1 of PU-Bench, with tests against a baseline.",
    },
    ratio: {
      title: "Label frequency",
      one: ["dataset", "scheme", "mechanism", "noise", "protocol"],
      without: ["label_frequency"],
      draw: Views.ratio,
      about: "What learners make of more labels: c is the share of positives that carry one.",
    },
    bias: {
      title: "Selection bias",
      one: ["dataset", "scheme", "noise", "protocol"],
      without: ["mechanism", "label_frequency"],
      draw: Views.bias,
      about: "Labels drawn at random (scar) against labels that prefer some positives.",
    },
    radar: {
      title: "Profiles",
      one: ["dataset", ...SETTING, "protocol"],
      without: ["metric"],
      draw: Views.radars,
      about: "Five metrics of each learner on one dataset.",
    },
    cost: {
      title: "Cost",
      one: ["dataset", ...SETTING, "protocol"],
      draw: Views.cost,
      about: "What a better number costs in time and memory.",
    },
    recovered: {
      title: "True and recovered",
      draw: Views.recovered,
      about:
        "Numbers that a practitioner can compute, against those that take true classes. " +
        "On the dotted line both agree.",
    },
    run: {
      title: "One run",
      one: ["dataset", ...SETTING, "protocol"],
      without: ["metric"],
      draw: OneRun.show,
      about: "How one run learned, how it scores rows, and which positives had labels.",
    },
    missing: {
      title: "Missing",
      without: ["metric"],
      draw: Tables.missing,
      about: "Runs that failed or were skipped, with their reasons.",
    },
  };
  /** @type {Chosen} */
  const state = {};
  /** @type {Map<string, HTMLAnchorElement>} */
  const links = new Map();
  /** @type {Map<string, HTMLSelectElement>} */
  const selects = new Map();
  const heading = document.title;

  const levelsOf = (/** @type {string} */ name) =>
    name === "metric" ? Runs.metrics.map(({ key }) => key) : Runs.levels[name];

  // What the view shows: the reader's choice, and where that leaves a view's single levels open,
  // the protocol that a user could follow, and the setting with most runs.
  /** @type {(view: View) => Chosen} */
  function settled(view) {
    /** @type {Chosen} */
    const chosen = {};
    for (const name of FILTERS) {
      if (!(view.without || []).includes(name)) chosen[name] = state[name] || "";
    }
    if ("metric" in chosen) {
      const known = levelsOf("metric");
      if (!known.includes(chosen.metric)) chosen.metric = known[0];
    }
    if ((view.one || []).includes("protocol")) chosen.protocol ||= Runs.usualProtocol(chosen);
    for (const name of view.one || []) {
      if (chosen[name]) continue;
      const runs = Runs.select(chosen);
      chosen[name] = Runs.commonest(name, runs.length ? runs : Runs.select({}));
    }
    return chosen;
  }

  function draw() {
    const key = state.view in VIEWS ? state.view : "ranks";
    const view = VIEWS[key];
    const chosen = settled(view);
    document.documentElement.dataset.state = "busy";
    for (const [name, link] of links) {
      if (name === key) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
      const hash = new URLSearchParams(keptState());
      hash.set("view", name);
      for (const own of ["sort", "rows", "run"]) hash.delete(own);
      link.href = `#${hash}`;
    }
    showTab(links.get(key));
    byId("view-title").textContent = view.title;
    byId("view-about").textContent = view.about;
    showFilters(view, chosen);
    document.title = `${view.title} \u2013 ${heading}`;
    const focused = document.activeElement?.id;
    const place = html("div", { id: "view" });
    byId("view").replaceWith(place);
    const runs = Runs.select(chosen);
    let after;
    if (!runs.length) {
      Views.empty(place, "No run matches these filters. Show all again, or choose another level.");
    } else {
      after = view.draw(place, { chosen, state, change, labels, label: labels[chosen.metric] });
    }
    // What was drawn anew has lost the focus of who works by keyboard.
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
    const done = runs.filter(Runs.isDone).length;
    byId("count").textContent = `${Figures.whole(runs.length)} runs, ${Figures.whole(done)} done`;
    Promise.resolve(after).then(() => {
      document.documentElement.dataset.state = "ready";
    });
  }

  // On a narrow screen the list of views is wider than its room.
  /** @type {(link: HTMLElement | undefined) => void} */
  function showTab(link) {
    if (!link) return;
    const list = byId("views");
    const middle = link.offsetLeft - list.offsetLeft + link.offsetWidth / 2;
    list.scrollLeft = middle - list.clientWidth / 2;
  }

  /** @type {(view: View, chosen: Chosen) => void} */
  function showFilters(view, chosen) {
    const active = [];
    for (const name of FILTERS) {
      const select = selects.get(name);
      if (!select) continue;
      const unused = !(name in chosen);
      if (select.parentElement) select.parentElement.hidden = unused;
      if (unused) continue;
      const single = name === "metric" || (view.one || []).includes(name);
      const known = levelsOf(name);
      const options = known.map((level) => {
        const text = name === "metric" ? labels[level] : level;
        return new Option(Figures.shorten(text, 40), level, false, level === chosen[name]);
      });
      if (!single) options.unshift(new Option("All", "", false, !chosen[name]));
      select.replaceChildren(...options);
      if (!chosen[name]) continue;
      const shown = name === "metric" ? labels[chosen[name]] : chosen[name];
      active.push(Figures.shorten(shown, 30));
    }
    byId("filter-summary").textContent = ["Filters", active.join(" \u00b7 ")]
      .filter(Boolean)
      .join(": ");
  }

  const keptState = () => Object.fromEntries(Object.entries(state).filter(([, value]) => value));

  // A new choice: the address follows, and with it the link a reader can share.
  /** @type {Change} */
  function change(changes, quiet = false) {
    Object.assign(state, changes);
    history.replaceState(null, "", `#${new URLSearchParams(keptState())}`);
    if (!quiet) draw();
  }

  function readAddress() {
    const given = new URLSearchParams(location.hash.slice(1));
    for (const name of FILTERS) {
      const value = given.get(name) || "";
      state[name] = levelsOf(name).includes(value) ? value : "";
    }
    for (const name of OTHERS) state[name] = given.get(name) || "";
    const at = Runs.place.get(state.run);
    if (state.view === "run" && at !== undefined) {
      for (const name of ["dataset", ...SETTING, "protocol"]) state[name] = Runs.text(name, at);
      state.family = "";
    }
    draw();
  }

  function connect() {
    const views = byId("views");
    for (const [key, { title }] of Object.entries(VIEWS)) {
      const link = html("a", { href: `#view=${key}`, "data-view": key }, title);
      links.set(key, link);
      views.append(html("li", {}, link));
    }
    const place = byId("filter-fields");
    for (const name of FILTERS) {
      if (name !== "metric" && levelsOf(name).length < 2) continue;
      const title = TITLES[name] || Tables.WORDS[name];
      const id = `filter-${name}`;
      const select = html("select", { id });
      selects.set(name, select);
      // Another level keeps the view but not what was chosen within the old one.
      select.addEventListener("change", () => {
        change({ [name]: select.value, run: "" });
      });
      place.append(html("p", { class: "filter" }, html("label", { for: id }, title), select));
    }
    byId("show-all").addEventListener("click", () => {
      change({ ...Object.fromEntries(FILTERS.map((name) => [name, ""])), run: "", sort: "" });
    });
    byId("filters").addEventListener("submit", (event) => event.preventDefault());
    if (window.innerWidth < 640) one("filter-box", HTMLDetailsElement).open = false;
    window.addEventListener("hashchange", readAddress);
    onNewWidth(draw);
  }

  byId("filters").hidden = byId("navigation").hidden = byId("shown").hidden = false;
  byId("static-note").hidden = true;
  connect();
  readAddress();
})();
