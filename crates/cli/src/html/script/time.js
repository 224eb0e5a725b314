// How a run went over time: requests and bytes per second, latencies, collection and erases, what drives did. All these charts are moved and
// zoomed together.

const line = () => page.detail.timeline;
const startOf = (slot) => slot * line().slot_ns;
const lengthOf = (slot) => Math.min(line().slot_ns, Math.max(line().until_ns - line().from_ns - startOf(slot), 1));
// A last slot that has hardly begun says nothing of a rate.
const isWhole = (slot) => lengthOf(slot) > 0.3 * line().slot_ns || line().slots === 1;
const middle = (slot) => (startOf(slot) + lengthOf(slot) / 2) / 1e9;
const slots = () => Array.from({ length: line().slots }, (_, slot) => slot);
const shownSlots = () => slots().filter(isWhole);
const perSecond = (list) => shownSlots().map((slot) => [middle(slot), (list[slot] * 1e9) / lengthOf(slot), list[slot]]);

function timeAxis(style, more = {}) {
  const all = (line().until_ns - line().from_ns) / 1e9;
  return axis(style, {
    min: 0, max: all, name: "time since the measurement began", nameLocation: "middle", nameGap: 24, splitLine: { show: false },
    ...more,
    axisLabel: { formatter: (s) => (s === 0 ? "0" : format.tick(format.seconds(s))), showMaxLabel: false, ...(more.axisLabel || {}) },
  });
}

function zoom(style, axes = [0]) {
  const inside = { type: "inside", xAxisIndex: axes, zoomOnMouseWheel: "ctrl", moveOnMouseWheel: false, filterMode: "none" };
  if (isPrinting()) return [inside];
  const slider = {
    type: "slider", xAxisIndex: axes, height: 14, bottom: 4, showDetail: false, borderColor: style.line, fillerColor: style.grid, brushSelect: false,
    filterMode: "none", handleStyle: { color: style.soft }, moveHandleSize: 0, dataBackground: { lineStyle: { opacity: 0 }, areaStyle: { opacity: 0 } },
    selectedDataBackground: { lineStyle: { opacity: 0 }, areaStyle: { opacity: 0 } },
  };
  return [inside, slider];
}

function listed(items, show) {
  if (!items.length) return "";
  const rows = items.filter((item) => item.data[1] !== null).map((item) => `${item.marker}${format.safe(item.seriesName)} <b>${show(item)}</b>`);
  return `${format.seconds(items[0].data[0])}<br>${rows.join("<br>")}`;
}

const sumOf = (lists) => slots().map((slot) => lists.reduce((sum, list) => sum + list[slot], 0));
const fine = (name, data, colour, more = {}) => ({
  type: "line", name, data, showSymbol: data.length < 3, symbol: "circle", symbolSize: 4, itemStyle: { color: colour }, lineStyle: { width: 1.4, color: colour }, ...more,
});

