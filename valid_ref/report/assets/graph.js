// The network: agents by shape and label, messages by line style and word.

const SPARSE = 14;
const WORDED = 8; // up to so many edges every message has its word; beyond, those that deviate

function graphPart(run, number) {
  const sparse = run.edges.length <= SPARSE;
  const radius = run.agents.length <= 8 ? 30 : run.agents.length <= 24 ? 25 : 17;
  const { width, height, points } = placed(run, radius);
  const lines = svg("g", { class: "lines" });
  const words = svg("g", { class: "words" });
  const nodes = svg("g", { class: "nodes" });
  const picture = svg(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, class: "graph", role: "group", "aria-label": `Network of ${run.label}: agents are buttons` },
    definitions(number), lines, words, nodes,
  );
  const figures = run.agents.map((agent, v) => node(run, number, v, points[v], radius));
  figures.forEach((figure) => nodes.append(figure));
  nodes.addEventListener("keydown", (event) => walk(event, run, number, figures));

  function draw() {
    const round = run.rounds[placeOf(run)];
    const chosen = state.selected[number];
    lines.replaceChildren();
    words.replaceChildren();
    for (const [u, v] of run.edges) {
      if (!sparse) lines.append(svg("line", { x1: points[u].x, y1: points[u].y, x2: points[v].x, y2: points[v].y, class: "base" }));
    }
    run.agents.forEach((_agent, sender) => {
      for (const group of variants(run, round, sender)) {
        for (const receiver of group.receivers) {
          const mine = sender === chosen || receiver === chosen;
          const pointed = isPointed(number, round, sender, receiver);
          if (!sparse && !group.altered && !mine && !pointed) continue;
          arrow(run, number, { group, sender, receiver, points, radius, sparse, mine, pointed, lines, words, round });
        }
      }
    });
    const alarmed = new Set(alarmsUntil(run, round.index).map((alarm) => alarm.agent));
    const fresh = new Set(run.alarms.filter((alarm) => alarm.index === round.index).map((alarm) => alarm.agent));
    if (sparse) run.agents.forEach((_agent, v) => words.append(...caption(run, round, v, points[v], radius)));
    figures.forEach((figure, v) => dress(run, figure, v, { chosen, alarmed, fresh, round }));
    for (const one of run.divergences) {
      if (one.index > round.index) continue;
      const now = one.index === round.index;
      words.append(divergeMark(points[one.agent].x - radius * 0.95, points[one.agent].y - radius * 0.95, now ? 1.3 : 0.9, `Agent ${one.agent} left the specification in round ${one.index + 1}`));
    }
  }
  listen(draw);
  draw();
  return el("figure", { class: "graph-figure" }, picture, legend(run, sparse, number));
}

function placed(run, radius) {
  const margin = radius + (run.edges.length <= SPARSE ? 62 : 40);
  const xs = run.agents.map((agent) => agent.x);
  const ys = run.agents.map((agent) => agent.y);
  const spanX = Math.max(...xs) - Math.min(...xs);
  const spanY = Math.max(...ys) - Math.min(...ys);
  const small = run.agents.length <= 4 && spanY > 0.3;
  const scale = small ? 400 : 800;
  const points = run.agents.map((agent) => ({
    x: margin + (agent.x - Math.min(...xs)) * scale,
    y: margin + (agent.y - Math.min(...ys)) * scale,
  }));
  return { width: 2 * margin + spanX * scale, height: 2 * margin + spanY * scale, points };
}

