// The picture of a tail: latency by percentile, and below it what requests of each band of percentiles waited for.

// Causes from the bottom up: the work itself, then waits from the near to the far.
const STACK = [
  "cell", "bus transfer", "bus command", "link", "controller", "host work", "network", "own pages", "host queue", "tag", "buffer full",
  "siblings", "commit wait", "bus wait", "chip: user read", "chip: user write", "chip: gc read", "chip: gc program", "chip: erase",
  "flush", "epoch", "reconstruction",
];
const depthOf = (cause) => (STACK.includes(cause) ? STACK.indexOf(cause) : STACK.length);

charts.tail = (figure, style) => {
  const detail = page.detail.kinds.find((kind) => kind.kind === figure.dataset.kind);
  const report = page.kinds.find((kind) => kind.kind === figure.dataset.kind);
  const curve = fromFirst(detail.curve), bands = detail.bands, at = (percentile) => along(percentile, report.requests);
  const causes = causesOf(bands).sort((a, b) => depthOf(a) - depthOf(b));
  const shareOf = (band, cause) => (band.waits.find((wait) => wait.cause === cause) || { share: 0 }).share;
  const rest = (band) => band.waits.filter((wait) => !causes.includes(wait.cause)).reduce((sum, wait) => sum + wait.share, 0);
  // The points of the curve in each band; where two bands meet, in both.
  const heights = bands.flatMap((band) => curve.filter(([p]) => p >= band.from && p <= band.to).map(([p, ns]) => ({ band, x: at(p), ns })));
  const area = (name, colour, share) => ({
    type: "line", name, stack: "waits", symbol: "none", lineStyle: { width: 0 }, itemStyle: { color: colour }, areaStyle: { color: colour, opacity: 1 },
    data: heights.map(({ band, x, ns }) => [x, share(band) * ns]), share,
  });
  const series = causes.map((cause, index) => area(cause, causeColour(cause, index, style), (band) => shareOf(band, cause)));
  if (bands.some((band) => rest(band) > 0)) series.push(area("others", style.line, rest));
  const bare = report.latency.bare_ns;
  const marks = bare > 0 ? [bound(style, bare, "bare " + format.time(bare))] : [];
  marks.forEach((mark) => Object.assign(mark.label, { position: "insideStartTop", backgroundColor: style.paper, padding: [1, 3] }));
  series.push({
    type: "line", name: "latency", symbol: "none", lineStyle: { width: 2, color: style.ink }, itemStyle: { color: style.ink },
    data: curve.map(([percentile, ns]) => [at(percentile), ns]),
    markLine: { silent: true, symbol: "none", data: marks },
  });
  const legendRows = Math.ceil(series.reduce((sum, one) => sum + 38 + 6.6 * one.name.length, 0) / style.width);
  const top = 12 + legendRows * 20;
  return {
    height: top + (style.isNarrow ? 240 : 320),
    table: () => ({
      head: ["band", "requests", "mean (ns)", ...series.slice(0, -1).map((one) => one.name)],
      rows: bands.map((band) => [
        bandName(band), band.requests, mean(band).toFixed(1), ...series.slice(0, -1).map((one) => format.share(one.share(band))),
      ]),
    }),
    option: base(style, {
      grid: { left: 62, right: 16, top, bottom: 44 },
      tooltip: {
        trigger: "axis",
        formatter: ([first]) => {
          const band = bands.find((one) => at(one.to) >= first.axisValue) || bands[bands.length - 1];
          const waits = band.waits.filter((wait) => wait.share >= 0.01).map((wait) => `${format.safe(wait.cause)} <b>${format.share(wait.share)}</b>, ${format.time(wait.mean_ns)}`);
          return `${bandName(band)}: ${format.count(band.requests)} requests, mean ${format.time(mean(band))}<br>${waits.join("<br>")}`;
        },
      },
      xAxis: percentileAxis(style, at(100)),
      yAxis: axis(style, { min: 0, axisLabel: { formatter: (ns) => format.tick(format.time(ns)) } }),
      series,
    }),
  };
};
