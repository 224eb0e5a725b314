// Points of a comparison and what techniques do to them.

const COMPARED = { "ns": format.time, "B/s": (x) => format.bytes(x) + "/s", "1/s": format.rate, "years": format.years, "x": (x) => format.tick(x.toPrecision(3)) + " ×", "": format.count };
const shortName = (factor) => {
  const last = (name) => name.split(".").pop();
  return page.factors.filter((other) => last(other.name) === last(factor.name)).length === 1 ? last(factor.name) : factor.name;
};
const settingsOf = (point) => point.levels.map((level, at) => `${shortName(page.factors[at])} ${page.factors[at].levels[level].name}`).join(", ");
const isBase = (point) => point.levels.every((level) => level === 0);
const headOf = (name) => page.quantities.find((head) => head.name === name) || { name, unit: "" };

function quantityAxis(style, name, values, more) {
  const show = COMPARED[headOf(name).unit] || format.count;
  const [low, high] = extent(values);
  const isLog = values.every((x) => x > 0) && high / low > 3;
  const made = isLog ? logAxis(style, low, high, show, more) : axis(style, { scale: true, ...more, axisLabel: { formatter: (x) => format.tick(show(x)) } });
  return { axis: { ...made, name }, at: isLog ? lg : (x) => x, show };
}

charts.scatter = (figure, style) => {
  const [first, second] = [page.by, figure.dataset.second];
  const known = page.points.filter((point) => [first, second].every((name) => typeof point.quantities[name] === "number"));
  const value = (point, name) => point.quantities[name];
  const x = quantityAxis(style, first, known.map((point) => value(point, first)), { nameLocation: "middle", nameGap: 28 });
  const y = quantityAxis(style, second, known.map((point) => value(point, second)), {});
  // Of the two shown, whatever the comparison was asked for.
  const better = (a, b, name) => (headOf(name).more_is_better ? value(a, name) - value(b, name) : value(b, name) - value(a, name));
  const isBeaten = (point) => known.some((other) => {
    const [by, beside] = [better(other, point, first), better(other, point, second)];
    return by >= 0 && beside >= 0 && (by > 0 || beside > 0);
  });
  const dots = (name, points, more) => ({ type: "scatter", name, symbolSize: 9, data: points.map((point) => ({ value: [x.at(value(point, first)), y.at(value(point, second))], point })), ...more });
  const front = known.filter((point) => !isBeaten(point) && !isBase(point)), rest = known.filter((point) => isBeaten(point) && !isBase(point));
  return {
    height: 360,
    table: () => ({ head: ["point", first, second], rows: known.map((point) => [settingsOf(point), value(point, first), value(point, second)]) }),
    option: base(style, {
      grid: { left: 70, right: 30, top: 54, bottom: 46 },
      tooltip: { formatter: ({ data: { point } }) => `${format.safe(settingsOf(point))}<br>${format.safe(first)} <b>${x.show(value(point, first))}</b><br>${format.safe(second)} <b>${y.show(value(point, second))}</b>` },
      xAxis: x.axis, yAxis: { ...y.axis, nameTextStyle: { color: style.soft, align: "left" } },
      series: [
        dots("others", rest, { itemStyle: { color: "transparent", borderColor: style.soft, borderWidth: 1.4 } }),
        dots("not beaten in both", front, { itemStyle: { color: style.series[0] }, label: { show: front.length <= 6 && !style.isNarrow, position: "right", color: style.soft, fontSize: 11, formatter: ({ data }) => shorten(settingsOf(data.point), 42) }, labelLayout: { hideOverlap: true } }),
        dots("base", known.filter(isBase), { symbol: "diamond", symbolSize: 13, itemStyle: { color: "transparent", borderColor: style.series[3], borderWidth: 2 } }),
      ],
    }),
  };
};

