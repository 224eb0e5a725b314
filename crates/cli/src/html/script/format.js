// Figures as people read them: three digits and a unit, as the command prints them.

const format = {
  scaled(value, units) {
    if (value === 0) return "0" + (units[0][1] ? " " + units[0][1] : "");
    let [size, unit] = units[0];
    for (const [next, name] of units) if (Math.abs(value) >= next) [size, unit] = [next, name];
    const number = value / size;
    const digits = Math.abs(number) >= 99.95 ? 0 : Math.abs(number) >= 9.995 ? 1 : 2;
    return number.toFixed(digits) + (unit ? " " + unit : "");
  },
  time(ns) {
    if (ns === null || ns === undefined) return "–";
    if (ns < 1000) return Math.round(ns) + " ns";
    // As the command: 27.8 h, 6.7 days, 1.3 years of 365 days.
    const hours = ns / 3.6e12;
    if (hours >= 8760) return (hours / 8760).toFixed(1) + " years";
    if (hours >= 48) return (hours / 24).toFixed(1) + " days";
    if (hours >= 2) return hours.toFixed(1) + " h";
    return format.scaled(ns, [[1e3, "µs"], [1e6, "ms"], [1e9, "s"]]);
  },
  seconds(s) { return format.time(s * 1e9); },
  years(y) { return format.time(y * 8760 * 3.6e12); },
  count(n) {
    if (n === null || n === undefined) return "–";
    if (Math.abs(n) < 1e4) return Number.isInteger(n) ? String(n) : Math.abs(n) < 1000 ? String(Number(n.toPrecision(3))) : n.toFixed(0);
    return format.scaled(n, [[1e3, "k"], [1e6, "M"], [1e9, "G"]]);
  },
  rate(n) { return format.count(n) + "/s"; },
  bytes(n) { return format.scaled(n, [[1, "B"], [1e3, "kB"], [1e6, "MB"], [1e9, "GB"], [1e12, "TB"]]); },
  share(x) {
    const p = x * 100;
    return (p === 0 ? "0" : p < 0.05 ? "<0.1" : p < 9.95 ? p.toFixed(1) : p.toFixed(0)) + " %";
  },
  // A tick of an axis: no digits that say nothing.
  tick(text) { return text.replace(/(\.\d*?)0+(?= |$)/, "$1").replace(/\.(?= |$)/, ""); },
  percentile(p) { return String(Number(p.toFixed(6))); },
  // Text from a scenario or a trace, where a tooltip wants HTML.
  safe(text) { return String(text).replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]); },
};
