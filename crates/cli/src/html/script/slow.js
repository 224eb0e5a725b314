// One slow request: its latency by cause, added up in the order of the path through host and drive, not of time.

charts.request = (figure, style) => {
  const request = page.slowest.find((one) => String(one.number) === figure.dataset.request);
  const series = request.waits.map(([cause, ns], index) => ({
    type: "bar", stack: "all", name: cause, barWidth: 34, itemStyle: { color: causeColour(cause, index, style), borderColor: style.paper, borderWidth: 0.6 },
    data: [ns],
  }));
  const legendRows = Math.ceil(series.reduce((sum, one) => sum + 38 + 6.6 * one.name.length, 0) / style.width);
  const top = 10 + legendRows * 20;
  return {
    height: top + 104,
    table: () => ({ head: ["cause", "time (ns)", "share"], rows: request.waits.map(([cause, ns]) => [cause, ns, format.share(ns / request.latency_ns)]) }),
    option: base(style, {
      grid: { left: 16, right: 24, top, bottom: 48 },
      tooltip: { formatter: ({ seriesName, value }) => `${format.safe(seriesName)} <b>${format.time(value)}</b>, ${format.share(value / request.latency_ns)}` },
      xAxis: axis(style, {
        min: 0, max: request.latency_ns, name: `latency by cause, not in the order of time: ${request.kind} ${request.number}, due at ${format.time(request.due_ns)}`,
        nameLocation: "middle", nameGap: 26, axisLabel: { formatter: (ns) => format.tick(format.time(ns)), showMaxLabel: false },
      }),
      yAxis: { type: "category", data: [""], axisTick: { show: false }, axisLine: { lineStyle: { color: style.line } } },
      series,
    }),
  };
};

// A click on the number of a request shows it.
function listenToRequests() {
  for (const button of document.querySelectorAll("button.pick")) {
    button.addEventListener("click", () => {
      const figure = button.closest("figure");
      for (const other of figure.querySelectorAll("button.pick")) other.setAttribute("aria-pressed", String(other === button));
      figure.dataset.request = button.value;
      figure.querySelector("code.request").textContent = button.value;
      draw(figure);
    });
  }
}
