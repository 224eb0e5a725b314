// Tables: sorted by a click on the head of a column, and terms with what they mean (docs/metrics.md).

const TERMS = JSON.parse(document.getElementById("terms")?.textContent || "{}");
const ALIASES = { longest: "max", needed: "needed at least" };

// What a text of the page means, if it is a term: "99 %" and "reads: 99 %" are percentiles.
function meaning(text) {
  const whole = text.trim().replace(/ \((mean )?ns\)$/, "").replace(/ %$/, ""), last = whole.replace(/^[\w ]+: /, "");
  return TERMS[whole] || TERMS[last] || TERMS[ALIASES[last]];
}

function explain(element) {
  const found = meaning(element.textContent);
  if (!found) return;
  element.title = found;
  element.classList.add("term");
}

const SIZES = {
  ns: 1e-9, "µs": 1e-6, ms: 1e-3, s: 1, h: 3600, days: 86400, years: 31536000, k: 1e3, M: 1e6, G: 1e9, B: 1, kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12,
  KiB: 1024, MiB: 1048576, GiB: 1073741824, TiB: 1099511627776,
};

// A figure as the page shows it: "~1.57 ms", "<0.1 %", "67.0 k", "5.73 MB/s". NaN for anything else.
function figureIn(text) {
  const found = /^[~<>≥≤]?\s*([-−+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?)\s*([A-Za-zµ]*)/.exec(text.trim());
  return found ? Number(found[1].replace("−", "-")) * (SIZES[found[2]] || 1) : NaN;
}

function compareCells(one, other) {
  const [a, b] = [figureIn(one), figureIn(other)];
  if (Number.isNaN(a) && Number.isNaN(b)) return one.localeCompare(other, "en", { numeric: true });
  // What is no figure comes last.
  if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) ? 1 : -1;
  return a - b;
}

// Upwards, downwards, and as it was.
const NEXT = { none: "ascending", ascending: "descending", descending: "none" };

function sortBy(table, head, column) {
  const body = table.tBodies[0], order = NEXT[head.getAttribute("aria-sort") || "none"];
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  const rows = [...body.rows];
  rows.forEach((row, at) => (row.dataset.at ??= String(at)));
  const text = (row) => row.cells[column].textContent;
  if (order === "none") rows.sort((a, b) => Number(a.dataset.at) - Number(b.dataset.at));
  else {
    rows.sort((a, b) => (order === "ascending" ? compareCells(text(a), text(b)) : compareCells(text(b), text(a))));
    head.setAttribute("aria-sort", order);
  }
  body.append(...rows);
}

// Makes a table sortable, if each of its rows has one cell for each column.
function prepareTable(table) {
  const heads = table.tHead ? [...table.tHead.rows[0].cells] : [], rows = table.tBodies[0] ? [...table.tBodies[0].rows] : [];
  heads.forEach(explain);
  if (rows.length < 2 || rows.some((row) => row.cells.length !== heads.length)) return;
  heads.forEach((head, column) => {
    if (!head.textContent) return;
    const button = Object.assign(document.createElement("button"), { type: "button", className: "sort" });
    button.append(...head.childNodes);
    button.addEventListener("click", () => sortBy(table, head, column));
    head.append(button);
  });
}

function prepareTables() {
  document.querySelectorAll("main table").forEach(prepareTable);
  document.querySelectorAll(".tiles span").forEach(explain);
}
