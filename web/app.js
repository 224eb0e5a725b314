// The knobs of the page: each is a key of a scenario. What they say is in the address, runs in the worker and is drawn by
// the charts of reports.

// A drive of each kind, small enough for a page: fewer blocks and dies, times and page sizes as they are.
const SMALL = { "device.geometry.channels": "4", "device.geometry.chips": "1", "device.geometry.blocks": "64" };
const DRIVES = {
  "MLC, MQSim's": { "device.preset": "g-1g" },
  "TLC, NVMe": { "device.preset": "tlc-nvme", "device.geometry.blocks": "64" },
  "QLC, NVMe": { "device.preset": "qlc-nvme", "device.geometry.blocks": "64" },
  "TLC, SATA": { "device.preset": "tlc-sata", "device.geometry.blocks": "64" },
  "Low-latency flash": { "device.preset": "z-ssd", "device.geometry.blocks": "128" },
  "Samsung PM9A3, four dies": { "device.preset": "pm9a3-960", ...SMALL, "device.pacing.mode": "none" },
};

// Two drives with the same data: the one with the token writes, the other one reads.
const COPIES = { "array.drives": "2", "array.layout": "epochs", "array.groups": "2" };

// The value that the drive has by itself.
const OWN = "own";
const percent = (value) => value + "%";
const KNOBS = [
  { name: "drive", title: "Drive", options: Object.keys(DRIVES), keys: (value) => DRIVES[value] },
  { name: "rate", title: "Requests per second", steps: [500, 1000, 2000, 3000, 5000, 8000, 12000, 20000, 40000], start: 2000, show: (value) => format.count(value), keys: (value) => ({ "workload.pace": "open", "workload.rate": String(value) }) },
  { name: "read", title: "Reads", steps: [0, 10, 30, 50, 60, 70, 80, 90, 95, 99, 100], start: 70, show: percent, keys: (value) => ({ "workload.read": percent(value) }) },
  { name: "size", title: "Request size", steps: [4, 8, 16, 32, 64], start: 4, show: (value) => value + " KiB", keys: (value) => ({ "workload.read_size": value + "KiB", "workload.write_size": value + "KiB" }) },
  { name: "fill", title: "Drive in use", steps: [10, 30, 50, 70, 80, 90, 95, 100], start: 80, show: percent, keys: (value) => ({ "precondition.fill": percent(value) }) },
  { name: "spare", title: "Spare space", steps: [OWN, 7, 10, 15, 20, 28, 40], start: OWN, show: percent, own: "device.ftl.spare", show_own: (ppm) => percent(ppm / 1e4), keys: (value) => ({ "device.ftl.spare": percent(value) }) },
  { name: "order", title: "Reads before programs", options: ["as the drive does", "first come, first served", "reads first", "reads first, suspending"], keys: (value) => ({
    "as the drive does": {},
    "first come, first served": { "device.schedule.chip": "fifo" },
    "reads first": { "device.schedule.chip": "reads-first" },
    "reads first, suspending": { "device.schedule.chip": "reads-first", "device.preempt.program": "suspend", "device.preempt.erase": "suspend", "workload.read_class": "2" },
  })[value] },
  { name: "erase", title: "Erase", steps: [OWN, 0.5, 1, 2, 3.8, 5, 10, 20], start: OWN, own: "device.timing.erase", show_own: (ns) => format.time(ns), show: (value) => value + " ms", keys: (value) => ({ "device.timing.erase": value + "ms" }) },
  { name: "tokens", title: "Token between two copies", options: ["none: one drive", "for writes", "for writes and collection"], keys: (value) => ({
    "none: one drive": {},
    "for writes": COPIES,
    "for writes and collection": { ...COPIES, "array.epoch.mode": "gc-control", "device.control_api": "true" },
  })[value] },
  { name: "seed", title: "Seed", steps: [1, 2, 3, 4, 5, 6, 7, 8], start: 1, show: String, keys: (value) => ({ seed: String(value) }) },
];
const REQUESTS = "100000";

const startOf = (knob) => (knob.options ? knob.options[0] : knob.start);
// Only what was turned is set: the rest is as the drive has it.
const chosen = new Map(KNOBS.map((knob) => [knob.name, startOf(knob)]));
const isSet = (knob) => knob.name === "drive" || chosen.get(knob.name) !== startOf(knob) || ["rate", "read"].includes(knob.name);

function scenario() {
  // So many requests, whatever time they take.
  const keys = { "run.requests": REQUESTS, "run.duration": "0s" };
  for (const knob of KNOBS) if (isSet(knob)) Object.assign(keys, knob.keys(chosen.get(knob.name)));
  return keys;
}

function readAddress() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  for (const knob of KNOBS) {
    const text = wanted.get(knob.name);
    const values = knob.options || knob.steps;
    const value = knob.options || text === OWN ? text : Number(text);
    chosen.set(knob.name, text !== null && values.includes(value) ? value : startOf(knob));
  }
}

