// What chips, drives and groups were doing, as maps: one row for each, time from left to right.

const columnTime = (column, each) => `${format.seconds(startOf(column * each) / 1e9)} – ${format.seconds(Math.min(startOf((column + 1) * each), line().until_ns - line().from_ns) / 1e9)}`;

function rowName(row) {
  const several = line().drives.length > 1 ? `drive ${row.drive}, ` : "";
  return several + (row.chips > 1 ? `chips ${row.first}–${row.first + row.chips - 1}` : `chip ${row.first}`);
}

charts.chips = (figure, style) => {
  const map = line().chips, chosen = figure.dataset.holder || "all";
  const held = map.held.filter((one) => chosen === "all" || chosen.split("+").includes(one.holder));
  const columns = map.held[0].rows[0].length;
  const share = (row, column) => Math.min(held.reduce((sum, one) => sum + one.rows[row][column], 0), 1000);
  const data = [];
  let most = 0;
  map.rows.forEach((_, row) => {
    for (let column = 0; column < columns; column++) {
      const parts = share(row, column);
      most = Math.max(most, parts);
      data.push([column, row, parts]);
    }
  });
  // Full scale for all work together; a rare kind of work would not be seen on it.
  const scale = chosen === "all" ? 1000 : Math.max(most, 10);
  const height = Math.max(map.rows.length * (map.rows.length > 24 ? 7 : 14), 90);
  return {
    canvas: true, height: height + 96,
    table: () => ({
      head: ["time", ...map.rows.map(rowName)],
      rows: Array.from({ length: columns }, (_, column) => [columnTime(column, map.slots_per_column), ...map.rows.map((_, row) => (share(row, column) / 10).toFixed(1) + " %")]),
    }),
    option: base(style, {
      grid: { left: style.isNarrow ? 64 : 104, right: 14, top: 34, bottom: 52 },
      tooltip: {
        formatter: ({ data: [column, row] }) => {
          const parts = map.held.filter((one) => one.rows[row][column] > 0).map((one) => `${one.holder} ${format.share(one.rows[row][column] / 1000)}`);
          return `${rowName(map.rows[row])}, ${columnTime(column, map.slots_per_column)}<br>${parts.join("<br>") || "idle"}`;
        },
      },
      legend: { show: false },
      // Cells stand in columns; what is written below them is a time.
      xAxis: [
        { type: "category", show: false, data: Array.from({ length: columns }, (_, column) => column) },
        timeAxis(style, { position: "bottom", max: startOf(columns * map.slots_per_column) / 1e9 }),
      ],
      yAxis: {
        type: "category", inverse: true, data: map.rows.map(rowName), axisTick: { show: false }, axisLine: { lineStyle: { color: style.line } },
        axisLabel: { color: style.soft, fontSize: 11, interval: Math.max(Math.ceil(map.rows.length / 16) - 1, 0) },
      },
      visualMap: {
        min: 0, max: scale, calculable: false, orient: "horizontal", left: 0, top: 0, itemWidth: 10, itemHeight: 120, inRange: { color: style.heat },
        text: [format.share(scale / 1000) + " of the time", "0"], textStyle: { color: style.soft, fontSize: 12 },
      },
      series: [{ type: "heatmap", name: chosen, data, progressive: 0, emphasis: { itemStyle: { borderColor: style.ink, borderWidth: 1 } } }],
    }),
  };
};

// Rows of shares: of each cell the parts stand above each other, and what is left is empty.
function strips(style, rows, parts, looksAt) {
  const each = Math.max(Math.ceil(line().slots / (style.isNarrow ? 96 : 192)), 1);
  const columns = Math.ceil(line().slots / each);
  const average = (list, column) => {
    const slots = list.slice(column * each, (column + 1) * each);
    return slots.reduce((sum, x) => sum + x, 0) / slots.length;
  };
  const series = parts.map((part, index) => ({
    type: "custom", name: part.name, itemStyle: { color: part.colour }, clip: true, progressive: 0,
    encode: { x: [0, 1], y: 2 },
    data: rows.flatMap((row, at) => Array.from({ length: columns }, (_, column) => {
      const below = parts.slice(0, index).reduce((sum, other) => sum + average(other.of(row.data), column), 0);
      const share = average(part.of(row.data), column);
      return { value: [startOf(column * each) / 1e9, Math.min(startOf((column + 1) * each), line().until_ns - line().from_ns) / 1e9, at, share, below] };
    }).filter((one) => one.value[3] > 0)),
    renderItem: (params, api) => {
      const [left, right] = [api.coord([api.value(0), api.value(2)]), api.coord([api.value(1), api.value(2)])];
      const full = api.size([0, 1])[1] * 0.8, bottom = left[1] + full / 2;
      const high = (full * api.value(3)) / 1000, low = (full * api.value(4)) / 1000;
      return { type: "rect", shape: { x: left[0], y: bottom - low - high, width: Math.max(right[0] - left[0], 0.5) + 0.3, height: high }, style: { fill: part.colour } };
    },
  }));
  return {
    canvas: true, height: rows.length * 34 + 92,
    table: () => ({
      head: ["time (s)", ...rows.flatMap((row) => parts.map((part) => `${row.name} ${part.name}`))],
      rows: slots().map((slot) => [(startOf(slot) / 1e9).toPrecision(6), ...rows.flatMap((row) => parts.map((part) => (part.of(row.data)[slot] / 10).toFixed(1) + " %"))]),
    }),
    option: base(style, {
      grid: { left: 70, right: 18, top: 28, bottom: 60 },
      tooltip: { formatter: ({ seriesName, data }) => `${rows[data.value[2]].name}, ${format.seconds(data.value[0])} – ${format.seconds(data.value[1])}<br>${seriesName}: <b>${format.share(data.value[3] / 1000)}</b> ${looksAt}` },
      xAxis: timeAxis(style), dataZoom: zoom(style),
      yAxis: { type: "category", inverse: true, data: rows.map((row) => row.name), axisTick: { show: false }, axisLabel: { color: style.ink }, axisLine: { lineStyle: { color: style.line } } },
      series,
    }),
  };
}

charts.tokens = (figure, style) => strips(
  style,
  line().members.map((data, at) => ({ name: "drive " + at, data })),
  [
    { name: "draining reads", colour: style.series[5], of: (member) => member.draining },
    { name: "writing", colour: style.series[0], of: (member) => member.writing },
    { name: "collecting", colour: "#e69f00", of: (member) => member.collecting },
  ],
  "of the time",
);

charts.roles = (figure, style) => strips(
  style,
  line().groups.map((data, at) => ({ name: "R-group " + at, data })),
  [
    { name: "front end: written", colour: style.series[0], of: (group) => group.front },
    { name: "collecting", colour: "#e69f00", of: (group) => group.collecting },
  ],
  "of the looks",
);
