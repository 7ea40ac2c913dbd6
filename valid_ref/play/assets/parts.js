// The parts of the page that show a view: agents, honest messages, alarms, the tree, the end, the clauses.

function row(kind, cells) {
  return el("tr", {}, cells.map((cell) => (cell instanceof Node && /^T[DH]$/.test(cell.nodeName) ? cell : el(kind, {}, cell))));
}

function head(...names) {
  return el("thead", {}, el("tr", {}, names.map((name) => el("th", { scope: "col" }, name))));
}

function showAgents(view) {
  $("agents").replaceChildren(
    head("Agent", "Part", "Alarms", "Verdict", "Holds"),
    el("tbody", {}, view.agents.map((agent) => row("td", [
      el("th", { scope: "row" }, String(agent.agent)),
      agent.byzantine ? el("span", { class: "badge byzantine" }, "Byzantine") : "honest",
      agent.alarms ? el("span", { class: "badge alarmed" }, String(agent.alarms)) : "0",
      agent.verdict || "-",
      el("td", { class: "value" }, agent.holds),
    ]))));
}

function showHeard(view) {
  const byzantine = new Set(view.agents.filter((agent) => agent.byzantine).map((agent) => agent.agent));
  const groups = new Map();
  for (const edge of view.next) {
    if (byzantine.has(edge.sender)) continue;
    const key = `${edge.sender} ${edge.says}`;
    if (!groups.has(key)) groups.set(key, { sender: edge.sender, says: edge.says, to: [] });
    groups.get(key).to.push(edge.receiver);
  }
  const rows = [...groups.values()].map((group) => row("td", [
    el("th", { scope: "row" }, String(group.sender)), group.to.join(", "), el("td", { class: "value" }, group.says)]));
  $("heard").replaceChildren(
    head("Agent", "says to", "this"),
    el("tbody", {}, rows.length ? rows : row("td", [el("td", { colspan: 3 }, "The run is over.")])));
}

function clauseLink(clause) {
  return el("a", { href: `#clause-${clause}`, onclick: () => { const at = $(`clause-${clause}`); if (at) at.open = true; } }, clause);
}

function showAlarms(view) {
  if (!view.alarms.length) {
    $("alarms").replaceChildren(el("p", {}, "No honest agent has an alarm so far."));
    return;
  }
  const rows = [...view.alarms].reverse().map((alarm) => row("td", [
    alarm.after === view.played ? el("strong", {}, `${alarm.after}, just now`) : String(alarm.after),
    el("th", { scope: "row" }, String(alarm.agent)),
    el("span", {}, alarm.meaning, alarm.count > 1 ? ` (${alarm.count} times)` : "", el("br"), el("code", {}, alarm.reason)),
    alarm.place,
    alarm.sender === null ? "-" : String(alarm.sender),
    alarm.about || "-",
    clauseLink(alarm.clause),
  ]));
  $("alarms").replaceChildren(
    el("p", {}, `${count(view.alarms.length, "row")}, the latest first; an alarm never goes away.`),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-labelledby": "alarms-title" },
      el("table", {}, head("After round", "Agent", "Alarm", "In", "From", "About", "Clause"), el("tbody", {}, rows))));
}

// The tree: a line of rounds for every branch; branches stand below the line that they leave.

function showTree(view, go) {
  const children = new Map();
  for (const node of view.nodes.slice(1)) {
    if (!children.has(node.parent)) children.set(node.parent, []);
    children.get(node.parent).push(node.node);
  }
  $("tree").replaceChildren(el("ul", { class: "tried" }, branch(view, children, 0, go)));
  const way = [];
  for (let node = view.here; node; node = view.nodes[node].parent) way.unshift(view.nodes[node]);
  const moved = way.filter((node) => node.moves.length);
  $("way").replaceChildren(moved.length
    ? el("ul", {}, moved.map((node) => el("li", {}, `${node.phase} round ${node.number}: ${node.moves.join("; ")}`)))
    : el("p", {}, "None: so far every message was that of honest code."));
}

function branch(view, children, first, go) {
  const chips = [], leaving = [];
  let phase = null;
  for (let node = first; node !== undefined; node = (children.get(node) || [])[0]) {
    const one = view.nodes[node];
    if (one.phase !== phase) {
      phase = one.phase;
      if (phase) chips.push(el("span", { class: "name" }, phase));
    }
    chips.push(chip(view, one, go));
    leaving.push(...(children.get(node) || []).slice(1).map((child) => branch(view, children, child, go)));
  }
  return el("li", {}, el("div", { class: "chips" }, chips), leaving.length ? el("ul", { class: "tried" }, leaving) : null);
}

function chip(view, node, go) {
  const name = node.node ? `After ${node.phase} round ${node.number}` : "Start";
  const moves = node.moves.length ? `, ${count(node.moves.length, "message")} changed` : "";
  return el("button", {
    type: "button",
    class: node.moves.length ? "moved" : "",
    "aria-label": name + moves,
    title: node.moves.join("; ") || name,
    "aria-current": node.node === view.here ? "true" : false,
    "data-node": node.node,
    onclick: () => go(node.node),
  }, node.node ? String(node.number) : "Start");
}

// The promise of a counterexample, how it ended, and the clauses.

function showPromise(view) {
  const clause = view.clauses.find((one) => one.clause === view.breaks);
  $("promise").hidden = !view.breaks;
  if (!view.breaks) return;
  const text = el("div", { class: "clause" });
  if (clause) text.innerHTML = clause.html;
  $("promise").replaceChildren(
    el("h2", {}, `This counterexample is about ${view.breaks}`), text,
    el("p", { class: "muted" }, "Its words stand ready as your messages: play round by round, or try others."));
}

function showEnd(view) {
  $("end").hidden = !view.end;
  if (!view.end) return;
  const holds = { yes: "yes", no: "no", open: "not known" };
  $("end").className = `card ${view.end.tone}`;
  $("end").replaceChildren(
    el("h2", { id: "end-title" }, /^[abc]$/.test(view.end.name) ? `Outcome ${view.end.name}` : "The end"),
    el("p", {}, view.end.meaning),
    el("ul", {}, view.end.evidence.map(([condition, truth, figures]) =>
      el("li", {}, `${condition}: ${holds[truth]}${figures ? ` (${figures})` : ""}`))),
    ...(view.end.digest ? [el("p", { class: "muted" }, "Digest of the recording: ", el("code", { id: "digest", class: "clause" }, view.end.digest))] : []));
}

function showClauses(view) {
  const opened = new Set([...document.querySelectorAll("#clauses details[open]")].map((one) => one.id));
  $("clauses").replaceChildren(...view.clauses.map((clause) => {
    const text = el("div", { class: "clause" }), id = `clause-${clause.clause}`;
    text.innerHTML = clause.html;
    return el("details", { id, open: opened.has(id) }, el("summary", {}, clause.clause), text);
  }));
}
