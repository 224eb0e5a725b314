"use strict";
const SIZE = { width: 560, height: 280, left: 58, right: 12, top: 12, bottom: 30 };
const PERIOD_MS = 500;

// A time in ns with three digits and its unit.
function time(ns) {
  const units = [["ns", 1], ["µs", 1e3], ["ms", 1e6], ["s", 1e9]];
  const [unit, size] = units.filter(([, size]) => ns >= size).pop() || units[0];
  return `${Number((ns / size).toPrecision(3))} ${unit}`;
}

function count(number) {
  return number < 1e4 ? Math.round(number).toString() : `${Number((number / 1e3).toPrecision(3))} k`;
}

// A frame with a logarithmic axis of time, and what is drawn in it; `to` gives the place of a latency.
function frame(lowest, highest, draw) {
  const { width, height, left, right, top, bottom } = SIZE;
  const [low, high] = [Math.floor(Math.log10(lowest)), Math.ceil(Math.log10(highest) + 1e-9)];
  const to = (ns) => top + (height - top - bottom) * (1 - (Math.log10(Math.max(ns, 10 ** low)) - low) / (high - low));
  let marks = "";
  for (let power = low; power <= high; power += 1) {
    const y = to(10 ** power);
    marks += `<line class="grid" x1="${left}" x2="${width - right}" y1="${y}" y2="${y}"/>`;
    marks += `<text x="${left - 6}" y="${y + 4}" text-anchor="end">${time(10 ** power)}</text>`;
  }
  return `<svg viewBox="0 0 ${width} ${height}" role="img">${marks}${draw(to)}</svg>`;
}

const across = (share) => SIZE.left + (SIZE.width - SIZE.left - SIZE.right) * share;
const line = (points, name) => `<polyline class="curve ${name}" points="${points.map((p) => p.join(",")).join(" ")}"/>`;

function tail(figures) {
  const points = figures.reads.points;
  if (points.length < 2) return "";
  const step = (percentile) => -Math.log10(1 - percentile / 100);
  const furthest = step(points[points.length - 1][0]);
  const lowest = Math.min(figures.idle_read_ns, points[0][1]);
  return frame(lowest, points[points.length - 1][1], (to) => {
    const places = points.map(([percentile, ns]) => [across(step(percentile) / furthest), to(ns)]);
    const floor = SIZE.height - SIZE.bottom;
    const area = [[places[0][0], floor], ...places, [places[places.length - 1][0], floor]];
    const idle = to(figures.idle_read_ns);
    const names = points.filter(([percentile]) => percentile >= 90).map(([percentile]) =>
      `<text x="${across(step(percentile) / furthest)}" y="${SIZE.height - 10}" text-anchor="end">${percentile} %</text>`);
    return `<polygon class="area" points="${area.map((p) => p.join(",")).join(" ")}"/>${line(places, "")}` +
      `<line class="idle" x1="${SIZE.left}" x2="${SIZE.width - SIZE.right}" y1="${idle}" y2="${idle}"/>${names.join("")}`;
  });
}

function course(figures) {
  const slots = figures.slots.filter((slot) => slot.max_ns > 0);
  if (slots.length < 2) return "";
  const of = (key, to) => slots.map((slot, i) => [across(i / (slots.length - 1)), to(slot[key])]);
  const lowest = Math.min(...slots.map((slot) => slot.p50_ns));
  const seconds = Math.round(slots.reduce((sum, slot) => sum + slot.seconds, 0));
  const axis = `<text x="${SIZE.left}" y="${SIZE.height - 10}">${seconds} s ago</text>` +
    `<text x="${SIZE.width - SIZE.right}" y="${SIZE.height - 10}" text-anchor="end">now</text>`;
  return frame(lowest, Math.max(...slots.map((slot) => slot.max_ns)), (to) =>
    line(of("max_ns", to), "max") + line(of("p99_ns", to), "p99") + line(of("p50_ns", to), "p50") + axis);
}

function show(figures) {
  const { reads, writes, slots, idle_read_ns: idle } = figures;
  if (reads.requests === 0) return;
  const [percentile, ns] = reads.points.filter(([p]) => p <= 99.9).pop() || [100, reads.max_ns];
  const rate = slots.length ? slots[slots.length - 1].requests_per_s : 0;
  document.getElementById("answer").textContent =
    `${percentile} % of the reads take up to ${time(ns)}, ${(ns / idle).toFixed(1)} times the ${time(idle)} of the idle drive.`;
  const tiles = [[`${count(rate)}/s`, "requests"], [count(reads.requests), "reads"], [count(writes.requests), "writes"],
    [time(reads.mean_ns), "mean of reads"], [time(reads.max_ns), "slowest read"]];
  document.getElementById("tiles").innerHTML = tiles.map(([value, name]) => `<li><b>${value}</b><span>${name}</span></li>`).join("");
  document.getElementById("tail").innerHTML = tail(figures);
  document.getElementById("time").innerHTML = course(figures);
}

async function refresh() {
  try {
    show(await (await fetch("figures.json")).json());
    setTimeout(refresh, PERIOD_MS);
  } catch {
    document.getElementById("answer").textContent += " The demo has ended.";
  }
}
refresh();
