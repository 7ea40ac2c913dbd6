// The network: circles are honest, diamonds Byzantine, a triangle with a number counts alarms.

const SIZE = { width: 460, height: 330, edge: 42, radius: 19 };

function drawNetwork(view) {
  const at = view.agents.map((agent) => [
    SIZE.edge + agent.x * (SIZE.width - 2 * SIZE.edge),
    SIZE.edge + agent.y * (SIZE.height - 2 * SIZE.edge),
  ]);
  const links = view.edges.map(([u, v]) =>
    el("svg:line", { class: "link", x1: at[u][0], y1: at[u][1], x2: at[v][0], y2: at[v][1] }));
  const lies = view.next.filter((edge) => edge.changed).map((edge) => arrow(at[edge.sender], at[edge.receiver]));
  const agents = view.agents.map((agent) => drawAgent(agent, at[agent.agent]));
  $("network").replaceChildren(
    el("svg:svg", { viewBox: `0 0 ${SIZE.width} ${SIZE.height}`, role: "img", "aria-label": networkWords(view) },
      links, lies, agents),
    el("figcaption", {}, "A diamond is Byzantine, a triangle counts alarms; a dashed arrow carries what you changed."));
}

function networkWords(view) {
  const byzantine = view.agents.filter((agent) => agent.byzantine).map((agent) => agent.agent);
  const alarmed = view.agents.filter((agent) => agent.alarms).map((agent) => agent.agent);
  const changed = view.next.filter((edge) => edge.changed).map((edge) => `${edge.sender} to ${edge.receiver}`);
  return `Network of ${count(view.agents.length, "agent")}; Byzantine: ${byzantine.join(", ")}; `
    + `with alarms: ${alarmed.join(", ") || "nobody"}; messages you changed: ${changed.join(", ") || "none"}`;
}

function drawAgent(agent, [x, y]) {
  const kind = `agent${agent.byzantine ? " byz" : ""}${agent.alarms ? " alarmed" : ""}`, r = SIZE.radius;
  const shape = agent.byzantine
    ? el("svg:rect", { class: kind, x: x - r * 0.85, y: y - r * 0.85, width: r * 1.7, height: r * 1.7, transform: `rotate(45 ${x} ${y})` })
    : el("svg:circle", { class: kind, cx: x, cy: y, r });
  const mark = agent.alarms
    ? [el("svg:path", { class: "mark", d: `M ${x + 17} ${y - 30} l 13 22 h -26 z` }),
      el("svg:text", { class: "small-text", x: x + 17, y: y - 14 }, agent.alarms > 99 ? "!" : String(agent.alarms))]
    : [];
  return el("svg:g", {}, shape, el("svg:text", { class: "name-of", x, y }, String(agent.agent)), mark);
}

function arrow([x1, y1], [x2, y2]) {
  const length = Math.hypot(x2 - x1, y2 - y1) || 1, [dx, dy] = [(x2 - x1) / length, (y2 - y1) / length];
  const [bx, by] = [x2 - dx * (SIZE.radius + 3), y2 - dy * (SIZE.radius + 3)];
  const [ax, ay] = [x1 + dx * (SIZE.radius + 6), y1 + dy * (SIZE.radius + 6)];
  const [cx, cy] = [bx - dx * 12, by - dy * 12];
  return el("svg:g", {},
    el("svg:line", { class: "lie", x1: ax, y1: ay, x2: cx, y2: cy }),
    el("svg:path", { class: "tip", d: `M ${bx} ${by} L ${cx - dy * 6} ${cy + dx * 6} L ${cx + dy * 6} ${cy - dx * 6} z` }));
}