function writeAddress() {
  const said = KNOBS.filter((knob) => chosen.get(knob.name) !== startOf(knob)).map((knob) => [knob.name, chosen.get(knob.name)]);
  history.replaceState(null, "", "#" + new URLSearchParams(said));
}

const quote = (text) => (/^[\w.,=%/-]+$/.test(text) ? text : "'" + text + "'");
function command() {
  const sets = Object.entries(scenario()).map(([key, value]) => "    --set " + quote(key + "=" + value));
  return ["tailcut run", ...sets].join(" \\\n");
}

function element(name, more, ...inside) {
  const made = Object.assign(document.createElement(name), more);
  made.append(...inside);
  return made;
}

function buildForm() {
  const form = document.getElementById("knobs");
  for (const knob of KNOBS) {
    const shown = element("output", {});
    const input = knob.options
      ? element("select", { name: knob.name }, ...knob.options.map((option) => element("option", { value: option, textContent: option })))
      : element("input", { type: "range", name: knob.name, min: 0, max: knob.steps.length - 1, step: 1 });
    knob.show_chosen = () => {
      const value = chosen.get(knob.name);
      input.value = knob.options ? value : knob.steps.indexOf(value);
      if (knob.options) return;
      const own = page.values && page.values[knob.own];
      const words = value !== OWN ? knob.show(value) : own === undefined ? "the drive's" : "the drive's " + knob.show_own(own);
      shown.textContent = words;
      input.setAttribute("aria-valuetext", words);
    };
    input.addEventListener("input", () => {
      chosen.set(knob.name, knob.options ? input.value : knob.steps[Number(input.value)]);
      knob.show_chosen();
      ask();
    });
    form.append(element("label", {}, element("span", { textContent: knob.title }), shown, input));
  }
}

function showAll() {
  KNOBS.forEach((knob) => knob.show_chosen());
}

let worker, asked = 0, running = false, again = false;

function ask() {
  writeAddress();
  document.getElementById("command").textContent = command();
  if (running) {
    again = true;
    return;
  }
  running = true;
  document.body.classList.add("busy");
  worker.postMessage({ number: ++asked, question: { keys: scenario(), show: KNOBS.filter((knob) => knob.own).map((knob) => knob.own) } });
}

function receive({ data: { answer, took } }) {
  running = false;
  if (again) {
    again = false;
    ask();
    return;
  }
  document.body.classList.remove("busy");
  const error = document.getElementById("error"), isFirst = !page.completed;
  error.hidden = !answer.error;
  error.textContent = answer.error || "";
  if (answer.error) return;
  Object.assign(page, answer);
  showAll();
  showTiles(answer, took);
  for (const figure of document.querySelectorAll("figure[data-chart]")) {
    const kind = figure.dataset.kind;
    // A chart that is hidden is not drawn: it has no width.
    figure.hidden = kind !== undefined && !answer.kinds.some((one) => one.kind === kind && one.requests > 0);
  }
  if (isFirst) start();
  else drawAll();
  document.documentElement.dataset.answered = String(Number(document.documentElement.dataset.answered || 0) + 1);
}

function showTiles(answer, took) {
  const reads = answer.kinds.find((kind) => kind.kind === "read") || answer.kinds[0];
  const at = (percentile) => {
    const point = reads.latency.points.find((one) => one.percentile === percentile);
    return point && !point.beyond ? format.time(point.ns) : "–";
  };
  const kind = reads.kind === "read" ? "reads" : "requests";
  const tiles = [
    [at(50), "p50 of " + kind], [at(99), "p99 of " + kind], [at(99.9), "p99.9 of " + kind],
    [format.time(reads.latency.max_ns), "slowest of " + kind],
    [answer.write_amplification ? answer.write_amplification.toFixed(2) : "–", "write amplification"],
    [format.rate(answer.completed / (took / 1e3)), "requests simulated, " + format.time(took * 1e6)],
  ];
  const list = document.getElementById("tiles");
  list.replaceChildren(...tiles.map(([figure, words]) => element("li", {}, element("b", { textContent: figure }), element("span", { textContent: words }))));
}

async function begin() {
  buildForm();
  readAddress();
  showAll();
  const bytes = Uint8Array.from(atob(document.getElementById("module").textContent.trim()), (c) => c.charCodeAt(0));
  const module = await WebAssembly.compile(bytes);
  worker = new Worker(URL.createObjectURL(new Blob([WORKER], { type: "text/javascript" })));
  worker.onmessage = receive;
  worker.onerror = (event) => complain("worker: " + event.message);
  worker.postMessage({ module });
  window.addEventListener("hashchange", () => {
    readAddress();
    showAll();
    ask();
  });
  ask();
}
begin().catch((error) => complain(error.message));