charts.throughput = (figure, style) => {
  const kinds = line().kinds, drives = line().drives;
  const all = perSecond(sumOf(kinds.map((kind) => kind.requests)));
  const gc = sumOf(drives.map((drive) => drive.programmed_gc)), erases = sumOf(drives.map((drive) => drive.erases));
  const own = kinds.map((kind, at) => fine(kind.kind, perSecond(kind.requests), style.series[at]));
  if (kinds.length > 1) own.unshift(fine("all", all, style.ink, { lineStyle: { width: 1.8, color: style.ink } }));
  const most = Math.max(...all.map((point) => point[1]), 1e-9);
  const limit = page.resources[0];
  const isDrawn = limit && limit.requests_per_s < 4 * most;
  if (isDrawn) {
    own[0].markLine = { silent: true, symbol: "none", data: [bound(style, limit.requests_per_s, `limit: ${limit.name}, ${format.rate(limit.requests_per_s)}`)] };
  }
  const moved = line().moved;
  const below = [
    fine(moved ? "pages moved by drives" : "pages moved by collection", perSecond(gc), "#e69f00", { xAxisIndex: 1, yAxisIndex: 1, areaStyle: { color: "#e69f00", opacity: 0.28 }, symbol: "none" }),
    ...(moved ? [fine("blocks moved by the array", perSecond(moved), style.series[2], { xAxisIndex: 1, yAxisIndex: 1, symbol: "none" })] : []),
    fine("blocks erased", perSecond(erases), "#d55e00", { xAxisIndex: 1, yAxisIndex: 2, symbol: "none" }),
  ];
  const side = (more) => axis(style, { axisLabel: { formatter: (n) => format.tick(format.count(n)) }, nameTextStyle: { color: style.soft, align: "left", fontSize: 12 }, ...more });
  return {
    height: 430, group: "time",
    table: () => ({
      head: ["time (s)", ...kinds.flatMap((kind) => [kind.kind, kind.kind + " bytes"]), "pages moved by drives", "blocks erased", ...(moved ? ["blocks moved by the array"] : [])],
      rows: slots().map((slot) => [(startOf(slot) / 1e9).toPrecision(6), ...kinds.flatMap((kind) => [kind.requests[slot], kind.bytes[slot]]), gc[slot], erases[slot], ...(moved ? [moved[slot]] : [])]),
    }),
    option: base(style, {
      grid: [{ left: 58, right: 58, top: style.isNarrow ? 74 : 54, height: 170 }, { left: 58, right: 58, top: style.isNarrow ? 278 : 258, height: 92 }],
      axisPointer: { link: [{ xAxisIndex: "all" }] },
      tooltip: { trigger: "axis", formatter: (items) => listed(items, (item) => format.rate(item.data[1])) },
      xAxis: [timeAxis(style, { gridIndex: 0, name: "", axisLabel: { show: false } }), timeAxis(style, { gridIndex: 1 })],
      yAxis: [
        side({ gridIndex: 0, min: 0, max: isDrawn ? Math.max(limit.requests_per_s, most) * 1.06 : undefined, name: "requests/s", axisLabel: { showMaxLabel: !isDrawn, formatter: (n) => format.tick(format.count(n)) } }),
        side({ gridIndex: 1, min: 0, max: ({ max }) => (max > 0 ? null : 1), name: "moved/s", splitNumber: 3 }),
        side({ gridIndex: 1, min: 0, max: ({ max }) => (max > 0 ? null : 1), name: "erased/s", position: "right", splitNumber: 3, splitLine: { show: false }, nameTextStyle: { color: style.soft, align: "right", fontSize: 12 } }),
      ],
      dataZoom: zoom(style, [0, 1]),
      title: limit && !isDrawn ? { text: `limit: ${limit.name}, ${format.rate(limit.requests_per_s)}, above this chart`, right: 58, top: style.isNarrow ? 56 : 36, textStyle: { color: style.soft, fontSize: 11.5, fontWeight: "normal" } } : undefined,
      series: [...own, ...below],
    }),
  };
};

charts.latencies = (figure, style) => {
  const kind = line().kinds.find((kind) => kind.kind === figure.dataset.kind);
  const report = page.kinds.find((other) => other.kind === kind.kind);
  const points = (list) => shownSlots().map((slot) => [middle(slot), lg(list[slot]), list[slot]]);
  const [half, , most, nearlyAll] = style.series;
  const series = [
    fine("longest", points(kind.max_ns), style.soft, { lineStyle: { width: 0.8, color: style.soft } }),
    fine("99.9 %", points(kind.p999_ns), nearlyAll),
    fine("99 %", points(kind.p99_ns), most),
    fine("50 %", points(kind.p50_ns), half),
  ];
  const bare = report.latency.bare_ns;
  if (bare > 0) series[3].markLine = { silent: true, symbol: "none", data: [bound(style, lg(bare), "bare " + format.time(bare))] };
  const [low, high] = extent([...kind.p50_ns, ...kind.max_ns, bare]);
  return {
    height: 300, group: "time",
    table: () => ({
      head: ["time (s)", "50 % (ns)", "99 % (ns)", "99.9 % (ns)", "longest (ns)"],
      rows: slots().map((slot) => [(startOf(slot) / 1e9).toPrecision(6), kind.p50_ns[slot], kind.p99_ns[slot], kind.p999_ns[slot], kind.max_ns[slot]]),
    }),
    option: base(style, {
      grid: { left: 58, right: 18, top: 30, bottom: 62 },
      tooltip: { trigger: "axis", formatter: (items) => listed(items, (item) => format.time(item.data[2])) },
      xAxis: timeAxis(style), yAxis: logAxis(style, low, high, format.time), dataZoom: zoom(style), series,
    }),
  };
};

