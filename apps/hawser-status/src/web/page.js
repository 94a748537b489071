// The status page. Everything that came from elsewhere is set as text, never as markup.
"use strict";

const HOUR = 3600;
const WINDOWS = [["1 min", 60], ["10 min", 600], ["1 h", HOUR]];
const MAX_EVENTS = 200;
const MAX_POINTS = HOUR + 240;
const MAX_LINKS = 16;
const COLOURS = ["#2f6fde", "#e08a00", "#2a9d54", "#a04fd0", "#0e9aa7", "#d6455d", "#7a7f1d", "#8a6d5b"];

// Points of time, the oldest first: { t (seconds), series: { name: { sent_bps, received_bps, rtt_ms, loss, suspect } } }
let points = [];
let events = [];
let shownFor = 60;
// When the program was last heard of.
let heard = Date.now();
let drawn = 0;
const order = [];

const $ = (id) => document.getElementById(id);

function colour(name) {
  let place = order.indexOf(name);
  if (place < 0) {
    if (order.length >= MAX_LINKS) return "#888888";
    place = order.push(name) - 1;
  }
  return COLOURS[place % COLOURS.length];
}

function rate(value) {
  const units = ["bit/s", "kbit/s", "Mbit/s", "Gbit/s"];
  let unit = 0;
  while (value >= 999.5 && unit < 3) { value /= 1000; unit += 1; }
  return value.toFixed(unit === 0 || value >= 99.5 ? 0 : 1) + " " + units[unit];
}

function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (value >= 1023.5 && unit < 4) { value /= 1024; unit += 1; }
  return value.toFixed(unit === 0 ? 0 : 1) + " " + units[unit];
}

const ms = (value) => (value > 0 ? value.toFixed(value < 10 ? 1 : 0) + " ms" : "");
const clock = (unix) => new Date(unix).toLocaleTimeString();

function duration(milliseconds) {
  const seconds = Math.floor(milliseconds / 1000);
  const two = (number) => String(number).padStart(2, "0");
  return Math.floor(seconds / 3600) + ":" + two(Math.floor(seconds / 60) % 60) + ":" + two(seconds % 60);
}

// Cells are texts, or { text, kind, mark }.
function fill(table, head, rows) {
  const body = document.createDocumentFragment();
  const line = (cells, tag, sick) => {
    const row = document.createElement("tr");
    if (sick) row.className = "sick";
    for (const cell of cells) {
      const element = document.createElement(tag);
      const { text = "", kind = "", mark = "" } = typeof cell === "object" ? cell : { text: String(cell) };
      if (kind) element.className = kind;
      if (mark) {
        const sign = document.createElement("span");
        sign.className = "mark";
        sign.style.background = mark;
        element.append(sign);
      }
      element.append(text);
      row.append(element);
    }
    body.append(row);
  };
  line(head, "th", false);
  for (const { cells, sick } of rows) line(cells, "td", sick);
  table.replaceChildren(body);
}

const words = (text) => ({ text, kind: "words" });

const isSilent = (path) => path.state === "suspect" || path.stalled === true;

// The links, or the peers of a server: their paths together.
function linksOf(status) {
  const rows = new Map();
  const row = (name) => {
    if (!rows.has(name)) rows.set(name, { name, state: "idle", sent: 0, received: 0, best: -1, carried: 0 });
    return rows.get(name);
  };
  for (const connection of status.connections) {
    for (const path of connection.paths) {
      const entry = row(path.name);
      entry.sent += path.rate_sent_bps;
      entry.received += path.rate_received_bps;
      const busy = path.rate_sent_bps + path.rate_received_bps;
      const state = isSilent(path) ? "SILENT" : path.state === "validating" ? "opening" : path.backup ? "backup" : "active";
      if (entry.state !== "SILENT" && (busy > entry.best || state === "SILENT")) entry.state = state;
      if (busy > entry.best) { entry.best = busy; entry.path = path; }
    }
    for (const part of connection.carried) row(part.name).carried += part.bytes_sent + part.bytes_received;
  }
  for (const link of status.links) {
    const entry = row(link.name);
    entry.link = link;
    entry.carried = Math.max(entry.carried, link.bytes_sent + link.bytes_received);
    if (link.usage === "paused") entry.state = "paused";
    else if (!link.up) entry.state = "down";
    else if (link.usage === "backup" && !entry.path) entry.state = "backup";
  }
  return [...rows.values()].sort((a, b) => (a.name < b.name ? -1 : 1)).slice(0, 64);
}

