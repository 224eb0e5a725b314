// Figures of papers and ours.

const UNITS = {
  "B": format.bytes, "B/s": (x) => format.bytes(x) + "/s", "s": format.seconds, "share": (x) => (x * 100).toFixed(1) + " %",
  "x": (x) => format.tick(x.toPrecision(3)) + " ×", "ratio": (x) => x.toFixed(2),
};
const unitOf = (unit) => UNITS[unit] || format.count;
const shorten = (text, most) => (text.length > most ? text.slice(0, most - 1) + "…" : text);

// Names differ at their ends: what does not fit is taken from the middle.
function shortenInside(text, most) {
  const end = Math.floor(most / 2);
  return text.length > most ? text.slice(0, most - end - 1) + "…" + text.slice(-end) : text;
}

// Room for names at the left, by the longest of them.
function roomFor(names, style) {
  const most = style.isNarrow ? 18 : Math.max(Math.floor(style.width / 15), 18);
  const longest = Math.max(...names.map((name) => Math.min(name.length, most)));
  return { left: 12 + longest * 6.4, cut: (name) => shortenInside(name, most) };
}

// What the figures of a study are called: the given one and ours.
const namesOf = (study) => (study.study === "real-drives" ? ["measured", "predicted"] : ["paper", "ours"]);

charts.ratios = (figure, style) => {
  const studies = page.filter((study) => study.rows.some((row) => row.ratio > 0));
  const names = studies.map((study) => study.study);
  const data = studies.flatMap((study, at) => study.rows.filter((row) => row.ratio > 0).map((row) => ({
    value: [lg(row.ratio), at], row, itemStyle: { color: row.holds === false ? style.series[3] : style.series[0] },
  })));
  const [low, high] = extent(data.map((one) => one.row.ratio).concat([0.5, 2]));
  const room = roomFor(names, style);
  const marks = [[0.75, "–25 %"], [1, "as the paper"], [1.25, "+25 %"]].map(([at, words]) => ({
    ...bound(style, lg(at), style.isNarrow && at !== 1 ? "" : words, "xAxis"), label: { formatter: style.isNarrow ? "" : words, position: "start", color: style.soft, fontSize: 11, distance: at === 1 ? 16 : 4 },
    lineStyle: { color: style.soft, type: at === 1 ? "solid" : [4, 4], width: 1 },
  }));
  return {
    height: studies.length * 20 + 90,
    table: () => ({
      head: ["study", "case, quantity", "ratio"],
      rows: studies.flatMap((study) => study.rows.filter((row) => row.ratio > 0).map((row) => [study.study, row.case + ", " + row.quantity, row.ratio.toPrecision(4)])),
    }),
    option: base(style, {
      grid: { left: room.left, right: 20, top: 40, bottom: 44 },
      legend: { show: false },
      tooltip: {
        formatter: ({ data: { row, value } }) => (row ? `${format.safe(names[value[1]])}<br>${format.safe(row.case)}, ${format.safe(row.quantity)}<br>paper ${unitOf(row.unit)(row.paper)}, ours <b>${unitOf(row.unit)(row.measured)}</b>, × ${row.ratio.toFixed(2)}` : ""),
      },
      xAxis: logAxis(style, low, high, (x) => "× " + Number(x.toPrecision(3)), { name: "ours over the paper's", nameLocation: "middle", nameGap: 26 }),
      yAxis: { type: "category", inverse: true, data: names.map(room.cut), axisTick: { show: false }, axisLine: { lineStyle: { color: style.line } }, splitLine: { show: true, lineStyle: { color: style.grid } }, axisLabel: { color: style.ink, fontSize: 11.5, interval: 0 } },
      series: [{ type: "scatter", name: "ratio", symbolSize: 6.5, itemStyle: { opacity: 0.65 }, data, markLine: { silent: true, symbol: "none", data: marks } }],
    }),
  };
};

