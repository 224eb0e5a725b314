// A chart as a picture, drawn without a browser: run after the scripts of the page, in an engine without a window.
// A figure is what a page has of it: { chart, kind … } as its attributes; the rest of the page is not there.

// Widths of letters: without a canvas the library guesses, and too narrow.
const LETTER = 0.61;
echarts.setPlatformAPI({
  createCanvas: () => null,
  measureText: (text, font) => ({ width: String(text).length * LETTER * (parseFloat(/(\d+(\.\d+)?)px/.exec(font || "12px")?.[1]) || 12) }),
});

globalThis.picture = (attributes, width, isDark) => {
  const style = styleFor(isDark, width);
  const figure = { dataset: JSON.parse(attributes) };
  const draw = charts[figure.dataset.chart];
  const made = draw(figure, style);
  if (!made) return null;
  const chart = echarts.init(null, null, { renderer: "svg", ssr: true, width, height: made.height });
  chart.setOption({ ...made.option, backgroundColor: style.paper });
  const text = chart.renderToSVGString();
  chart.dispose();
  return text;
};
