// The page of a trace. Everything that a trace says is set as text, never as markup.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const COLOURS = ["#2f6fde", "#e08a00", "#2a9d54", "#a04fd0", "#0e9aa7", "#d6455d", "#7a7f1d", "#8a6d5b"];
const LEFT = 74, RIGHT = 8, TOP = 6, BOTTOM = 18;
const $ = (id) => document.getElementById(id);
const end = data.end_us / 1e6;
const gaps = data.summary.gaps;
let view = [0, end];
let chosen = -1;
let pointer = null;

const colour = (index) => COLOURS[index % COLOURS.length];

// Differences to values; times in seconds.
function whole(points) {
  let t = 0, y = 0;
  const all = { t: new Float64Array(points.t.length), y: new Float64Array(points.t.length) };
  for (let index = 0; index < points.t.length; index += 1) {
    t += points.t[index]; y += points.y[index];
    all.t[index] = t / 1e6; all.y[index] = y;
  }
  return all;
}

for (const path of data.paths) {
  for (const key of ["sent", "arrived", "lost", "spurious", "rtt_us", "window", "in_flight"]) path[key] = whole(path[key]);
  for (const key of ["states", "congestion"]) path[key] = path[key].map(([at, to, cause]) => ({ at: at / 1e6, to, cause }));
}
const delivery = whole(data.delivery);

function rate(value) {
  const units = ["bit/s", "kbit/s", "Mbit/s", "Gbit/s"];
  let unit = 0;
  while (value >= 999.5 && unit < 3) { value /= 1000; unit += 1; }
  return value.toFixed(unit === 0 || value >= 99.5 ? 0 : 1) + " " + units[unit];
}

function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB"];
  let unit = 0;
  while (value >= 1023.5 && unit < 3) { value /= 1024; unit += 1; }
  return value.toFixed(unit === 0 || value >= 99.5 ? 0 : 1) + " " + units[unit];
}

const ms = (value) => (value / 1000).toFixed(value < 10000 ? 1 : 0) + " ms";
const seconds = (value) => value.toFixed(3) + " s";

// The first index whose time is not before this one.
function from(times, at) {
  let low = 0, high = times.length;
  while (low < high) { const middle = (low + high) >> 1; if (times[middle] < at) low = middle + 1; else high = middle; }
  return low;
}

const panels = [
  { title: "Goodput: data that came in order; red: gaps", height: 120, unit: rate, draw: drawGoodput },
  { title: data.has_sender ? "The scheduler's choices: data sent, by path" : "Data that arrived, by path", height: 120, unit: rate, draw: drawCarried },
  { title: data.has_sender ? "Sequence against time: sent packets by path, lost (x), lost by mistake (diamond); line: in order at the receiver"
      : "Sequence against time: packets that arrived, by path; line: in order", height: 300, unit: bytes, draw: drawSequence },
  { title: "Round-trip time", height: 110, unit: ms, draw: (area) => drawSeries(area, [["rtt_us", false]]) },
  { title: "Congestion window, and bytes in flight (dotted)", height: 130, unit: bytes, draw: (area) => drawSeries(area, [["window", false], ["in_flight", true]]) },
  { title: "States of paths and of their congestion controllers (thin line: recovery)", height: 22 * data.paths.length + TOP + BOTTOM, unit: null, draw: drawStates },
];

function build() {
  for (const panel of panels) {
    const title = document.createElement("h3");
    title.textContent = panel.title;
    panel.canvas = document.createElement("canvas");
    panel.canvas.setAttribute("role", "img");
    panel.canvas.setAttribute("aria-label", panel.title);
    $("charts").append(title, panel.canvas);
    listen(panel);
  }
}

function areaOf(panel) {
  const { canvas, height } = panel;
  const scale = window.devicePixelRatio || 1;
  const width = canvas.clientWidth;
  canvas.width = Math.max(1, Math.round(width * scale));
  canvas.style.height = height + "px";
  canvas.height = Math.round(height * scale);
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  const style = getComputedStyle(document.body);
  const tone = (name) => style.getPropertyValue(name).trim();
  const x = (t) => LEFT + (t - view[0]) / (view[1] - view[0]) * (width - LEFT - RIGHT);
  const area = { context, width, height, x, tone, most: 1, least: 0 };
  area.y = (value) => height - BOTTOM - (value - area.least) / (area.most - area.least || 1) * (height - TOP - BOTTOM);
  return area;
}