// Cases that differ in one figure alone, three or more of each: [{ name, unit, points: [[x, row]] }], or null.
function sweepOf(rows) {
  const figures = /(^|[\s,;:=(])(\d+(?:\.\d+)?)(?:\s?(KiB|MiB|GiB|kB|MB|GB|ns|µs|ms|s|%|k|M))?(?=$|[\s,;:)])/g;
  const found = rows.map((row) => [...row.case.matchAll(figures)]);
  let best = null;
  for (let place = 0; place < Math.max(0, ...found.map((all) => all.length)); place++) {
    const lines = new Map();
    rows.forEach((row, at) => {
      const match = found[at][place];
      if (!match) return;
      const from = match.index + match[1].length, to = match.index + match[0].length;
      const name = row.case.slice(0, from) + "…" + row.case.slice(to);
      const points = lines.get(name) || [];
      points.unit = match[3];
      points.push([Number(match[2]) * (SIZES[match[3]] || 1), row]);
      lines.set(name, points);
    });
    const all = [...lines.entries()].map(([name, points]) => ({ name, unit: points.unit, points: points.sort((a, b) => a[0] - b[0]) }));
    const isSweep = ({ points }) => points.length >= 3 && points.every(([x], at) => at === 0 || x > points[at - 1][0]);
    if (all.length === 0 || !all.every(isSweep) || all.reduce((sum, one) => sum + one.points.length, 0) !== rows.length) continue;
    if (all.length <= 7 && (!best || all.length < best.length)) best = all;
  }
  return best;
}

// A line for each series over its figure, the paper's points beside it.
function lines(all, [given, ours], figure, style, show) {
  const xs = all.flatMap((one) => one.points.map(([x]) => x)), rows = all.flatMap((one) => one.points.map(([, row]) => row));
  const values = rows.flatMap((row) => [row.paper, row.measured, row.limit]).filter((x) => x !== null);
  const isNegative = values.some((x) => x < 0), [low, high] = extent(values), [first, last] = extent(xs);
  const isLog = !isNegative && values.every((x) => x > 0) && high / low > 40 && figure.dataset.unit !== "share";
  const isLogX = xs.every((x) => x > 0) && last / first > 10;
  const [x, y] = [isLogX ? lg : (value) => value, isLog ? lg : (value) => value];
  const points = (one, key) => one.points.filter(([, row]) => row[key] !== null).map(([at, row]) => ({ value: [x(at), y(row[key])], row }));
  const series = all.flatMap((one, at) => {
    const colour = style.series[at % style.series.length], common = { type: "line", name: one.name, symbol: "circle", symbolSize: 6, itemStyle: { color: colour } };
    const paper = points(one, "paper");
    return [
      { ...common, lineStyle: { width: 2, color: colour }, data: points(one, "measured") },
      ...(paper.length ? [{ ...common, lineStyle: { width: 1.4, type: [4, 3], color: colour }, itemStyle: { color: style.paper, borderColor: colour, borderWidth: 2 }, data: paper }] : []),
    ];
  });
  const legendRows = Math.ceil(all.reduce((sum, one) => sum + 40 + 6.8 * Math.min(one.name.length, 46), 0) / (style.width - 20));
  const top = 16 + 20 * legendRows, ofCases = (text) => format.tick(Number(text.toPrecision(3)).toLocaleString("en"));
  const { unit } = all[0];
  const showX = /B$/.test(unit) ? format.bytes : /s$/.test(unit) ? format.seconds : ofCases;
  const tick = (value) => format.tick(showX(value));
  return {
    height: top + (style.isNarrow ? 230 : 270),
    table: () => ({ head: ["case", given, ours, "limit", "ratio"], rows: rows.map((row) => [row.case, row.paper, row.measured, row.limit, row.ratio]) }),
    option: base(style, {
      grid: { left: 70, right: 24, top, bottom: 44 },
      legend: { data: all.map((one) => one.name), formatter: (name) => shortenInside(name, 46) },
      tooltip: { formatter: ({ data: { row } }) => `${format.safe(row.case)}<br>` + [[ours, row.measured], [given, row.paper], ["limit", row.limit]].filter(([, value]) => value !== null).map(([name, value]) => `${name} <b>${show(value)}</b>`).join("<br>") },
      xAxis: isLogX ? logAxis(style, first, last, showX, { name: "… in the case", nameLocation: "middle", nameGap: 26 }) : axis(style, { min: Math.min(0, ...xs), name: "… in the case", nameLocation: "middle", nameGap: 26, splitNumber: style.isNarrow ? 3 : 6, axisLabel: { formatter: tick } }),
      yAxis: isLog ? logAxis(style, low, high, show) : axis(style, { min: isNegative ? undefined : 0, axisLabel: { formatter: (value) => format.tick(show(value)) } }),
      series,
    }),
  };
}