charts.compared = (figure, style) => {
  const kinds = new Map();
  for (const { name } of page.quantities) {
    const [, percentile, kind] = name.match(/^p([\d.]+)\((.+)\)$/) || [];
    if (kind) kinds.set(kind, [...(kinds.get(kind) || []), [Number(percentile), name]]);
  }
  const [kind, columns] = [...kinds.entries()].sort((a, b) => b[1].length - a[1].length)[0];
  columns.sort((a, b) => a[0] - b[0]);
  const ranked = page.points.filter((point) => point.rank !== null).sort((a, b) => a.rank - b.rank);
  const chosen = [...new Set([...ranked.filter(isBase), ...ranked.slice(0, 4)])];
  const lines = chosen.map((point) => ({
    name: (isBase(point) ? "base: " : point.rank + ": ") + shorten(settingsOf(point), style.isNarrow ? 30 : 60), count: 1e12, bare: 0,
    points: columns.filter(([, name]) => point.quantities[name] > 0).map(([percentile, name]) => [percentile, point.quantities[name]]),
  })).filter((one) => one.points.length);
  const made = curves(style, lines, () => ({ head: ["point", ...columns.map(([, name]) => name)], rows: lines.map((one) => [one.name, ...one.points.map(([, ns]) => ns)]) }));
  made.option.grid.top = 24 + 20 * (style.isNarrow ? lines.length : Math.ceil(lines.length / 2));
  made.option.xAxis.name = "percentile of requests (" + kind + ")";
  made.height += made.option.grid.top - 34;
  return made;
};

charts.effects = (figure, style) => {
  const of = page.effects.find((effects) => effects.quantity === figure.dataset.quantity);
  const names = of.mains.map((main) => {
    const factor = page.factors[main.factor], [from, to] = [factor.levels[0].name, factor.levels[main.level].name];
    return from === "off" && to === "on" ? shortName(factor) : `${shortName(factor)} ${from} → ${to}`;
  });
  const room = roomFor(names, style);
  const [low, high] = extent(of.mains.flatMap((main) => [main.alone, main.in_company, main.average, main.least, main.most]).concat([1 / (1 + of.tolerance) / 1.05, (1 + of.tolerance) * 1.05]));
  const point = (key) => of.mains.map((main, at) => (main[key] > 0 ? { value: [lg(main[key]), at], main } : null)).filter((one) => one !== null);
  const range = {
    type: "custom", name: "min to max", encode: { x: [0, 1], y: 2 }, itemStyle: { color: style.line },
    data: of.mains.map((main, at) => (main.least > 0 && main.most > 0 ? { value: [lg(main.least), lg(main.most), at], main } : null)).filter((one) => one !== null),
    renderItem: (params, api) => {
      const [a, b] = [api.coord([api.value(0), api.value(2)]), api.coord([api.value(1), api.value(2)])];
      return { type: "rect", shape: { x: a[0], y: a[1] - 4, width: Math.max(b[0] - a[0], 1), height: 8 }, style: { fill: style.line } };
    },
  };
  const dots = (name, key, more) => ({ type: "scatter", name, symbolSize: 9, data: point(key), ...more });
  const edge = (at, isSolid) => ({ xAxis: lg(at), label: { show: false }, lineStyle: { color: style.soft, type: isSolid ? "solid" : [4, 4], width: 1 } });
  return {
    height: of.mains.length * 26 + 90,
    table: () => ({ head: ["technique", "alone", "in company", "average", "min", "max"], rows: of.mains.map((main, at) => [names[at], main.alone, main.in_company, main.average, main.least, main.most]) }),
    option: base(style, {
      grid: { left: room.left, right: 24, top: 30, bottom: 46 },
      tooltip: { formatter: ({ data: { main } }) => (main ? [["alone", main.alone], ["in company", main.in_company], ["average", main.average], ["min", main.least], ["max", main.most]].map(([name, x]) => `${name} <b>${x === null ? "–" : "× " + x.toFixed(3)}</b>`).join("<br>") : "") },
      xAxis: logAxis(style, low, high, (x) => "× " + Number(x.toPrecision(3)), { name: headOf(of.quantity).more_is_better ? "more is better →" : "← less is better", nameLocation: "middle", nameGap: 26 }),
      yAxis: { type: "category", inverse: true, data: names.map(room.cut), axisTick: { show: false }, axisLine: { lineStyle: { color: style.line } }, axisLabel: { color: style.ink, fontSize: 11.5, interval: 0 } },
      series: [
        range,
        dots("alone", "alone", { itemStyle: { color: style.series[0] } }),
        dots("in company", "in_company", { symbol: "diamond", symbolSize: 11, itemStyle: { color: style.series[3] }, markLine: { silent: true, symbol: "none", data: [edge(1, true), edge(1 + of.tolerance), edge(1 / (1 + of.tolerance))] } }),
        dots("average", "average", { symbol: "rect", symbolSize: [2, 14], itemStyle: { color: style.ink } }),
      ],
    }),
  };
};
