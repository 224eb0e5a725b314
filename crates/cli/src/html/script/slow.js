// One slow request: what it waited for moment by moment, and what its chips did; where that was not recorded, its latency by cause,
// added up in the order of the path through host and drive, not of time.

// A request of one chip is a row of moments: the work of others on the chip that was ready last, then its own phases.
function momentsOf(request) {
  const spans = [], own = request.lanes[0].work.filter((work) => work.own);
  const add = (cause, from, to) => {
    const [a, b] = [Math.max(from, spans.length ? spans[spans.length - 1].to : 0), Math.min(to, request.latency_ns)];
    if (b > a) spans.push({ cause, from: a, to: b });
  };
  add("host queue", 0, request.submitted_ns);
  let at = request.submitted_ns;
  for (const work of request.lanes[0].work) {
    const [start, command, cells, out, end] = work.at_ns;
    if (end <= at) continue;
    if (start > at) add(at === request.submitted_ns ? "before the chip" : "between", at, start);
    if (work.own) {
      add("bus command", start, command);
      add("cell", command, cells);
      add("bus wait", cells, out);
      add("bus transfer", out, end);
    } else add("chip: " + work.kind, start, end);
    at = end;
  }
  add("after the chip", Math.max(at, own.length ? own[own.length - 1].at_ns[4] : 0), request.latency_ns);
  return spans;
}

function timeline(request, style) {
  const names = ["request", ...request.lanes.map((lane) => "chip " + lane.chip)];
  const boxes = momentsOf(request).map((span) => ({ ...span, row: 0, own: false }));
  request.lanes.forEach((lane, at) => {
    for (const { kind, own, at_ns: [from, , , , to] } of lane.work) {
      boxes.push({ cause: "chip: " + kind, from: Math.max(from, 0), to: Math.min(to, request.latency_ns), row: at + 1, own });
    }
  });
  const causes = [...new Set(boxes.map((box) => box.cause))].sort((a, b) => depthOf(a) - depthOf(b));
  const colourOf = (cause, index) => (CAUSES[cause] ? causeColour(cause, index, style) : style.grid);
  const series = causes.map((cause, index) => {
    const data = boxes.filter((box) => box.cause === cause).map((box) => ({ value: [box.from, box.to, box.row], box }));
    const colour = colourOf(cause, index);
    return {
      type: "custom", name: cause, encode: { x: [0, 1], y: 2 }, itemStyle: { color: colour }, data,
      renderItem: ({ dataIndex }, api) => {
        const [left, y] = api.coord([api.value(0), api.value(2)]), [right] = api.coord([api.value(1), api.value(2)]);
        const { own } = data[dataIndex].box;
        return {
          type: "rect", shape: { x: left, y: y - 10, width: Math.max(right - left, 0.7), height: 20 },
          style: { fill: colour, stroke: own ? style.ink : style.paper, lineWidth: own ? 2 : 0.5 },
        };
      },
    };
  });
  const legendRows = Math.ceil(series.reduce((sum, one) => sum + 40 + 7 * one.name.length, 0) / (style.width - 20));
  const top = 10 + legendRows * 20;
  return {
    height: top + names.length * 30 + 56,
    table: () => ({
      head: ["row", "work", "for this request", "from (ns)", "to (ns)", "time"],
      rows: boxes.map((box) => [names[box.row], box.cause, box.own ? "yes" : "", box.from, box.to, format.time(box.to - box.from)]),
    }),
    option: base(style, {
      grid: { left: 76, right: 24, top, bottom: 50 },
      tooltip: {
        formatter: ({ data: { box } }) => `${names[box.row]}: ${format.safe(box.cause)} <b>${format.time(box.to - box.from)}</b>${box.own ? ", for this request" : ""}<br>from +${format.time(box.from)} to +${format.time(box.to)}`,
      },
      xAxis: axis(style, {
        min: 0, max: request.latency_ns, splitNumber: style.isNarrow ? 3 : 6, name: style.isNarrow ? "time since it was due" : `time since it was due: ${request.kind} ${request.number}, due at ${format.time(request.due_ns)}`,
        nameLocation: "middle", nameGap: 26, axisLabel: { formatter: (ns) => format.tick(format.time(ns)), showMaxLabel: false },
      }),
      yAxis: { type: "category", inverse: true, data: names, axisTick: { show: false }, axisLine: { lineStyle: { color: style.line } }, axisLabel: { color: style.ink, fontSize: 11.5, interval: 0 } },
      series,
    }),
  };
}

charts.request = (figure, style) => {
  const request = page.slowest.find((one) => String(one.number) === figure.dataset.request);
  if (request.lanes) return timeline(request, style);
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
        min: 0, max: request.latency_ns, name: style.isNarrow ? "latency by cause" : `latency by cause, not in the order of time: ${request.kind} ${request.number}, due at ${format.time(request.due_ns)}`,
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