charts.figures = (figure, style) => {
  const study = page[Number(figure.dataset.study)];
  const show = unitOf(figure.dataset.unit);
  const rows = study.rows.filter((row) => row.quantity === figure.dataset.quantity && row.unit === figure.dataset.unit && row.measured !== null);
  const sweep = sweepOf(rows);
  const [given, ours] = namesOf(study);
  if (sweep) return lines(sweep, [given, ours], figure, style, show);
  const values = rows.flatMap((row) => [row.paper, row.measured, row.limit]).filter((x) => x !== null);
  const isNegative = values.some((x) => x < 0);
  const [low, high] = extent(values);
  const isLog = !isNegative && high / low > 40 && values.every((x) => x > 0) && figure.dataset.unit !== "share";
  const at = isLog ? lg : (x) => x;
  const room = roomFor(rows.map((row) => row.case), style);
  const point = (key) => rows.map((row, index) => (row[key] === null ? null : { value: [at(row[key]), index], row })).filter((one) => one !== null);
  const apart = {
    type: "custom", name: "difference", silent: true, encode: { x: [0, 1], y: 2 },
    data: rows.map((row, index) => (row.paper === null ? null : [at(row.paper), at(row.measured), index])).filter((one) => one !== null),
    renderItem: (params, api) => {
      const [a, b] = [api.coord([api.value(0), api.value(2)]), api.coord([api.value(1), api.value(2)])];
      return { type: "line", shape: { x1: a[0], y1: a[1], x2: b[0], y2: b[1] }, style: { stroke: style.line, lineWidth: 3 } };
    },
  };
  const dots = (name, key, more) => ({ type: "scatter", name, data: point(key), symbolSize: 8, ...more });
  const series = [apart];
  if (rows.some((row) => row.limit !== null)) series.push(dots("limit", "limit", { symbol: "rect", symbolSize: [2, 13], itemStyle: { color: style.soft } }));
  if (rows.some((row) => row.paper !== null)) series.push(dots(given, "paper", { itemStyle: { color: style.paper, borderColor: style.series[3], borderWidth: 2 } }));
  series.push(dots(ours, "measured", { itemStyle: { color: style.series[0] } }));
  return {
    height: rows.length * (rows.length > 30 ? 15 : 20) + 76,
    table: () => ({ head: ["case", given, ours, "limit", "ratio"], rows: rows.map((row) => [row.case, row.paper, row.measured, row.limit, row.ratio]) }),
    option: base(style, {
      grid: { left: room.left, right: 26, top: 28, bottom: 30 },
      legend: { data: series.slice(1).map((one) => one.name), icon: undefined },
      tooltip: {
        formatter: ({ data: { row } }) => (row ? `${format.safe(row.case)}<br>` + [[ours, row.measured], [given, row.paper], ["limit", row.limit]].filter(([, x]) => x !== null).map(([name, x]) => `${name} <b>${show(x)}</b>`).join("<br>") : ""),
      },
      xAxis: isLog ? logAxis(style, low, high, show) : axis(style, { min: isNegative ? undefined : 0, splitNumber: style.isNarrow ? 3 : 5, axisLabel: { formatter: (x) => format.tick(show(x)) } }),
      yAxis: { type: "category", inverse: true, data: rows.map((row) => room.cut(row.case)), axisTick: { show: false }, axisLine: { lineStyle: { color: style.line } }, splitLine: { show: true, lineStyle: { color: style.grid } }, axisLabel: { color: style.ink, fontSize: 11.5, interval: rows.length > 60 ? "auto" : 0 } },
      series,
    }),
  };
};
