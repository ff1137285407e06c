// The page: which view, which filters, and the address that holds both.
(() => {
  "use strict";

  const { html } = Charts;
  const FILTERS = [
    "dataset", "scheme", "mechanism", "label_frequency", "noise", "protocol", "family", "metric",
  ];
  const TITLES = { metric: "Metric", label_frequency: "Label frequency" };
  const OTHERS = ["view", "rows", "sort", "run", "bars", "lines"];
  const SETTING = Runs.SETTING;
  const byId = (id) => document.getElementById(id);
  const labels = Object.fromEntries(Runs.metrics.map(({ key, label }) => [key, label]));
  // ``one`` names the filters of which a view shows one level at a time, ``without`` those that it
  // does not heed.
  const VIEWS = {
    results: {
      title: "Results", draw: Tables.results,
      about: "Every learner in every setting. Choose a column to sort by.",
    },
    board: {
      title: "Learners by datasets", one: [...SETTING, "protocol"], without: ["dataset"],
      draw: Tables.board,
      about: "One setting at a time, as in Table 1 of PU-Bench, with tests against a baseline.",
    },
    ranks: {
      title: "Ranks", one: [...SETTING, "protocol"], without: ["dataset", "family"],
      draw: Views.ranks,
      about: "Who comes first on average over datasets, and which differences may be chance.",
    },
    ratio: {
      title: "Label frequency", one: ["dataset", "scheme", "mechanism", "noise", "protocol"],
      without: ["label_frequency"], draw: Views.ratio,
      about: "What learners make of more labels: c is the share of positives that carry one.",
    },
    bias: {
      title: "Selection bias", one: ["dataset", "scheme", "noise", "protocol"],
      without: ["mechanism", "label_frequency"], draw: Views.bias,
      about: "Labels drawn at random (scar) against labels that prefer some positives.",
    },
    radar: {
      title: "Profiles", one: ["dataset", ...SETTING, "protocol"], without: ["metric"],
      draw: Views.radars,
      about: "Five metrics of each learner on one dataset.",
    },
    cost: {
      title: "Cost", one: ["dataset", ...SETTING, "protocol"], draw: Views.cost,
      about: "What a better number costs in time and memory.",
    },
    recovered: {
      title: "True and recovered", draw: Views.recovered,
      about:
        "Numbers that a practitioner can compute, against those that take true classes. " +
        "On the dotted line both agree.",
    },
    run: {
      title: "One run", one: ["dataset", ...SETTING, "protocol"], without: ["metric"],
      draw: OneRun.show,
      about: "How one run learned, how it scores rows, and which positives had labels.",
    },
    missing: {
      title: "Missing", without: ["metric"], draw: Tables.missing,
      about: "Runs that failed or were skipped, with their reasons.",
    },
  };
  const state = {};
  const heading = document.title;

  const levelsOf = (name) =>
    name === "metric" ? Runs.metrics.map(({ key }) => key) : Runs.levels[name];

  // What the view shows: the reader's choice, and where that leaves a view's single levels open,
  // the setting with most runs.
  function settled(view) {
    const chosen = {};
    for (const name of FILTERS) {
      if (!(view.without || []).includes(name)) chosen[name] = state[name] || "";
    }
    if ("metric" in chosen) {
      const known = levelsOf("metric");
      if (!known.includes(chosen.metric)) chosen.metric = known[0];
    }
    const { metric, ...filters } = chosen;
    for (const name of view.one || []) {
      if (filters[name]) continue;
      const runs = Runs.select(filters);
      filters[name] = Runs.commonest(name, runs.length ? runs : Runs.select({}));
    }
    return { ...filters, metric };
  }

  function draw() {
    const key = state.view in VIEWS ? state.view : "results";
    const view = VIEWS[key];
    const chosen = settled(view);
    document.documentElement.dataset.state = "busy";
    for (const link of document.querySelectorAll("#views a")) {
      if (link.dataset.view === key) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
      const hash = new URLSearchParams(keptState());
      hash.set("view", link.dataset.view);
      ["sort", "rows", "run"].forEach((name) => hash.delete(name));
      link.href = `#${hash}`;
    }
    showTab(document.querySelector("#views a[aria-current]"));
    byId("view-title").textContent = view.title;
    byId("view-about").textContent = view.about;
    showFilters(view, chosen);
    document.title = `${view.title} \u2013 ${heading}`;
    const focused = document.activeElement && document.activeElement.id;
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
    if (focused && byId(focused)) byId(focused).focus({ preventScroll: true });
    const done = runs.filter(Runs.isDone).length;
    byId("count").textContent = `${Figures.whole(runs.length)} runs, ${Figures.whole(done)} done`;
    Promise.resolve(after).then(() => {
      document.documentElement.dataset.state = "ready";
    });
  }

  // On a narrow screen the list of views is wider than its room.
  function showTab(link) {
    const list = byId("views");
    const middle = link.offsetLeft - list.offsetLeft + link.offsetWidth / 2;
    list.scrollLeft = middle - list.clientWidth / 2;
  }

  function showFilters(view, chosen) {
    const active = [];
    for (const name of FILTERS) {
      const select = byId(`filter-${name}`);
      if (!select) continue;
      const unused = !(name in chosen) || chosen[name] === undefined;
      select.closest(".filter").hidden = unused;
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

  const keptState = () =>
    Object.fromEntries(Object.entries(state).filter(([, value]) => value));

  // A new choice: the address follows, and with it the link a reader can share.
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
      views.append(html("li", {}, html("a", { href: `#view=${key}`, "data-view": key }, title)));
    }
    const place = byId("filter-fields");
    for (const name of FILTERS) {
      if (name !== "metric" && levelsOf(name).length < 2) continue;
      const title = TITLES[name] || Tables.WORDS[name];
      const id = `filter-${name}`;
      const select = html("select", { id });
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
    if (window.innerWidth < 640) byId("filter-box").open = false;
    window.addEventListener("hashchange", readAddress);
    let width = window.innerWidth;
    window.addEventListener("resize", () => {
      if (window.innerWidth !== width) draw();
      width = window.innerWidth;
    });
  }

  byId("filters").hidden = byId("navigation").hidden = byId("shown").hidden = false;
  byId("static-note").hidden = true;
  connect();
  readAddress();
})();