function definitions(number) {
  const heads = ["plain", "altered", "mine"].map((kind) =>
    svg("marker", { id: `head-${kind}-${number}`, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto", markerUnits: "userSpaceOnUse", class: `head ${kind}` },
      svg("path", { d: "M0,0 L8,4 L0,8 z" })));
  for (const head of heads) {
    head.setAttribute("markerWidth", 13);
    head.setAttribute("markerHeight", 13);
  }
  const hatch = svg("pattern", { id: `hatch-${number}`, width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
    svg("rect", { width: 7, height: 7, class: "hatch-ground" }), svg("rect", { width: 2.2, height: 7, class: "hatch-line" }));
  return svg("defs", {}, ...heads, hatch);
}

function node(run, number, v, point, radius) {
  const agent = run.agents[v];
  const diamond = radius * 1.22;
  const shape = agent.role === "byzantine"
    ? svg("path", { d: `M0,${-diamond} L${diamond},0 L0,${diamond} L${-diamond},0 z`, class: "shape", fill: `url(#hatch-${number})` })
    : agent.role === "unknown"
      ? svg("rect", { x: -radius * 0.9, y: -radius * 0.9, width: radius * 1.8, height: radius * 1.8, rx: radius / 2, class: "shape" })
      : svg("circle", { r: radius, class: "shape" });
  const ring = svg("circle", { r: radius + 6, class: "ring" });
  const plate = agent.role === "byzantine" ? svg("circle", { r: radius * 0.56, class: "plate" }) : null;
  const label = svg("text", { class: "label", "text-anchor": "middle", dy: "0.35em", "font-size": radius * 0.8 }, String(v));
  const off = radius * 0.82;
  const badge = svg("g", { class: "badge", transform: `translate(${off},${-off})` },
    svg("path", { d: "M0,-13 L13,10 L-13,10 z" }), svg("text", { "text-anchor": "middle", y: 7.5, "font-size": 17 }, "!"));
  const figure = svg("g", { class: `node ${agent.role}`, transform: `translate(${point.x},${point.y})`, tabindex: v === 0 ? 0 : -1, role: "button" }, ring, shape, plate, label, badge);
  figure.addEventListener("click", () => select(number, v));
  return figure;
}

// What an agent holds, below it, where there is room.
function caption(run, round, v, point, radius) {
  const word = run.messages[round.said[v]].word;
  const learning = phaseOf(run, round).name === "LearnModel" && run.agents[v].role !== "byzantine" && word;
  const text = round.beliefs[v] || (learning ? `model ${word}` : "");
  if (!text || text.length > 24) return [];
  const middle = (Math.min(...run.agents.map((agent) => agent.y)) + Math.max(...run.agents.map((agent) => agent.y))) / 2;
  const y = run.agents[v].y < middle ? point.y - radius - 14 : point.y + radius + 26;
  return [svg("text", { class: "belief", "text-anchor": "middle", x: point.x, y }, text)];
}

function dress(run, figure, v, { chosen, alarmed, fresh, round }) {
  const agent = run.agents[v];
  const alarm = agent.role !== "byzantine" && (alarmed.has(v) || round.beliefs[v] === "alarmed");
  figure.classList.toggle("chosen", v === chosen);
  figure.classList.toggle("alarmed", alarm);
  figure.classList.toggle("fresh", fresh.has(v));
  figure.setAttribute("aria-pressed", String(v === chosen));
  figure.setAttribute("tabindex", v === chosen ? 0 : -1);
  const role = { byzantine: "Byzantine", honest: "honest", unknown: "role not recorded" }[agent.role];
  const belief = round.beliefs[v] ? `, ${round.beliefs[v]}` : "";
  figure.setAttribute("aria-label", `Agent ${v}, ${role}${alarm ? ", has an alarm" : ""}${run.divergences.some((one) => one.agent === v && one.index <= round.index) ? ", has left the specification" : ""}${belief}`);
}

function walk(event, run, number, figures) {
  const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
  const chosen = state.selected[number];
  if (event.key === "Enter" || event.key === " ") {
    select(number, figures.indexOf(document.activeElement));
  } else if (event.key in steps) {
    const next = (chosen + steps[event.key] + run.agents.length) % run.agents.length;
    select(number, next);
    figures[next].focus();
  } else return;
  event.preventDefault();
  event.stopPropagation();
}

// One directed message: a bent arrow, solid if honest code says it, dashed with its word if not.
function arrow(run, number, { group, sender, receiver, points, radius, sparse, mine, pointed, lines, words, round }) {
  const from = points[sender];
  const to = points[receiver];
  const length = Math.hypot(to.x - from.x, to.y - from.y);
  const unit = { x: (to.x - from.x) / length, y: (to.y - from.y) / length };
  const side = { x: -unit.y, y: unit.x };
  const bend = sparse ? 22 : 9;
  const gap = radius + (run.agents[receiver].role === "byzantine" ? 12 : 9);
  const start = { x: from.x + unit.x * (radius + 4) + side.x * bend * 0.4, y: from.y + unit.y * (radius + 4) + side.y * bend * 0.4 };
  const end = { x: to.x - unit.x * gap + side.x * bend * 0.4, y: to.y - unit.y * gap + side.y * bend * 0.4 };
  const middle = { x: (start.x + end.x) / 2 + side.x * bend, y: (start.y + end.y) / 2 + side.y * bend };
  const message = run.messages[group.message];
  const quiet = message.word === "nothing new" || message.word === "silent";
  const kind = group.altered ? "altered" : mine && !sparse ? "mine" : "plain";
  const d = `M${start.x},${start.y} Q${middle.x},${middle.y} ${end.x},${end.y}`;
  if (pointed) lines.append(svg("path", { d, class: "pointed-line" }));
  lines.append(svg("path", {
    d,
    class: `word-line ${kind}${quiet ? " quiet" : ""}`, "marker-end": `url(#head-${kind}-${number})`,
  }, svg("title", {}, `${sender} to ${receiver}: ${message.text}`)));
  const text = label(run, round, group, sender);
  if (!text || (!group.altered && (run.edges.length > WORDED || message.word === "nothing new"))) return;
  const at = sparse ? 0.36 : 0.62;
  const x = (1 - at) ** 2 * start.x + 2 * at * (1 - at) * middle.x + at ** 2 * end.x;
  const y = (1 - at) ** 2 * start.y + 2 * at * (1 - at) * middle.y + at ** 2 * end.y;
  const wide = 14 + text.length * 10.4;
  words.append(svg("g", { class: `word ${kind}`, transform: `translate(${x},${y})` },
    svg("rect", { x: -wide / 2, y: -12, width: wide, height: 24, rx: 6 }),
    svg("text", { "text-anchor": "middle", dy: "0.36em" }, text)));
}

// The word on an edge: the message's own word; else a letter where a sender says several things.
function label(run, round, group, sender) {
  const word = run.messages[group.message].word;
  const several = variants(run, round, sender).length > 1;
  if (word && word !== "nothing new") return word;
  if (group.altered && !several) return word ? "nothing" : "≠";
  return several ? (word ? "nothing" : group.letter) : "";
}

function legend(run, sparse, number) {
  const roles = new Set(run.agents.map((agent) => agent.role));
  const row = (picture, text) => el("li", {}, picture, text);
  const icon = (...children) => svg("svg", { viewBox: "-16 -12 32 24", class: "icon", "aria-hidden": "true" }, ...children);
  return el("figcaption", {}, el("ul", { class: "legend" },
    roles.has("unknown") ? row(icon(svg("rect", { x: -8, y: -8, width: 16, height: 16, rx: 4, class: "shape unknown" })), "role not recorded") : null,
    roles.has("honest") ? row(icon(svg("circle", { r: 8.5, class: "shape honest" })), "honest") : null,
    roles.has("byzantine") ? row(icon(svg("path", { d: "M0,-11 L11,0 L0,11 L-11,0 z", class: "shape byzantine", fill: `url(#hatch-${number})` })), "Byzantine") : null,
    row(icon(svg("path", { d: "M0,-10 L11,9 L-11,9 z", class: "badge-icon" }), svg("text", { "text-anchor": "middle", y: 7, "font-size": 14, class: "badge-text" }, "!")), "has an alarm"),
    run.divergences.length ? row(icon(divergeMark(0, 0, 0.8, "")), "has left the specification") : null,
    row(icon(svg("line", { x1: -14, x2: 14, y1: 0, y2: 0, class: "word-line plain" })), "what honest code says, the same to all"),
    sparse ? null : row(icon(svg("line", { x1: -14, x2: 14, y1: 0, y2: 0, class: "word-line mine" })), "messages of the selected agent"),
    row(icon(svg("line", { x1: -14, x2: 14, y1: 0, y2: 0, class: "word-line altered" })), "something else; letters tell different messages apart")));
}