function step(span, about) {
  const raw = span / about;
  const power = Math.pow(10, Math.floor(Math.log10(raw)));
  for (const factor of [1, 2, 5]) if (factor * power >= raw) return factor * power;
  return 10 * power;
}

function frame(panel, area) {
  const { context, width, height, tone } = area;
  context.font = "11px system-ui, sans-serif";
  context.lineWidth = 1;
  for (const [index, gap] of gaps.entries()) {
    if (gap.to_s < view[0] || gap.from_s > view[1]) continue;
    context.fillStyle = tone("--band");
    const left = Math.max(LEFT, area.x(gap.from_s));
    context.fillRect(left, TOP, Math.max(1.5, Math.min(width - RIGHT, area.x(gap.to_s)) - left), height - TOP - BOTTOM);
    if (index === chosen) { context.strokeStyle = tone("--alarm"); context.strokeRect(left, TOP, Math.max(1.5, area.x(gap.to_s) - left), height - TOP - BOTTOM); }
  }
  context.strokeStyle = tone("--line");
  context.fillStyle = tone("--quiet");
  const apart = step(view[1] - view[0], Math.max(2, width / 110));
  const digits = Math.max(0, Math.min(4, Math.ceil(-Math.log10(apart) - 1e-9)));
  context.textAlign = "center";
  for (let t = Math.ceil(view[0] / apart) * apart; t <= view[1]; t += apart) {
    const at = Math.round(area.x(t)) + 0.5;
    context.beginPath(); context.moveTo(at, TOP); context.lineTo(at, height - BOTTOM); context.stroke();
    context.fillText(t.toFixed(digits) + (width > 500 ? " s" : ""), Math.min(at, width - 20), height - 5);
  }
  if (!panel.unit) return;
  context.textAlign = "right";
  for (const part of [0, 0.5, 1]) {
    const value = area.least + part * (area.most - area.least);
    const at = Math.round(area.y(value)) + 0.5;
    context.beginPath(); context.moveTo(LEFT, at); context.lineTo(width - RIGHT, at); context.stroke();
    context.fillText(panel.unit(value), LEFT - 5, at + (part === 1 ? 8 : 3));
  }
}

function clip(area) {
  area.context.save();
  area.context.beginPath();
  area.context.rect(LEFT, 0, area.width - LEFT - RIGHT, area.height - BOTTOM + 2);
  area.context.clip();
}

function draw() {
  for (const panel of panels) {
    const area = areaOf(panel);
    panel.area = area;
    panel.draw(area, panel);
    if (pointer !== null) {
      area.context.strokeStyle = area.tone("--quiet");
      area.context.beginPath(); area.context.moveTo(area.x(pointer), TOP); area.context.lineTo(area.x(pointer), area.height - BOTTOM); area.context.stroke();
    }
  }
}

let queued = false;
function redraw() {
  if (queued) return;
  queued = true;
  requestAnimationFrame(() => { queued = false; draw(); });
}

function look(first, last) {
  const least = Math.min(end, 0.001);
  const span = Math.max(last - first, least);
  view = [Math.max(0, Math.min(first, end - span)), Math.min(end, Math.max(first + span, least))];
  redraw();
}

function timeAt(panel, event) {
  const box = panel.canvas.getBoundingClientRect();
  const part = (event.clientX - box.left - LEFT) / (box.width - LEFT - RIGHT);
  return view[0] + Math.max(0, Math.min(1, part)) * (view[1] - view[0]);
}

function listen(panel) {
  let began = null;
  panel.canvas.addEventListener("pointerdown", (event) => { began = { x: event.clientX, t: timeAt(panel, event) }; });
  panel.canvas.addEventListener("pointermove", (event) => { pointer = timeAt(panel, event); redraw(); });
  panel.canvas.addEventListener("pointerleave", () => { pointer = null; redraw(); });
  panel.canvas.addEventListener("pointerup", (event) => {
    if (!began) return;
    const t = timeAt(panel, event);
    if (Math.abs(event.clientX - began.x) > 8) look(Math.min(began.t, t), Math.max(began.t, t));
    else choose(nearest(t, (view[1] - view[0]) * 0.015));
    began = null;
  });
  panel.canvas.addEventListener("dblclick", () => look(0, end));
}