function troubleOf(entry) {
  if (entry.state === "SILENT") return "no answer";
  if (entry.state === "down") return "link down";
  if (!entry.path) return "";
  if (entry.path.loss >= 0.05) return "loss " + (100 * entry.path.loss).toFixed(0) + " %";
  const queue = entry.path.smoothed_rtt_ms - entry.path.min_rtt_ms;
  return queue > 100 && queue > 3 * entry.path.min_rtt_ms ? "long queue" : "";
}

const REASONS = {
  nothing: "", application: "data", scheduler: "its turn", flow_control: "the reader",
  congestion_window: "window", pacing: "pacing", amplification: "validation",
};

function showLinks(status) {
  const rows = linksOf(status);
  const troubles = [];
  const total = rows.reduce((sum, entry) => sum + entry.carried, 0) || 1;
  fill($("links"), ["link", words("state"), "out", "in", "RTT", "least", "loss", "window", "in flight", "share", words("waits for"), words("radio")],
    rows.map((entry) => {
      const trouble = troubleOf(entry);
      if (trouble) troubles.push(entry.name + ": " + trouble);
      const path = entry.path;
      const radio = entry.link && entry.link.radio;
      const air = radio ? [radio.strength_dbm !== undefined ? radio.strength_dbm.toFixed(0) + " dBm" : "", radio.attached_to || "",
        radio.handover ? "handover in " + (radio.handover.in_ms / 1000).toFixed(1) + " s" : ""].filter(Boolean).join(", ") : "";
      return { sick: trouble !== "", cells: [
        { text: entry.name, mark: colour(entry.name) },
        { text: entry.state, kind: "words" + (entry.state === "SILENT" ? " state-silent" : "") },
        rate(entry.sent), rate(entry.received), path ? ms(path.smoothed_rtt_ms) : "", path ? ms(path.min_rtt_ms) : "",
        path ? (100 * path.loss).toFixed(1) + " %" : "", path ? bytes(path.window_bytes) : "", path ? bytes(path.in_flight_bytes) : "",
        (100 * entry.carried / total).toFixed(0) + " %", words(trouble || (path ? REASONS[path.limited_by] || "" : "")), words(air),
      ] };
    }));
  $("trouble").textContent = troubles.join("; ");
}

function showConnections(status) {
  fill($("connections"), ["id", words("peer"), words("protocol"), words("user"), words("scheduler"), "out", "in", "waiting", "sent again", "copies", "paths"],
    status.connections.map((connection) => {
      const share = (part) => (connection.data.sent ? (100 * part / connection.data.sent).toFixed(1) + " %" : "");
      const mode = connection.scheduler_figures && connection.scheduler_figures.mode;
      return { cells: [connection.id, words(connection.remote), words(connection.protocol || ""), words(connection.user || ""),
        words(connection.scheduler + (mode ? " (" + mode + ")" : "")), rate(connection.rate_sent_bps), rate(connection.rate_received_bps),
        bytes(connection.queued_bytes), share(connection.data.retransmitted), share(connection.data.copied), connection.paths.length] };
    }));
}

function showPart(name, items, head, row) {
  $(name + "-part").hidden = !items || items.length === 0;
  if (items && items.length) fill($(name), head, items.map((item) => ({ cells: row(item) })));
}

// The users of a gateway, and the links over which each of them comes.
function showUsers(status) {
  showPart("users", status.users, ["user", "tunnels", "most", "out", "in", words("comes over"), words("connections")], (user) => {
    const over = (user.links || []).map((link) => link.name + ": " + (link.silent ? "SILENT" : rate(link.rate_sent_bps + link.rate_received_bps)));
    return [user.name, user.tunnels, user.most_tunnels, rate(user.rate_sent_bps), rate(user.rate_received_bps), words(over.join(", ")),
      words(user.connections.join(", "))];
  });
}

// Those that are known come again when the page has lost the program for a while.
function showEvents(told) {
  const newest = events.length ? events[0].seq : 0;
  const news = told.filter((event) => event.seq > newest);
  if (news.length === 0) return;
  events = news.reverse().concat(events).slice(0, MAX_EVENTS);
  const list = document.createDocumentFragment();
  for (const event of events) {
    const item = document.createElement("li");
    const time = document.createElement("time");
    time.textContent = clock(event.at_unix_ms);
    item.append(time, event.text);
    list.append(item);
  }
  $("events").replaceChildren(list);
}

