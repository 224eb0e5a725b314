// What all charts share: palettes, axes, drawing, redrawing for dark mode, print and other widths, and the table of data
// below each chart.

// Colours that people with any kind of colour vision tell apart (Okabe and Ito), a little lighter on dark paper.
const PALETTES = {
  light: {
    ink: "#1b1f24", soft: "#59636e", line: "#d5dae0", grid: "#e9ecef", paper: "#ffffff",
    series: ["#0072b2", "#009e73", "#aa4f88", "#d55e00", "#8a6d00", "#3a95c9", "#555c66"],
    heat: ["#f7f8fa", "#c9dcec", "#86b3d8", "#3d7fb8", "#11467c", "#04203f"],
  },
  dark: {
    ink: "#e4e7eb", soft: "#9aa4af", line: "#343b44", grid: "#272d34", paper: "#14171b",
    series: ["#58b0ea", "#35c496", "#dc8fbd", "#f0884a", "#e3c34d", "#9cd2f5", "#b5bdc7"],
    heat: ["#191d22", "#1d3750", "#235f92", "#3f93cf", "#90c8ef", "#f2f9ff"],
  },
};

const charts = {};      // name -> function (figure, style) that returns { option, height, table, canvas }
const drawn = new Map(); // figure -> chart

const page = JSON.parse(document.getElementById("data").textContent);

function complain(message) {
  const root = document.documentElement;
  root.dataset.errors = (root.dataset.errors ? root.dataset.errors + " | " : "") + message;
}
window.addEventListener("error", (event) => complain(event.message));
window.addEventListener("securitypolicyviolation", (event) => complain("blocked: " + event.blockedURI + " by " + event.violatedDirective));

function styleFor(isDark, width) {
  const palette = isDark ? PALETTES.dark : PALETTES.light;
  return { ...palette, isNarrow: width < 520, width };
}

// The parts of an option that look the same everywhere.
function base(style, option) {
  const text = { color: style.soft, fontFamily: "system-ui, sans-serif", fontSize: 12 };
  return {
    animation: false,
    color: style.series,
    textStyle: { ...text, color: style.ink },
    legend: { tooltip: { show: true, formatter: ({ name }) => format.safe(meaning(name) || name) }, top: 0, left: 0, icon: "roundRect", itemWidth: 14, itemHeight: 8, itemGap: 12, textStyle: text, inactiveColor: style.line, ...option.legend },
    tooltip: {
      confine: true, backgroundColor: style.paper, borderColor: style.line, textStyle: { color: style.ink, fontSize: 12 },
      ...option.tooltip,
    },
    ...Object.fromEntries(Object.entries(option).filter(([key]) => key !== "legend" && key !== "tooltip")),
  };
}

function axis(style, more) {
  return {
    type: "value",
    nameTextStyle: { color: style.soft, fontSize: 12 },
    axisLine: { show: true, lineStyle: { color: style.line } },
    axisTick: { show: true, lineStyle: { color: style.line }, ...(more.axisTick || {}) },
    splitLine: { show: true, lineStyle: { color: style.grid } },
    ...more,
    axisLabel: { color: style.soft, fontSize: 11.5, hideOverlap: true, ...(more.axisLabel || {}) },
  };
}

// A logarithmic axis, on which values stand as their logarithms: ticks at 1, 2 and 5, or at powers of ten where there are many.
function logAxis(style, low, high, show, more = {}) {
  const floor = Math.log10(Math.max(low, 1e-12)), ceiling = Math.log10(Math.max(high, low * 1.01, 1e-12));
  const steps = ceiling - floor > 2.6 ? [1] : [1, 2, 5];
  const marks = [];
  for (let decade = Math.floor(floor); decade <= Math.ceil(ceiling); decade++) {
    for (const step of steps) marks.push(decade + Math.log10(step));
  }
  const near = 1e-9;
  const min = Math.max(...marks.filter((mark) => mark <= floor + near));
  const max = Math.min(...marks.filter((mark) => mark >= ceiling - near), Math.ceil(ceiling + near));
  const ticks = marks.filter((mark) => mark >= min - near && mark <= max + near);
  return axis(style, {
    min, max,
    axisTick: { customValues: ticks },
    ...more,
    axisLabel: { customValues: ticks, formatter: (at) => format.tick(show(Math.pow(10, at))), ...(more.axisLabel || {}) },
  });
}

const lg = (value) => (value > 0 ? Math.log10(value) : null);

