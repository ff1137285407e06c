// Small charts as SVG: arrays in, one picture with its legend out. The style sheet has the colors.

/** @typedef {ArrayLike<number | null>} Numbers Null where there is none. */
/** @typedef {number | null | undefined} Known A value, if there is one. */
/** @typedef {(value: number) => string} Format */
/** @typedef {(value: number) => number} Scale */
/** @typedef {{ low: number, high: number }} Span */
/** @typedef {Span & { label: string, format?: Format, ticks?: number[] }} Axis */
/** @typedef {{ color: string, name?: string, dash?: string, thin?: boolean }} Style */
/** @typedef {Style & { x: Numbers, y: Numbers }} Line */
/** @typedef {Style & { x: Numbers, lower: Numbers, upper: Numbers }} Band */
/** @typedef {Style & { x?: number, y?: number }} Mark Upright at x, or level at y. */
/** @typedef {Style & { x: number, y: number }} Point */
/**
 * @typedef {Style & { band?: boolean, dot?: boolean, upright?: boolean, sample?: Element }} Entry
 */
/** @typedef {{ place: Element, svg: SVGElement, width: number, height: number }} Drawing */
/** @typedef {Record<string, string | number | undefined>} Attributes */

const Charts = (() => {
  "use strict";

  const SVG = "http://www.w3.org/2000/svg";
  const DASHES = ["", "7 4", "2 3", "9 3 2 3", "4 2", "1 2"];
  // Colors of the style sheet.
  const COLORS = 6;
  const TEXT = 12.5;
  const LETTER = 0.56 * TEXT;
  const short = (/** @type {number} */ value) => Words.digits(value, 3);
  const percent = (/** @type {number} */ value) => Words.percent(value, 3);
  const color = (/** @type {number} */ place) => `var(--c${place % COLORS})`;
  // Colors first, then dashes, so that many lines can be told apart.
  const styleOf = (/** @type {number} */ place) => ({
    color: color(place),
    dash: DASHES[Math.floor(place / COLORS) % DASHES.length],
  });
  // About as wide as it is drawn: signs of percent take more than digits.
  /** @type {(text: string) => number} */
  const widthOf = (text) => LETTER * (text.length + 0.7 * (text.split("%").length - 1));

  /** @type {<T extends Element>(made: T, attributes: Attributes) => T} */
  function dressed(made, attributes) {
    for (const [key, value] of Object.entries(attributes)) {
      if (value !== undefined) made.setAttribute(key, String(value));
    }
    return made;
  }

  /** @type {(name: string, attributes?: Attributes, text?: string) => SVGElement} */
  function element(name, attributes = {}, text) {
    const made = /** @type {SVGElement} */ (document.createElementNS(SVG, name));
    if (text !== undefined) made.textContent = text;
    return dressed(made, attributes);
  }

  /**
   * @template {keyof HTMLElementTagNameMap} Name
   * @param {Name} name
   * @param {Attributes} [attributes]
   * @param {(Node | string)[]} children
   * @returns {HTMLElementTagNameMap[Name]}
   */
  function html(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    made.append(...children);
    return dressed(made, attributes);
  }

  // What the page must have: its template and its scripts belong together.
  /**
   * @template {Element} Kind
   * @param {string} id
   * @param {new () => Kind} kind
   * @returns {Kind}
   */
  function one(id, kind) {
    const found = document.getElementById(id);
    if (found instanceof kind) return found;
    throw new TypeError(`The page needs a ${kind.name} called ${id}.`);
  }

  const byId = (/** @type {string} */ id) => one(id, HTMLElement);

  /** @type {(parent: ParentNode, selector: string) => Element} */
  function within(parent, selector) {
    const found = parent.querySelector(selector);
    if (found) return found;
    throw new TypeError(`The page needs ${selector} here.`);
  }

  // Names and their values, as a list.
  /** @type {(entries: [string, string][]) => HTMLElement[]} */
  const pairs = (entries) =>
    entries.map(([name, value]) => html("div", {}, html("dt", {}, name), html("dd", {}, value)));

  // Pictures are drawn for a width; on phones, scrolling changes the height alone.
  /** @type {(redraw: () => void) => void} */
  function onNewWidth(redraw) {
    let width = window.innerWidth;
    window.addEventListener("resize", () => {
      if (window.innerWidth !== width) redraw();
      width = window.innerWidth;
    });
  }

  // Round numbers, about as many as wanted, that cover a range.
  /** @type {(low: number, high: number, wanted: number) => number[]} */
  function ticks(low, high, wanted) {
    const rough = (high - low) / wanted;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = power * ([1, 2, 2.5, 5].find((factor) => factor * power >= rough) || 10);
    const found = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) {
      found.push(Math.abs(k * step) < step * 1e-9 ? 0 : k * step);
    }
    return found;
  }

  /** @type {(span: Span, start: number, end: number) => Scale} */
  function scale({ low, high }, start, end) {
    const width = high - low || 1;
    return (value) => start + ((value - low) / width) * (end - start);
  }

  // The outline of bars between edges.
  /**
   * @type {(edges: ArrayLike<number>, values: ArrayLike<number>) => { x: number[], y: number[] }}
   */
  const steps = (edges, values) => ({
    x: Array.from(values).flatMap((_, i) => [edges[i], edges[i + 1]]),
    y: Array.from(values).flatMap((value) => [value, value]),
  });

  // A path through points; those closer than half a pixel to the last one are left out.
  /** @type {(xs: number[], ys: number[], x: Scale, y: Scale, join?: string) => string} */
  function path(xs, ys, x, y, join = "M") {
    let text = "";
    let [lastX, lastY] = [NaN, NaN];
    for (let i = 0; i < xs.length; i++) {
      if (!Number.isFinite(xs[i]) || !Number.isFinite(ys[i])) continue;
      const [px, py] = [x(xs[i]), y(ys[i])];
      const near = Math.abs(px - lastX) < 0.5 && Math.abs(py - lastY) < 0.5;
      if (near && i < xs.length - 1) continue;
      text += `${text ? "L" : join}${px.toFixed(1)} ${py.toFixed(1)}`;
      [lastX, lastY] = [px, py];
    }
    return text;
  }

  /** @type {(values: Numbers) => number[]} */
  const filled = (values) => Array.from(values, (value) => (value === null ? NaN : value));

  /** @type {(d: string, style: Style, kind?: string) => SVGElement} */
  const stroke = (d, { color, dash }, kind = "line") =>
    element("path", {
      class: kind,
      d,
      style: `stroke:${color}`,
      "stroke-dasharray": dash || undefined,
    });

  /** @type {(figure: HTMLElement, describe: string) => Drawing} */
  function begin(figure, describe) {
    const place = within(figure, ".drawing");
    const widest = Number(figure.dataset.widest || 720);
    const width = Math.round(Math.min(Math.max(place.clientWidth, 260), widest));
    const height = Math.round(Math.min(Math.max(0.64 * width, 220), 340));
    const svg = element("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
    const names = [`${figure.id}-name`, `${figure.id}-facts`];
    svg.setAttribute("aria-labelledby", names.join(" "));
    svg.append(
      element("title", { id: names[0] }, within(figure, "h3").textContent ?? ""),
      element("desc", { id: names[1] }, describe),
    );
    return { place, svg, width, height };
  }

  /** @type {(entry: Entry) => Element} */
  function sampleOf(entry) {
    const style = `fill:${entry.color}`;
    if (entry.sample) return entry.sample;
    if (entry.band) return element("rect", { class: "band", width: 28, height: 12, style });
    if (entry.dot) return element("circle", { cx: 14, cy: 6, r: 5, style });
    return stroke(entry.upright ? "M14 0V12" : "M0 6H28", entry);
  }

  /** @type {(drawing: Drawing, legend: Entry[]) => void} */
  function finish({ place, svg }, legend) {
    const list = html("ul", { class: "legend" });
    for (const entry of legend) {
      const sample = element("svg", { viewBox: "0 0 28 12", class: "sample" });
      sample.setAttribute("aria-hidden", "true");
      sample.append(sampleOf(entry));
      list.append(html("li", {}, sample, entry.name ?? ""));
    }
    place.replaceChildren(svg, list);
  }

  // Text of an axis, smaller where it would not fit its room.
  /** @type {(text: string, room: number, place: Attributes) => SVGElement} */
  function axisLabel(text, room, place) {
    const size = Math.min(TEXT, room / (0.54 * Math.max(text.length, 1)));
    const style = `font-size:${size.toFixed(1)}px`;
    return element("text", { ...place, "text-anchor": "middle", class: "axis", style }, text);
  }

  // Lines across the picture at round numbers, which stand to their left, and the axis' name.
  /**
   * @type {(y: Axis, toY: Scale, ends: { left: number, right: number, bottom: number }) =>
   *   SVGElement}
   */
  function levels(y, toY, { left, right, bottom }) {
    const grid = element("g", { class: "grid" });
    for (const tick of ticks(y.low, y.high, 5)) {
      const text = (y.format || short)(tick);
      grid.append(
        element("path", { d: `M${left} ${toY(tick)}H${right}` }),
        element("text", { x: left - 6, y: toY(tick) + 4, "text-anchor": "end" }, text),
      );
    }
    const upright = `translate(12 ${(bottom + 10) / 2}) rotate(-90)`;
    grid.append(axisLabel(y.label, bottom, { transform: upright }));
    return grid;
  }

  // Room that the numbers of an upright axis and its name take.
  /** @type {(y: Axis) => number} */
  const roomBeside = (y) =>
    26 + Math.max(...ticks(y.low, y.high, 5).map((tick) => widthOf((y.format || short)(tick))));

  /** @type {(drawing: Drawing, x: Axis, y: Axis) => { toX: Scale, toY: Scale, left: number }} */
  function frame({ svg, width, height }, x, y) {
    const [left, right, bottom] = [roomBeside(y), width - 22, height - 46];
    const toX = scale(x, left, right);
    const toY = scale(y, bottom, 10);
    const grid = levels(y, toY, { left, right, bottom });
    for (const tick of x.ticks || ticks(x.low, x.high, width < 380 ? 4 : 6)) {
      const text = (x.format || short)(tick);
      const half = (LETTER * text.length) / 2;
      const at = Math.min(toX(tick), width - half - 1);
      grid.append(
        element("path", { d: `M${toX(tick)} ${bottom}V10` }),
        element("text", { x: at, y: height - 29, "text-anchor": "middle" }, text),
      );
    }
    grid.append(axisLabel(x.label, width - left, { x: (left + right) / 2, y: height - 8 }));
    svg.append(grid);
    return { toX, toY, left };
  }

  // Lines, bands and marks over two axes.
  /**
   * @param {HTMLElement} figure
   * @param {{ x: Axis, y: Axis, facts: string, bands?: Band[], lines?: Line[], marks?: Mark[],
   *   points?: Point[] }} shown
   */
  function curves(figure, { x, y, bands = [], lines = [], marks = [], points = [], facts }) {
    const drawing = begin(figure, facts);
    const { toX, toY } = frame(drawing, x, y);
    const clip = `${figure.id}-clip`;
    const [width, height] = [toX(x.high) - toX(x.low) + 4, toY(y.low) - toY(y.high) + 4];
    const frameClip = element("clipPath", { id: clip });
    frameClip.append(element("rect", { x: toX(x.low) - 2, y: toY(y.high) - 2, width, height }));
    const inside = element("g", { "clip-path": `url(#${clip})` });
    /** @type {Entry[]} */
    const legend = [];
    for (const band of bands) {
      const [xs, lower] = [filled(band.x), filled(band.lower)];
      const there = path(xs, filled(band.upper), toX, toY);
      const back = path(xs.reverse(), lower.reverse(), toX, toY, "L");
      const style = `fill:${band.color}`;
      inside.append(element("path", { class: "band", d: `${there}${back}Z`, style }));
      if (band.name) legend.push({ ...band, band: true });
    }
    for (const line of lines) {
      const d = path(filled(line.x), filled(line.y), toX, toY);
      inside.append(stroke(d, line, line.thin ? "line thin" : "line"));
      if (line.name) legend.push(line);
    }
    for (const mark of marks) {
      const d =
        mark.x === undefined
          ? `M${toX(x.low)} ${toY(mark.y ?? NaN)}H${toX(x.high)}`
          : `M${toX(mark.x)} ${toY(y.low)}V${toY(y.high)}`;
      inside.append(stroke(d, mark, "line thin"));
      if (mark.name) legend.push({ ...mark, upright: mark.x !== undefined });
    }
    drawing.svg.append(frameClip, inside);
    for (const point of points) {
      const style = `fill:${point.color}`;
      const [cx, cy] = [toX(point.x), toY(point.y)];
      drawing.svg.append(element("circle", { class: "point", cx, cy, r: 5, style }));
      if (point.name) legend.push({ ...point, dot: true });
    }
    finish(drawing, legend);
  }

  // One named dot per row, on a common axis, with a shaded range.
  /**
   * @param {HTMLElement} figure
   * @param {{ x: Axis, facts: string, band?: Style & Span,
   *   rows: { name: string, value: number, color: string, strong?: boolean }[] }} shown
   */
  function dots(figure, { x, rows, band, facts }) {
    const drawing = begin(figure, facts);
    const { svg, width } = drawing;
    const height = 30 * rows.length + 60;
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const longest = Math.max(...rows.map((row) => row.name.length));
    const left = Math.min(16 + LETTER * longest, 0.45 * width);
    const toX = scale(x, left, width - 18);
    const grid = element("g", { class: "grid" });
    if (band) {
      const [low, high] = [Math.max(band.low, x.low), Math.min(band.high, x.high)];
      svg.append(
        element("rect", {
          class: "band",
          x: toX(low),
          y: 6,
          width: Math.max(toX(high) - toX(low), 1),
          height: height - 56,
          style: `fill:${band.color}`,
        }),
      );
    }
    for (const tick of ticks(x.low, x.high, width < 420 ? 3 : 5)) {
      grid.append(
        element("path", { d: `M${toX(tick)} 6V${height - 46}` }),
        element("text", { x: toX(tick), y: height - 29, "text-anchor": "middle" }, short(tick)),
      );
    }
    grid.append(axisLabel(x.label, width - left, { x: (left + width - 18) / 2, y: height - 8 }));
    svg.append(grid);
    rows.forEach((row, i) => {
      const at = 22 + 30 * i;
      const weight = row.strong ? "strong" : "";
      const place = { x: left - 10, y: at + 4, "text-anchor": "end", class: weight };
      const style = `fill:${row.color}`;
      svg.append(
        element("text", place, row.name),
        element("circle", { class: "point", cx: toX(row.value), cy: at, r: 6, style }),
      );
    });
    finish(drawing, band ? [{ ...band, band: true }] : []);
  }

  // Rows of values with their intervals, one above the other for each series, on a common axis.
  /**
   * @param {HTMLElement} figure
   * @param {{ x: Axis, facts: string, series: Style[],
   *   rows: { name: string, spans: Record<"value" | "low" | "high", Known>[] }[] }} shown
   */
  function forest(figure, { x, rows, series, facts }) {
    const drawing = begin(figure, facts);
    const { svg, width } = drawing;
    const step = 11;
    const each = step * series.length + 10;
    const height = each * rows.length + 56;
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const longest = Math.max(...rows.map((row) => row.name.length));
    const left = Math.min(16 + LETTER * longest, 0.45 * width);
    const toX = scale(x, left, width - 18);
    const grid = element("g", { class: "grid" });
    for (const tick of ticks(x.low, x.high, width < 420 ? 3 : 5)) {
      grid.append(
        element("path", { d: `M${toX(tick)} 4V${height - 46}` }),
        element("text", { x: toX(tick), y: height - 29, "text-anchor": "middle" }, short(tick)),
      );
    }
    grid.append(axisLabel(x.label, width - left, { x: (left + width - 18) / 2, y: height - 8 }));
    svg.append(grid);
    const inside = (/** @type {number} */ value) => toX(Math.min(Math.max(value, x.low), x.high));
    rows.forEach(({ name, spans }, i) => {
      const top = 10 + each * i;
      const middle = top + (step * (series.length - 1)) / 2;
      const size = Math.min(TEXT, (left - 12) / (0.54 * name.length));
      const place = { x: left - 10, y: middle + 4, "text-anchor": "end" };
      svg.append(element("text", { ...place, style: `font-size:${size.toFixed(1)}px` }, name));
      spans.forEach(({ value, low, high }, k) => {
        const y = top + step * k;
        if (!Words.missing(low) && !Words.missing(high)) {
          svg.append(stroke(`M${inside(low)} ${y}H${inside(high)}`, series[k]));
        }
        if (Words.missing(value)) return;
        const place = { cx: inside(value), cy: y, r: 4.5, style: `fill:${series[k].color}` };
        svg.append(element("circle", { class: "point", ...place }));
      });
    });
    finish(
      drawing,
      series.map((one) => ({ ...one, dot: true })),
    );
  }

  return {
    ...{
      axisLabel,
      begin,
      finish,
      frame,
      levels,
      roomBeside,
      scale,
      steps,
      stroke,
      ticks,
      widthOf,
    },
    ...{ curves, dots, forest, color, styleOf, percent, short, DASHES, LETTER },
    ...{ byId, dressed, element, html, one, onNewWidth, pairs, within },
  };
})();