// One small chart for each drive: what it read, wrote and erased.
charts.drives = (figure, style) => {
  const drives = line().drives, columns = style.isNarrow ? 1 : Math.min(drives.length, 3);
  const rows = Math.ceil(drives.length / columns), high = 92, gap = 44;
  const wide = (style.width - 20) / columns;
  const grid = [], xAxis = [], yAxis = [], series = [], title = [];
  const most = Math.max(...drives.flatMap((drive) => perSecond(drive.reads).concat(perSecond(drive.writes)).map((point) => point[1])), 1e-9);
  const erased = Math.max(...drives.flatMap((drive) => perSecond(drive.erases).map((point) => point[1])), 1e-9);
  drives.forEach((drive, at) => {
    const left = (at % columns) * wide + 52, top = Math.floor(at / columns) * (high + gap) + 56;
    const index = { xAxisIndex: at };
    grid.push({ left, top, width: wide - 66, height: high });
    title.push({ text: "drive " + at, left: left - 4, top: top - 22, textStyle: { color: style.ink, fontSize: 12, fontWeight: 600 } });
    xAxis.push(timeAxis(style, { gridIndex: at, name: "", splitNumber: 3 }));
    yAxis.push(axis(style, { gridIndex: at, min: 0, max: most, splitNumber: 2, axisLabel: { showMaxLabel: false, formatter: (n) => format.tick(format.count(n)) } }));
    yAxis.push({ type: "value", gridIndex: at, min: 0, max: erased * 1.05, show: false });
    series.push(
      fine("reads/s", perSecond(drive.reads), style.series[0], { ...index, yAxisIndex: 2 * at, symbol: "none" }),
      fine("writes/s", perSecond(drive.writes), style.series[1], { ...index, yAxisIndex: 2 * at, symbol: "none" }),
      fine(`blocks erased/s (full height: ${format.count(erased)})`, perSecond(drive.erases), "#d55e00", {
        ...index, yAxisIndex: 2 * at + 1, symbol: "none", lineStyle: { width: 0.8, color: "#d55e00" }, areaStyle: { color: "#d55e00", opacity: 0.25 },
      }),
    );
  });
  const counts = ["reads", "writes", "programmed_user", "programmed_gc", "erases"];
  return {
    height: rows * (high + gap) + 66,
    table: () => ({
      head: ["time (s)", ...drives.flatMap((_, at) => counts.map((count) => `drive ${at} ${count.replace("_", " ")}`))],
      rows: slots().map((slot) => [(startOf(slot) / 1e9).toPrecision(6), ...drives.flatMap((drive) => counts.map((count) => drive[count][slot]))]),
    }),
    option: base(style, { grid, xAxis, yAxis, series, title, tooltip: { trigger: "axis", formatter: (items) => listed(items, (item) => format.rate(item.data[1])) } }),
  };
};

// Epochs that began.
charts.epochs = (figure, style) => ({
  height: 190, group: "time",
  table: () => ({ head: ["time (s)", "epochs"], rows: slots().map((slot) => [(startOf(slot) / 1e9).toPrecision(6), line().epochs[slot]]) }),
  option: base(style, {
    grid: { left: 70, right: 18, top: 26, bottom: 60 },
    legend: { show: false },
    tooltip: { trigger: "axis", formatter: (items) => listed(items, (item) => format.rate(item.data[1])) },
    xAxis: timeAxis(style), dataZoom: zoom(style),
    yAxis: axis(style, { min: 0, name: "epochs/s", splitNumber: 3, nameTextStyle: { color: style.soft, align: "left" }, axisLabel: { formatter: (n) => format.tick(format.count(n)) } }),
    series: [fine("epochs", perSecond(line().epochs), style.series[0])],
  }),
});
