// What requests of each speed waited for: one bar for each band of percentiles.

const CAUSES = {
  "cell": ["#8d99a6", "#6d7885"], "bus transfer": ["#b3bcc6", "#525c67"], "bus command": ["#c8cfd6", "#454e58"],
  "link": ["#d6dbe0", "#5c6670"], "controller": ["#cdd2d8", "#606a75"], "host work": ["#bcc9d6", "#566472"], "network": ["#c2cdd0", "#56656a"],
  "chip: user read": ["#56b4e9", "#56b4e9"], "chip: user write": ["#0072b2", "#2b8fcf"], "chip: gc read": ["#cc79a7", "#d58fb5"],
  "chip: gc program": ["#e69f00", "#e6a519"], "chip: erase": ["#d55e00", "#e26d15"], "bus wait": ["#009e73", "#1fb088"],
  "host queue": ["#7d5ba6", "#a487c9"], "tag": ["#a98fca", "#8a70ad"], "buffer full": ["#d9c820", "#e5d63a"], "siblings": ["#7fc9b3", "#5da893"],
  "commit wait": ["#3f6f5f", "#7fae9d"], "flush": ["#8c564b", "#b9806f"], "epoch": ["#b8860b", "#d6a93a"], "reconstruction": ["#4b4b9b", "#8585d1"],
};
const MORE = ["#5f7f2a", "#a0522d", "#4f7f8f", "#9f4f6f", "#6f6f2f"];

function causeColour(cause, index, style) {
  const known = CAUSES[cause];
  return known ? known[style.paper === PALETTES.dark.paper ? 1 : 0] : MORE[index % MORE.length];
}

// Causes in the order of their largest share in any band; what never has 1.5 % is put together.
function causesOf(bands) {
  const most = new Map();
  for (const band of bands) for (const wait of band.waits) most.set(wait.cause, Math.max(most.get(wait.cause) || 0, wait.share));
  return [...most.entries()].sort((a, b) => b[1] - a[1]).filter(([, share]) => share >= 0.015).map(([cause]) => cause).slice(0, 10);
}

const mean = (band) => band.waits.reduce((sum, wait) => sum + wait.mean_ns, 0);
const bandName = (band) => (band.to === 100 ? `above ${format.percentile(band.from)} %` : `${format.percentile(band.from)}–${format.percentile(band.to)} %`);

function waitBars(style, bands) {
  const causes = causesOf(bands);
  const shareOf = (band, cause) => (band.waits.find((wait) => wait.cause === cause) || { share: 0, mean_ns: 0 });
  const rest = (band) => band.waits.filter((wait) => !causes.includes(wait.cause));
  const one = (name, colour, of) => ({
    type: "bar", stack: "all", name, barWidth: "72%", itemStyle: { color: colour, borderColor: style.paper, borderWidth: 0.6 },
    label: {
      show: true, color: inkOn(colour), fontSize: 11, textBorderWidth: 0,
      formatter: ({ data }) => (data.value[0] * style.width > 8 * (name.length + 9) ? name.replace("chip: ", "") + " " + format.share(data.value[0]) : ""),
    },
    data: bands.map((band, at) => ({ value: [of(band).share, at], mean: of(band).mean_ns })),
  });
  const series = causes.map((cause, index) => one(cause, causeColour(cause, index, style), (band) => shareOf(band, cause)));
  if (bands.some((band) => rest(band).length)) {
    const sum = (band) => ({ share: rest(band).reduce((s, w) => s + w.share, 0), mean_ns: rest(band).reduce((s, w) => s + w.mean_ns, 0) });
    series.push(one("others", style.line, sum));
  }
  const legendRows = Math.ceil(series.reduce((sum, s) => sum + 38 + 6.6 * s.name.length, 0) / style.width);
  const top = 8 + legendRows * 20;
  return {
    height: top + bands.length * 30 + 34,
    table: () => ({
      head: ["band", "requests", "from (ns)", "mean (ns)", ...series.map((s) => s.name + " (mean ns)")],
      rows: bands.map((band, at) => [bandName(band), band.requests, band.from_ns, mean(band).toFixed(1), ...series.map((s) => s.data[at].mean.toFixed(1))]),
    }),
    option: base(style, {
      grid: { left: style.isNarrow ? 92 : 158, right: 16, top, bottom: 26 },
      tooltip: {
        trigger: "item",
        formatter: ({ seriesName, data }) => {
          const band = bands[data.value[1]];
          return `${bandName(band)}: ${format.count(band.requests)} requests, mean ${format.time(mean(band))}<br>${format.safe(seriesName)}: <b>${format.share(data.value[0])}</b>, ${format.time(data.mean)} each`;
        },
      },
      xAxis: axis(style, { min: 0, max: 1, axisLabel: { formatter: (x) => Math.round(x * 100) + " %" } }),
      yAxis: {
        type: "category", inverse: true, axisTick: { show: false }, axisLine: { lineStyle: { color: style.line } },
        data: bands.map((band) => (style.isNarrow ? bandName(band) : `${bandName(band)}  ·  ${format.time(mean(band))}`)),
        axisLabel: { color: style.ink, fontSize: 12 },
      },
      series,
    }),
  };
}

charts.waits = (figure, style) => waitBars(style, page.detail.kinds.find((kind) => kind.kind === figure.dataset.kind).bands);
