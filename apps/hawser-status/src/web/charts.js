// Charts of the status page, with uPlot; a build without it has none.
"use strict";

const HAS_CHARTS = typeof uPlot === "function";
// What is drawn: its charts, the links in them, and whether it is dark.
let charts = null;

const dark = matchMedia("(prefers-color-scheme: dark)");

function chart(id, links, height, unit, least, isStacked) {
  const style = getComputedStyle(document.body);
  const tone = (name) => style.getPropertyValue(name).trim();
  const axis = { stroke: tone("--quiet"), grid: { stroke: tone("--line"), width: 1 }, ticks: { stroke: tone("--line"), width: 1 }, font: "11px system-ui, sans-serif" };
  // Where areas lie on each other, a value is that of all below it together: what is shown is the difference.
  // Without a pointer it is the last one.
  const shown = (plot, value, series, pointed) => {
    const index = pointed === null ? plot.data[0].length - 1 : pointed;
    const at = plot.data[series][index];
    if (at === null || at === undefined) return "-";
    const below = isStacked && series > 1 ? plot.data[series - 1][index] || 0 : 0;
    return unit(at - below);
  };
  const series = links.map((name) => ({ label: name, stroke: colour(name), width: isStacked ? 1 : 1.5, fill: isStacked ? colour(name) + "cc" : undefined,
    points: { show: false }, spanGaps: false, value: shown }));
  const options = {
    width: $(id).clientWidth, height, padding: [8, 28, 0, 0],
    cursor: { sync: { key: "hawser" }, drag: { x: false, y: false } },
    legend: { live: true },
    scales: { x: { time: true }, y: { range: (plot, low, high) => [0, Math.max(least, high || 0) * 1.05] } },
    axes: [{ ...axis, space: 80, size: 28, values: (plot, splits) => splits.map((at) => new Date(at * 1000).toLocaleTimeString()) }, { ...axis, size: 76, values: (plot, splits) => splits.map(unit) }],
    series: [{ label: "at", value: (plot, at) => (at ? new Date(at * 1000).toLocaleTimeString() : "now") }, ...series],
    bands: isStacked ? links.slice(1).map((name, index) => ({ series: [index + 2, index + 1] })) : [],
  };
  $(id).replaceChildren();
  return new uPlot(options, [[], ...links.map(() => [])], $(id));
}

function build(links) {
  if (charts) charts.all.forEach((one) => one.destroy());
  const narrow = document.body.clientWidth < 600;
  const all = [
    chart("carried", links, narrow ? 180 : 220, rate, 1000, true),
    chart("rtt", links, narrow ? 130 : 150, (value) => value.toFixed(0) + " ms", 20, false),
    chart("loss", links, narrow ? 110 : 120, (value) => (100 * value).toFixed(1) + " %", 0.02, false),
  ];
  charts = { all, links: links.join(), isDark: dark.matches, width: document.body.clientWidth };
}

// Draws these points; links are those that are in them.
function drawCharts(shown, links, seconds) {
  const fits = charts && charts.links === links.join() && charts.isDark === dark.matches && charts.width === document.body.clientWidth;
  if (!fits) build(links);
  const times = shown.map((point) => point.t);
  const sums = shown.map(() => 0);
  const carried = links.map((name) => shown.map((point, index) => {
    const at = point.series[name];
    sums[index] += at ? at.sent_bps + at.received_bps : 0;
    return point.isGap ? null : sums[index];
  }));
  // Where a link had no path, or was silent, there is a gap.
  const lines = (key) => links.map((name) => shown.map((point) => { const at = point.series[name]; return at && !at.suspect ? at[key] : null; }));
  const now = times[times.length - 1];
  [carried, lines("rtt_ms"), lines("loss")].forEach((values, index) => {
    charts.all[index].batch(() => {
      charts.all[index].setData([times, ...values], false);
      charts.all[index].setScale("x", { min: now - seconds, max: now });
    });
  });
}

dark.addEventListener("change", () => draw());
