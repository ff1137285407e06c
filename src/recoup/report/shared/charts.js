// Small charts as SVG: arrays in, one picture with its legend out. The style sheet has the colors.
const Charts = (() => {
  "use strict";

  const SVG = "http://www.w3.org/2000/svg";
  const DASHES = ["", "7 4", "2 3", "9 3 2 3", "4 2", "1 2"];
  const TEXT = 12.5;
  const LETTER = 0.56 * TEXT;
  // About as wide as it is drawn: signs of percent take more than digits.
  const widthOf = (text) => LETTER * (text.length + 0.7 * (text.split("%").length - 1));

  function element(name, attributes = {}, text) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  }

  function html(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  // Round numbers, about as many as wanted, that cover a range.
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

  const short = (value) => String(Number(value.toPrecision(3)));
  const percent = (value) => `${short(100 * value)}%`;

  function scale({ low, high }, start, end) {
    const width = high - low || 1;
    return (value) => start + ((value - low) / width) * (end - start);
  }

  // A path through points; those closer than half a pixel to the last one are left out.
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

  const reversed = (values) => Array.from(values).reverse();
  const filled = (values) => Array.from(values, (value) => (value === null ? NaN : value));

  function begin(figure, describe) {
    const place = figure.querySelector(".drawing");
    const widest = figure.dataset.widest || 720;
    const width = Math.round(Math.min(Math.max(place.clientWidth, 260), widest));
    const height = Math.round(Math.min(Math.max(0.64 * width, 220), 340));
    const svg = element("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
    const names = [`${figure.id}-name`, `${figure.id}-facts`];
    svg.setAttribute("aria-labelledby", names.join(" "));
    svg.append(
      element("title", { id: names[0] }, figure.querySelector("h3").textContent),
      element("desc", { id: names[1] }, describe),
    );
    return { place, svg, width, height };
  }

  function finish({ place, svg }, legend) {
    const list = html("ul", { class: "legend" });
    for (const item of legend) {
      const sample = element("svg", { viewBox: "0 0 28 12", class: "sample" });
      sample.setAttribute("aria-hidden", "true");
      const style = `fill:${item.color}`;
      if (item.sample) {
        sample.append(item.sample);
      } else if (item.band) {
        sample.append(element("rect", { class: "band", width: 28, height: 12, style }));
      } else if (item.dot) {
        sample.append(element("circle", { cx: 14, cy: 6, r: 5, style }));
      } else {
        const upright = item.upright ? "M14 0V12" : "M0 6H28";
        const attributes = { d: upright, class: "line", style: `stroke:${item.color}` };
        if (item.dash) attributes["stroke-dasharray"] = item.dash;
        sample.append(element("path", attributes));
      }
      list.append(html("li", {}, sample, item.name));
    }
    place.replaceChildren(svg, list);
  }

  // Text of an axis, smaller where it would not fit its room.
  function axisLabel(text, room, place) {
    const size = Math.min(TEXT, room / (0.54 * Math.max(text.length, 1)));
    const style = `font-size:${size.toFixed(1)}px`;
    return element("text", { ...place, "text-anchor": "middle", class: "axis", style }, text);
  }

  function frame(drawing, x, y) {
    const { svg, width, height } = drawing;
    const yTicks = ticks(y.low, y.high, 5);
    const yTexts = yTicks.map(y.format || short);
    const left = 26 + Math.max(...yTexts.map(widthOf));
    const toX = scale(x, left, width - 22);
    const toY = scale(y, height - 46, 10);
    const grid = element("g", { class: "grid" });
    yTicks.forEach((tick, i) => {
      grid.append(
        element("path", { d: `M${left} ${toY(tick)}H${width - 22}` }),
        element("text", { x: left - 6, y: toY(tick) + 4, "text-anchor": "end" }, yTexts[i]),
      );
    });
    for (const tick of x.ticks || ticks(x.low, x.high, width < 380 ? 4 : 6)) {
      const text = (x.format || short)(tick);
      const half = (LETTER * text.length) / 2;
      const at = Math.min(toX(tick), width - half - 1);
      grid.append(
        element("path", { d: `M${toX(tick)} ${height - 46}v-${height - 56}` }),
        element("text", { x: at, y: height - 29, "text-anchor": "middle" }, text),
      );
    }
    const middle = (left + width - 22) / 2;
    const upright = `translate(12 ${(height - 36) / 2}) rotate(-90)`;
    grid.append(
      axisLabel(x.label, width - left, { x: middle, y: height - 8 }),
      axisLabel(y.label, height - 40, { transform: upright }),
    );
    svg.append(grid);
    return { toX, toY, left };
  }

  // Lines, bands and marks over two axes.
  function curves(figure, { x, y, bands = [], lines = [], marks = [], points = [], facts }) {
    const drawing = begin(figure, facts);
    const { toX, toY } = frame(drawing, x, y);
    const clip = `${figure.id}-clip`;
    const [width, height] = [toX(x.high) - toX(x.low) + 4, toY(y.low) - toY(y.high) + 4];
    const frameClip = element("clipPath", { id: clip });
    frameClip.append(element("rect", { x: toX(x.low) - 2, y: toY(y.high) - 2, width, height }));
    const inside = element("g", { "clip-path": `url(#${clip})` });
    const legend = [];
    for (const band of bands) {
      const there = path(filled(band.x), filled(band.upper), toX, toY);
      const back = path(reversed(filled(band.x)), reversed(filled(band.lower)), toX, toY, "L");
      const style = `fill:${band.color}`;
      inside.append(element("path", { class: "band", d: `${there}${back}Z`, style }));
      legend.push({ ...band, band: true });
    }
    for (const line of lines) {
      const attributes = {
        class: line.thin ? "line thin" : "line",
        d: path(filled(line.x), filled(line.y), toX, toY),
        style: `stroke:${line.color}`,
      };
      if (line.dash) attributes["stroke-dasharray"] = line.dash;
      inside.append(element("path", attributes));
      if (line.name) legend.push(line);
    }
    for (const mark of marks) {
      const upright = mark.y === undefined;
      const d = upright
        ? `M${toX(mark.x)} ${toY(y.low)}V${toY(y.high)}`
        : `M${toX(x.low)} ${toY(mark.y)}H${toX(x.high)}`;
      const attributes = { class: "line thin", d, style: `stroke:${mark.color}` };
      if (mark.dash) attributes["stroke-dasharray"] = mark.dash;
      inside.append(element("path", attributes));
      if (mark.name) legend.push({ ...mark, upright });
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

  return {
    begin,
    finish,
    frame,
    scale,
    axisLabel,
    ticks,
    curves,
    dots,
    element,
    html,
    percent,
    short,
    widthOf,
    DASHES,
    LETTER,
  };
})();
