// The kinds of picture that a leaderboard has beside curves: bars, radars, scatters and ranks.

/** @typedef {Style & { shape?: number }} Dot */
/** @typedef {Dot & { x: number, y: number, size?: number, hint: string }} Spot */
/** @typedef {{ rank: number, name: string, color: string }} Ranked */

const Boards = (() => {
  "use strict";

  const { begin, element, finish, frame, levels, roomBeside, scale, short, stroke, ticks, LETTER } =
    Charts;
  const SHAPES = 4;
  const LABEL_HEIGHT = 13;
  const NARROW = 560;

  /** @type {(drawn: SVGElement, hint: string) => SVGElement} */
  function hinted(drawn, hint) {
    drawn.append(element("title", {}, hint));
    return drawn;
  }

  // Round numbers on a logarithmic axis: powers of ten, and steps between where few fit.
  /** @type {(low: number, high: number) => number[]} */
  function logTicks(low, high) {
    const found = [];
    for (const steps of [[1], [1, 3], [1, 2, 5]]) {
      found.length = 0;
      for (let power = Math.floor(low); power <= Math.ceil(high); power++) {
        for (const step of steps) {
          const at = power + Math.log10(step);
          if (at >= low - 1e-9 && at <= high + 1e-9) found.push(at);
        }
      }
      if (found.length >= 4) break;
    }
    return found;
  }

  /** @type {(at: number) => string} */
  const power = (at) => short(10 ** at);

  // Bars in groups, with lines of points above them for a second series of the same groups.
  /**
   * @type {(figure: HTMLElement, shown: { groups: string[], y: Axis, facts: string, series: (Dot
   *   & { bars: boolean, values: number[], hints: string[] })[] }) => void}
   */
  function bars(figure, { groups, y, series, facts }) {
    const drawing = begin(figure, facts);
    const { svg, width } = drawing;
    // Names of groups hang at half a right angle.
    const slant = (/** @type {string} */ name) => 0.72 * LETTER * name.length;
    const foot = 24 + Math.max(...groups.map(slant));
    const height = Math.round(drawing.height - 46 + foot);
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const bottom = height - foot;
    const beside = roomBeside(y);
    const left = Math.max(beside, slant(groups[0]) - (width - beside) / groups.length / 2);
    const toY = scale(y, bottom, 10);
    const room = (width - left - 8) / groups.length;
    const grid = levels(y, toY, { left, right: width - 8, bottom });
    groups.forEach((name, g) => {
      const [x, at] = [left + (g + 0.5) * room + 4, height - foot + 12];
      const turned = `translate(${x} ${at}) rotate(-45)`;
      grid.append(element("text", { transform: turned, "text-anchor": "end" }, name));
    });
    svg.append(grid);
    const barred = series.filter((one) => one.bars);
    const slim = (0.8 * room) / Math.max(barred.length, 1);
    const middle = (/** @type {number} */ g) => left + (g + 0.5) * room;
    barred.forEach((one, k) => {
      one.values.forEach((value, g) => {
        if (!Number.isFinite(value)) return;
        const [x, end, zero] = [middle(g) - 0.4 * room + k * slim, toY(value), toY(0)];
        const height = Math.abs(end - zero);
        const size = { x, y: Math.min(end, zero), width: Math.max(slim - 1, 1), height };
        const bar = element("rect", { ...size, class: "bar", style: `fill:${one.color}` });
        svg.append(hinted(bar, one.hints[g]));
      });
    });
    for (const one of series.filter((other) => !other.bars)) {
      const shown = one.values.flatMap((value, g) => (Number.isFinite(value) ? [g] : []));
      const line = shown.map((g, k) => `${k ? "L" : "M"}${middle(g)} ${toY(one.values[g])}`);
      svg.append(stroke(line.join(""), { color: one.color }, "line thin"));
      for (const g of shown) {
        svg.append(hinted(dot(one, middle(g), toY(one.values[g]), 4), one.hints[g]));
      }
    }
    finish(
      drawing,
      barred.map((one) => ({ ...one, sample: dot(one, 14, 6, 5) })),
    );
  }

  // Circles, squares, triangles and diamonds tell groups apart without their colors.
  /** @type {(style: Dot, x: number, y: number, r: number) => SVGElement} */
  function dot({ color, shape = 0 }, x, y, r) {
    const [s, q, style] = [0.89 * r, 1.25 * r, `fill:${color}`];
    const paths = [
      `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`,
      `M${x - s} ${y - s}h${2 * s}v${2 * s}h${-2 * s}Z`,
      `M${x} ${y - 1.2 * r}l${1.15 * r} ${2 * r}h${-2.3 * r}Z`,
      `M${x} ${y - q}l${q} ${q}l${-q} ${q}l${-q} ${-q}Z`,
    ];
    return element("path", { class: "point", d: paths[shape % SHAPES], style });
  }

  // Points over two axes, sized by area if they have a size, with names where there is room.
  /**
   * @type {(figure: HTMLElement, shown: { x: Axis, y: Axis, points: Spot[], lines?: (Style & { x:
   *   number[], y: number[] })[], legend: Dot[], facts: string, small?: boolean }) => void}
   */
  function scatter(figure, { x, y, points, lines = [], legend, facts, small = false }) {
    const drawing = begin(figure, facts);
    const { svg, width } = drawing;
    const { toX, toY, left } = frame(drawing, x, y);
    for (const line of lines) {
      const d = line.x.map((at, i) => `${i ? "L" : "M"}${toX(at)} ${toY(line.y[i])}`).join("");
      svg.append(stroke(d, line, "line thin"));
    }
    const largest = points.reduce((most, point) => Math.max(most, point.size || 0), 0);
    const radius = (/** @type {Spot} */ point) =>
      point.size ? 4 + 14 * Math.sqrt(point.size / largest) : small ? 2.4 : 5;
    const taken = [];
    for (const point of [...points].sort((a, b) => radius(b) - radius(a))) {
      const [px, py, r] = [toX(point.x), toY(point.y), radius(point)];
      const drawn = dot(point, px, py, r);
      if (point.size) drawn.setAttribute("fill-opacity", "0.6");
      if (small) drawn.setAttribute("class", "tiny");
      svg.append(hinted(drawn, point.hint));
      taken.push([px - r, py - r, px + r, py + r]);
    }
    if (!small) label(svg, points, toX, toY, radius, [left, width], taken);
    finish(
      drawing,
      legend.map((item) => ({ ...item, sample: dot(item, 14, 6, 5) })),
    );
  }

  // Names go to the right of their point, else to its left, else above or below; else away.
  /**
   * @type {(svg: SVGElement, points: Spot[], toX: Scale, toY: Scale, radius: (point: Spot) =>
   *   number, ends: [number, number], taken: number[][]) => void}
   */
  function label(svg, points, toX, toY, radius, [least, most], taken) {
    const hits = (/** @type {number[]} */ a) =>
      taken.some((b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3]);
    for (const point of [...points].sort((a, b) => b.y - a.y)) {
      const [px, py, r] = [toX(point.x), toY(point.y), radius(point)];
      const name = point.name ?? "";
      const long = LETTER * name.length;
      const half = LABEL_HEIGHT / 2;
      /** @type {[number, number, string, number[]][]} */
      const places = [
        [px + r + 3, py + 4, "start", [px + r + 1, py - half, px + r + 3 + long, py + half]],
        [px - r - 3, py + 4, "end", [px - r - 3 - long, py - half, px - r - 1, py + half]],
        [px, py - r - 3, "middle", [px - long / 2, py - r - 15, px + long / 2, py - r - 1]],
        [px, py + r + 12, "middle", [px - long / 2, py + r + 1, px + long / 2, py + r + 15]],
      ];
      const found = places.find(([, , , box]) => box[0] > least && box[2] < most && !hits(box));
      if (!found) continue;
      const [x, y, anchor, box] = found;
      svg.append(element("text", { x, y, "text-anchor": anchor, class: "axis" }, name));
      taken.push(box);
    }
  }

  // One closed line per learner over axes that go out from a center.
  /**
   * @type {(figure: HTMLElement, shown: { axes: string[], lines: (Style & { values: number[],
   *   hint: string })[], low: number, facts: string, format: Format }) => void}
   */
  function radar(figure, { axes, lines, low, facts, format }) {
    const drawing = begin(figure, facts);
    const { svg, width } = drawing;
    const height = Math.min(Math.round(0.8 * width), 380);
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const [cx, cy, size] = [width / 2, height / 2 + 6, Math.min(0.34 * width, height / 2 - 30)];
    /** @type {(k: number, value: number) => [number, number]} */
    const at = (k, value) => {
      const angle = (2 * Math.PI * k) / axes.length - Math.PI / 2;
      const r = (size * Math.max(value - low, 0)) / (1 - low);
      return [cx + r * Math.cos(angle), cy + r * Math.sin(angle)];
    };
    const ring = (/** @type {number[]} */ values) =>
      `M${values
        .map((value, k) =>
          at(k, value)
            .map((v) => v.toFixed(1))
            .join(" "),
        )
        .join("L")}Z`;
    const grid = element("g", { class: "grid" });
    for (const step of ticks(low, 1, 4).filter((value) => value > low)) {
      grid.append(element("path", { d: ring(axes.map(() => step)) }));
      const place = { x: cx + 3, y: at(0, step)[1] - 2 };
      if (step < 1) grid.append(element("text", place, format(step)));
    }
    axes.forEach((name, k) => {
      const [[x, y], [tx, ty]] = [at(k, 1), at(k, 1 + 0.12 * (1 - low))];
      const anchor = Math.abs(tx - cx) < 5 ? "middle" : tx > cx ? "start" : "end";
      const down = ty > cy + 5 ? 10 : ty < cy - 0.9 * size ? -2 : 4;
      grid.append(
        element("path", { d: `M${cx} ${cy}L${x} ${y}` }),
        element("text", { x: tx, y: ty + down, "text-anchor": anchor, class: "axis" }, name),
      );
    });
    svg.append(grid);
    for (const line of lines) {
      svg.append(hinted(stroke(ring(line.values), line), line.hint));
    }
    finish(drawing, lines);
  }

  // Mean ranks on one axis, the best at the left; a bar joins learners that do not differ.
  /**
   * @type {(figure: HTMLElement, shown: { rows: Ranked[], difference: number, joined: Joined,
   *   facts: string }) => void}
   */
  function ranking(figure, { rows, difference, joined, facts }) {
    const drawing = begin(figure, facts);
    const sorted = [...rows].sort((a, b) => a.rank - b.rank);
    const group = element("g", { class: "ranks" });
    drawing.svg.append(group);
    const draw = drawing.width < NARROW ? rankRows : rankTree;
    const height = draw(group, drawing.width, sorted, difference, joined);
    drawing.svg.setAttribute("viewBox", `0 0 ${drawing.width} ${height}`);
    finish(drawing, []);
  }

  /** @type {(sorted: Ranked[]) => number} */
  const lastRank = (sorted) => Math.max(Math.ceil(sorted[sorted.length - 1].rank), 2);

  /**
   * @type {(group: SVGElement, toX: Scale, last: number, axis: number, difference: number, width:
   *   number) => void}
   */
  function rankAxis(group, toX, last, axis, difference, width) {
    group.append(element("path", { d: `M${toX(1)} ${axis}H${toX(last)}` }));
    const step = Math.max(1, Math.ceil((26 * (last - 1)) / (toX(last) - toX(1))));
    for (let rank = 1; rank <= last; rank += step) {
      const x = toX(rank);
      group.append(
        element("path", { d: `M${x} ${axis}v-6` }),
        element("text", { x, y: axis - 10, "text-anchor": "middle" }, String(rank)),
      );
    }
    if (!Number.isFinite(difference)) return;
    const words = `CD ${Words.fixed(difference, 2)}`;
    const end = Math.min(toX(1 + difference), width - 8 - LETTER * words.length);
    group.append(
      element("path", { d: `M${toX(1)} 14v8M${end} 14v8M${toX(1)} 18H${end}` }),
      element("text", { x: end + 6, y: 22 }, words),
    );
  }

  // Names to both sides of the axis, as Demsar draws it.
  /**
   * @type {(group: SVGElement, width: number, sorted: Ranked[], difference: number, joined:
   *   Joined) => number}
   */
  function rankTree(group, width, sorted, difference, joined) {
    const half = Math.ceil(sorted.length / 2);
    const longest = Math.max(...sorted.map((row) => row.name.length)) + 6;
    const side = Math.min(20 + LETTER * longest, 0.38 * width);
    const last = lastRank(sorted);
    const toX = scale({ low: 1, high: last }, side, width - side);
    const axis = 56;
    const first = axis + 16 + 9 * joined.length;
    rankAxis(group, toX, last, axis, difference, width);
    sorted.forEach(({ name, rank, color }, k) => {
      const onLeft = k < half;
      const y = first + 20 * (onLeft ? k : sorted.length - 1 - k);
      const edge = onLeft ? side - 6 : width - side + 6;
      const [x, anchor] = onLeft ? [edge - 4, "end"] : [edge + 4, "start"];
      const words = onLeft ? `${name} ${Words.fixed(rank, 2)}` : `${Words.fixed(rank, 2)} ${name}`;
      group.append(
        element("path", { d: `M${toX(rank)} ${axis}V${y}H${edge}`, style: `stroke:${color}` }),
        element("text", { x, y: y + 4, "text-anchor": anchor, class: "axis" }, words),
      );
    });
    joined.forEach(([low, high], k) => {
      const d = `M${toX(low) - 4} ${axis + 9 + 9 * k}H${toX(high) + 4}`;
      group.append(element("path", { d, class: "joined" }));
    });
    return first + 20 * half + 8;
  }

  // A row for each learner, where names at both sides would leave no room for the axis.
  /**
   * @type {(group: SVGElement, width: number, sorted: Ranked[], difference: number, joined:
   *   Joined) => number}
   */
  function rankRows(group, width, sorted, difference, joined) {
    const longest = Math.max(...sorted.map((row) => row.name.length));
    const left = Math.min(12 + LETTER * longest, 0.5 * width);
    const right = width - 12 - 9 * joined.length;
    const last = lastRank(sorted);
    const toX = scale({ low: 1, high: last }, left + 8, right - 8);
    const axis = 56;
    const rowOf = (/** @type {number} */ k) => axis + 16 + 20 * k;
    rankAxis(group, toX, last, axis, difference, width);
    sorted.forEach((row, k) => {
      const y = rowOf(k);
      const name = { x: left - 4, y: y + 4, "text-anchor": "end", class: "axis" };
      group.append(
        element("text", name, row.name),
        element("path", { d: `M${toX(1)} ${y}H${toX(row.rank)}`, style: `stroke:${row.color}` }),
        hinted(dot(row, toX(row.rank), y, 4.5), `${row.name}: ${Words.fixed(row.rank, 2)}`),
      );
    });
    joined.forEach(([low, high], k) => {
      const inside = sorted.flatMap(({ rank }, i) => (rank >= low && rank <= high ? [i] : []));
      const x = right + 6 + 9 * k;
      const d = `M${x} ${rowOf(inside[0]) - 5}V${rowOf(inside[inside.length - 1]) + 5}`;
      group.append(element("path", { d, class: "joined" }));
    });
    return rowOf(sorted.length);
  }

  return { bars, logTicks, power, radar, ranking, scatter };
})();