function extent(values) {
  let low = Infinity, high = -Infinity;
  for (const value of values) {
    if (value === null || value === undefined || !(value > 0)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return low <= high ? [low, high] : [1, 10];
}

// Ink that can be read on a colour.
function inkOn(colour) {
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  return 0.299 * r + 0.587 * g + 0.114 * b > 140 ? "#10141a" : "#ffffff";
}

// A line across a chart with words at its end: a bound.
function bound(style, at, words, along = "yAxis") {
  return {
    [along]: at, name: words,
    label: { formatter: words, position: "insideEndTop", color: style.soft, fontSize: 11.5 },
    lineStyle: { color: style.soft, type: [5, 4], width: 1.2 },
  };
}

const isPrinting = () => document.documentElement.dataset.printing === "yes";
const isDark = () => !isPrinting() && window.matchMedia("(prefers-color-scheme: dark)").matches;

// What is folded away on the screen is open on paper.
function unfold(is) {
  for (const details of document.querySelectorAll("details.more")) {
    if (is && !details.open) details.dataset.folded = "yes";
    if (is) details.open = true;
    else if (details.dataset.folded) {
      details.open = false;
      delete details.dataset.folded;
    }
  }
}

function draw(figure) {
  const plot = figure.querySelector(".plot");
  const width = isPrinting() ? Math.min(plot.clientWidth, 680) : plot.clientWidth;
  if (width === 0) return;
  const style = styleFor(isDark(), width);
  const made = charts[figure.dataset.chart](figure, style);
  if (!made) return;
  plot.style.height = made.height + "px";
  const size = { width, height: made.height };
  let chart = drawn.get(figure);
  if (chart) chart.resize(size);
  else chart = echarts.init(plot, null, { renderer: made.canvas ? "canvas" : "svg", devicePixelRatio: made.canvas ? 2 : undefined, ...size });
  chart.setOption(made.option, { notMerge: true });
  if (made.group) chart.group = made.group;
  drawn.set(figure, chart);
  const series = chart.getOption().series.map((one) => one.name + ":" + (one.data || []).length);
  figure.dataset.drawn = series.join(";");
  plot.setAttribute("role", "img");
  plot.setAttribute("aria-label", titleOf(figure));
  offerTable(figure, made.table);
  offerPictures(figure);
}

// The chart as it is shown, in a file: `tail-read.svg`, as `tailcut report --svg` names it.
function offerPictures(figure) {
  if (figure.querySelector(".save")) return;
  const row = Object.assign(document.createElement("div"), { className: "save" });
  for (const kind of ["svg", "png"]) {
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: kind.toUpperCase(), value: kind });
    button.setAttribute("aria-label", `Save as ${kind.toUpperCase()}: ${titleOf(figure)}`);
    button.addEventListener("click", async () => {
      const svg = svgOf(figure);
      save(pictureName(figure) + "." + kind, kind === "svg" ? svg : await pngOf(svg));
    });
    row.append(button);
  }
  figure.append(row);
}

const titleOf = (figure) => (figure.querySelector("h3") ? figure.querySelector("h3").textContent : figure.dataset.chart);

function pictureName(figure) {
  const shown = Object.entries(figure.dataset).filter(([key, value]) => !["chart", "drawn"].includes(key) && !(key === "holder" && value === "all")).sort();
  const words = [figure.dataset.chart, ...shown.map(([, value]) => value)].flatMap((value) => value.toLowerCase().split(/[^a-z0-9]+/));
  return words.filter((word) => word).join("-");
}

// The chart as SVG, as an address.
function svgOf(figure) {
  const { width, height } = figure.querySelector(".plot").getBoundingClientRect();
  const style = styleFor(isDark(), width), { option } = charts[figure.dataset.chart](figure, style);
  const chart = echarts.init(null, null, { renderer: "svg", ssr: true, width, height });
  chart.setOption({ ...option, backgroundColor: style.paper });
  const text = chart.renderToSVGString().replace(/^(<svg[^>]*>)/, `$1<title>${format.safe(titleOf(figure))}</title>`);
  chart.dispose();
  return "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
}

// The same with two pixels for each of the page. A canvas of the charts' own would draw large maps over several frames.
async function pngOf(svg) {
  const image = new Image();
  image.src = svg;
  await image.decode();
  const canvas = Object.assign(document.createElement("canvas"), { width: 2 * image.width, height: 2 * image.height });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas.toDataURL("image/png");
}

function save(name, address) {
  const link = Object.assign(document.createElement("a"), { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
}

// The data of a chart as a table, made when somebody opens it.
function offerTable(figure, table) {
  const details = figure.querySelector("details.data");
  if (!details || !table) return;
  const fill = () => {
    if (details.open) details.querySelector(".scroll").replaceChildren(tableOf(table()));
  };
  details.ontoggle = fill;
  fill();
}

function tableOf({ head, rows }) {
  const table = document.createElement("table");
  const row = (cells, kind, parent) => {
    const line = parent.appendChild(document.createElement("tr"));
    cells.forEach((cell, at) => {
      const one = line.appendChild(document.createElement(kind));
      one.textContent = cell === null || cell === undefined ? "–" : cell;
      if (at > 0) one.className = "r";
    });
  };
  row(head, "th", table.createTHead());
  const body = table.createTBody();
  rows.forEach((cells) => row(cells, "td", body));
  prepareTable(table);
  return table;
}

function drawAll() {
  for (const figure of document.querySelectorAll("figure[data-chart]")) {
    try {
      draw(figure);
    } catch (error) {
      complain(figure.dataset.chart + ": " + error.message);
    }
  }
  echarts.connect("time");
}

// Buttons that choose what a chart shows: <div class="choice" data-sets="name">.
function listen() {
  for (const button of document.querySelectorAll(".choice button")) {
    button.addEventListener("click", () => {
      const choice = button.parentElement, figure = choice.closest("figure");
      for (const other of choice.children) other.setAttribute("aria-pressed", String(other === button));
      figure.dataset[choice.dataset.sets] = button.value;
      draw(figure);
    });
  }
  let width = document.documentElement.clientWidth;
  let pending = 0;
  new ResizeObserver(() => {
    const now = document.documentElement.clientWidth;
    if (now === width) return;
    width = now;
    clearTimeout(pending);
    pending = setTimeout(drawAll, 120);
  }).observe(document.documentElement);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  const print = (is) => {
    document.documentElement.dataset.printing = is ? "yes" : "";
    unfold(is);
    drawAll();
  };
  window.addEventListener("beforeprint", () => print(true));
  window.addEventListener("afterprint", () => print(false));
}

function start() {
  prepareTables();
  drawAll();
  listen();
  listenToRequests();
  document.documentElement.dataset.ready = "yes";
}
