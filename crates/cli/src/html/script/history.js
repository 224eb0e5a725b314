// What a server's metrics were over time.

// What grows is shown as a rate; a counter that has fallen began anew.
function rates(values) {
  return values.slice(1).map((value, at) => {
    const more = value >= values[at] ? value - values[at] : value;
    return more / Math.max(page.at[at + 1] - page.at[at], 1e-9);
  });
}

const labelsOf = (text) => Object.fromEntries([...text.matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"/g)].map(([, name, value]) => [name, value]));
const without = (labels, ...names) => Object.entries(labels).filter(([name]) => !names.includes(name)).map(([name, value]) => (name === "export" ? value : `${name} ${value}`)).join(", ");
const isTime = (metric) => /_seconds(_total)?$/.test(metric);

// Of a histogram the lowest bound that holds a share of what came between two moments.
function quantiles(metric) {
  const groups = new Map();
  for (const [text, values] of Object.entries(page.series[metric + "_bucket"] || {})) {
    const labels = labelsOf(text), name = without(labels, "le");
    const bound = labels.le === "+Inf" ? Infinity : Number(labels.le);
    groups.set(name, [...(groups.get(name) || []), { bound, rates: rates(values) }]);
  }
  const lines = [];
  for (const [name, buckets] of groups) {
    buckets.sort((a, b) => a.bound - b.bound);
    for (const share of [0.5, 0.99, 0.999]) {
      const values = buckets[0].rates.map((_, at) => {
        const all = buckets[buckets.length - 1].rates[at];
        const found = all > 0 && buckets.find((bucket) => bucket.rates[at] >= share * all - 1e-12);
        return found ? (found.bound === Infinity ? null : found.bound) : null;
      });
      if (values.some((value) => value !== null)) lines.push({ name: `${name ? name + " " : ""}${share * 100} %`, values });
    }
  }
  return lines;
}

// All series of a metric added up, as a rate.
function totalRate(metric) {
  const all = Object.values(page.series[metric] || {}).map(rates);
  return page.at.slice(1).map((_, at) => all.reduce((sum, values) => sum + values[at], 0));
}

charts.history = (figure, style) => {
  const { metric, kind, against } = figure.dataset;
  const isGauge = kind === "gauge" || kind === "untyped";
  let lines, show, isLog = false;
  if (kind === "share") {
    const [some, others] = [totalRate(metric), totalRate(against)];
    lines = [{ name: "share", values: some.map((x, at) => (x + others[at] > 0 ? x / (x + others[at]) : null)) }];
    show = format.share;
  } else if (kind === "histogram" && isTime(metric)) {
    lines = quantiles(metric);
    show = (x) => format.seconds(x);
    isLog = true;
  } else {
    const source = page.series[kind === "count" ? metric + "_count" : metric] || page.series[metric + "_count"] || {};
    const list = Object.entries(source).map(([text, values]) => ({ name: without(labelsOf(text)) || "all", values: isGauge ? values.slice(1) : rates(values) }));
    // Where there are many, the largest.
    const size = (one) => one.values.reduce((sum, x) => sum + Math.abs(x), 0);
    lines = list.sort((a, b) => size(b) - size(a)).slice(0, 12);
    const bare = kind === "count" ? format.count : /bytes/.test(metric) ? format.bytes : isTime(metric) ? (isGauge ? format.seconds : format.count) : format.count;
    show = isGauge ? bare : (x) => bare(x) + (isTime(metric) && kind === "counter" ? " s/s" : "/s");
  }
  const begin = page.at[0];
  const times = page.at.slice(1).map((at) => at - begin);
  const value = (x) => (x === null ? null : isLog ? lg(x) : x);
  const series = lines.map((one, at) => fine(one.name, one.values.map((x, index) => [times[index], value(x), x]), style.series[at % style.series.length], {
    step: isLog ? "end" : false, lineStyle: { width: 1.4, color: style.series[at % style.series.length], type: at >= style.series.length ? [4, 3] : "solid" },
  }));
  const legendRows = Math.ceil(lines.reduce((sum, one) => sum + 34 + 6.6 * one.name.length, 0) / style.width);
  const top = 20 + 20 * legendRows;
  const values = lines.flatMap((one) => one.values.filter((x) => x > 0));
  const [low, high] = extent(values);
  return {
    height: 190 + top, group: "time",
    table: () => ({ head: ["seconds since 1970", ...lines.map((one) => one.name)], rows: page.at.slice(1).map((at, index) => [at.toFixed(3), ...lines.map((one) => one.values[index])]) }),
    option: base(style, {
      grid: { left: 66, right: 18, top, bottom: 56 },
      tooltip: { trigger: "axis", formatter: (items) => listed(items, (item) => show(item.data[2])) },
      xAxis: axis(style, { min: 0, max: Math.max(times[times.length - 1] || 0, 1), splitLine: { show: false }, name: "time since " + new Date(begin * 1000).toISOString().slice(0, 19).replace("T", " ") + " UTC", nameLocation: "middle", nameGap: 22, axisLabel: { formatter: (s) => (s === 0 ? "0" : s >= 7200 ? format.tick((s / 3600).toFixed(1)) + " h" : s >= 600 ? Math.round(s / 60) + " min" : format.tick(format.seconds(s))), showMaxLabel: false } }),
      yAxis: isLog ? logAxis(style, low, high, show) : axis(style, { scale: false, splitNumber: 4, axisLabel: { formatter: (x) => format.tick(show(x)) } }),
      dataZoom: zoom(style), series,
    }),
  };
};