function onSample({ status, series, events: news }) {
  heard = Date.now();
  const program = status.program;
  $("program").textContent = "hawser " + program.command;
  document.title = "hawser " + program.command;
  const stops = status.draining ? ", stopping" : "";
  $("totals").textContent = `process ${program.pid}, version ${program.version}, up ${duration(status.uptime_ms)}${stops} — out ${rate(status.totals.rate_sent_bps)}, in ${rate(status.totals.rate_received_bps)}, ${status.totals.connections} ${status.totals.connections === 1 ? "connection" : "connections"}`;
  showLinks(status);
  showConnections(status);
  showUsers(status);
  showPart("classes", status.classes, ["class", "flows", "out", "in", "waiting", "dropped"],
    (kind) => [kind.name, kind.flows, bytes(kind.bytes_sent), bytes(kind.bytes_received), kind.queued, kind.dropped]);
  showPart("streams", status.streams, ["role", "frames", "with gaps", "missing", "skipped", "players", "delay"],
    (one) => [one.role, one.frames, one.padded_frames, one.missing, one.skipped, one.players, one.delay_ms ? ms(one.delay_ms) : ""]);
  showEvents(news);
  add(status.at_unix_ms / 1000, series);
  // Of a longer time nobody sees four steps a second.
  if (shownFor > 60 && Date.now() - drawn < 950) return;
  drawn = Date.now();
  draw();
}

// All points of the last minute, then one a second.
function add(t, series) {
  const last = points[points.length - 1];
  if (last && t <= last.t) return;
  points.push({ t, series });
  const old = points.length - 240;
  if (old > 1 && points[old].t - points[old - 1].t < 0.9) points.splice(old, 1);
  if (points.length > MAX_POINTS) points.splice(0, points.length - MAX_POINTS);
}

function shownPoints() {
  const now = points.length ? points[points.length - 1].t : 0;
  return points.filter((point) => point.t >= now - shownFor);
}

// The same, with an empty point in each time of which nothing is known: nobody draws over it.
function withGaps(shown) {
  const all = [];
  for (const point of shown) {
    const last = all[all.length - 1];
    if (last && point.t - last.t > 3) all.push({ t: last.t + 0.001, series: {}, isGap: true });
    all.push(point);
  }
  return all;
}

function names(shown) {
  const found = new Set();
  for (const point of shown) for (const name of Object.keys(point.series)) found.add(name);
  return [...found].sort().slice(0, MAX_LINKS);
}

// Without uPlot: what each link did, a line for ten seconds.
function showPast(shown) {
  const all = names(shown);
  const slices = new Map();
  for (const point of shown) {
    const slice = Math.floor(point.t / 10);
    if (!slices.has(slice)) slices.set(slice, []);
    slices.get(slice).push(point);
  }
  const mean = (slice, name) => {
    const values = slice.map((point) => point.series[name]).filter(Boolean);
    if (values.length === 0) return "";
    if (values.some((at) => at.suspect)) return "SILENT";
    return rate(values.reduce((sum, at) => sum + at.sent_bps + at.received_bps, 0) / values.length);
  };
  const rows = [...slices.entries()].reverse().slice(0, 30);
  fill($("past"), [words("time"), ...all], rows.map(([slice, inside]) => ({ cells: [words(clock(slice * 10000)), ...all.map((name) => mean(inside, name))], sick: false })));
}

function draw() {
  if (document.hidden || points.length === 0) return;
  const shown = shownPoints();
  if (HAS_CHARTS) drawCharts(withGaps(shown), names(shown), shownFor);
  else showPast(shown);
}

function buttons() {
  for (const [label, seconds] of WINDOWS) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = label;
    button.setAttribute("aria-pressed", String(seconds === shownFor));
    button.addEventListener("click", () => {
      shownFor = seconds;
      for (const other of $("windows").children) other.setAttribute("aria-pressed", String(other === button));
      draw();
    });
    $("windows").append(button);
  }
}

// What the program kept of seconds of which there is no point.
async function remember() {
  try {
    const past = await (await fetch("history")).json();
    const known = new Set(points.map((point) => Math.floor(point.t)));
    const missed = past.map((point) => ({ t: point.at_unix_ms / 1000, series: point.series }));
    points = points.concat(missed.filter((point) => !known.has(Math.floor(point.t)))).sort((a, b) => a.t - b.t).slice(-MAX_POINTS);
  } catch (error) {
    // Without a past it begins now.
  }
}

async function begin() {
  $("charts").hidden = !HAS_CHARTS;
  $("no-charts").hidden = HAS_CHARTS;
  buttons();
  await remember();
  const source = new EventSource("stream");
  // Not the first time: what happened meanwhile is missing.
  source.onopen = remember;
  source.onmessage = (message) => onSample(JSON.parse(message.data));
  // What is shown is old then, and must not look as if all were well.
  setInterval(() => {
    const silent = Date.now() - heard;
    if (silent < 1500) return;
    const past = source.readyState === EventSource.OPEN ? "the way to the program may be cut" : "it may have ended";
    $("trouble").textContent = "no news from the program for " + Math.round(silent / 1000) + " s: " + past;
  }, 500);
  window.addEventListener("resize", draw);
  document.addEventListener("visibilitychange", draw);
}

begin();
