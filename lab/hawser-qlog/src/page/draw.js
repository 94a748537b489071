// What the charts of a trace show.
"use strict";

const intervals = () => {
  const width = data.interval_us / 1e6;
  const first = Math.max(0, Math.floor(view[0] / width) - 1);
  return { width, first, last: Math.min(data.goodput.length - 1, Math.ceil(view[1] / width) + 1) };
};

function drawGoodput(area, panel) {
  const { width, first, last } = intervals();
  for (let index = first; index <= last; index += 1) area.most = Math.max(area.most, data.goodput[index]);
  frame(panel, area);
  clip(area);
  const { context } = area;
  context.strokeStyle = area.tone("--text");
  context.beginPath();
  for (let index = first; index <= last; index += 1) {
    context.lineTo(area.x(index * width), area.y(data.goodput[index]));
    context.lineTo(area.x((index + 1) * width), area.y(data.goodput[index]));
  }
  context.stroke();
  context.restore();
}

function drawCarried(area, panel) {
  const { width, first, last } = intervals();
  for (let index = first; index <= last; index += 1) area.most = Math.max(area.most, data.paths.reduce((sum, path) => sum + (path.carried[index] || 0), 0));
  frame(panel, area);
  clip(area);
  for (let index = first; index <= last; index += 1) {
    let sum = 0;
    data.paths.forEach((path, number) => {
      const value = path.carried[index] || 0;
      area.context.fillStyle = colour(number);
      const left = area.x(index * width);
      area.context.fillRect(left, area.y(sum + value), Math.max(1, area.x((index + 1) * width) - left + 0.3), area.y(sum) - area.y(sum + value));
      sum += value;
    });
  }
  area.context.restore();
}

function drawSequence(area, panel) {
  const kinds = ["sent", "arrived", "lost", "spurious"];
  let least = Infinity, most = -Infinity;
  for (const path of data.paths) for (const kind of kinds) {
    const { t, y } = path[kind];
    for (let index = from(t, view[0]); index < t.length && t[index] <= view[1]; index += 1) { least = Math.min(least, y[index]); most = Math.max(most, y[index]); }
  }
  if (least < most) { area.least = least; area.most = most; }
  frame(panel, area);
  clip(area);
  const { context } = area;
  data.paths.forEach((path, number) => {
    context.fillStyle = context.strokeStyle = colour(number);
    // What arrived is drawn lightly where it is known when it was sent.
    for (const [kind, alpha, size] of [["arrived", data.has_sender ? 0.25 : 0.9, 2], ["sent", 0.9, 2]]) {
      const { t, y } = path[kind];
      context.globalAlpha = alpha;
      for (let index = from(t, view[0]); index < t.length && t[index] <= view[1]; index += 1) context.fillRect(area.x(t[index]) - 1, area.y(y[index]) - 1, size, size);
    }
    context.globalAlpha = 1;
    for (const kind of ["lost", "spurious"]) {
      const { t, y } = path[kind];
      context.lineWidth = 1.3;
      for (let index = from(t, view[0]); index < t.length && t[index] <= view[1]; index += 1) {
        const left = area.x(t[index]), top = area.y(y[index]);
        context.beginPath();
        if (kind === "lost") { context.moveTo(left - 4, top - 4); context.lineTo(left + 4, top + 4); context.moveTo(left - 4, top + 4); context.lineTo(left + 4, top - 4); }
        else { context.moveTo(left, top - 5); context.lineTo(left + 5, top); context.lineTo(left, top + 5); context.lineTo(left - 5, top); context.closePath(); }
        context.stroke();
      }
    }
  });
  if (data.summary.bytes > 0) {
    context.strokeStyle = area.tone("--text");
    context.lineWidth = 1;
    context.beginPath();
    for (let index = Math.max(0, from(delivery.t, view[0]) - 1); index < delivery.t.length; index += 1) {
      const left = area.x(delivery.t[index]);
      if (index > 0) context.lineTo(left, area.y(delivery.y[index - 1]));
      context.lineTo(left, area.y(delivery.y[index]));
      if (delivery.t[index] > view[1]) break;
    }
    context.stroke();
  }
  context.restore();
}

function drawSeries(area, kinds) {
  const panel = panels.find((other) => other.canvas === area.context.canvas);
  for (const path of data.paths) for (const [kind] of kinds) {
    const { t, y } = path[kind];
    for (let index = Math.max(0, from(t, view[0]) - 1); index < t.length && t[index] <= view[1]; index += 1) area.most = Math.max(area.most, y[index]);
  }
  frame(panel, area);
  clip(area);
  const { context } = area;
  data.paths.forEach((path, number) => {
    context.strokeStyle = colour(number);
    for (const [kind, dotted] of kinds) {
      const { t, y } = path[kind];
      context.setLineDash(dotted ? [2, 2] : []);
      context.globalAlpha = dotted ? 0.7 : 1;
      context.beginPath();
      let last = null;
      for (let index = Math.max(0, from(t, view[0]) - 1); index < t.length; index += 1) {
        const left = area.x(t[index]), top = area.y(y[index]);
        // A value holds until the next one.
        if (last !== null) context.lineTo(left, last);
        context.lineTo(left, top);
        last = top;
        if (t[index] > view[1]) break;
      }
      context.stroke();
    }
  });
  context.setLineDash([]);
  context.globalAlpha = 1;
  context.restore();
}

const STATES = { validating: 0.3, active: 0.85, suspect: null, abandoning: 0.25, draining: 0.15, closed: 0 };

function drawStates(area, panel) {
  frame(panel, area);
  const { context } = area;
  context.textAlign = "right";
  data.paths.forEach((path, number) => {
    const top = TOP + number * 22 + 4;
    context.fillStyle = area.tone("--quiet");
    context.fillText("path " + path.id, LEFT - 5, top + 11);
  });
  clip(area);
  data.paths.forEach((path, number) => {
    const top = TOP + number * 22 + 4;
    const spans = (changes, draw) => changes.forEach((change, index) => {
      const until = index + 1 < changes.length ? changes[index + 1].at : end;
      if (until < view[0] || change.at > view[1]) return;
      draw(change, area.x(change.at), Math.max(1.5, area.x(until) - area.x(change.at)));
    });
    spans(path.states, (change, left, wide) => {
      const known = STATES[change.to];
      context.fillStyle = known === null ? area.tone("--alarm") : colour(number);
      context.globalAlpha = known === undefined ? 0.5 : known === null ? 1 : known;
      context.fillRect(left, top, wide, 12);
      context.globalAlpha = 1;
      if (known === null) { context.textAlign = "left"; if (wide > 40) { context.fillStyle = area.tone("--card"); context.fillText("silent", Math.max(LEFT, left) + 4, top + 10); } }
    });
    spans(path.congestion, (change, left, wide) => {
      if (change.to !== "recovery") return;
      context.fillStyle = area.tone("--text");
      context.fillRect(left, top + 13, wide, 2);
    });
  });
  context.restore();
}
