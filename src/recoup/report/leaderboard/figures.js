// What all figures and tables share: names and numbers as text, and downloads of what is shown.

/** @typedef {string | number | null | undefined} Cell */
/** @typedef {{ columns: string[], rows: Cell[][] }} Sheet Numbers to show and to download. */
/**
 * @typedef {{ id: string, title: string, caption?: string, wide?: boolean, numbers: Sheet, draw:
 *   (figure: HTMLElement) => void }} Picture
 */

const Figures = (() => {
  "use strict";

  const { dressed, element, html, within, LETTER } = Charts;
  const { DASH, digits, fixed, whole } = Words;
  const { name_shown: nameShown, name_in_title: nameInTitle, formula } = Runs.page;
  const ROWS_SHOWN = 200;
  const WIDEST = 1040;
  const DRAWN = [
    "fill",
    "stroke",
    "stroke-width",
    "stroke-dasharray",
    "stroke-linejoin",
    "opacity",
    "fill-opacity",
    "font-size",
    "font-weight",
    "font-family",
    "text-anchor",
  ];

  /** @type {(name: string, limit?: number) => string} */
  const shorten = (name, limit = nameShown) => Words.shorten(name, limit);
  /** @type {(share: number, places?: number) => string} */
  const percent = (share, places = 2) =>
    Number.isFinite(share) ? fixed(100 * share, places) : DASH;
  /** @type {(found: { mean: number, std: number }) => string} */
  const spread = ({ mean, std }) =>
    Number.isFinite(std) ? `${percent(mean)} \u00b1 ${percent(std)}` : percent(mean);

  /** @type {(value: number) => string} */
  function seconds(value) {
    if (!Number.isFinite(value)) return DASH;
    if (value < 60) return `${digits(value, 2)} s`;
    return value < 3600 ? `${fixed(value / 60, 1)} min` : `${fixed(value / 3600, 1)} h`;
  }

  /** @type {(value: number) => string} */
  function bytes(value) {
    if (!Number.isFinite(value)) return DASH;
    return value < 1e9 ? `${digits(value / 1e6)} MB` : `${digits(value / 1e9)} GB`;
  }

  // Numbers of the numbers table: short to read, while the download keeps all digits.
  /** @type {(value: Cell) => string} */
  function readable(value) {
    if (value === null || value === undefined || value === "") return DASH;
    if (typeof value !== "number") return shorten(String(value));
    return Number.isFinite(value) ? digits(value, 5) : DASH;
  }

  /** @type {(name: string, limit?: number) => HTMLElement} */
  function named(name, limit) {
    const shown = html("span", { class: "name" }, shorten(name, limit));
    if (shown.textContent !== name) shown.title = Words.shorten(name, nameInTitle);
    return shown;
  }

  /** @type {(value: Cell) => string} */
  function csvCell(value) {
    if (value === null || value === undefined) return "";
    if (typeof value === "number") return Number.isFinite(value) ? String(value) : "";
    // A spreadsheet would take text that begins so for a formula.
    const risky = formula.some((sign) => value.startsWith(sign));
    const safe = risky ? `'${value}` : value;
    return /[",\n\r]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
  }

  /** @type {(sheet: Sheet) => string} */
  const csv = ({ columns, rows }) =>
    [columns, ...rows].map((row) => `${row.map(csvCell).join(",")}\r\n`).join("");

  /** @type {(name: string, kind: string, content: string) => void} */
  function save(name, kind, content) {
    const url = URL.createObjectURL(new Blob([content], { type: kind }));
    html("a", { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
  }

  /** @type {(label: string, about: string, make: () => void) => HTMLButtonElement} */
  function downloadButton(label, about, make) {
    const button = html("button", { type: "button", class: "tool", "aria-label": about }, label);
    button.addEventListener("click", make);
    return button;
  }

  /** @type {(id: string, title: string, numbers: () => Sheet) => HTMLButtonElement} */
  const csvButton = (id, title, numbers) =>
    downloadButton("CSV", `Download the numbers of \u201c${title}\u201d as CSV`, () =>
      save(`${id}.csv`, "text/csv;charset=utf-8", csv(numbers())),
    );

  // A copy that looks the same without this page's style sheet.
  /** @type {(drawn: Element) => Element} */
  function frozen(drawn) {
    const copy = /** @type {Element} */ (drawn.cloneNode(true));
    const originals = [drawn, ...drawn.querySelectorAll("*")];
    [copy, ...copy.querySelectorAll("*")].forEach((made, i) => {
      const style = getComputedStyle(originals[i]);
      const kept = DRAWN.map((name) => `${name}:${style.getPropertyValue(name)}`);
      made.removeAttribute("class");
      made.setAttribute("style", kept.join(";"));
    });
    return copy;
  }

  // The picture with its title above and its legend below, as one file.
  /** @type {(figure: HTMLElement) => string} */
  function picture(figure) {
    const drawn = within(figure, ".drawing > svg");
    const [, , width, height] = (drawn.getAttribute("viewBox") ?? "").split(" ").map(Number);
    const page = getComputedStyle(document.body);
    const family = page.fontFamily.replace(/"/g, "'");
    const inner = frozen(drawn);
    dressed(inner, { x: 0, y: 34, width, height });
    /** @type {(text: string, x: number, y: number, style?: string) => Element} */
    const words = (text, x, y, style = "") =>
      element("text", { x, y, style: `fill:${page.color};font:13px ${family};${style}` }, text);
    const made = element("svg", { xmlns: "http://www.w3.org/2000/svg" });
    const title = within(figure, "h3").textContent ?? "";
    const parts = [words(title, 12, 22, "font-weight:600"), inner];
    let [x, y] = [12, height + 50];
    for (const item of figure.querySelectorAll(".legend li")) {
      const sample = frozen(within(item, "svg"));
      const name = item.textContent ?? "";
      const room = 46 + 1.1 * LETTER * name.length;
      if (x > 12 && x + room > width) [x, y] = [12, y + 20];
      dressed(sample, { x, y: y - 10, width: 28, height: 12 });
      parts.push(sample, words(name, x + 34, y));
      x += room;
    }
    const [full, ground] = [y + 14, getComputedStyle(figure).backgroundColor];
    dressed(made, { viewBox: `0 0 ${width} ${full}`, width, height: full });
    made.append(element("rect", { width, height: full, fill: ground }), ...parts);
    return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(made)}`;
  }

  // A table that scrolls by itself where it is wider than its room.
  /** @type {(label: string, table: HTMLTableElement, kind?: string) => HTMLDivElement} */
  const scrolling = (label, table, kind = "scroll") =>
    html("div", { class: kind, tabindex: 0, role: "region", "aria-label": label }, table);

  /** @type {(sheet: Sheet, label: string) => HTMLElement[]} */
  function plainTable({ columns, rows }, label) {
    const head = html("tr", {}, ...columns.map((name) => html("th", { scope: "col" }, name)));
    const body = rows.slice(0, ROWS_SHOWN).map((row) => {
      const cells = row.map((value) => {
        const kind = typeof value === "number" || value === null ? {} : { class: "text" };
        return html("td", kind, readable(value));
      });
      return html("tr", {}, ...cells);
    });
    const table = html("table", {}, html("thead", {}, head), html("tbody", {}, ...body));
    const parts = [scrolling(label, table)];
    if (rows.length > ROWS_SHOWN) {
      const note = `The first ${ROWS_SHOWN} of ${whole(rows.length)} rows; the CSV has all.`;
      parts.push(html("p", { class: "small" }, note));
    }
    return parts;
  }

  // One picture with its words, its downloads and its numbers. ``draw`` needs the figure in place.
  /** @type {(parent: HTMLElement, picture: Picture) => HTMLElement} */
  function add(parent, { id, title, caption = "", numbers, draw, wide = false }) {
    const place = html("div", { class: "drawing" });
    const figure = html("figure", { id: `figure-${id}` });
    if (wide) {
      figure.className = "wide-figure";
      figure.dataset.widest = String(WIDEST);
    }
    const drawing = downloadButton("SVG", `Download the picture \u201c${title}\u201d as SVG`, () =>
      save(`${id}.svg`, "image/svg+xml", picture(figure)),
    );
    const tools = html(
      "p",
      { class: "tools" },
      csvButton(id, title, () => numbers),
      drawing,
    );
    const details = html("details", {}, html("summary", {}, "Numbers"));
    details.addEventListener("toggle", () => {
      if (details.childElementCount === 1) details.append(...plainTable(numbers, title));
    });
    const head = html("div", { class: "figure-head" }, html("h3", {}, title), tools);
    figure.append(head, place);
    if (caption) figure.append(html("figcaption", {}, caption));
    figure.append(details);
    parent.append(figure);
    draw(figure);
    return figure;
  }

  return {
    ROWS_SHOWN,
    add,
    bytes,
    csv,
    csvButton,
    named,
    percent,
    save,
    scrolling,
    seconds,
    shorten,
    spread,
    whole,
  };
})();