// The gap at a time, or the nearest one that is no farther than this.
function nearest(t, most) {
  let best = -1, least = most;
  gaps.forEach((gap, index) => {
    const distance = Math.max(0, gap.from_s - t, t - gap.to_s);
    if (distance <= least && (best < 0 || distance < least)) { best = index; least = distance; }
  });
  return best;
}

function choose(index) {
  const gap = gaps[index];
  if (!gap) return;
  chosen = index;
  $("answer").hidden = false;
  $("answer-title").textContent = "Gap of " + gap.length_ms.toFixed(0) + " ms at " + seconds(gap.from_s);
  $("because").textContent = "Because " + gap.because + ".";
  $("story").replaceChildren(...gap.story.map((line) => {
    const item = document.createElement("li");
    const time = document.createElement("time");
    time.textContent = seconds(line.at_s);
    item.append(time, line.text);
    return item;
  }));
  $("when").value = gap.from_s.toFixed(2);
  for (const row of document.querySelectorAll("tr.gap")) row.classList.toggle("chosen", Number(row.dataset.index) === index);
  const around = Math.max(0.15, (gap.to_s - gap.from_s) * 1.2);
  history.replaceState(null, "", "#gap=" + gap.from_s.toFixed(3));
  look(gap.from_s - around, gap.to_s + around);
}

function table(element, head, rows, onRow) {
  const row = (cells, tag) => {
    const line = document.createElement("tr");
    cells.forEach((cell) => {
      const place = document.createElement(tag);
      const text = Array.isArray(cell) ? cell[0] : cell;
      if (Array.isArray(cell)) place.className = cell[1];
      place.append(text);
      line.append(place);
    });
    return line;
  };
  element.replaceChildren(row(head, "th"), ...rows.map((cells, index) => { const line = row(cells, "td"); if (onRow) onRow(line, index); return line; }));
}

const WORDS = { path_silent: "path fell silent", loss: "packets lost", slow_path: "slow path", window_full: "windows full", nothing_sent: "nothing sent",
  nothing_arrived: "nothing arrived", out_of_order: "earlier bytes missing" };

function fill() {
  const { summary } = data;
  document.title = summary.files.join(", ");
  $("title").textContent = summary.files.join(" and ");
  $("facts").textContent = "written by " + summary.implementation + "; " + bytes(summary.bytes) + " in order at the " + summary.receiver + " within "
    + summary.seconds.toFixed(2) + " s, " + rate(summary.goodput_bps) + "; " + gaps.length + (gaps.length === 1 ? " gap" : " gaps")
    + (data.has_sender ? "" : "; the sender's trace, given as a second file, would tell causes and losses");
  $("notices").replaceChildren(...summary.notices.map((text) => { const item = document.createElement("li"); item.textContent = text; return item; }));
  $("legend").replaceChildren(...data.paths.map((path, number) => {
    const item = document.createElement("span");
    const mark = document.createElement("span");
    mark.className = "mark";
    mark.style.background = colour(number);
    item.append(mark, path.name);
    return item;
  }));
  $("no-gaps").hidden = gaps.length > 0;
  if (gaps.length > 0) {
    table($("gaps"), ["at", "length", ["cause", "words"], ["because", "words"]],
      gaps.map((gap) => [seconds(gap.from_s), gap.length_ms.toFixed(0) + " ms", [WORDS[gap.cause] || gap.cause, "words"], [gap.because, "words long"]]),
      (row, index) => { row.className = "gap"; row.dataset.index = String(index); row.addEventListener("click", () => { choose(index); scrollTo({ top: 0, behavior: "smooth" }); }); });
  }
  table($("paths"), [["path", "words"], "packets", "data", "lost", "lost by mistake"],
    summary.paths.map((path) => [[path.name, "words"], path.packets, bytes(path.bytes), path.lost ?? "", path.spuriously_lost ?? ""]));
}

$("question").addEventListener("submit", (event) => { event.preventDefault(); choose(nearest(Number($("when").value.replace(",", ".")), Infinity)); });
$("whole").addEventListener("click", () => look(0, end));
$("before").addEventListener("click", () => choose(Math.max(0, chosen - 1)));
$("after").addEventListener("click", () => choose(Math.min(gaps.length - 1, chosen + 1)));
addEventListener("resize", redraw);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
build();
fill();
const asked = /#gap=([\d.]+)/.exec(location.hash);
if (asked) choose(nearest(Number(asked[1]), Infinity));
draw();
