// The latency curve: on its axis each tenth of the requests that is left takes as much room as all before.

const along = (percentile, count) => (percentile >= 100 ? Math.log10(2 * count) : -Math.log10(1 - percentile / 100));
// A curve from its first percent on: before that stands one request, the quickest, or none.
const fromFirst = (points) => points.filter(([percentile]) => percentile >= 1);
const PERCENTILE_TICKS = [50, 90, 99, 99.9, 99.99, 99.999, 99.9999, 99.99999, 99.999999];

function percentileAxis(style, most) {
  const ticks = PERCENTILE_TICKS.map((p) => along(p, 1)).filter((at) => at <= most);
  return axis(style, {
    min: 0, max: Math.max(most, 1),
    name: "percentile of requests", nameLocation: "middle", nameGap: 26,
    axisTick: { customValues: ticks },
    axisLabel: { customValues: ticks, formatter: (at) => format.percentile(100 * (1 - Math.pow(10, -at))) },
  });
}

// Curves of [{ name, count, points: [[percentile, ns]], bare }]: beyond the point where fewer than ten requests are slower they are
// dashed, because chance decides there.
function curves(style, lines, table) {
  const series = [], all = [];
  let most = 1;
  lines.forEach((line, index) => {
    const colour = style.series[index % style.series.length];
    const resolved = Math.log10(line.count / 10);
    const points = line.points.map(([percentile, ns]) => [along(percentile, line.count), lg(Math.max(ns, 1)), percentile, ns]);
    const split = points.findIndex((point) => point[0] > resolved + 1e-9);
    const sure = split < 0 ? points : points.slice(0, split), chance = split < 0 ? [] : points.slice(Math.max(split - 1, 0));
    most = Math.max(most, points[points.length - 1][0]);
    all.push(...line.points.map(([, ns]) => ns), line.bare);
    const common = { type: "line", name: line.name, showSymbol: false, symbolSize: 5, itemStyle: { color: colour } };
    const marks = line.bare > 0 ? [bound(style, lg(line.bare), "bare " + line.name + " " + format.time(line.bare))] : [];
    // Bounds that are close to each other have their words at both ends.
    if (marks.length && lines.slice(0, index).some((other) => Math.abs(lg(other.bare) - lg(line.bare)) < 0.4)) {
      marks[0].label = { ...marks[0].label, position: "insideStartTop" };
    }
    series.push({ ...common, data: sure, lineStyle: { width: 2, color: colour }, markLine: { silent: true, symbol: "none", data: marks } });
    series.push({ ...common, data: chance, lineStyle: { width: 1.5, type: [3, 3], color: colour } });
  });
  const [low, high] = extent(all);
  return {
    height: style.isNarrow ? 300 : 370,
    table,
    option: base(style, {
      grid: { left: 58, right: 30, top: 34, bottom: 44 },
      legend: { data: lines.map((line) => line.name) },
      tooltip: {
        trigger: "item",
        formatter: ({ seriesName, data }) => `${format.safe(seriesName)}: ${format.percentile(data[2])} % take no longer than <b>${format.time(data[3])}</b>`,
      },
      xAxis: percentileAxis(style, most),
      yAxis: logAxis(style, low, high, format.time),
      series: series.map((one) => ({ ...one, triggerLineEvent: true, symbol: "circle" })),
    }),
  };
}

charts.latency = (figure, style) => {
  const kinds = page.detail.kinds.filter((kind) => kind.kind !== "all" || page.detail.kinds.length === 2);
  const own = page.detail.kinds.length === 2 ? page.detail.kinds.slice(1) : kinds;
  const lines = own.map((kind) => {
    const report = page.kinds.find((other) => other.kind === kind.kind);
    return { name: kind.kind, count: report.requests, points: fromFirst(kind.curve), bare: report.latency.bare_ns };
  });
  const table = () => ({
    head: ["percentile", ...lines.map((line) => line.name + " (ns)")],
    rows: longest(lines).map((percentile) => [
      format.percentile(percentile),
      ...lines.map((line) => (line.points.find((point) => point[0] === percentile) || [])[1]),
    ]),
  });
  const made = curves(style, lines, table);
  // Within a line the mouse finds the nearest point.
  made.option.tooltip.trigger = "axis";
  made.option.tooltip.formatter = (items) => {
    const seen = new Map();
    for (const item of items) if (!seen.has(item.seriesName)) seen.set(item.seriesName, item);
    const [first] = items;
    const rows = [...seen.values()].map((item) => `${item.marker}${format.safe(item.seriesName)} <b>${format.time(item.data[3])}</b>`);
    return `${format.percentile(first.data[2])} % take no longer than<br>${rows.join("<br>")}`;
  };
  return made;
};

const longest = (lines) => lines.reduce((most, line) => (line.points.length > most.length ? line.points.map((point) => point[0]) : most), []);
